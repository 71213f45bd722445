"""Inputs of any size and kind to labelled bytes, through the functions that a server would call."""

import codecs
import io
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import postil
from oracles.corpora import as_conll, named_entities
from postil.errors import ConfigurationError, DataError
from postil.tagging import TaggingOptions, bulk, label, workers
from postil.text import lines as lines_module
from postil.text import read

X, Y = named_entities(30)
CONLL = as_conll(X, Y).encode()
RECORDS = b"".join(json.dumps({"text": " ".join(tokens)}).encode() + b"\n" for tokens in X)


@pytest.fixture(scope="module")
def tagger():
    return postil.Tagger(preset="fast", hidden=16, word_dim=12, epochs=3, rate=0.02).fit(X, Y)


@pytest.fixture(scope="module")
def speech(speech_model):
    return postil.load(speech_model)


def labelled(tagger, *inputs, options=None, **others):
    output = io.BytesIO()
    readings = (read(io.BytesIO(data), format, features=()) for data, format in inputs)
    summary = label(tagger, readings, options or TaggingOptions(), output, **others)
    return output.getvalue(), summary


@pytest.mark.slow
def test_a_model_that_is_in_no_file(tagger, monkeypatch):
    """Workers are sent the model itself; the bytes and the counts are those of one process."""
    monkeypatch.setattr(bulk, "PASSAGE", 150)
    monkeypatch.setattr(bulk, "ALONE", 1)
    alone, summary = labelled(tagger, (CONLL, "conll"))
    assert alone == as_conll(X, tagger.predict(X)).encode()
    assert summary.tokens == sum(map(len, X)) and summary.long_sentences == []
    assert labelled(tagger, (CONLL, "conll"), threads=2) == (alone, summary)


def test_inputs_of_several_kinds_keep_their_order(tagger):
    counts = []
    options = TaggingOptions(output="jsonl")
    mixed, summary = labelled(
        tagger, (RECORDS, "jsonl"), (CONLL, "conll"), (RECORDS, "jsonl"), options=options, progress=counts.append
    )
    records, _ = labelled(tagger, (RECORDS, "jsonl"), options=options)
    columns, _ = labelled(tagger, (CONLL, "conll"), options=options)
    assert mixed == records + columns + records
    assert summary.tokens == sum(counts) == 3 * sum(map(len, X))


def test_a_mistake_is_raised_after_what_is_before_it(tagger):
    output = io.BytesIO()
    reading = read(io.BytesIO(RECORDS + b"{\n"), "jsonl", features=())
    with pytest.raises(DataError, match=f"line {len(X) + 1}: not valid JSON"):
        label(tagger, [reading], TaggingOptions(), output)
    assert output.getvalue() == labelled(tagger, (RECORDS, "jsonl"))[0] != b""


def test_the_number_of_threads(tagger):
    with pytest.raises(ConfigurationError, match=r"^threads must be at least 1 \(got 0\)$"):
        labelled(tagger, (CONLL, "conll"), threads=0)


def test_only_a_few_items_are_under_way():
    taken, most = 0, 0

    def items():
        nonlocal taken
        for number in range(50):
            taken += 1
            yield number

    for done, result in enumerate(bulk.in_order(lambda item: item * 2, items(), 2)):
        assert result == 2 * done
        most = max(most, taken - done)
    assert taken == 50 and most <= 5


def test_processes_start_only_where_there_is_enough_to_do(tagger, monkeypatch):
    started = []

    class Recorded(workers.WorkerPool):  # type: ignore[misc]
        def __init__(self, *arguments):
            started.append(arguments)
            super().__init__(*arguments)

    monkeypatch.setattr(workers, "WorkerPool", Recorded)
    monkeypatch.setattr(bulk, "PASSAGE", 150)
    passages = sum(1 for _ in read(io.BytesIO(CONLL), "conll").passages(150))
    expected = labelled(tagger, (CONLL, "conll"))
    monkeypatch.setattr(bulk, "PAYS", 1)
    monkeypatch.setattr(bulk, "ALONE", passages + 1)
    assert labelled(tagger, (CONLL, "conll"), threads=2) == expected and started == []
    monkeypatch.setattr(bulk, "ALONE", passages)
    assert labelled(tagger, (CONLL, "conll"), threads=2) == expected and len(started) == 1


@pytest.mark.slow
def test_records_without_labels_are_labelled_by_processes(tagger, monkeypatch):
    monkeypatch.setattr(bulk, "PASSAGE", 150)
    monkeypatch.setattr(bulk, "ALONE", 1)
    options = TaggingOptions(output="jsonl", probabilities=True)
    one = labelled(tagger, (RECORDS, "jsonl"), options=options)
    assert labelled(tagger, (RECORDS, "jsonl"), options=options, threads=2) == one
    assert one[0].count(b"\n") == len(X)


# ------------------------------------------------------------------------------------------------ CoNLL-U


FORMS = ["Anna", "the", "dog", "é", "\x85", "a b", "1", "_"]


@st.composite
def conllu_lines(draw):
    """The lines of a CoNLL-U file, without their ends, and its words."""
    comments = st.lists(st.sampled_from(["# text = a", "#", "# sent_id = 1\tx", "# é\u2028"]), max_size=2)
    blank = st.sampled_from(["", "", " ", "\t "])
    lines, words = draw(st.lists(blank, max_size=2)), []
    for _ in range(draw(st.integers(1, 4))):
        lines += draw(comments)
        forms = draw(st.lists(st.sampled_from(FORMS), min_size=1, max_size=4))
        words.append(forms)
        if draw(st.booleans()):
            lines.append("0.1\tx" + "\t_" * 8)
        for number, form in enumerate(forms, 1):
            if number == 1 and len(forms) > 1 and draw(st.booleans()):
                lines.append("1-2\tdu" + "\t_" * 8)
            upos = draw(st.sampled_from(["X", "_", "NOUN"]))
            misc = draw(st.sampled_from(["_", "SpaceAfter=No", "a|_|b=c", " "]))
            lines.append(f"{number}\t{form}\tl\t{upos}\t_\tA=b\t0\troot\t_\t{misc}")
            if draw(st.booleans()):
                lines.append(f"{number}.1\tempty" + "\t_" * 8)
        lines += draw(st.lists(blank, min_size=1, max_size=2))
    return [*lines, *draw(comments)], words


@pytest.mark.slow
@given(
    conllu_lines(),
    st.sampled_from([["\n"], ["\r\n"], ["\r"], ["\n", "\r\n"], ["\r\n", "\n", "\n"]]),
    st.sampled_from([("utf-8", b""), ("utf-8", codecs.BOM_UTF8), ("utf-16-be", codecs.BOM_UTF16_BE)]),
    st.integers(8, 60),
    st.booleans(),
    st.sampled_from([1, 2]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_conllu_keeps_every_byte_but_its_column(speech, monkeypatch, found, ends, encoding, piece, is_cut, threads):
    monkeypatch.setattr(lines_module, "PIECE", piece)
    lines, words = found
    labels = iter([label for labels in speech.predict(words) for label in labels])
    given, expected = [], []
    for number, line in enumerate(lines):
        end = "" if is_cut and number == len(lines) - 1 else ends[number % len(ends)]
        row = line.split("\t")
        if row[0].isdecimal():
            row[3] = next(labels)
        given.append(line + end)
        expected.append("\t".join(row) + end)
    name, mark = encoding
    source, target = mark + "".join(given).encode(name), io.BytesIO()
    with read(io.BytesIO(source), "conllu") as reading:
        label(speech, [reading], TaggingOptions(output="conllu"), target, threads=threads)
    assert target.getvalue() == mark + "".join(expected).encode(name)


ROW = "1\tAnna\t_\tX" + "\t_" * 6


@pytest.mark.parametrize(
    ("first", "between"),
    [(f"{ROW}\n\n", ""), (f"{ROW}\n", "\n"), (ROW, "\n\n"), (f"{ROW}\r\n\r\n", ""), (f"{ROW}\n\n# c", "\n\n")],
)
def test_several_conllu_files_do_not_run_into_each_other(speech, first, between):
    target = io.BytesIO()
    readings = [read(io.BytesIO(text.encode()), "conllu") for text in (first, ROW)]
    label(speech, readings, TaggingOptions(output="conllu"), target)
    (name,) = speech.predict([["Anna"]])[0]
    assert target.getvalue().decode() == (first + between + ROW).replace("\tX\t", f"\t{name}\t")


def test_what_stands_before_a_mistake_in_conllu_is_written(speech):
    target = io.BytesIO()
    text = f"# a\r\n{ROW}\r\n\r\n# b\r\n3\tx\r\n"
    with pytest.raises(DataError, match="line 5: wrong number of columns"):
        label(speech, [read(io.BytesIO(text.encode()), "conllu")], TaggingOptions(output="conllu"), target)
    assert target.getvalue().startswith(b"# a\r\n1\tAnna\t_\t") and target.getvalue().endswith(b"\t_\r\n\r\n")


def test_a_label_goes_to_a_key_and_leaves_the_others(names_model):
    target = io.BytesIO()
    text = ROW[:-1] + "Id=7|_|SpaceAfter=No"
    label(postil.load(names_model), [read(io.BytesIO(text.encode()))], TaggingOptions(output="conllu"), target)
    assert target.getvalue().decode().startswith(text) and "|NER=" in target.getvalue().decode()[len(text) :]
