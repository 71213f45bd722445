"""One row of the list of checked gradients: what is checked, and what of the package it covers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np

from postil.arrays import Ragged
from postil.gradcheck import Report

Rng: TypeAlias = np.random.Generator
Examine: TypeAlias = Callable[[Rng], Report]


@final
@dataclass(frozen=True, kw_only=True)
class GradientCheck:
    """A check, the equations it stands for, and the requirements it covers (see ``requirements.py``)."""

    name: str
    equations: tuple[str, ...]
    covers: tuple[str, ...]
    examine: Examine

    def run(self) -> Report:
        return self.examine(np.random.default_rng(7))


def row(name: str, equations: str, covers: str | tuple[str, ...], examine: Examine) -> GradientCheck:
    covered = (covers,) if isinstance(covers, str) else covers
    return GradientCheck(name=name, equations=tuple(equations.split()), covers=covered, examine=examine)


def of(thing: Any, mode: str = "") -> str:
    """The name of a requirement: a function, class or method of the package, in one of its modes."""
    name = f"{thing.__module__}.{thing.__qualname__}".removeprefix("postil.")
    return f"{name}: {mode}" if mode else name


def sentences(rng: Rng, D: int) -> Ragged:
    """Sentences of one, three and six words with random vectors."""
    return Ragged(rng.normal(size=(10, D)), np.array([0, 1, 4, 10]))
