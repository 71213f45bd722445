"""Sentences as the integer arrays that a network takes: distinct words once, and who stands where."""

from dataclasses import dataclass
from typing import final

from postil.arrays import Array


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Inputs:
    """B sentences with N tokens of U distinct forms.

    ``forms`` (U, F): the features of each distinct form; ``vectors`` (U,): its row among the fixed vectors;
    ``places`` (N,): which form stands at each token; ``extra`` (N, E): features of the token in its sentence.
    """

    forms: Array
    vectors: Array
    places: Array
    extra: Array
    offsets: Array
