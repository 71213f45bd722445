"""Raw text to learn from: a sample of the sentences of files of any size."""

import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from postil.commands.terminal.notices import note
from postil.errors import DataError
from postil.text import read

T = TypeVar("T")
LENGTHS = range(3, 81)
"""Sentences of other lengths are mostly headings and lists."""


def sampled_sentences(
    paths: Sequence[str | Path], tokens: int, *, seed: int, encoding: str | None = None
) -> list[list[str]]:
    """Sentences with at least this number of tokens, drawn at random from all files; the same for the same seed."""
    rng = random.Random(seed)
    # Enough sentences for the tokens even if all are short; a sample of a stream of any length.
    sample = _reservoir(_sentences(paths, encoding), max(1, tokens // LENGTHS.start), rng)
    rng.shuffle(sample)
    one_of: dict[str, str] = {}  # a word is kept once, however often it occurs
    split = ([one_of.setdefault(word, word) for word in sentence.split("\n")] for sentence in sample)
    drawn = first_sentences(split, tokens)
    if not drawn:
        names = ", ".join(map(str, paths))
        raise DataError("no sentences in the raw text", expected=f"{LENGTHS.start} words or more", where=names)
    note(f"{len(drawn):,} sentences of raw text, {sum(map(len, drawn)):,} tokens")
    return drawn


def first_sentences(sentences: Iterable[list[str]], tokens: int) -> list[list[str]]:
    """The first sentences, until they have at least this many tokens together."""
    chosen, total = [], 0
    for sentence in sentences:
        if total >= tokens:
            break
        chosen.append(sentence)
        total += len(sentence)
    return chosen


def _sentences(paths: Sequence[str | Path], encoding: str | None) -> Iterator[str]:
    """Sentences as text, one token per line: a large sample of lists of tokens would need several times the memory."""
    for path in paths:
        for sentence in read(path, format="text", encoding=encoding):
            if len(sentence.tokens) in LENGTHS:
                yield "\n".join(token if isinstance(token, str) else token.text for token in sentence.tokens)


def _reservoir(items: Iterable[T], size: int, rng: random.Random) -> list[T]:
    """A uniform sample of a stream."""
    kept: list[T] = []
    for seen, item in enumerate(items):
        if len(kept) < size:
            kept.append(item)
        elif (place := rng.randrange(seen + 1)) < size:
            kept[place] = item
    return kept
