"""Scores of tokens, sentences and labels on raw text, by the rules of the CoNLL-2018 shared task.

Something is right if it begins and ends at the same characters as in the gold standard; a label if its word is right
as well. White space at the edges does not count, because no token has any. The words of multiword tokens, such as
French ``du`` = ``de`` + ``le``, have no place of their own: those of both sides are aligned by their forms.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any, NamedTuple, final

from postil.metrics.counts import Counts
from postil.metrics.tables import Table


class Word(NamedTuple):
    """A word: where its token begins and ends, its form, and whether it is one of several words of the token."""

    start: int
    end: int
    form: str
    is_part: bool


def words_of(places: Sequence[tuple[int, int]], forms: Sequence[str], joined: Sequence[bool]) -> list[Word]:
    """The words at some places, of which some are ``joined`` to the word before them in a multiword token."""
    words: list[Word] = []
    firsts = [n for n, is_part in enumerate(joined) if not is_part]
    for first, last in pairwise([*firsts, len(forms)]):
        start, end = places[first][0], places[last - 1][1]
        words += [Word(start, end, form, last - first > 1) for form in forms[first:last]]
    return words


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RawTextScores:
    """How well texts are cut, and labelled as they were cut."""

    tokens: Counts
    words: Counts
    sentences: Counts
    labels: Counts
    """Words with their labels, or entities with their classes."""
    kind: str = "labels"

    def to_dict(self) -> dict[str, Any]:
        return {name: counts.to_dict() for name, counts in self._rows()}

    def __str__(self) -> str:
        return "; ".join(f"{name} F1 {100 * counts.f1:.2f}" for name, counts in self._rows())

    def table(self) -> Table:
        rows = [(name, *counts.percents, counts.gold) for name, counts in self._rows()]
        return Table("Raw text", ("", "precision", "recall", "F1", "gold"), rows)

    def _rows(self) -> list[tuple[str, Counts]]:
        rows = [("tokens", self.tokens), ("words", self.words), ("sentences", self.sentences), (self.kind, self.labels)]
        return [row for row in rows if row != ("words", self.tokens)]  # the same, without multiword tokens


def aligned(gold: Sequence[Word], predicted: Sequence[Word]) -> list[tuple[int, int]]:
    """Which words are the same: those at the same place; in and around multiword tokens, those of the same form."""
    pairs: list[tuple[int, int]] = []
    g = p = 0
    while g < len(gold) and p < len(predicted):
        ours, theirs = gold[g], predicted[p]
        if ours.is_part or theirs.is_part:
            # A stretch of both that no token crosses at its end; it begins where the multiword token does.
            whole, other = (ours, theirs) if ours.is_part else (theirs, ours)
            if not other.is_part and other.start < whole.start:
                g, p = (g, p + 1) if ours.is_part else (g + 1, p)
            end, first, begin = whole.end, g, p
            while not all(
                at == len(words) or (words[at].start if words[at].is_part else words[at].end - 1) >= end
                for words, at in ((gold, g), (predicted, p))
            ):
                is_gold = g < len(gold) and (p >= len(predicted) or gold[g].start <= predicted[p].start)
                word = gold[g] if is_gold else predicted[p]
                end = max(end, word.end) if word.is_part else end
                g, p = (g + 1, p) if is_gold else (g, p + 1)
            both = ([word.form.lower() for word in words] for words in (gold[first:g], predicted[begin:p]))
            pairs += [(first + i, begin + j) for i, j in _common(*both)]
        elif ours[:2] == theirs[:2]:
            pairs.append((g, p))
            g, p = g + 1, p + 1
        else:
            g, p = (g + 1, p) if ours.start <= theirs.start else (g, p + 1)
    return pairs


def _common(a: Sequence[str], b: Sequence[str]) -> Iterator[tuple[int, int]]:
    """A longest common subsequence."""
    longest = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, j in product(reversed(range(len(a))), reversed(range(len(b)))):
        is_same = a[i] == b[j]
        longest[i][j] = max(longest[i + 1][j], longest[i][j + 1], longest[i + 1][j + 1] + is_same)
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            yield i, j
            i, j = i + 1, j + 1
        elif longest[i][j] == longest[i + 1][j]:
            i += 1
        else:
            j += 1


def agreement(gold: Iterable[object], predicted: Iterable[object]) -> Counts:
    """How many of two collections agree."""
    wanted, answered = Counter(gold), Counter(predicted)
    return Counts((wanted & answered).total(), answered.total(), wanted.total())
