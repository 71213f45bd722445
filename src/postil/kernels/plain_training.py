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
    def post(self, taggers: "Sequence[TaggerKernel]") -> None:
        """Have the helpers begin with the gradients of these, into which a batch was entered."""

    def join(self, adam: "AdamKernel | None" = None) -> "Joined":
        """Take part in what was posted, and then in a step of Adam; returns when all of it is done."""


class Joined(NamedTuple):
    """What came of a fused step."""

    has_gradients: bool
    is_stepped: bool


@final
class NoCrew:
    """Without compiled kernels there is nothing to help with."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def post(self, taggers: "Sequence[TaggerKernel]") -> None:
        raise NotImplementedError("there are no fused steps without the compiled kernels")

    def join(self, adam: "AdamKernel | None" = None) -> Joined:
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
    """Vectors that come from outside: the columns of D after the tables."""
    input_dropped: int
    hidden_dropped: int
    """Elements are dropped with these probabilities times 2³²."""
    spelling: "SpellingShape | None" = None
    """Of a convolution over the characters of a word, the last columns of D."""


class SpellingShape(NamedTuple):
    """A ``CharacterConvolution``: each of F filters sees some characters, each with a vector of D numbers."""

    F: int
    size: int
    D: int


class TaggerBatch(NamedTuple):
    """One batch of sentences."""

    ids: Sequence[Array]  # (U, features) rows of each feature table
    vectors: tuple[Array, Array] | None  # (V, vector_dim) fixed vectors, (U,) which of them
    places: Array  # (N,)
    offsets: Array  # (B + 1,)
    gold: Array | tuple[Array, Array]  # (N,) labels; or what a teacher expects: labels (N, L), transitions (L, L)
    share: float  # factor of the loss of each sentence
    keys: Sequence[int]  # of the noise: at the inputs, after the first layer, after each convolution
    characters: Array | None = None  # (U, M) 1 + the id of each character, zeros after the last one


class ComingRows(NamedTuple):
    """Where the gradient of a table is going to stand, before it is known how many rows it has."""

    rows: Array  # (R,) and more
    values: Array  # (R, D) and more
    found: Any  # where the compiled step writes R
    shape: tuple[int, ...]  # of the table

    @property
    def dtype(self) -> Any:
        return self.values.dtype


class TaggerGradients(NamedTuple):
    """Gradients in the order of the weights; those of feature tables as (rows, sums)."""

    tables: list[tuple[Array, Array]]
    weights: list[Array]


class TaggerKernel(Protocol):
    """Loss and gradients of a tagger: enter a batch, have a ``Crew`` compute them."""

    def enter(
        self, batch: TaggerBatch, tables: Sequence[Array], weights: Sequence[Array], forbidden: Sequence[Array]
    ) -> bool:
        """Point to all that a step takes. False: only the general path can do this batch.

        ``weights`` are padding, W and b of the first layer; gain, bias, padding, W and b of each convolution; gain and
        bias of the norm; W and b of the output; transitions (L, L), start and end (L,) of the CRF; and table, padding,
        W and b of the convolution over characters. ``forbidden`` tells which of the CRF's three are impossible.
        """

    def coming(self) -> tuple[list[ComingRows], list[Array]]:
        """Where the gradients of tables and weights are going to stand."""

    def loss(self) -> float:
        """The summed loss, once it is computed."""

    def gradients(self) -> TaggerGradients:
        """What was computed; valid until the next batch is entered."""


def tagger_kernel(shape: TaggerShape, product: tuple[int, bool] | None) -> TaggerKernel | None:
    """The fused step for networks of this shape, with a matrix product as ``threads.blas_product`` finds it.

    None: there is none here.
    """
    return None


class AdamUpdate(NamedTuple):
    """One parameter's part of a step of Adam."""

    memory: AdamMemory
    rows: Array | None  # None: all of them
    found: Any  # None, or how many of the rows will be there: see ``ComingRows``
    g: Array
    rate: float
    totals: Totals | None


class AdamKernel(Protocol):
    """Steps of Adam on all parameters: enter the gradients, have a ``Crew`` clip them together and step."""

    def enter(self, updates: Sequence[AdamUpdate], clip: float) -> bool:
        """Point to all that a step takes. False: only the general path can do it."""


def adam_kernel(beta1: float, beta2: float, epsilon: float) -> AdamKernel | None:
    """The fused step; None: there is none here."""
    return None
