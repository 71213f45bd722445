"""Words of CoNLL-U as places among bytes, beside the reader of sentences."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import DataError
from postil.tagging.fast_path import word_cells
from postil.text import read

pytest.importorskip("postil.kernels.compiled_text", reason="the kernels were not compiled here")


def row(identity, form="x"):
    return "\t".join([identity, form, *"_" * 8]) + "\n"


def found(text):
    """The words of each sentence; None where the reader has to look."""
    cells = word_cells(text.encode())
    if cells is None:
        return None
    words = [text.encode()[first:end].decode() for first, end in cells.tokens.tolist()]
    return [words[first:end] for first, end in zip(cells.offsets[:-1], cells.offsets[1:], strict=True)]


def test_words_without_multiword_tokens_and_empty_nodes():
    text = "# a\n" + row("0.1", "e") + row("1-2", "du") + row("1", "de") + row("2", "le") + row("2.1", "e") + "\n\n"
    assert found(text + row("1", "10 000") + row("2", "é")) == [["de", "le"], ["10 000", "é"]]


@pytest.mark.parametrize(
    "text",
    [
        row("2"),
        row("1") + row("1"),
        row("01"),
        row("1-2") + row("1"),
        row("1") + row("1.2"),
        row("0.1"),
        row("１"),
        row("1", ""),
        row("1").replace("_\n", "\n"),
        row("1") + "# inside\n",
        "1\tx\n",
        "# only\n",
        "",
    ],
)
def test_what_is_not_plain_is_left_to_the_reader(text):
    assert found(text) is None


IDENTITIES = ["1", "2", "3", "10", "1-2", "2-3", "3-3", "0.1", "1.1", "1.2", "2.1", "x", "02", "1-", ""]
lines = st.lists(st.sampled_from([*map(row, IDENTITIES), *map(row, IDENTITIES[:3]), "\n", "\n", "# c\n"]), max_size=12)


@given(lines.map("".join))
def test_words_are_those_of_the_reader(text):
    try:
        with read(io.BytesIO(text.encode()), "conllu") as reading:
            expected = [sentence.tokens for sentence in reading]
    except DataError:
        expected = None
    cells = found(text)
    assert cells is None or cells == expected


def test_a_long_sentence():
    text = "".join(row(str(number), f"w{number}") for number in range(1, 12_001))
    assert found(text) == [[f"w{number}" for number in range(1, 12_001)]]
