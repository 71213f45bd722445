"""CoNLL-2005 columns: reading in both spellings, writing, recognition, and one clear line for what is wrong."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import DataError
from postil.text import Frame, Sentence, Span, frames_of, read, write
from postil.text.document import Frames

BIO = """\
Anna\t-\tB-ARG0\tO
gave\tgive\tB-V\tO
him\t-\tB-ARG2\tO
time\t-\tB-ARG1\tB-ARG0
to\t-\tI-ARG1\tO
think\tthink\tI-ARG1\tB-V

No\t-
verbs\t-

"""
BRACKETS = """\
Anna  -      (ARG0*)  *
gave  give   (V*)     *
him   -      (ARG2*)  *
time  -      (ARG1*   (ARG0*)
to    -      *        *
think think  *)       (V*)

No    -
verbs -
"""


def sentences(text, **options):
    return list(read(io.BytesIO(text.encode()), **options))


def written(items):
    stream = io.BytesIO()
    write(items, stream, "conll05")
    return stream.getvalue().decode()


@pytest.mark.parametrize("text", [BIO, BRACKETS], ids=["BIO", "brackets"])
def test_predicates_and_their_roles(text):
    first, second = sentences(text)
    give, think = frames_of(first)
    assert (give.predicate, give.lemma, think.predicate, think.lemma) == (1, "give", 5, "think")
    assert give.roles == [Span("ARG0", 0, 1), Span("V", 1, 2), Span("ARG2", 2, 3), Span("ARG1", 3, 6)]
    assert think.labels == ["O", "O", "O", "B-ARG0", "O", "B-V"]
    assert second.tokens == ["No", "verbs"] and frames_of(second) == ()


@pytest.mark.parametrize("text", [BIO, BRACKETS], ids=["BIO", "brackets"])
def test_the_format_is_recognised_and_written_as_bio(text):
    reading = read(io.BytesIO(text.encode()))
    assert reading.format == "conll05"
    assert written(reading) == BIO


words = st.text("abcé-", min_size=1, max_size=3)
labels = st.sampled_from(["O", "B-ARG0", "I-ARG0", "B-ARGM-TMP", "B-V", "B-C-ARG1"])


@given(st.data(), st.lists(words, min_size=1, max_size=6))
def test_what_is_written_is_read_again(data, tokens):
    places = data.draw(st.lists(st.integers(0, len(tokens) - 1), unique=True).map(sorted))
    frames = [
        Frame(place, data.draw(st.lists(labels, min_size=len(tokens), max_size=len(tokens))), data.draw(words))
        for place in places
    ]
    kept = [frame for frame in frames if frame.lemma != "-"]
    (again,) = sentences(written([Sentence(tokens, rest=Frames(tuple(kept)))]), format="conll05")
    assert again.tokens == tokens and list(frames_of(again)) == kept


def test_other_columns_before_the_predicate_are_skipped():
    (sentence,) = sentences("Ann\tNNP\t-\t(A0*)\nran\tVBD\trun\t(V*)\n", format="conll05", label=2)
    assert frames_of(sentence)[0].labels == ["B-A0", "B-V"]


def test_a_predicate_without_a_lemma_is_written_as_its_word():
    assert written([Sentence(["Go", "!"], rest=Frames((Frame(0, ["B-V", "O"]),)))]) == "Go\tgo\tB-V\n!\t-\tO\n\n"


@pytest.mark.parametrize(
    "text, message",
    [
        ("Anna\nran\n", "line 1: no column of predicates: expected a token, - or its predicate"),
        ("Anna\t-\tO\nran\trun\n", "line 2: wrong number of columns: expected 3 as in the first line of the sentence"),
        ("Anna\t-\nran\trun\n", "line 1: columns of roles: expected a column for each of 1 predicates"),
        ("Anna\t-\tO\nran\t_\tB-V\nfar\tfar\tO\n", r"2 predicates \(_ in line 2, far in line 3\), got 1"),
        ("Anna\t-\tARG0\nran\trun\tB-V\n", "line 1: label of a role: expected O, B-ROLE or I-ROLE, as other words"),
        ("Anna\t-\tARG0\nran\trun\tO\n", "line 1: label of a role: expected O, B-ROLE, I-ROLE or brackets"),
        ("Anna\t-\t(A0*\nran\trun\t(V*)\n", r"line 2: label of a role: .*, got '\(V\*\)'"),
        ("Anna\t-\t(A0*\nran\trun\t*\n", r"line 1: \(A0\* has no end"),
    ],
)
def test_mistakes_are_told_in_one_line(text, message):
    with pytest.raises(DataError, match=message):
        sentences(text, format="conll05")
