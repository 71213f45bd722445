"""Plain rows as bytes: what the reader of sentences reads and the writer of sentences writes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import DataError, PostilError
from postil.models.decoding.codec import LabelCodec
from postil.models.decoding.posteriors import Decoded
from postil.tagging.fast_path import are_writable, read_plain, write_columns
from postil.text import Report
from postil.text.columns.conll import write_conll
from postil.text.formats import FORMATS
from postil.text.lines import Passage
from postil.text.options import ReadOptions, WriteOptions

pytest.importorskip("postil.kernels.compiled_text", reason="the kernels were not compiled here")

NAMES = ["O", "B-X", "é"]
TABS = ["a\tO", "bb\tB-X", "é\tO", "\tO", "#\tO", "#x\tO", "-\tO", "  a\tO", "a b\tO ", "a\u2028b\tO", "-DOCSTART-x\tO"]
SPACES = ["a O", "bb  B-X", " é O ", "a \t O", "- O", "#x O", "#1 O"]
HEADS = [
    "# text",
    "# annotates: X",
    "#annotates=X",
    "#begin document",
    "-DOCSTART-\tO",
    "-DOCSTART-",
    "-DOCSTART- -X- O",
]
ODD = ["a", "a\tO\tO", "a\t", "a\t ", "a\t-DOCSTART-", "# O", "# a O", "#x", "a O O", "#\u00a0annotates: X"]
BLANK = ["", "", "", " ", "\t", " \t "]
OPTIONS = ReadOptions(features=())


def texts(*kinds):
    rows = st.one_of(*(st.sampled_from(kind) for kind in kinds))
    return st.builds(lambda found, last: "\n".join(found) + "\n" * last, st.lists(rows, max_size=40), st.booleans())


def passage(text, format="conll", **fields):
    return Passage(name="x", format=format, first=1, text=text, **fields)


def by_sentences(source, options):
    """Sentences with labels, and the bytes that they become; None where there is a mistake, or nothing."""
    try:
        sentences = list(FORMATS[source.format].read(source, options, Report()))
        for sentence in sentences:
            sentence.labels = [NAMES[len(token) % len(NAMES)] for token in sentence.tokens]
        return sentences, "".join(write_conll(sentences, WriteOptions(), Report())).encode()
    except PostilError:
        return None


def check(source, options=OPTIONS):
    """Whether the passage is plain."""
    rows, expected = read_plain(source, options), by_sentences(source, options)
    if rows is None:
        return False
    assert expected is not None
    sentences, content = expected
    tokens = [rows.text[first:end].decode() for first, end in rows.cells.tolist()]
    assert tokens == [token for sentence in sentences for token in sentence.tokens]
    assert np.diff(rows.offsets).tolist() == list(map(len, sentences))
    labels = np.array([len(token) % len(NAMES) for token in tokens])
    codec = LabelCodec("none", tuple(NAMES))
    tagged = replace(rows, tasks={"": Decoded(codec=codec, offsets=rows.offsets, numbers=labels)})
    assert write_columns(tagged) == content
    return True


OPENINGS = st.sampled_from([None, passage("a\tO\n\n"), passage("a O\n\n"), passage("a\n"), passage("# c\n\nx\ty\tO\n")])


@given(
    st.one_of(texts(TABS, BLANK, HEADS), texts(SPACES, BLANK, HEADS), texts(TABS, SPACES, BLANK, HEADS, ODD)), OPENINGS
)
def test_the_same_sentences_and_the_same_bytes(text, opening):
    check(passage(text, opening=opening))


@given(st.text("a#-\t \n", max_size=40), OPENINGS)
def test_the_same_on_noise(text, opening):
    check(passage(text, opening=opening))


@given(
    texts(["Anna left Oslo .", "-DOCSTART-x", "\ufeff", "a\u00a0b", "a\tb", "\u2028", "#", *BLANK]),
    st.booleans(),
)
def test_lines_of_tokens(text, with_mark):
    assert check(passage(text + "\na -DOCSTART-" * with_mark, "tokens")) == bool(text.strip(" \t\n") and not with_mark)


@given(texts(["a\tx\tO", "b\t\tB-X", "# c", "\tx\tO", "-DOCSTART-\tx\tO", "a\tx", ""]), st.integers(-3, 2))
def test_the_same_for_other_columns(text, token):
    for label in (None, "auto", 0, 1):
        check(passage(text), ReadOptions(features=(), token=token, label=label))


@pytest.mark.parametrize("kind", [TABS, SPACES[:5]])
@given(data=st.data())
def test_ordinary_files_are_plain(kind, data):
    rows = data.draw(st.lists(st.one_of(st.sampled_from(kind), st.sampled_from(BLANK)), min_size=1))
    if any(row.strip() for row in rows):
        assert check(passage("\n".join(rows), opening=passage(f"{kind[0]}\n\n")))


@pytest.mark.parametrize(
    "text", ["# c\nx\tO\n", "-DOCSTART-\n\nx\tO\n\n# c\n# d\n\ny\tO", "\n\n#begin document\nx\tO\n"]
)
def test_comments_and_marks_before_sentences_are_plain(text):
    assert check(passage(text))


@pytest.mark.parametrize(
    "text", ["", "\n \n", "# c\n", "x\tO\n\n# c\n", "x\tO\ny\n", "x,O\n", "x\tO\n-DOCSTART-\tO", "x\t"]
)
def test_what_is_left_to_the_reader_of_sentences(text):
    assert not check(passage(text))


def test_other_options_are_left_to_the_reader_of_sentences():
    text = "x\ty\tO\n"
    assert check(passage(text))
    for options in ({"features": None}, {"features": (1,)}, {"strict": True}, {"comment": "#"}, {"comment": None}):
        assert read_plain(passage(text), replace(OPTIONS, **options)) is None
    assert read_plain(passage(text, mistake=DataError("a")), OPTIONS) is None
    assert read_plain(passage("\ud800\tO\n"), OPTIONS) is None


def test_labels_that_cannot_stand_in_a_column():
    assert are_writable(["O", "B-X", "a b", "é"])
    for name in ("", " ", "a ", " a", "a\tb", "a\nb", "a\rb", "a\0", "a\ud800"):
        assert not are_writable(["O", name])
