"""Generated sentences of any number, length, vocabulary and number of labels, to measure how cost grows.

Words follow Zipf's law, as those of any language do: the r-th most frequent word has a share of about 1 / (r + 2.7).
The class of an entity depends on its first word, so that there is something to learn.
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from postil.arrays import Array

_SYLLABLES = [consonant + vowel for vowel in "aeiou" for consonant in "bdfgklmnprstvz"]
ENTITY_SHARE = 0.15  # of the words
LONGEST_ENTITY = 3


def made_up_word(number: int) -> str:
    """A distinct word for every number; larger numbers make longer words, as rare words are."""
    syllables = []
    number += len(_SYLLABLES)
    while number:
        number, digit = divmod(number, len(_SYLLABLES))
        syllables.append(_SYLLABLES[digit])
    return "".join(syllables)


@final
@dataclass(frozen=True, kw_only=True)
class ZipfCorpus:
    """Sentences of about ``length`` words out of ``words`` different ones."""

    words: int = 10_000
    length: int = 20
    classes: int = 4
    """Of entities, in BIO; with ``spans`` False the number of labels."""
    spans: bool = True
    varies: bool = True
    """Lengths lie between half and one and a half of ``length``, or are all the same."""

    def sentences(self, count: int, rng: np.random.Generator) -> tuple[list[list[str]], list[list[str]]]:
        """``count`` lists of tokens, and of labels."""
        low, high = (-(-self.length // 2), self.length + self.length // 2) if self.varies else (self.length,) * 2
        lengths = rng.integers(low, high + 1, count)
        ends = np.cumsum(lengths)
        numbers = self._numbers(int(ends[-1]) if count else 0, rng)
        labels = self._spans(numbers, rng) if self.spans else [f"L{i:03}" for i in (numbers % self.classes).tolist()]
        spelt = {number: made_up_word(number) for number in np.unique(numbers).tolist()}
        tokens = [spelt[number] for number in numbers.tolist()]
        if self.spans:
            tokens = [t if label == "O" else t.capitalize() for t, label in zip(tokens, labels, strict=True)]
        cuts = list(zip((ends - lengths).tolist(), ends.tolist(), strict=True))
        return [tokens[a:b] for a, b in cuts], [_begun(labels[a:b]) for a, b in cuts]

    def _numbers(self, N: int, rng: np.random.Generator) -> Array:
        """(N,) which word stands where. Where there are enough places, every word occurs."""
        shares = np.cumsum(1 / (np.arange(self.words) + 2.7))
        numbers: Array = np.searchsorted(shares, rng.random(N) * shares[-1]).astype(np.int64)
        if 2 * self.words <= N:
            numbers[rng.permutation(N)[: self.words]] = np.arange(self.words)
        return numbers

    def _spans(self, numbers: Array, rng: np.random.Generator) -> list[str]:
        """Entities are runs of one to three words; their class is that of the first word."""
        labels = ["O"] * len(numbers)
        starts = np.flatnonzero(rng.random(len(numbers)) < ENTITY_SHARE / 2)
        free = 0  # first position after the last entity
        for start, long in zip(starts.tolist(), rng.integers(1, LONGEST_ENTITY + 1, len(starts)).tolist(), strict=True):
            if start < free:
                continue
            free = min(start + long, len(labels))
            name = f"C{numbers[start] % self.classes}"
            labels[start:free] = ["B-" + name] + ["I-" + name] * (free - start - 1)
        return labels


def _begun(labels: list[str]) -> list[str]:
    """An entity that a cut between sentences left without its first word begins here."""
    return ["B" + labels[0][1:], *labels[1:]] if labels and labels[0].startswith("I") else labels
