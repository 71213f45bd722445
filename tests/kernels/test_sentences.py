"""The compiled sentence splitter against its twin."""

import unicodedata
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.programs import with_program
from oracles.texts import HOSTILE, SENTENCE_PIECES, SPACES, TEXTS
from postil.errors import IndexRangeError, ShapeError
from postil.kernels import ChunkCache, SentencePatterns, TokenPatterns
from postil.kernels import plain_segmentation as plain
from postil.kernels.characters import Characters, frozen
from postil.kernels.plain_segmentation import tokenise_text
from postil.text.splitting.rules import SentenceRules, TokenRules, sentence_patterns, token_patterns

compiled = pytest.importorskip("postil.kernels.compiled_segmentation", reason="the kernels were not compiled here")

BOTH = pytest.mark.parametrize("module", [plain, compiled], ids=["plain", "compiled"])
RULES = {
    **{breaks: sentence_patterns(SentenceRules(line_breaks=breaks)) for breaks in ("blank", "every", "never")},
    "own lists": sentence_patterns(SentenceRules(never_final=("u.s", "ст"), starters=("ｚ", "these", "дом"))),
    "no lists": sentence_patterns(SentenceRules(never_final=(), starters=())),
}
TOKENS = token_patterns(TokenRules())
CACHE = ChunkCache(TOKENS)
PIECES = [
    *(
        "word",
        "Word",
        "ab",
        "х",
        "дом",
        "Дом",
        "1",
        "12",
        "123",
        "1234",
        "٣",
        "²",
        "ǅ",
        "ab²",
        "éa",
        "U.S.",
        "Mr.",
        "J.",
        "ｚ",
        "Ⅷ",
    ),
    *(
        ".",
        "..",
        "...",
        "!",
        "?",
        "…",
        "。",
        "！",
        ".. ",
        "''",
        "”",
        "’",
        ")",
        "]",
        '"',
        "'",
        "(",
        "“",
        "``",
        ",",
        "-",
        "--",
        "%",
        "—",
    ),
    *(":)", "<3", "^_^", ";=", ":;", "=)", "(a)", "•", "Inc.", "The", "these"),
]
MADE = st.lists(st.sampled_from(PIECES + SENTENCE_PIECES) | st.sampled_from(SPACES), max_size=40).map("".join)


def same(texts: list[str], rules: SentencePatterns, tokens: TokenPatterns = TOKENS) -> np.ndarray:
    contents = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, contents)])
    text, documents = b"".join(contents), np.stack([ends[:-1], ends[1:]], axis=1)
    cells, offsets = tokenise_text(text, documents, tokens, CACHE if tokens is TOKENS else ChunkCache(tokens))
    expected = plain.split_sentences(text, documents, cells, offsets, rules)
    found = compiled.split_sentences(text, documents, cells, offsets, rules)
    assert expected.dtype == found.dtype == np.int64 and np.array_equal(expected, found)
    assert not len(cells) or (found[0], found[-1]) == (0, len(cells))
    assert set(offsets.tolist()) <= set(found.tolist())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("rules", RULES)
@settings(deadline=None, max_examples=200)
@given(texts=st.lists(MADE | TEXTS, min_size=1, max_size=4))
def test_sentences_are_the_same(rules, texts):
    same(texts, RULES[rules])


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text(text):
    same([text], RULES["blank"])


def test_line_breaks_are_not_seen_across_documents():
    assert same(["a\x85-", " b"], RULES["blank"]).tolist() == [0, 2, 3]
    assert same(["a\x85- b"], RULES["blank"]).tolist() == [0, 1, 3]
    assert same(["a\n", "\nb", "", " ", "c"], RULES["never"]).tolist() == [0, 1, 2, 3]


def test_the_mark_of_a_list_is_seen_after_many_spaces():
    text = "a\n" + " " * 500 + "(123) b"
    assert len(same([text], RULES["blank"])) == 3
    assert len(same([text.replace("3)", "34)")], RULES["blank"])) == 2


@BOTH
def test_wrong_arguments(module):
    rules, cells = RULES["blank"], np.array([[0, 1], [2, 3]])
    for wrong in ([[0, 1], [2, 4]], [[2, 3], [0, 1]], [[0, 1], [2, 2]], [[-1, 1], [2, 3]]):
        with pytest.raises(IndexRangeError):
            module.split_sentences(b"a b", np.array([[0, 3]]), np.array(wrong), np.array([0, 2]), rules)
    with pytest.raises(IndexRangeError):
        module.split_sentences(b"a b", np.array([[0, 2]]), cells, np.array([0, 2]), rules)
    for offsets in ([0, 1], [0, 1, 2]):
        with pytest.raises(ShapeError):
            module.split_sentences(b"a b", np.array([[0, 3]]), cells, np.array(offsets), rules)


# ------------------------------------------------------------------------------------------------ another Unicode


def changed(like: dict[str, str]) -> Characters:
    """The frozen tables, but that each character has the properties of another one."""
    pages = frozen().pages[frozen().index].copy()
    for character, other in like.items():
        pages[divmod(ord(character), 128)] = pages[divmod(ord(other), 128)]
    known, index = np.unique(pages, axis=0, return_inverse=True)
    return replace(frozen(), version=(1, 2, 3), index=index.ravel().astype(np.uint8), pages=known)


OTHER = changed({"я": "-", "☃": "本", "๓": "x", "ж": "Ж", "♠": "3", "\u2003": "x", "☎": "\u2002", "б": "\u0301"})


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(
    st.lists(
        st.sampled_from([*"я☃๓ж♠\u2003☎б", "a", ".", "! ", " ", "'s", "-", "1", "The ", "#", "@", "J."]), max_size=20
    )
)
def test_both_twins_follow_the_tables_and_not_the_running_python(pieces):
    """As if this Python had another version of Unicode than the tables: both follow the tables, and agree."""
    text = "".join(pieces).encode()
    documents = np.array([[0, len(text)]])
    expected = tokenise_text(text, documents, OTHER_TOKENS, ChunkCache(OTHER_TOKENS))
    from postil.kernels import compiled_segmentation

    found = compiled_segmentation.tokenise_text(text, documents, OTHER_TOKENS, ChunkCache(OTHER_TOKENS))
    assert np.array_equal(expected.cells, found.cells)
    answers = [module.split_sentences(text, documents, *expected, OTHER_RULES) for module in (plain, compiled)]
    assert np.array_equal(*answers)


OTHER_TOKENS = with_program(TokenPatterns(TOKENS.token, TOKENS.depends, OTHER))
OTHER_RULES = with_program(
    SentencePatterns(
        RULES["blank"].sources[0],
        RULES["blank"].sources[1].removesuffix(r"\Z"),
        RULES["blank"].sources[2],
        RULES["blank"].words,
        OTHER,
    )
)


def test_tokens_of_another_unicode():
    assert len(OTHER.disputed) >= 8 and unicodedata.category("я") == "Ll"
    text = "aяb ☃a x\u2003y a☎b".encode()
    documents = np.array([[0, len(text)]])
    cells = tokenise_text(text, documents, OTHER_TOKENS, ChunkCache(OTHER_TOKENS)).cells
    assert [text[a:b].decode() for a, b in cells] == ["a", "я", "b", "☃a", "x\u2003y", "a", "b"]
