"""Where a piecewise function stands: which side of each kink, so that a gradient check can leave out crossings.

Central differences are meaningless when the interval crosses a kink (hardtanh, ReLU, max, hinge). Every such function
notes the branch that each of its elements took. While nobody listens, a note costs next to nothing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from postil.arrays import Array

_listener: ContextVar[list[Array] | None] = ContextVar("listener", default=None)


def note_branches(branches: Array) -> None:
    """Called by a piecewise function with an array that tells, per element, on which piece it is."""
    notes = _listener.get()
    if notes is not None:
        notes.append(np.array(branches))


def listening() -> bool:
    """Whether a note would be heard: for functions whose branches cost something to find out."""
    return _listener.get() is not None


@contextmanager
def recorded_branches() -> Iterator[list[Array]]:
    """The notes of everything computed inside the ``with`` block, in order."""
    notes: list[Array] = []
    token = _listener.set(notes)
    try:
        yield notes
    finally:
        _listener.reset(token)


def same_branches(a: list[Array], b: list[Array]) -> bool:
    """Whether two runs of the same function took the same branches everywhere."""
    return len(a) == len(b) and all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))
