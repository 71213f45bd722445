"""Plain text and pre-tokenised lines."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.examples import examples
from postil.errors import DataError
from postil.text import Segmenter, plain, split_sentences, tokenise
from postil.text.formats import read


def test_plain_text() -> None:
    found = list(read(io.BytesIO(b"Go on. I wait.\n\nNow!\n"), "text"))
    assert [(s.tokens, s.line) for s in found] == [(["Go", "on", "."], 1), (["I", "wait", "."], 1), (["Now", "!"], 3)]
    assert (found[1].text, found[1].starts, found[1].ends) == ("Go on. I wait.", [7, 9, 13], [8, 13, 14])
    assert [s.labels for s in found] == [None] * 3
    (whole, _) = read(io.BytesIO(b"Go on. I wait.\n\nNow!\n"), "text", split=False)
    assert len(whole) == 6


def test_pretokenised_lines() -> None:
    found = list(read(io.BytesIO(b"Go  on .\n\n Now !\n"), "tokens"))
    assert [(s.tokens, s.line) for s in found] == [(["Go", "on", "."], 1), (["Now", "!"], 3)]


PARTS = [
    "Anna",
    "left",
    "Oslo",
    ".",
    "!",
    "?",
    "…",
    '"',
    "'",
    "(",
    ")",
    "”",
    "“",
    "U.S.",
    "Mr.",
    "e.g.",
    "1.",
    "5",
    "a",
    ":-)",
]
PARTS += ["The", "don't", "x.The", 'end."Next', ",", "\u2028", "\f", "\x85", "- ", "Yahoo!"]


@given(
    st.lists(st.tuples(st.sampled_from(PARTS), st.sampled_from(["", " ", " ", "  ", "\u00a0"])), max_size=60),
    st.integers(1, 60),
)
@examples(4)
def test_a_long_line_in_pieces_is_cut_as_a_whole(parts, piece):
    line = "".join(part + space for part, space in parts)
    tokens = tokenise(line)
    whole = [
        (tokens.tokens[first:last], tokens.starts[first:last], tokens.ends[first:last])
        for first, last in split_sentences(tokens)
    ]
    assert list(plain.sentences_of_line(line, piece=piece)) == whole


def test_only_a_piece_of_a_long_line_is_held(monkeypatch):
    longest, cut = [], Segmenter.tokenise
    monkeypatch.setattr(Segmenter, "tokenise", lambda self, text: longest.append(len(text)) or cut(self, text))
    assert len(list(plain.sentences_of_line("Anna left Oslo. " * 5000, piece=1000))) == 5000
    assert max(longest) < 1100 and sum(longest) < 1.1 * 16 * 5000


def test_a_line_of_too_many_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain, "MOST_TOKENS", 5)
    (sentence,) = read(io.BytesIO(b"  a\tb  c d e \n"), "tokens")
    assert len(sentence) == 5
    with pytest.raises(
        DataError, match="line 2: a line of too many tokens: expected a sentence per line, of at most 5"
    ):
        list(read(io.BytesIO(b"a b\n a b c d e f\n"), "tokens"))
