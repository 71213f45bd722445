"""Folds of a cross-validation: which sentences are held out together."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError, DataError
from postil.text.document import Sentence

FIFTH = 5


class Fold(NamedTuple):
    """Places of sentences, in ascending order: those to train on and those that are held out."""

    train: Array
    held_out: Array


def folds(sizes: Sequence[int], number: int, rng: np.random.Generator, groups: Sequence[Hashable] = ()) -> list[Fold]:
    """``number`` parts of sentences with ``sizes`` tokens (B,), each of which is held out once.

    Sentences of one group (B,), such as a document, stay together. Groups are dealt out in random order, each to the
    part that has the fewest tokens so far, so the parts are about equally large.
    """
    _, member = np.unique([str(group) for group in groups] or np.arange(len(sizes)), return_inverse=True)
    count = int(member.max(initial=-1)) + 1
    if not 2 <= number <= count:
        what = "groups" if groups else "sentences"
        if count < 2:
            raise DataError("folds", expected=f"needs at least 2 {what}", got=count)
        raise ConfigurationError("folds", expected=f"must be from 2 to {count:,}, the number of {what}", got=number)
    weights = np.bincount(member, np.maximum(np.asarray(sizes), 1), count)
    filled, part_of = np.zeros(number), np.empty(count, np.int64)
    for group in rng.permutation(count):
        part = int(filled.argmin())
        part_of[group], filled[part] = part, filled[part] + weights[group]
    parts = part_of[member]
    return [Fold(np.flatnonzero(parts != part), np.flatnonzero(parts == part)) for part in range(number)]


def held_out_fifth(sizes: Sequence[int], rng: np.random.Generator, what: str) -> Fold:
    """A fifth of the sentences with ``sizes`` tokens (B,) to score on; ``what`` needs it is named in the error."""
    if len(sizes) < FIFTH:
        raise DataError(what, expected=f"needs held-out data, or at least {FIFTH} sentences", got=len(sizes))
    return folds(sizes, FIFTH, rng)[0]


def groups_of(documents: Sequence[int]) -> Sequence[int]:
    """The documents as groups to hold out together; none where everything is one document."""
    return documents if len(set(documents)) > 1 else ()


def documents_of(sentences: Sequence[Sentence]) -> list[int]:
    """The number of each sentence's document (B,); empty where no document is marked."""
    starts = [sentence.document is not None for sentence in sentences]
    return np.cumsum(starts).tolist() if any(starts) else []
