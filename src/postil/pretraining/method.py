"""The interface of a pretraining method, and how the shards of a block of text become one step.

All shards of a block start from the same parameters and run independently, on any number of threads. Their changes are
added in the order of the shards, so the result does not depend on the threads.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.kernels.plain_pretraining import RowChanges, ShardRoom

Parameters: TypeAlias = dict[str, Array]


class ShardResult(NamedTuple):
    """The changes made by a shard: rows of tables, and whole arrays."""

    rows: Mapping[str, RowChanges]
    arrays: Mapping[str, Array]
    loss: float
    """The sum over ``terms`` pairs or windows."""
    terms: int


class Method(ABC):
    """A way to learn vectors from text: initial parameters, and one pass over a shard."""

    vectors: str
    """The parameter whose rows are the vectors."""
    unit_length: bool
    """Whether the vectors are brought to length 1 in the end."""
    curvature: float
    """Of the cost of one touch along a row, roughly; see ``merging_scales``."""

    @abstractmethod
    def initial(self, V: int, rng: np.random.Generator) -> Parameters:
        """The parameters at the beginning; tables are float32 (rows, P)."""

    @abstractmethod
    def run(
        self, parameters: Parameters, ids: Array, rate: float, rng: np.random.Generator, room: ShardRoom
    ) -> ShardResult:
        """Train on one shard of ``Corpus.ids``; ``parameters`` are not changed."""


def padded_table(values: Array, lanes: int) -> Array:
    """(V, D) -> float32 (V, P): P is the next multiple of ``lanes``, the columns after D are zero."""
    V, D = values.shape
    table = np.zeros((V, -(-D // lanes) * lanes), np.float32)
    table[:, :D] = values
    return table


def merge(
    method: Method,
    parameters: Parameters,
    results: Sequence[ShardResult],
    rate: float,
    each: Callable[..., Iterable[None]] = map,
) -> None:
    """Add the changes of all shards to the parameters, in their order; ``each`` may work on several tables at once."""

    def merge_table(name: str) -> None:
        _merge_rows(parameters[name], [result.rows[name] for result in results], rate * method.curvature)

    list(each(merge_table, results[0].rows))
    for name in results[0].arrays:  # touched by every window: the shards' results are averaged
        parameters[name] += sum(result.arrays[name] for result in results) / np.float32(len(results))


def _merge_rows(table: Array, changes: Sequence[RowChanges], pull: float) -> None:
    rows = np.concatenate([change.rows for change in changes])
    touches = np.concatenate([change.touches for change in changes])
    scales = np.split(merging_scales(rows, touches, pull, len(table)), np.cumsum([len(c.rows) for c in changes])[:-1])
    for change, scale in zip(changes, scales, strict=True):
        kernels.merge_rows(table, change, scale)


def merging_scales(rows: Array, touches: Array, pull: float, V: int) -> Array:
    """By what each shard's change of a row is multiplied, float32 (n,).

    If the cost along a row is a parabola, n touches move it by a share 1 - exp(-a) of the way to its minimum, with
    a = ``pull`` × n. Shards that run one after the other would move it by 1 - exp(-Σ a); the sum of their changes, all
    from the same beginning, is Σ (1 - exp(-a)), too far for frequent words. The ratio of both is the scale: 1 for rare
    words, whose changes add up, and 1/S for words that every one of S shards has settled already.
    """
    a = pull * touches.astype(np.float64)
    moved = -np.expm1(-a)
    totals = np.zeros((2, V))
    np.add.at(totals[0], rows, a)
    np.add.at(totals[1], rows, moved)
    return np.asarray(-np.expm1(-totals[0, rows]) / np.maximum(totals[1, rows], 1e-300), np.float32)
