"""Lists of tokens on their way to the engine: checked, and in blocks."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from postil.arrays import Array
from postil.errors import DataError
from postil.features.inputs import Token
from postil.models.inputs import checked_sentences
from postil.models.networks.pieces import warn_of_long_sentences
from postil.text.lines import shortened
from postil.threads import one_blas_thread

if TYPE_CHECKING:
    from postil.models.engine import Engine

TOKENS_PER_BLOCK = 4096  # scored at once: large enough for matrix products, small enough for the cache


def check_sentences(X: Sequence[Sequence[Token]]) -> None:
    """Refuse a text instead of its tokens: the commonest mistake, and its characters would be tagged."""
    for i, tokens in enumerate(X):
        if isinstance(tokens, str):
            raise DataError("a sentence", expected="a list of tokens", got=shortened(tokens), where=f"sentence {i}")


def scored(
    engine: "Engine", X: Sequence[Sequence[Token]], tasks: Sequence[str], *, in_order: bool = False
) -> Iterator[tuple[list[int], dict[str, Array], Array]]:
    """Blocks of sentences: their places in X, the scores (N, L) by task, their offsets.

    The sentences of a block have similar lengths, as recursions in NumPy need them, or come ``in_order``.
    """
    check_sentences(X)
    lengths = [len(tokens) for tokens in X]
    warn_of_long_sentences(engine.config, lengths)
    with one_blas_thread():  # for what is done with the scores as well
        for which in blocks(lengths, in_order=in_order):
            try:
                scores, offsets = engine.scores([X[i] for i in which], tasks)
            except (TypeError, AttributeError, LookupError):
                checked_sentences(X)  # names the invalid token; any other failure is a defect
                raise
            yield which, scores, offsets


def blocks(lengths: Sequence[int], size: int = TOKENS_PER_BLOCK, *, in_order: bool = False) -> Iterator[list[int]]:
    """Places of sentences, by length unless ``in_order``, in blocks of at most ``size`` tokens.

    A longer sentence is a block alone.
    """
    block: list[int] = []
    tokens = 0
    places = range(len(lengths))
    for i in places if in_order else sorted(places, key=lengths.__getitem__):
        if block and tokens + lengths[i] > size:
            yield block
            block, tokens = [], 0
        block.append(i)
        tokens += lengths[i]
    if block:
        yield block
