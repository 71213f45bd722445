"""The fused step of training: what it takes. Only C has one (``compiled_training.py``)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self, final

from postil.arrays import Array
from postil.kernels.plain_layers import AdamMemory, Totals


class TableShape(NamedTuple):
    """Features of words that share one table (rows, width)."""

    rows: int
    width: int
    features: int


class SpellingShape(NamedTuple):
    """A ``CharacterConvolution`` over V characters: each of F filters sees ``size`` of them, with D numbers each."""

    V: int
    F: int
    size: int
    D: int


@final
@dataclass(frozen=True, kw_only=True)
class TaggerShape:
    """A tagger that begins with a window of K words, each of D numbers: see ``kernels.h``."""

    K: int
    D: int
    H: int
    L: int
    depth: int
    """Residual convolutions after the first layer; a norm follows them if ``is_normed``."""
    is_normed: bool
    activation: str
    tables: tuple[TableShape, ...]
    vector_dim: int
    """Width of fixed vectors: the columns of D after the tables."""
    input_dropped: int
    hidden_dropped: int
    """Elements are dropped with these probabilities times 2³²."""
    spelling: SpellingShape | None = None
    """The last columns of D."""


class TaggerBatch(NamedTuple):
    """One batch of sentences."""

    ids: Sequence[Array]  # (U, features) rows of each feature table
    vectors: tuple[Array, Array] | None  # (V, vector_dim) fixed vectors, (U,) which of them
    places: Array  # (N,) the word of each token
    offsets: Array  # (B + 1,)
    gold: Array | tuple[Array, Array]  # (N,) labels; or what a teacher expects: labels (N, L), transitions (L, L)
    share: float  # factor of the loss of each sentence
    keys: Sequence[int]  # of the noise: at the inputs, after the first layer, after each convolution
    characters: Array | None = None  # (U, M) 1 + the id of each character, zeros after the last one


class AdamUpdate(NamedTuple):
    """One parameter's part of a step of Adam."""

    memory: AdamMemory
    totals: Totals | None
    rows: Array | None  # None: all of them
    g: Array
    rate: float


class TaggerKernel(Protocol):
    """Loss and gradients of a tagger: enter a batch, have a ``Crew`` compute them."""

    def enter(self, batch: TaggerBatch, parameters: Sequence[Array]) -> bool:
        """Point to a batch and to the parameters as they are now. False: C cannot read them.

        The parameters, in this order: the feature tables; padding, W and b of the first layer; gain, bias, padding, W
        and b of each convolution; gain and bias of the norm; W and b of the output; transitions (L, L), start and end
        (L,) of the CRF; table, padding, W and b of the convolution over characters.
        """

    def loss(self) -> float:
        """The summed loss times the share of a sentence."""

    def gradients(self) -> tuple[list[tuple[Array, Array]], list[Array]]:
        """Rows and their gradients of each table, gradients of the weights; valid until the next batch is entered."""


class AdamKernel(Protocol):
    """Steps of Adam on all parameters: enter the gradients, have a ``Crew`` clip them together and step."""

    def enter(self, updates: Sequence[AdamUpdate], clip: float) -> bool:
        """Point to all that a step takes. False: C cannot change these arrays."""


class Crew(Protocol):
    """Threads that work on the same step until the end of the ``with`` block."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def begin(self, taggers: Sequence[TaggerKernel]) -> None:
        """Have the helpers begin with the gradients of these, into which a batch was entered."""

    def finish(self) -> bool:
        """Take part in what has begun. False: C cannot tell, because scores are too far apart or labels impossible."""

    def step(self, adam: AdamKernel) -> bool:
        """Take the step of Adam into which gradients were entered. False: their norm is not finite."""


@final
class NoCrew:
    """Without compiled kernels there is nothing to help with."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def begin(self, taggers: Sequence[TaggerKernel]) -> None:
        raise NotImplementedError("there are no fused steps without the compiled kernels")

    def finish(self) -> bool:
        raise NotImplementedError("there are no fused steps without the compiled kernels")

    def step(self, adam: AdamKernel) -> bool:
        raise NotImplementedError("there are no fused steps without the compiled kernels")


def new_crew(threads: int) -> Crew:
    """A crew of that many threads, the caller's own one among them."""
    return NoCrew()


def tagger_kernel(
    shape: TaggerShape, forbidden: Sequence[Array], product: tuple[int, bool] | None
) -> TaggerKernel | None:
    """The fused step for networks of this shape; None: there is none here.

    ``forbidden`` tells which transitions (L, L), first and last labels (L,) are impossible; ``product`` is a matrix
    product as ``threads.blas_product`` finds it.
    """
    return None


def adam_kernel(beta1: float, beta2: float, epsilon: float) -> AdamKernel | None:
    """Adam on all parameters in one call; None: there is none here."""
    return None
