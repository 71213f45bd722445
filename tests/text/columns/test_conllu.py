"""CoNLL-U: words as tokens, any column as label, everything else back as it was, every mistake with its words."""

import io

import pytest

from postil.errors import ConfigurationError, DataError
from postil.text.columns.conllu import find_place, get, put
from postil.text.document import Sentence
from postil.text.formats import Reading, read, write
from postil.text.report import Report

SAMPLE = """\
# newdoc id = letters
# sent_id = 1
# text = Vámonos al mar, don't wait.
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tVamos\tir\tVERB\tV\tMood=Imp|Number=Plur\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\tP\tNumber=Plur\t1\tobj\t_\tGloss=us
2.1\tque\tque\tSCONJ\t_\t_\t_\t_\t1:mark\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\tS\t_\t5\tcase\t_\t_
4\tel\tel\tDET\tD\tNumber=Sing\t5\tdet\t_\t_
5\tmar\tmar\tNOUN\tN\tNumber=Sing\t1\tobl\t_\tNER=B-LOC|SpaceAfter=No
6\t,\t,\tPUNCT\tF\t_\t1\tpunct\t_\t_
7-8\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
7\tdo\tdo\tAUX\tV\t_\t9\taux\t_\t_
8\tn't\tnot\tPART\tR\t_\t9\tadvmod\t_\t_
9\twait\twait\tVERB\tV\t_\t1\tconj\t_\tSpaceAfter=No
10\t.\t.\tPUNCT\tF\t_\t1\tpunct\t_\t_

# sent_id = 2
1\tSí\tsí\tINTJ\tI\t_\t0\troot\t_\t_

"""
ROW = "{}\tx\t_\tX\t_\t_\t_\t_\t_\t_\n"


def reading_of(text: str, **options: object) -> Reading:
    return read(io.BytesIO(text.encode()), "conllu", **options)


def written(content: list[Sentence], **options: object) -> str:
    stream = io.BytesIO()
    write(content, stream, "conllu", **options)
    return stream.getvalue().decode()


def failure(text: str, **options: object) -> str:
    with pytest.raises((DataError, ConfigurationError)) as caught:
        list(reading_of(text, **options))
    return str(caught.value)


def test_words_are_the_tokens() -> None:
    reading = reading_of(SAMPLE)
    first, second = reading
    assert first.tokens == ["Vamos", "nos", "a", "el", "mar", ",", "do", "n't", "wait", "."]
    assert first.labels == ["VERB", "PRON", "ADP", "DET", "NOUN", "PUNCT", "AUX", "PART", "VERB", "PUNCT"]
    assert (first.document, second.document) == ("letters", None)
    assert (first.line, second.line) == (4, 20)
    assert (reading.report.sentences, reading.report.tokens, reading.report.documents) == (2, 11, 1)


def test_words_know_their_place_in_the_text() -> None:
    """Words that spell their multiword token get their own stretch of it, others all of it."""
    first, second = reading_of(SAMPLE)
    assert first.text == "Vámonos al mar, don't wait."
    assert first.starts is not None and first.ends is not None
    stretches = [first.text[start:end] for start, end in zip(first.starts, first.ends, strict=True)]
    assert stretches == ["Vámonos", "Vámonos", "al", "al", "mar", ",", "do", "n't", "wait", "."]
    assert second.text is None


def test_a_text_that_the_words_do_not_spell_is_counted() -> None:
    for text in ("y", "x y", "xx"):
        reading = reading_of(f"# text = {text}\n" + ROW.format(1))
        (found,) = reading
        assert (found.text, found.starts) == (None, None)
        assert reading.report.notes["sentences whose words do not match their text"] == 1


def test_everything_is_written_again() -> None:
    assert written(list(reading_of(SAMPLE))) == SAMPLE


@pytest.mark.parametrize(
    ("label", "labels"),
    [
        ("xpos", ["V", "P", "S", "D", "N", "F", "V", "R", "V", "F"]),
        ("feats:Number", ["Plur", "Plur", "_", "Sing", "Sing", "_", "_", "_", "_", "_"]),
        ("misc:NER", ["_", "_", "_", "_", "B-LOC", "_", "_", "_", "_", "_"]),
        (7, ["root", "obj", "case", "det", "obl", "punct", "aux", "advmod", "conj", "punct"]),
        (None, None),
    ],
)
def test_any_column_or_key_is_the_label_and_goes_back_there(label: object, labels: list[str] | None) -> None:
    found = list(reading_of(SAMPLE, label=label))
    assert found[0].labels == labels
    assert written(found) == SAMPLE


def test_changed_labels_go_where_they_came_from() -> None:
    first, _ = reading_of(SAMPLE, label="misc:NER")
    first.labels = ["B-X", "B-Y", *["_"] * 8]
    lines = written([first]).split("\n")
    assert [line.split("\t")[-1] for line in lines[4:6]] == ["NER=B-X", "Gloss=us|NER=B-Y"]
    assert lines[10].endswith("\tSpaceAfter=No")


def test_other_columns_as_features() -> None:
    first, _ = reading_of(SAMPLE, features=("lemma", "feats:Number"))
    assert first.columns is not None
    assert first.columns[:2] == [("ir", "Plur"), ("nosotros", "Plur")]


def test_sentences_of_other_formats() -> None:
    sentence = Sentence(
        ["Hi", "you", "!"], ["UH", "P", "."], [("a", "b")] * 3, "Well. Hi  you!", [6, 10, 13], [8, 13, 14], document="d"
    )
    report = Report()
    assert written([sentence], features=("lemma",), label="xpos", report=report) == (
        "# newdoc id = d\n# text = Hi you!\n"
        "1\tHi\ta\t_\tUH\t_\t_\t_\t_\t_\n2\tyou\ta\t_\tP\t_\t_\t_\t_\tSpaceAfter=No\n3\t!\ta\t_\t.\t_\t_\t_\t_\t_\n\n"
    )
    assert +report.dropped == {"feature columns that were given no CoNLL-U column": 1}


def test_what_cannot_be_written() -> None:
    with pytest.raises(
        DataError, match=r"^word 1: this form cannot be written in CoNLL-U: expected a text without tabs.*, got ''$"
    ):
        written([Sentence([""], ["X"])])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "stream: the file is empty: expected sentences, got 0 characters"),
        (
            "# text = x\n",
            "stream: no sentence: expected sentences as CoNLL-U, got only comments, comments after the last sentence",
        ),
        (
            "1\tx\t_\n",
            "stream, line 1: wrong number of columns: expected 10 with tabs between them, got 3: '1\\tx\\t_'",
        ),
        (
            ROW.format(1) + "# late\n",
            "stream, line 2: a comment inside a sentence: expected comments before its first word, got '# late'",
        ),
        (
            ROW.format(1).replace("X", ""),
            "stream, line 1: the column upos is empty: expected a value or '_', "
            "got '1\\tx\\t_\\t\\t_\\t_\\t_\\t_\\t_\\t_'",
        ),
        (
            "1.1\tx" + "\t_" * 8 + "\n",
            "stream, line 1: the word is misnumbered: "
            "expected word 1 (or a multiword "
            "token or an empty node that fits there), got '1.1\\tx\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\t_'",
        ),
        ("0.1\tx" + "\t_" * 8 + "\n", "stream, line 1: the sentence has no words: expected lines numbered 1, 2, …"),
        (
            "1-2\tx" + "\t_" * 8 + "\n" + ROW.format(1),
            "stream, line 2: the word is misnumbered: "
            "expected "
            "word 2 (or a multiword token or an empty node that fits there), got the end of the sentence",
        ),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    assert failure(text) == message


@pytest.mark.parametrize(
    "numbers",
    [
        "2",
        "1 1",
        "1 3",
        "01",
        "1 2-1",
        "1-2 1 2-3 2 3",
        "x",
        "1-1-1",
        "1.0 1",
        "1 1.2",
        "1 1.1 1.1",
        "1 2.1",
        "0 1",
        "-1",
    ],
)
def test_numbers_that_do_not_go_on(numbers: str) -> None:
    assert "the word is misnumbered" in failure("".join(map(ROW.format, numbers.split())))


@pytest.mark.parametrize("numbers", ["1 2 3", "1-2 1 2 3", "0.1 1 1.1 1.2 2 2.1", "1-1 1", "1 2-3 2 2.1 3"])
def test_numbers_that_go_on(numbers: str) -> None:
    text = "".join(map(ROW.format, numbers.split())) + "\n"
    assert written(list(reading_of(text))) == text


@pytest.mark.parametrize("column", ["pos", "upos:Number", 12, "NER"])
def test_columns_that_do_not_exist(column: object) -> None:
    assert failure(SAMPLE, label=column) == (
        f"no CoNLL-U column {column!r}: expected one of id, form, lemma, upos, xpos, feats, head, deprel, deps, misc, "
        f"or one key as in feats:Number, misc:NER, got {column!r}"
    )


def test_putting_and_getting_keys() -> None:
    row = ["_"] * 10
    place = find_place("misc:A")
    put(row, place, "1")
    put(row, find_place("misc:B"), "2")
    assert (row[9], get(row, place)) == ("A=1|B=2", "1")
    put(row, place, "_")
    assert (row[9], get(row, place)) == ("B=2", "_")
    put(row, find_place("misc:B"), "_")
    assert row[9] == "_"
