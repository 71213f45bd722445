"""Fused steps of training: what they take and return. NumPy has none, the flow graph computes the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self, final

from postil.arrays import Array
from postil.kernels.plain_layers import AdamMemory, Totals


class Crew(Protocol):
    """Threads that work on the same fused step; they wait for it until the end of the ``with`` block."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def run(self, kind: int, step: Any) -> int:
        """Have a step done, and return its code."""


@final
class NoCrew:
    """Without compiled kernels there is nothing to help with."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, kind: int, step: Any) -> int:
        raise NotImplementedError("there are no fused steps without the compiled kernels")


def new_crew(threads: int) -> Crew:
    """A crew of so many threads, the caller's own one among them."""
    return NoCrew()


@final
@dataclass(frozen=True, kw_only=True)
class TaggerShape:
    """A tagger that begins with a window of K words, each of D numbers: see ``kernels.h``."""

    K: int
    D: int
    H: int
    L: int
    depth: int
    """Residual convolutions after the first layer; a norm follows them where ``is_normed``."""
    is_normed: bool
    activation: str
    widths: tuple[int, ...]
    """Of the rows of each feature table."""
    features: tuple[int, ...]
    """Features that share each table."""
    vector_dim: int
    """Vectors that come from outside: the last columns of D."""
    input_dropped: int
    hidden_dropped: int
    """Elements are dropped with these probabilities times 2³²."""


class TaggerBatch(NamedTuple):
    """One batch of sentences."""

    ids: Sequence[Array]  # (U, features) rows of each feature table
    vectors: tuple[Array, Array] | None  # (V, vector_dim) fixed vectors, (U,) which of them
    places: Array  # (N,)
    offsets: Array  # (B + 1,)
    gold: Array | tuple[Array, Array]  # (N,) labels; or what a teacher expects: labels (N, L), transitions (L, L)
    share: float  # factor of the loss of each sentence
    keys: Sequence[int]  # of the noise: at the inputs, after the first layer, after each convolution
    characters: Array | None = None  # (U, M) for a layer outside the kernel, whose output is part of ``vectors``


class TaggerGradients(NamedTuple):
    """The summed loss, and gradients in the order of the weights; those of feature tables as (rows, sums)."""

    loss: float
    tables: list[tuple[Array, Array]]
    weights: list[Array]
    words: Array  # (U, D) of all features of each word, fixed vectors last


class TaggerKernel(Protocol):
    """Loss and gradients of a tagger in one call."""

    def __call__(
        self,
        batch: TaggerBatch,
        chain: tuple[Array, Array, Array],
        tables: Sequence[Array],
        weights: Sequence[Array],
        crew: Crew,
    ) -> TaggerGradients | None:
        """The gradients, which stay valid until the next call; None where only the general path can tell.

        ``chain`` is float64: transitions (L, L), start and end (L,), -inf where a step is impossible. ``weights`` are
        padding, W and b of the first layer; gain, bias, padding, W and b of each convolution; gain and bias of the
        norm; W and b of the output; and transitions, start and end of the CRF, of which only the shapes count.
        """


def tagger_kernel(shape: TaggerShape, product: tuple[int, bool] | None) -> TaggerKernel | None:
    """The fused step for networks of this shape, with a matrix product as ``threads.blas_product`` finds it.

    None: there is none here.
    """
    return None


class AdamUpdate(NamedTuple):
    """One parameter's part of a step of Adam."""

    memory: AdamMemory
    rows: Array | None  # None: all of them
    g: Array
    rate: float
    totals: Totals | None


class AdamKernel(Protocol):
    """Steps of Adam on all parameters in one call."""

    def __call__(self, updates: Sequence[AdamUpdate], clip: float, crew: Crew) -> bool:
        """Clip the gradients together and change the parameters. False: nothing is done, the general path must."""


def adam_kernel(beta1: float, beta2: float, epsilon: float) -> AdamKernel | None:
    """The fused step; None: there is none here."""
    return None
