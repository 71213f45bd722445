"""Programs of regular expressions against ``re`` itself, expression by expression."""

import re
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.programs import with_program
from postil.kernels import ChunkCache, TokenPatterns
from postil.kernels.characters import LAST, frozen
from tools import patterns
from tools.patterns import Unsupported

# Each is an alternative before `\S`, so that every text is cut somehow.
EXPRESSIONS = [
    *[
        "abc",
        "a|ab|abc",
        "[a-c]+",
        "[^a-c]",
        "a*b",
        "a*?b",
        "a*+b",
        "a+a",
        "a++a",
        "(?:ab)*c",
        "(?:ab)*?c",
        "(?:ab)*+a",
    ],
    *[
        "(?:ab|a)++b",
        "(?>a|ab)c",
        "(?>a*)a|b",
        "(?>a*)a|ab",
        "(?>a*b?)(?:b|ab)|c",
        "(?>(?:a|b)*)b",
        "(?:a*b)++b",
        "(?:a*(?:b|c))*+c",
        "(?>a*?)b|c",
        "(?>(?:a|ab)(?:c|b|))b",
        "(?=a*)ab",
        "(?:a*b|a)*+(?:ab|b)",
        "a{2}",
        "a{2,3}b?",
        "a{,2}?c",
        "(?:ab){2,3}",
        "(?:a|b){2,3}?c",
        "(?:ab){1,2}+",
    ],
    *[
        "(?:ab|a){2}+b",
        "(?:ab|a){2,3}+",
        "a(?=b)",
        "a(?!b)",
        "(?<=a)b",
        "(?<!a)b",
        "(?<=ab)c",
        "(?<!ab|ba)c",
        "(?=(?:ab)+c)a",
    ],
    *[
        "(?!(?:ab)+c)a",
        r"\ba",
        r"b\b",
        r"a\B",
        r"\Aa",
        r"c\Z",
        "^b",
        "b$",
        ".",
        "(?s:.a)",
        r"\w+",
        r"\W",
        r"\d\D",
        r"[\w-]+-",
        r"[^\W\d_]",
    ],
    *[
        "(?i:aBc)",
        "(?i:[a-c]k)",
        "(?i:s|ß|i)",
        "(?i:[^k])k",
        "(?i:K)",
        "(?-i:A)b",
        "(?i:a(?-i:B))",
        "(?i:Σ)",
        "(?i:[α-ω])",
        "(?i:µ)",
    ],
    *["a|b|c|ab|ba|ca", "aa|ab|ac|a|b", "(?:aa|ab|b|c)+", "(?:a|b(?=c)|c(?!a)|ab)*c", "(?:a?b)+", "(?!)", "(?:)a"],
    *[
        "(?:a|ab)(?:c|bcd)",
        "(?:(?:a|b)*?c){2}",
        "a(?:b(?:c|(?=a))|)",
        "(?<=a)(?=b)b",
        "(?<![^a])b",
        r"(?<!\S)b(?!\S)",
        "(?:(?>ab|a)b?)+c",
    ],
]
TEXTS = st.text(st.sampled_from("aaabbbccAB kK-_1٣ſßıİσςΣΩµμ\n.\u0301é"), max_size=14)


@pytest.mark.parametrize("expression", EXPRESSIONS)
@settings(deadline=None, max_examples=40)
@given(text=TEXTS)
def test_matches_are_those_of_re(expression, text):
    compiled = pytest.importorskip("postil.kernels.compiled_segmentation", reason="the kernels were not compiled here")
    found = _patterns(expression)
    text = " ".join(text.split())
    content = text.encode()
    cells = compiled.tokenise_text(content, np.array([[0, len(content)]]), found, ChunkCache(found)).cells
    expected = [m[0] for chunk in text.split() for m in re.finditer(f"(?:{expression}|\\S)", chunk) if m[0]]
    assert [content[first:end].decode() for first, end in cells] == expected


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_all_short_texts(expression):
    """Every text of up to five characters out of four, each a chunk."""
    compiled = pytest.importorskip("postil.kernels.compiled_segmentation", reason="the kernels were not compiled here")
    found = _patterns(expression)
    chunks = ["".join(letters) for size in range(1, 6) for letters in product("abcB", repeat=size)]
    content = " ".join(chunks).encode()
    cells = compiled.tokenise_text(content, np.array([[0, len(content)]]), found, ChunkCache(found)).cells
    expected = [m[0].encode() for chunk in chunks for m in re.finditer(f"(?:{expression}|\\S)", chunk) if m[0]]
    assert [content[first:end] for first, end in cells] == expected


def _patterns(expression, known={}):  # noqa: B006 - compiled once
    if expression not in known:
        known[expression] = with_program(TokenPatterns(f"(?:{expression}|\\S)", r"(?!)"))
    return known[expression]


UNKNOWN = {
    r"(a)\1": "capturing group",
    r"(?:a?)*b": "a repeated part that may be empty",
    r"(?:a|b?)+?": "a repeated part that may be empty",
    r"(?a:\w)": "flag of a group",
    r"(?m:^a)": "flag of a group",
    r"(?:ab){60000}": "a long expression",
    "(?m)^a": "flag of the whole expression",
}


@pytest.mark.parametrize(("expression", "reason"), UNKNOWN.items())
def test_what_is_not_known_is_named(expression, reason):
    with pytest.raises(Unsupported, match=reason):
        patterns.compiled([f"{expression}"], frozen())


@pytest.mark.slow
def test_too_many_kinds_of_characters():
    many = "|".join(chr(code) + "x" for code in range(0x4E00, 0x4E00 + 5000))
    with pytest.raises(Unsupported, match="kinds of characters"):
        patterns.compiled([many], frozen())


@pytest.mark.parametrize(
    "expression", [r"[\w.]", r"(?i:[K-ſ])", r"[^\s\d]", "(?i:[\U00010400-\U00010410])", r"(?i:ǆ)", r"[\W5-9]"]
)
def test_every_character_is_in_the_sets_in_which_re_sees_it(expression):
    """One set, so two classes of characters or one: in it or not."""
    classes = patterns.compiled([expression], frozen()).classes()
    sample = [*range(0x2200), *range(0x10380, 0x10480), *range(0xFB00, 0xFB20), *range(0x3000, LAST, 1009)]
    matches = re.compile(expression).match
    members = [bool(matches(chr(code))) for code in sample]
    inside = {classes[code] for code, member in zip(sample, members, strict=True) if member}
    outside = {classes[code] for code, member in zip(sample, members, strict=True) if not member}
    assert len(inside) == 1 and not inside & outside


def test_where_matches_can_begin():
    program = patterns.compiled([r"\n|…x", r"(?=a)\w|(?<=b)c*d", "(?!)"], frozen())
    assert np.flatnonzero(program.first_bytes(0)).tolist() == [10, 0xE2]
    assert np.flatnonzero(program.first_bytes(1)).tolist() == [ord("a"), ord("c"), ord("d")]
    assert not program.first_bytes(2).any()
    assert program.widths[0] == (1, 2)


def test_a_class_for_every_character():
    program = patterns.compiled(["[a-c]|x"], frozen())
    assert program.classes().shape == (LAST + 1,) and program.classes().min() == 1
