"""Checks of what is learnt from raw text: the cost of a window of words."""

from collections.abc import Iterator

import numpy as np

from postil.gradcheck import Report, examine
from postil.gradients.rows import GradientCheck, Rng, of, row
from postil.pretraining import negative_sampling, window_ranking


def pretraining_checks() -> Iterator[GradientCheck]:
    yield row("skip-gram with negative samples", "E8", of(negative_sampling), _negative_sampling)
    yield row("ranking of windows", "E4 B2 A6", of(window_ranking), _ranking)


def _negative_sampling(rng: Rng) -> Report:
    """Also with a negative that is the true word and counts for nothing."""
    wanted = np.array([1, 0, -1, 0, 0])
    return examine(lambda X, Y: negative_sampling(X, Y, wanted), rng.normal(size=(4, 6)), rng.normal(size=(5, 6)))


def _ranking(rng: Rng) -> Report:
    """Units on all pieces of the hard tanh, windows with and without a cost."""
    shapes = {"windows": (16, 3, 4), "corrupt": (16, 4), "W": (3, 4, 5), "b": (5,), "u": (5,)}
    return examine(window_ranking, *(rng.normal(size=shape) for shape in shapes.values()))
