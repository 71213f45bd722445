"""Plain text and pre-tokenised lines."""

import io

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
