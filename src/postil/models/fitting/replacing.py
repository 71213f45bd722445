"""Mentions replaced by others of their class: a network that met a sentence with many names learns less by heart.

Sentences are sequences of tokens of the training data, by their numbers. So a mention that moves takes everything along
that is known of its tokens: their words, extra columns, gazetteer codes and labels.
"""

from collections.abc import Sequence
from typing import NamedTuple, final

import numpy as np

from postil.arrays import Array, offsets_from_lengths
from postil.models.answers.labelling import Labelling


class _Mentions(NamedTuple):
    """Tokens first … end - 1 of the training data, each (M,), in their order, and the classes."""

    first: Array
    end: Array
    classes: Array


@final
class MentionReplacement:
    """Draws sentences in which a share of the mentions are replaced."""

    def __init__(self, gold: Sequence[Array], labelling: Labelling, share: float) -> None:
        """``gold``: labels (T,) of each sentence; one with partial labels, (T, L), neither takes nor gives mentions."""
        self._share = share
        self._offsets = offsets_from_lengths([len(labels) for labels in gold])
        self._mentions = _mentions(gold, self._offsets, labelling)
        self._of_class = [np.flatnonzero(self._mentions.classes == number) for number in range(len(labelling.classes))]

    def draw(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Numbers of tokens (N',) and offsets (B + 1,): each mention is another one with the probability ``share``."""
        mentions = self._mentions
        chosen = np.arange(len(mentions.first))
        replaced = rng.random(len(chosen)) < self._share
        for of_class in self._of_class:
            places = of_class[replaced[of_class]]
            chosen[places] = rng.choice(of_class, len(places)) if len(places) else places
        # Between two mentions, and before the first and after the last of them, tokens stay.
        N = int(self._offsets[-1])
        starts = np.column_stack([np.concatenate([[0], mentions.end]), np.append(mentions.first[chosen], N)]).ravel()
        ends = np.column_stack([np.append(mentions.first, N), np.append(mentions.end[chosen], N)]).ravel()
        tokens = _ranges(starts, ends)
        growth = np.zeros(len(self._offsets) - 1, np.int64)
        lengths = mentions.end - mentions.first
        sentences = np.searchsorted(self._offsets, mentions.first, side="right") - 1
        np.add.at(growth, sentences, lengths[chosen] - lengths)
        return tokens, offsets_from_lengths(np.diff(self._offsets) + growth)


def _mentions(gold: Sequence[Array], offsets: Array, labelling: Labelling) -> _Mentions:
    """All mentions of sentences with one label for every token. A mention ends where no label continues it."""
    begins, classes = labelling.begins_and_classes
    outside = int(np.flatnonzero(classes < 0)[0])
    numbers = np.concatenate([labels if labels.ndim == 1 else np.full(len(labels), outside) for labels in gold])
    in_mention = classes[numbers] >= 0
    first = np.flatnonzero(begins[numbers] & in_mention)
    # It ends before the next token that begins one, is outside, or is the first of a sentence.
    breaks = begins[numbers] | ~in_mention
    breaks[offsets[:-1][np.diff(offsets) > 0]] = True
    edges = np.append(np.flatnonzero(breaks), len(numbers))
    return _Mentions(first, edges[np.searchsorted(edges, first, side="right")], classes[numbers[first]])


def _ranges(starts: Array, ends: Array) -> Array:
    """start, start + 1, … end - 1 of every pair, one after the other."""
    lengths = ends - starts
    shifts = starts - (np.cumsum(lengths) - lengths)
    return np.asarray(np.repeat(shifts, lengths) + np.arange(int(lengths.sum())))
