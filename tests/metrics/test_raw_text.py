"""Alignment of words by the rules of the CoNLL-2018 shared task."""

import pytest

from postil.metrics.raw_text import aligned, words_of


def words(text: str) -> list:
    """``du=de+le ami``: tokens with spaces between them, those of several words with their words."""
    places, forms, joined, at = [], [], [], 0
    for token in text.split(" "):
        surface, _, inside = token.partition("=")
        parts = inside.split("+") if inside else [surface]
        for n, part in enumerate(parts):
            places.append((at, at + len(surface)))
            forms.append(part)
            joined.append(n > 0)
        at += len(surface)  # white space does not count
    return words_of(places, forms, joined)


@pytest.mark.parametrize(
    ("gold", "predicted", "pairs"),
    [
        ("le chat", "le chat", [(0, 0), (1, 1)]),
        ("lechat", "le chat", []),
        ("du=de+le chat", "du=de+le chat", [(0, 0), (1, 1), (2, 2)]),
        ("du=de+le chat", "du chat", [(2, 1)]),  # not taken apart
        ("du chat", "du=de+le chat", [(1, 2)]),
        ("du=de+le chat", "du=De+la chat", [(0, 0), (2, 2)]),  # one of the forms, in any case
        ("don't=do+n't go", "do n't go", [(0, 0), (1, 1), (2, 2)]),  # cut, but not as one token
        ("do n't go", "don't=do+n't go", [(0, 0), (1, 1), (2, 2)]),
        ("a bc=b+c d", "ab=a+b c d", [(0, 0), (1, 1), (2, 2), (3, 3)]),  # tokens that cross each other
        ("a bc=x+y d", "ab=a+b c d", [(0, 0), (3, 3)]),
        ("x du=de+le", "xdu=x+de+le", [(0, 0), (1, 1), (2, 2)]),
        ("du=de+le", "d u", []),
    ],
)
def test_alignment(gold: str, predicted: str, pairs: list[tuple[int, int]]) -> None:
    assert aligned(words(gold), words(predicted)) == pairs
    assert aligned(words(predicted), words(gold)) == [(b, a) for a, b in pairs]
