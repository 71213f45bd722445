"""Compiled kernels of columns against their twins, on random and hostile bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import columns as plain
from postil.errors import IndexRangeError, ShapeError
from postil.kernels import Columns

compiled = pytest.importorskip("postil.kernels.compiled_text", reason="the kernels were not compiled here")

BOTH = pytest.mark.parametrize("module", [plain, compiled], ids=["plain", "compiled"])
LINES = [
    *(b"a\tO", b"bb\tB-X", b"\tO", b"#\tO", b"# c", b"#x", b"#begin document", b"#1 O", b"# a O", b"-DOCSTART-"),
    *(b"-DOCSTART-\tO", b"-DOCSTART-x\tO", b"a\t-DOCSTART-", b"a\t ", b"a\t", b"a\tb\tO", b"", b"", b" ", b"\t \t"),
    *(b"a O", b" a  O ", b"a \t O", b"-DOCSTART- O", b"\xc3\xa9\tO", b"a\xff\tO", b"a\r\tO", b"a\0b\tO"),
]
texts = st.one_of(
    st.lists(st.sampled_from(LINES), max_size=30).map(b"\n".join),
    st.lists(st.sampled_from([*LINES[:2], b"", b"# c", b"-DOCSTART-\tO"]), max_size=30).map(b"\n".join),
    st.lists(st.sampled_from([*LINES[20:23], b"#x O", b""]), max_size=30).map(b"\n".join),
    st.lists(st.sampled_from(b"a#- \t\nO"), max_size=40).map(bytes),
)


@st.composite
def layouts(draw):
    width = draw(st.integers(1, 3))
    token, label = draw(st.integers(0, width - 1)), draw(st.integers(-1, width - 1))
    return Columns(draw(st.booleans()), width, token, label if label != token else -1)


@given(texts, layouts())
def test_cells_are_the_same(text, columns):
    expected, found = plain.token_cells(text, columns), compiled.token_cells(text, columns)
    assert (expected is None) == (found is None)
    for one, other in zip(expected or (), found or (), strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape and np.array_equal(one, other)


@given(texts)
def test_cells_of_lines_are_the_same(text):
    expected, found = plain.line_cells(text), compiled.line_cells(text)
    assert (expected is None) == (found is None)
    for one, other in zip(expected or (), found or (), strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape and np.array_equal(one, other)


@BOTH
def test_cells_of_lines_by_hand(module):
    text = b" a  b\t\n\n \t\nc"
    tokens, offsets, heads = module.line_cells(text)
    assert [text[first:end] for first, end in tokens] == [b"a", b"b", b"c"]
    assert offsets.tolist() == [0, 2, 3] and not len(heads)
    assert module.line_cells(b"a -DOCSTART- b") is None


@BOTH
def test_cells_by_hand(module):
    text = b"# c\n\nAnna\tO\nl\xc3\xa9\t B\n \n-DOCSTART-\n\nx\tO\n"
    tokens, offsets, heads = module.token_cells(text, Columns(True, 2, 0, 1))
    assert [text[first:end].decode() for first, end in tokens] == ["Anna", "lé", "x"]
    assert offsets.tolist() == [0, 2, 3]
    assert [(b, text[head:row]) for b, head, row in heads] == [(0, b"# c\n\n"), (1, b"-DOCSTART-\n\n")]


@BOTH
def test_no_such_column(module):
    for columns in (Columns(True, 2, 2, 1), Columns(True, 2, -1, 1), Columns(True, 2, 0, 2), Columns(True, 0, 0, -1)):
        with pytest.raises(IndexRangeError, match="no such column"):
            module.token_cells(b"a\tO\n", columns)


# ------------------------------------------------------------------------------------------------ words


@st.composite
def cells_in_a_text(draw):
    text = draw(st.binary(max_size=30))
    edges = st.integers(0, len(text))
    pairs = draw(st.lists(st.tuples(edges, edges).map(sorted), max_size=40))
    return text, np.array(pairs, np.int64).reshape(-1, 2)


@BOTH
@pytest.mark.parametrize("cells", [[[-1, 2]], [[2, 1]], [[0, 5]], [[3, 2**62]], [[-(2**63), 2**63 - 1]]])
def test_a_cell_outside_the_text(module, cells):
    with pytest.raises(IndexRangeError):
        module.write_rows(b"abcd", np.array(cells), np.array([0, 1]), np.zeros((1, 1), np.int64), [b"O"])


# ------------------------------------------------------------------------------------------------ rows


@given(cells_in_a_text(), st.lists(st.binary(max_size=5), min_size=1, max_size=4), st.data())
def test_rows_are_the_same(part, names, data):
    text, cells = part
    K = data.draw(st.integers(0, 3))
    count = K * len(cells)
    labels = np.array(data.draw(st.lists(st.integers(0, len(names) - 1), min_size=count, max_size=count)), np.int64)
    labels = labels.reshape(len(cells), K)
    figures = data.draw(st.sampled_from([None, np.linspace(0, 1, count).reshape(len(cells), K)]))
    cuts = data.draw(st.lists(st.integers(0, len(cells)), max_size=5))
    offsets = np.array([0, *sorted(cuts), len(cells)])
    expected, places = plain.write_rows(text, cells, offsets, labels, names, figures)
    found, found_places = compiled.write_rows(text, cells, offsets, labels, names, figures)
    assert found == expected and np.array_equal(found_places, places)


@BOTH
def test_rows_by_hand(module):
    content, places = module.write_rows(
        b"Anna is", np.array([[0, 4], [5, 7], [5, 5]]), np.array([0, 2, 3]), np.array([[1], [0], [0]]), [b"O", b"B-PER"]
    )
    assert content == b"Anna\tB-PER\nis\tO\n\n\tO\n\n" and places.tolist() == [0, 17, 21]


@BOTH
def test_labels_and_offsets_that_do_not_fit(module):
    cells = np.array([[0, 1], [1, 2]])
    with pytest.raises(IndexRangeError):
        module.write_rows(b"ab", cells, np.array([0, 2]), np.array([[0], [1]]), [b"O"])
    with pytest.raises(IndexRangeError):
        module.write_rows(b"ab", cells, np.array([0, 2]), np.array([[0], [-1]]), [b"O"])
    with pytest.raises(ShapeError):
        module.write_rows(b"ab", cells, np.array([0, 2]), np.array([[0]]), [b"O"])
    with pytest.raises(ShapeError):
        module.write_rows(b"ab", cells, np.array([0, 3]), np.array([[0], [0]]), [b"O"])
