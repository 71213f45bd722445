"""The fast path: the bytes of the general path, and a clear rule for when it is taken."""

import io
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import postil
from oracles.corpora import as_conll, named_entities, parts_of_speech
from postil import kernels
from postil.errors import PostilError
from postil.tagging import Labeller, TaggingOptions, general_path
from postil.tagging import fast_path as fast_path_module
from postil.tagging.fast_path import FastPath
from postil.text import lines, read
from postil.text.options import ReadOptions

X, Y = named_entities(30)
pytestmark = pytest.mark.skipif(kernels.IN_USE.startswith("plain"), reason="the fast path needs the compiled kernels")


def trained(path, labels=Y, **settings):
    tagger = postil.Tagger(**{"preset": "fast", "hidden": 16, "word_dim": 12, "epochs": 3, "rate": 0.02} | settings)
    tagger.fit(X, labels).save(path)
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("models") / "ner.postil")


@pytest.fixture(scope="module")
def both(model):
    return labeller_of(postil.load(model))


def labeller_of(model, **options):
    labeller = Labeller(model, TaggingOptions(**options))
    labeller.fast = FastPath(labeller.model, labeller.options)
    return labeller


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(general_path, "BLOCK_TOKENS", 20)


def outcome(label, data, size, format="conll"):
    """What is written and what is said, and for how many passages."""
    content, tokens, long, passages = b"", 0, [], 0
    try:
        with read(io.BytesIO(data), format, features=()) as reading:
            for passage in reading.passages(size):
                answer = label(passage)
                content += answer.content
                tokens, passages = tokens + answer.tokens, passages + 1
                long += answer.long_sentences
                if answer.mistake is not None:
                    raise answer.mistake
    except PostilError as error:
        return content, tokens, long, passages, str(error)
    return content, tokens, long, passages, None


def check(both, data, size):
    for format in ("conll", "tokens"):
        assert outcome(both.label, data, size, format) == outcome(both.general.label, data, size, format)


ROWS = ["Anna\tO", "lives\tO", "Oslo\tB-LOC", "é\tO", "#\tO", "#tag\tO", "- \tO", "\tO", "", "", "", " \t", "# said"]
ROWS += ["-DOCSTART-\tO", "-DOCSTART-", "#begin document", "# annotates: PER", "a b\t O", "x" * 1200 + "\tO"]
SPACED = ["Anna O", "lives  O", " Oslo B-LOC ", "# said so", "#tag O", "- O", "", "", "-DOCSTART- O", "a \t O"]
BROKEN = ["one", "a\tb\tc", "a\t", "a\0\tO", "x\tO\n-DOCSTART-\tO", "# Anna O"]
kinds = st.one_of(*(st.sampled_from(kind) for kind in (ROWS, ROWS[:3], SPACED, SPACED[:3], BROKEN)))
hostile = st.builds(
    lambda rows, end, mark, last, bad, place: _broken(mark + end.join(rows) + end * last, bad, place),
    st.one_of(
        st.lists(st.sampled_from(ROWS), max_size=60),
        st.lists(st.sampled_from(SPACED), max_size=60),
        st.lists(kinds, max_size=60),
    ),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["", "\ufeff"]),
    st.booleans(),
    st.sampled_from([b"", b"", b"\xff", b"\xc3", b"\0"]),
    st.integers(0, 300),
)


def _broken(text, bad, place):
    data = text.encode()
    return data[:place] + bad + data[place:] if bad else data


@given(hostile, st.integers(0, 120), st.sampled_from([1, 7, 1 << 18]))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_same_bytes_the_same_mistakes(both, data, size, piece):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "PIECE", piece)
        check(both, data, size)


@given(st.lists(st.sampled_from(b"a#- \t\n\r\xc3\xa9O"), max_size=60).map(bytes), st.integers(0, 30))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_same_on_noise(both, data, size):
    check(both, data, size)


OTHER_OUTPUTS = [{"output": "jsonl"}, {"output": "jsonl", "probabilities": True}, {"output": "conllu"}]


@pytest.fixture(scope="module", params=OTHER_OUTPUTS, ids=str)
def other_output(request, model):
    return labeller_of(postil.load(model), **request.param)


@pytest.fixture(scope="module", params=OTHER_OUTPUTS, ids=str)
def other_output_of_words(request, tmp_path_factory):
    """Labels without spans."""
    path = tmp_path_factory.mktemp("models") / "pos.postil"
    postil.Tagger(preset="fast", hidden=16, word_dim=12, epochs=3).fit(*parts_of_speech(30)).save(path)
    return labeller_of(postil.load(path), **request.param)


@given(hostile, st.integers(0, 120))
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_become_the_same_objects_and_columns(other_output, data, size):
    check(other_output, data, size)


@pytest.mark.slow
@given(hostile, st.integers(0, 120))
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_with_labels_of_words_do(other_output_of_words, data, size):
    check(other_output_of_words, data, size)


WRITTEN = [
    "Anna",
    "lives",
    "in",
    "Oslo",
    ".",
    "(",
    "Rome",
    ")",
    "\t",
    "\u2028",
    '"',
    "\\",
    "é",
    "日本",
    "\x1f",
    " ",
    "  ",
    "\n",
]


@given(st.lists(st.sampled_from(WRITTEN), max_size=60).map("".join), st.integers(0, 60))
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_text_becomes_the_same_objects_and_columns(other_output, text, size):
    for format in ("text", "tokens"):
        expected = outcome(other_output.general.label, text.encode(), size, format)
        assert outcome(other_output.label, text.encode(), size, format) == expected


@pytest.mark.parametrize("format", ["conll", "tokens", "text"])
def test_every_pair_of_formats_takes_the_fast_path(other_output, other_output_of_words, format, monkeypatch):
    data = as_conll(X, Y) if format == "conll" else "\n".join(" ".join(tokens) for tokens in X)
    for labeller in (other_output, other_output_of_words):
        expected = outcome(labeller.general.label, data.encode(), 150, format)
        with monkeypatch.context() as patch:
            patch.setattr(labeller, "general", None)
            assert outcome(labeller.label, data.encode(), 150, format) == expected
        assert expected[1] == sum(map(len, X)) and expected[0].count(b"\n") >= len(X)


CONLLU = ["1\tAnna\t_\tX\t_\t_\t0\troot\t_\t_", "2\tin\t_\t_\t_\t_\t_\t_\t_\t_", "3\tOslo\t_\t_\t_\t_\t_\t_\t_\tNER=O"]
CONLLU += ["1-2\tAnnain\t_\t_\t_\t_\t_\t_\t_\t_", "0.1\té\t_\t_\t_\t_\t_\t_\t_\t_", "2.1\tx\t_\t_\t_\t_\t_\t_\t_\t_"]
COMMENTS = [
    "# newdoc id = a b",
    "# newdoc",
    "# text = Anna in Oslo",
    "# text = Annain Oslo",
    "#said",
    "# é",
    "#\ta",
    "#",
]
SENTENCES = [CONLLU[:1], CONLLU[:2], CONLLU[:3], [CONLLU[3], *CONLLU[:3]], [CONLLU[4], *CONLLU[:2], CONLLU[5]]]
SENTENCES += [["# text = Anna", CONLLU[0]], ["# newdoc", "", "# x", CONLLU[0]], [CONLLU[0].replace("Anna", "10 000")]]
BROKEN_CONLLU = [*CONLLU, *COMMENTS, "", " \t", "1\tAnna", CONLLU[0].replace("Anna", ""), CONLLU[0].replace("X", "")]
BROKEN_CONLLU += [CONLLU[0].replace("1", i, 1) for i in ("01", "+1", "", "9" * 12, "1.1", "2-1", "x", "#1", "１")]
BROKEN_CONLLU += [
    "-DOCSTART-",
    CONLLU[0].replace("Anna", "-DOCSTART-"),
    CONLLU[0] + "\t",
    "\t" + CONLLU[0],
    CONLLU[0] + "\t_",
]
whole_sentences = st.tuples(st.lists(st.sampled_from(COMMENTS), max_size=3), st.sampled_from(SENTENCES))
conllu_lines = st.lists(whole_sentences.map(lambda parts: [*parts[0], *parts[1], ""]), max_size=12).map(
    lambda found: [line for lines in found for line in lines]
)


@st.composite
def conllu_sources(draw):
    """Files of CoNLL-U; half of them with a line that does not belong where it is."""
    rows = draw(conllu_lines)
    for _ in range(draw(st.integers(-2, 2))):
        rows.insert(draw(st.integers(0, len(rows))), draw(st.sampled_from(BROKEN_CONLLU)))
    end, last = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"])), draw(st.booleans())
    return _broken(end.join(rows) + end * last, draw(st.sampled_from([b"", b"", b"", b"\xff", b"\0"])), 30)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{}, {"probabilities": True}, {"output": "jsonl"}, {"threshold": {"": 0.9}}], ids=str
)
@given(data=conllu_sources(), size=st.integers(0, 300))
@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_conllu_becomes_the_same_bytes(model, options, data, size):
    labeller = labeller_of(postil.load(model), **options)
    assert outcome(labeller.label, data, size, "conllu") == outcome(labeller.general.label, data, size, "conllu")


@pytest.mark.slow
@given(data=conllu_sources(), size=st.integers(0, 100))
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_conllu_in_passages_is_one_file(both, data, size):
    """Wherever a file is cut, the answers are those of the whole."""
    (*parts, _, mistake), (*whole, _, of_whole) = (outcome(both.label, data, n, "conllu") for n in (size, 1 << 20))
    assert (parts, mistake) == (whole, of_whole)


@pytest.mark.parametrize("options", [{}, {"probabilities": True}], ids=str)
def test_conllu_takes_the_fast_path(model, options, monkeypatch):
    labeller = labeller_of(postil.load(model), **options)
    data = "".join(
        "\n".join([*COMMENTS[i % 5 : i % 5 + 2], *rows, "", ""]) for i, rows in enumerate(4 * SENTENCES)
    ).encode()
    expected = outcome(labeller.general.label, data, 300, "conllu")
    monkeypatch.setattr(labeller, "general", None)
    assert outcome(labeller.label, data, 300, "conllu") == expected
    assert expected[-1] is None and expected[3] > 3 and b"-DOCSTART-" in expected[0] and b"# text" in expected[0]


@pytest.mark.parametrize("options", OTHER_OUTPUTS, ids=str)
def test_columns_with_comments_take_the_fast_path(model, options, monkeypatch):
    labeller = labeller_of(postil.load(model), **options)
    data = b'# said\nAnna\tO\n\n-DOCSTART-\tO\n\n# "x"\n# y\nlives\tO\n\nOslo\tO\n\n#begin document (a b)\nAnna\tO\n'
    expected = outcome(labeller.general.label, data, 1000)
    monkeypatch.setattr(labeller, "general", None)
    assert outcome(labeller.label, data, 1000) == expected
    assert expected[-1] is None and b"# said" in expected[0] and b"newdoc" in expected[0]


def test_plain_files_take_the_fast_path(both, monkeypatch):
    data = ("-DOCSTART-\tO\n\n" + as_conll(X, Y)).encode() + b"# kept\n\n# too\nAnna\tO\n\n"
    expected = outcome(both.general.label, data, 150)
    monkeypatch.setattr(both, "general", None)
    assert outcome(both.label, data, 150) == expected
    assert expected[0].startswith(b"-DOCSTART-\tO\n\n") and expected[0].endswith(b"# kept\n# too\nAnna\tB-PER\n\n")


def test_very_long_sentences_are_noted(both, monkeypatch):
    for path in (fast_path_module, general_path):
        monkeypatch.setattr(path, "LONGEST_VIEW", 5)
    data = b"Anna\tO\n" * 9 + b"\nOslo\tO\n"
    assert outcome(both.label, data, 1000)[1:] == (10, [9], 1, None)
    check(both, data, 1000)


@pytest.mark.parametrize(
    ("options", "taken"),
    [
        ({}, True),
        ({"output": "conll"}, True),
        ({"reading": ReadOptions(features=(), label=None)}, True),
        ({"output": "jsonl"}, True),
        ({"output": "conllu"}, True),
        ({"probabilities": True}, True),
        ({"threshold": {"": 0.5}}, True),
        ({"threshold": {"": 0.0}}, True),
        ({"threshold": {"LOC": 0.5}}, True),
        ({"constraints": postil.Constraints(require=[(0, 4, None)])}, False),
        ({"output": "jsonl", "nbest": 2}, False),
        ({"output": "jsonl", "all_above": 0.5}, False),
        ({"reading": ReadOptions(features=(1,))}, False),
    ],
)
def test_which_options_it_is_taken_for(model, options, taken):
    assert (FastPath.of(postil.load(model), TaggingOptions(**options)) is not None) == taken


@pytest.mark.parametrize(
    ("labels", "settings", "taken"),
    [
        (Y, {"preset": "accurate", "layers": 2}, True),
        (named_entities(30, scheme="iob1")[1], {}, True),
        (Y, {"preset": "linear-crf"}, True),
        (Y, {"preset": "average-softmax"}, True),
        (parts_of_speech(30)[1], {}, True),
        (Y, {"constrained": False}, False),
    ],
    ids=["accurate", "iob1", "linear-crf", "average-softmax", "no scheme", "unconstrained"],
)
def test_which_models_it_is_taken_for(tmp_path, labels, settings, taken):
    both = Labeller(postil.load(trained(tmp_path / "m.postil", labels, **settings)), TaggingOptions())
    assert (both.fast is not None) == taken
    check(both, as_conll(X, Y).encode(), 300)


# ------------------------------------------------------------------------------------------------ raw texts

PHRASES = [
    "Anna lives in Oslo.",
    "Anna",
    "Oslo!",
    "It is 5 p.m. The shop",
    "é中😀",
    "a.b@c.de",
    '"',
    "\\",
    " ",
    "\u2028",
    "-",
]
PHRASES += ["\x85", "\x01", "\u00a0", "-DOCSTART-", "do n't", "x" * 1200, "", "A"]
lines_of_text = st.lists(st.sampled_from(PHRASES), max_size=5).map(" ".join) | st.sampled_from(["", "A", "\t ", "Anna"])
FIELDS = [{}, {"id": 3}, {"meta": {"é": [1.5, None, "\u2029"]}, "": 1e400}, {"answer": "reject"}, {"label": "x"}]
LABELLED_FIELDS = [{"spans": []}, {"tokens": ["a"]}, {"labels": []}, {"constraints": {"require": [[0, 1, "PER"]]}}]
LABELLED_FIELDS += [{"newdoc": "d"}, {"comments": ["# c"]}, {"text": 3}, {"labelling_probabilities": [1]}]
OPTIONS = [
    *({"output": output, "probabilities": probable} for output in ("conll", "jsonl") for probable in (True, False)),
    {"output": "jsonl", "probabilities": True, "threshold": {"": 0.6}},
    {"output": "conll", "threshold": {"": 0.9, "LOC": 0.1}},
    {"output": "jsonl", "reading": ReadOptions(features=(), split=False, every_record=True)},
]


@st.composite
def record_lines(draw):
    """Lines of JSON, most of them with a text and no labels."""
    fields = {"text": draw(lines_of_text)} | draw(st.sampled_from(FIELDS))
    if draw(st.integers(0, 15)) == 0:
        fields |= draw(st.sampled_from(LABELLED_FIELDS))
    broken = draw(st.integers(0, 40)) == 0
    return json.dumps(fields, ensure_ascii=draw(st.booleans()))[: -1 if broken else None]


@st.composite
def sources(draw, content):
    end, last = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"])), draw(st.booleans())
    text = end.join(draw(st.lists(content, max_size=40))) + end * last
    bad = draw(st.sampled_from([b"", b"", b"", b"\xff", b"\0"]))
    return _broken(text, bad, draw(st.integers(0, 300)))


@pytest.fixture(scope="module")
def models(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("others")
    words = trained(folder / "pos.postil", parts_of_speech(30)[1])
    old = trained(folder / "iob1.postil", named_entities(30, scheme="iob1")[1])
    return {"spans": postil.load(model), "words": postil.load(words), "iob1": postil.load(old)}


CASES = [(kind, options) for kind in ("spans", "words", "iob1") for options in OPTIONS]
CASES = [(kind, options) for kind, options in CASES if kind != "words" or "threshold" not in options]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "options"), CASES)
@given(data=st.data(), size=st.integers(0, 300), piece=st.sampled_from([7, 1 << 18]), every=st.booleans())
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_texts_become_the_same_bytes(models, kind, options, data, size, piece, every):
    reading = options.get("reading", ReadOptions(features=(), every_record=every))
    both = labeller_of(models[kind], **(options | {"reading": reading}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "PIECE", piece)
        patch.setattr(general_path, "BLOCK_TOKENS", 20)
        for format, content in (("text", lines_of_text), ("jsonl", record_lines())):
            source = data.draw(sources(content))
            if format == "jsonl" and not read(io.BytesIO(source), "jsonl").has_passages:
                continue
            assert outcome(both.label, source, size, format) == outcome(both.general.label, source, size, format)


@pytest.mark.parametrize(("kind", "options"), CASES)
def test_plain_texts_take_the_fast_path(models, monkeypatch, kind, options):
    both = labeller_of(models[kind], **options)
    text = "\n".join(" ".join(tokens) for tokens in X) + "\nAnna met “Oslo”. É! In Oslo\n\nA\nA\n"
    records = "".join(json.dumps({"text": line, "id": i}) + "\n" for i, line in enumerate(text.split("\n")))
    for format, content in (("text", text), ("jsonl", records)):
        expected = outcome(both.general.label, content.encode(), 150, format)
        with monkeypatch.context() as patch:
            patch.setattr(both, "general", None)
            assert outcome(both.label, content.encode(), 150, format) == expected
        assert expected[-1] is None and len(expected[0]) > 1000 and expected[3] > 1
        if options["output"] == "jsonl":
            every = format == "jsonl" and both.options.reading.every_record
            written = [json.loads(line)["text"] for line in expected[0].split(b"\n")[:-1]]
            assert written == [line for line in text.split("\n") if line or every]


@pytest.mark.parametrize("output", ["conll", "conllu", "jsonl"])
def test_labels_alone_need_no_forward_backward(models, monkeypatch, output):
    """It would take as long as everything else together."""
    both, data = labeller_of(models["spans"], output=output), "\n".join(" ".join(tokens) for tokens in X).encode()
    expected = outcome(both.label, data, 1000, "text")

    def unasked(*_):
        raise AssertionError("probabilities were computed")

    for name in ("chain_answers", "chain_moments"):
        monkeypatch.setattr(kernels, name, unasked)
    assert outcome(both.label, data, 1000, "text") == expected
    assert expected[-1] is None and expected[0]


def test_records_in_passages_are_one_file(models):
    """What the first record says holds for all, and lines are counted from the beginning of the file."""
    both = labeller_of(models["spans"], output="jsonl")
    data = b'{"text": "Anna"}\n' * 50 + b'{"text": "Oslo", "spans": []}\n' + b'{"text": "Anna"}\n'
    whole, parts = (outcome(both.label, data, size, "jsonl") for size in (10_000, 100))
    assert whole[:3] == parts[:3] and whole[4] == parts[4] and parts[3] > 5
    assert "line 51" in whole[4] and "as on line 1 " in whole[4]


def test_detectors_and_gazetteers_take_the_general_path(tmp_path):
    (tmp_path / "places.txt").write_text("Oslo\n")
    path = trained(tmp_path / "m.postil", gazetteers=[tmp_path / "places.txt"])
    assert FastPath.of(postil.load(path), TaggingOptions()) is None
    postil.Detector(label="PER", epochs=1).fit(X, Y).save(tmp_path / "d.postil")
    assert FastPath.of(postil.load(tmp_path / "d.postil"), TaggingOptions()) is None
