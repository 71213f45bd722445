"""Features of words: the compiled kernel against its twin on any text, and both against the tables' owner."""

import gc
import weakref
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.characters import other_unicode
from postil.errors import DataError, IndexRangeError, ShapeError
from postil.features import Vocabulary
from postil.kernels import WordColumn, WordRules
from postil.kernels import plain_text as plain
from postil.kernels.characters import frozen, frozen_orthography

compiled = pytest.importorskip("postil.kernels.compiled_text", reason="the kernels were not compiled here")

BOTH = pytest.mark.parametrize("module", [plain, compiled], ids=["plain", "compiled"])
KNOWN = [
    *("the", "THE", "Oslo", "paris", "0000", "may-0000", "##", "a##", "00", "οδος", "ΟΔΟΣ", "i̇", "straße", "ǆ", "東京"),
    *("x", "xx", "Xxxx", "xxx", "dd", "l", "ll", "t", "th", "os", "is", "e", "he", "\ud800", "😀", "s", "-", "e\u0301"),
]
PIECES = [*KNOWN, *"ΣΣσςAa1.'’­İıßǅȺ٣½€東5", "\u0301", "\ud800", "\udc00", "𝟘", "𐐀"]
WORDS = st.lists(st.sampled_from(PIECES) | st.characters(), max_size=8).map("".join)


def rules(*columns, strings=KNOWN, mark=None, characters=None):
    table = Vocabulary.build(["", *dict.fromkeys(strings)]).table
    made = tuple(WordColumn(kind, n, None if kind == "caps" else table) for kind, n in columns)
    return WordRules(made, mark, characters or frozen())


COLUMNS = [
    *(("word", 0), ("shape", 0), ("prefix", 1), ("prefix", 2), ("prefix", 10**9), ("suffix", 1), ("suffix", 3)),
    *(("caps", 0), ("vector", 0)),
]
ALL = [rules(*COLUMNS, mark=mark) for mark in (None, "#", "0")]


def both(words, given):
    text, cells = plain.word_cells(words)
    expected, found = plain.word_features(text, cells, given), compiled.word_features(text, cells, given)
    assert expected.dtype == found.dtype == np.int32 and expected.shape == (len(words), len(given.columns))
    assert np.array_equal(expected, found)
    return found


@given(st.lists(WORDS, max_size=12), st.sampled_from(ALL))
def test_twins_agree_on_any_text(words, given):
    both(words, given)


@given(st.lists(WORDS, min_size=1, max_size=6), st.lists(WORDS, max_size=6))
def test_twins_agree_where_the_words_are_known(words, others):
    """All forms of the words are in the tables, so that many ids are not 0."""
    looks = frozen_orthography()
    normal = [looks.normalise(word) for word in words]
    strings = [*words, *normal, *map(looks.shape, words), *(w[:2] for w in normal), *(w[-3:] for w in normal)]
    strings = [string for string in strings if string]
    found = both([*words, *others], rules(("word", 0), ("shape", 0), ("prefix", 2), ("suffix", 3), strings=strings))
    assert (found[: len(words)] > 0).all(axis=1).tolist() == [bool(word) for word in words]


@BOTH
def test_features_by_hand(module):
    given = rules(*COLUMNS[:4], ("suffix", 2), *COLUMNS[7:])
    ids = module.word_features(*plain.word_cells(["THE", "May-1984", "ΟΔΟΣ", "", "İ", "Oslo"]), given).tolist()
    names = [["", *dict.fromkeys(KNOWN)][number] for number in ids[0]]
    assert names[:5] == ["the", "", "t", "th", "he"] and names[6] == "THE" and ids[0][5] == 3
    names = [[["", *dict.fromkeys(KNOWN)][number] for number in row] for row in ids]
    assert names[1][0] == "may-0000" and names[2][0] == "οδος" and names[4][0] == "i̇"
    assert ids[3][:5] == [0] * 5 and ids[3][5:] == [0, 0]
    assert names[5][6] == "Oslo" and names[5][0] == ""


def test_vectors_of_folded_digits():
    given = rules(("vector", 0), strings=["##", "a##", "Σ#", "ς1"], mark="#")
    assert both(["12", "A٣4", "a12", "1", "Σ7", "σ7", "Ας1"], given)[:, 0].tolist() == [1, 2, 2, 0, 3, 0, 0]


def test_long_and_strange_words():
    words = ["x" * 10_000, "İ" * 3_000, "Σ" * 500, "'" * 2_000 + "Σ" + "'" * 2_000, "Ⱥ" * 1_000]
    words += ["1" * 5_000, "\ud800" * 99]
    both(words, ALL[1])
    both([word for word in words for _ in range(3)], ALL[2])
    assert both([], ALL[0]).shape == (0, len(COLUMNS))
    assert both(["a"], rules()).shape == (1, 0)


@pytest.mark.slow
def test_another_unicode():
    tables = other_unicode(GREEK_CAPITAL_LETTER_BETA="-", SNOWMAN="7")
    given = rules(*COLUMNS, strings=["α0Β", "XdΒ", "Α", "α"], characters=tables)
    assert both(["Α☃Β", "☃☃", "αΒας"], given)[0, :2].tolist() == [1, 2]


def test_words_one_after_the_other():
    words = ["a", "", "é", "\ud83d", "\ude00", "😀"]
    text, cells = plain.word_cells(words)
    assert [text[a:b].decode("utf-8", "surrogatepass") for a, b in cells.tolist()] == words
    assert plain.word_cells([])[1].shape == (0, 2)
    with pytest.raises(TypeError, match="a form is a string"):
        plain.word_cells(["a", 1])


def test_the_table_of_the_checksum():
    crc, table = 0xFFFFFFFF, compiled.crc_table()
    for byte in b"postil":
        crc = int(table[(crc ^ byte) & 0xFF]) ^ crc >> 8
    assert crc ^ 0xFFFFFFFF == zlib.crc32(b"postil")


@BOTH
def test_what_is_no_text(module):
    for text, place in ((b"a\xff", 1), (b"ab\xe2\x82", 2), ("AΣ'".encode() + b"\xff", 4)):
        with pytest.raises(DataError, match=f"invalid UTF-8 at byte {place}"):
            module.word_features(text, np.array([[0, len(text)]]), ALL[0])


@BOTH
def test_wrong_cells(module):
    for wrong in ([[0, 4]], [[2, 1]], [[-1, 2]]):
        with pytest.raises(IndexRangeError):
            module.word_features(b"abc", np.array(wrong), ALL[0])
    with pytest.raises(ShapeError):
        module.word_features(b"abc", np.zeros((2, 3), np.int64), ALL[0])


@pytest.mark.parametrize("damage", ["slots", "offsets", "full"])
def test_a_table_that_changed_in_its_file(damage):
    """The kernel reads nothing outside the arrays, whatever they hold."""
    good = Vocabulary.build(["", "a", "b"]).table
    offsets, slots = good.offsets.copy(), good.slots.copy()
    if damage == "slots":
        slots[:] = 1 << 30
    elif damage == "offsets":
        offsets[1:] = 1 << 30
    else:
        slots[:] = 1
    broken = WordRules((WordColumn("word", 0, plain.StringTable(good.text, offsets, slots)),))
    with pytest.raises(IndexRangeError):
        compiled.word_features(b"zab", np.array([[0, 1], [1, 2], [2, 3]]), broken)


def test_rules_that_are_gone_leave_nothing_behind():
    given = rules(*COLUMNS)
    both(["a"], given)
    is_there = weakref.ref(given)
    del given
    gc.collect()
    assert is_there() is None


@given(st.lists(st.text(max_size=3), unique=True, max_size=300), st.sampled_from([2, 5, 128]))
def test_hash_tables_are_those_of_the_twin(words, longest):
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    offsets = np.cumsum([0, *map(len, encoded)]).astype(np.int32)
    text = np.frombuffer(b"".join(encoded), np.uint8)
    found, expected = (kernel.string_slots(text, offsets, 512, longest) for kernel in (compiled, plain))
    assert (found is None) == (expected is None)
    np.testing.assert_array_equal(found, expected)


def test_offsets_outside_the_text_are_an_error():
    with pytest.raises(IndexRangeError):
        compiled.string_slots(np.zeros(3, np.uint8), np.array([0, 4], np.int32), 4, 128)
