"""The frozen tables against the running Python, where that has the same version of Unicode, and the kernels on them."""

import re
import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.characters import VERSION, other_unicode, same_version
from postil.errors import IndexRangeError
from postil.kernels import plain_text as plain
from postil.kernels.characters import CATEGORIES, FILE, LAST, Characters, Flag, frozen, lower_by_tables, observed
from tools.patterns import case_variants

PROPERTIES = {
    Flag.ALPHA: str.isalpha,
    Flag.DECIMAL: str.isdecimal,
    Flag.DIGIT: str.isdigit,
    Flag.LOWER: str.islower,
    Flag.UPPER: str.isupper,
    Flag.SPACE: str.isspace,
    Flag.WORD: re.compile(r"\w").match,
}


def compiled():
    return pytest.importorskip("postil.kernels.compiled_text", reason="the kernels were not compiled here")


@pytest.fixture(params=["plain", "compiled"])
def module(request):
    return plain if request.param == "plain" else compiled()


@same_version
@pytest.mark.parametrize("flag", PROPERTIES, ids=lambda flag: flag.name)
def test_properties(flag):
    sample = [*range(0x3000), *range(0x3000, LAST + 1, 37)]
    expected = [bool(PROPERTIES[flag](chr(code))) for code in sample]
    assert ((frozen().flags[sample] & flag) != 0).tolist() == expected


@same_version
def test_categories_and_lower_case():
    sample = [*range(0x3000), *range(0x3000, LAST + 1, 41)]
    found = [CATEGORIES[number] for number in frozen().flags[sample] & Flag.CATEGORY]
    assert found == [unicodedata.category(chr(code)) for code in sample]
    assert frozen().lower[sample].tolist() == [ord(chr(code).lower()[0]) for code in sample]


@same_version
def test_the_file_is_what_the_script_writes():
    """On some blocks: the whole file takes seconds."""
    from tools.freeze_characters import extra_cases

    codes = np.concatenate([np.arange(0x800), np.arange(0x1E00, 0x2200), np.arange(0x10400, 0x10500)])
    flags, lower = observed(codes)
    assert np.array_equal(frozen().flags[codes], flags) and np.array_equal(frozen().lower[codes], lower)
    assert frozen().cases.tolist() == [list(row) for row in extra_cases()]
    assert Characters.read(FILE.read_bytes()).version == frozen().version


@pytest.mark.slow
@same_version
def test_every_character_is_that_of_python():
    """All planes that hold characters, and a sample of the others."""
    codes = np.concatenate([np.arange(0x33480), np.arange(0x33480, LAST + 1, 97), np.arange(0xE0000, 0xE0200)])
    flags, lower = observed(codes)
    assert np.array_equal(frozen().flags[codes], flags) and np.array_equal(frozen().lower[codes], lower)


@same_version
def test_characters_that_are_one_where_case_is_ignored():
    sample = [*range(0x600), *range(0x1C80, 0x1C90), *range(0x1E90, 0x2000), 0x212A, 0x212B, *range(0xFB00, 0xFB10)]
    letters = [code for code in sample if chr(code).isalpha()]
    for code in letters[::3]:
        literal = re.compile(re.escape(chr(code)), re.IGNORECASE)
        expected = {other for other in letters if literal.match(chr(other))}
        assert set(case_variants(frozen()).get(code, (code,))) & set(letters) == expected


@pytest.mark.parametrize("flag", list(PROPERTIES), ids=lambda flag: flag.name)
def test_characters_with_a_property(flag):
    assert np.array_equal(frozen().codes_with(flag), np.flatnonzero(frozen().flags & flag))


def test_records():
    for code in (0, ord("A"), ord("İ"), 0xD800, 0x1F600, LAST):
        assert frozen().record(code) == (frozen().flags[code], frozen().lower[code] - code)


def test_spaces_of_bytes():
    spaces = frozen().spaces
    assert [byte for byte in range(128) if spaces[byte] == 1] == [9, 10, 11, 12, 13, 28, 29, 30, 31, 32]
    assert {byte for byte in range(128, 256) if spaces[byte]} == {0xC2, 0xE1, 0xE2, 0xE3}


# ------------------------------------------------------------------------------------------------ another Unicode


@pytest.mark.slow
def test_disputed_characters_get_stand_ins():
    tables = other_unicode(GREEK_SMALL_LETTER_BETA="-", SNOWMAN="本")
    assert tables.disputed.tolist() == [ord("β"), ord("☃")]
    found = tables.stand_ins(tables.flags)
    assert set(found) == {ord("β"), ord("☃")}
    for code, other in found.items():
        assert tables.flags[other] == tables.flags[code] and observed(np.array([other]))[0] == tables.flags[code]
    kinds = tables.flags.copy()
    kinds[ord("β")] = -1
    assert set(tables.stand_ins(kinds)) == {ord("☃")}  # nothing else is like β
    assert not frozen().stand_ins(kinds) or unicodedata.unidata_version != VERSION


@same_version
def test_lower_case_by_the_tables():
    sample = "".join(map(chr, range(LAST + 1)))[:: 17 if sys.flags.dev_mode else 5]
    for piece in (sample[first : first + 999] for first in range(0, len(sample), 999)):
        assert lower_by_tables(piece, frozen()) == piece.lower()


# ------------------------------------------------------------------------------------------------ kernels

WORDS = st.lists(st.sampled_from([*"ΣΣΣσςAa1.'’­İıß\u0301ǅȺ", " ", "\ud800"]) | st.characters(), max_size=12).map(
    "".join
)


@given(WORDS)
def test_lower_case_is_that_of_python(word):
    if unicodedata.unidata_version == VERSION:
        assert lower_by_tables(word, frozen()) == word.lower()


def test_lower_case_of_another_unicode():
    tables = other_unicode(GREEK_CAPITAL_LETTER_BETA="-")  # without case
    assert [lower_by_tables(word, tables) for word in ("ΑΒΑΣ", "ΒΣ", "ΑΒΣ")] == ["αΒας", "Βσ", "αΒσ"]


@given(st.text(max_size=40), st.data())
def test_offsets_in_characters(text, data):
    edges = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=10)))
    places = np.array([len(text[:edge].encode("utf-8", "surrogatepass")) for edge in edges], np.int64)
    for kernel in (plain, compiled()):
        assert kernel.character_offsets(text.encode("utf-8", "surrogatepass"), places).tolist() == edges


def test_wrong_offsets(module):
    for wrong in ([0, 3], [1, 0], [-1]):
        with pytest.raises(IndexRangeError):
            module.character_offsets(b"ab", np.array(wrong))
