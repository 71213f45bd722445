"""The physical limit: the time that a machine needs for what cannot be left out, measured on the machine itself.

limit = matrix products at the speed of BLAS on the very shapes
      + bytes that must move, at the bandwidth of memory
      + for taggers the recursion over label sequences: forward-backward (training) or Viterbi (tagging) alone

| counts as needed in training | how often |
|---|---|
| the first layer's product, and its two gradients | once per distinct word of a batch and position of the window |
| every other layer's product, and its two gradients | once per token; of a tree: once per leaf, inner node or node |
| rows of the first layer, read forwards and written backwards | K rows of H numbers per token |
| outputs of every layer and their gradients, written and read once | per token or node |
| parameters, their gradients and the two memories of Adam: read and written once | all dense ones, and touched rows |
| forward-backward with the expected transitions | once |

| counts as needed in tagging | how often |
|---|---|
| precomputed rows of the first layer, read | K rows of H numbers per token |
| every other layer's product | once per token |
| Viterbi | once |

Not counted: Python, strings and label names, the making of batches, dropout, activations, normalisation, averaged
parameters, clipping, sorting and adding up of sparse gradients. What is kept in caches moves faster than the bandwidth
of memory, so on small networks a share may come out too well by a few percent, never too badly.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, final

import numpy as np

from postil.arrays import Array, offsets_from_lengths
from postil.kernels import chain_moments, viterbi
from postil.models.networks.network import members_of
from postil.models.networks.tree_network import TreeExample
from postil.models.tagger import Tagger
from postil.threads import one_blas_thread

REPEATS = 5
ADAM = 8 * 4  # bytes a number: value, two memories and gradient, read and written


@final
@dataclass(frozen=True, kw_only=True)
class Limit:
    """Seconds for what is needed, by kind."""

    products: float
    bytes: float
    recursion: float = 0.0

    @property
    def seconds(self) -> float:
        return self.products + self.bytes + self.recursion

    def __add__(self, other: "Limit") -> "Limit":
        parts = ((getattr(self, name), getattr(other, name)) for name in ("products", "bytes", "recursion"))
        return Limit(**dict(zip(("products", "bytes", "recursion"), map(sum, parts), strict=True)))


# ------------------------------------------------------------------------------------------------ the machine


def best_seconds(function: Callable[[], object], repeats: int = REPEATS) -> float:
    """CPU seconds of the best of several runs, on one BLAS thread; short functions are called several times a run."""
    with one_blas_thread():
        began = time.process_time()
        function()
        calls = max(1, min(1000, int(0.002 / max(time.process_time() - began, 1e-7))))
        seconds = []
        for _ in range(repeats):
            began = time.process_time()
            for _ in range(calls):
                function()
            seconds.append((time.process_time() - began) / calls)
    return min(seconds)


@cache
def bandwidth() -> float:
    """Bytes a second that one core reads from memory."""
    array = np.ones(1 << 25, np.float32)
    return array.nbytes / best_seconds(array.max)


@cache
def product_seconds(N: int, D: int, H: int, *, backward: bool = False) -> float:
    """Seconds of X Wᵀ for X (N, D) and W (H, D); with ``backward`` also of its gradients dYᵀ X and dY W."""
    if not N:
        return 0.0
    rng = np.random.default_rng(0)
    X, W, dY = (rng.normal(size=shape).astype(np.float32) for shape in ((N, D), (H, D), (N, H)))
    ways: list[Callable[[], object]] = [lambda: X @ W.T]
    if backward:
        ways += [lambda: dY.T @ X, lambda: dY @ W]
    return sum(map(best_seconds, ways))


def recursion_seconds(kernel: Callable[..., object], lengths: Sequence[int], L: int) -> float:
    """Seconds of ``viterbi`` or ``chain_moments`` on sentences of these lengths and L labels."""
    rng = np.random.default_rng(0)
    offsets = offsets_from_lengths(lengths)
    unary = rng.normal(size=(int(offsets[-1]), L)).astype(np.float32)
    tables = rng.normal(size=(L, L)), rng.normal(size=L), rng.normal(size=L)
    return best_seconds(lambda: kernel(unary, offsets, *tables))


# ------------------------------------------------------------------------------------------------ taggers


def tagging_limit(tagger: Tagger, X: Sequence[Sequence[Any]]) -> Limit:
    """For labels of the sentences X, all words being known."""
    L, lengths = len(tagger.model.codec.labels), list(map(len, X))
    return scoring_limit(tagger, sum(lengths)) + Limit(
        products=0.0, bytes=0.0, recursion=recursion_seconds(viterbi, lengths, L)
    )


def scoring_limit(tagger: Tagger, N: int) -> Limit:
    """For the scores of N tokens whose words are known; those of an ensemble's members are added up."""
    members = members_of(tagger.model.network)
    first, *others = _maps(members[0].parameters())
    seconds = sum(product_seconds(4096, D, H) / 4096 for H, D in others)
    moved = N * 4 * tagger.config.window * first[0] / bandwidth()
    return Limit(products=len(members) * N * seconds, bytes=len(members) * moved)


def tagger_training_limit(network: Any, batches: Iterable[Any]) -> Limit:
    """For one pass over the batches of a tagger that begins with a window, as ``fast``, ``accurate`` and window-* do.

    Batches differ little; those of the middle are measured for all. An ensemble costs as much as its members.
    """
    members = members_of(network)
    network = members[0]
    shards = [shard for batch in batches for shard in batch.shards]
    words = _mean(len(shard.inputs.forms) for shard in shards)
    tokens = _mean(len(shard.inputs.places) for shard in shards)
    middle = min(shards, key=lambda shard: abs(len(shard.inputs.places) - tokens))
    config, (first, *others) = network.config, _maps(network.parameters())
    K, (H, D), L = config.window, first, others[-1][0]
    products = product_seconds(words, D // K, K * H, backward=True)
    products += sum(product_seconds(tokens, D, H, backward=True) for H, D in others)
    moved = 2 * 4 * K * H * tokens + 4 * 4 * tokens * sum(H for H, _ in (first, *others))
    moved += ADAM * (_dense_numbers(network.parameters()) + _touched_numbers(middle.inputs.forms, network))
    recursion = recursion_seconds(chain_moments, np.diff(middle.inputs.offsets).tolist(), L) if network.crf else 0.0
    n = len(members) * len(shards)
    return Limit(products=n * products, bytes=n * moved / bandwidth(), recursion=n * recursion)


def _maps(parameters: Mapping[str, Any]) -> list[tuple[int, int]]:
    """(H, D) of every linear layer of tokens, in order."""
    return [
        parameter.shape
        for name, parameter in parameters.items()
        if name.endswith(".W") and not name.startswith("characters.")
    ]


def _dense_numbers(parameters: Mapping[str, Any]) -> int:
    return sum(parameter.value.size for name, parameter in parameters.items() if "table" not in name)


def _touched_numbers(forms: Array, network: Any) -> int:
    """Numbers in the rows of the feature tables that a batch touches."""
    sizes = network.form_tables.sizes if network.form_tables is not None else []
    return sum(len(np.unique(forms[:, i])) * D for i, (_, D) in enumerate(sizes))


def _mean(numbers: Iterable[int]) -> int:
    values = list(numbers)
    return round(sum(values) / max(len(values), 1))


# ------------------------------------------------------------------------------------------------ trees


def tree_training_limit(network: Any, batches: Iterable[Any]) -> Limit:
    """For one pass over the batches of a tree classifier with labels at every node."""
    examples: list[TreeExample] = [shard for batch in batches for shard in batch.shards]
    leaves = _mean(len(example.batch.words) for example in examples)
    nodes = _mean(len(example.gold) for example in examples)
    products, moved = 0.0, 0.0
    for name, (H, D) in _tree_maps(network):
        rows = {"leaf": leaves, "inner": nodes - leaves, "node": nodes}[name]
        products += product_seconds(rows, D, H, backward=True)
        moved += 4 * 4 * rows * H
    touched = _mean(len(np.unique(example.batch.words)) for example in examples) * network.config.word_dim
    moved += ADAM * (_dense_numbers(network.parameters()) + touched)
    return Limit(products=len(examples) * products, bytes=len(examples) * moved / bandwidth())


def _tree_maps(network: Any) -> list[tuple[str, tuple[int, int]]]:
    """Where each linear map of a tree network is applied, and its (H, D)."""
    shapes = []
    for name, parameter in network.parameters().items():
        if parameter.ndim == 2 and "table" not in name:
            is_leaf = name.startswith("leaves") or (name == "composition.W" and "composition.U" in network.parameters())
            kind = "leaf" if is_leaf else "node" if name.startswith("output") else "inner"
            shapes.append((kind, parameter.shape))
    return shapes
