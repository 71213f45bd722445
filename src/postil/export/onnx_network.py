"""The layers of a tagger's network as a graph of ONNX, from ids of features (B, T, F) to scores (B, T, L).

A batch is padded instead of ragged: what stands after the last word of a sentence is replaced wherever a word looks at
its neighbours, by the padding that the network has learnt.
"""

from collections.abc import Callable
from typing import Any, final

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError
from postil.export.onnx_graph import FORBIDDEN, Graph
from postil.features.spelling import LONGEST
from postil.models.scoring.network import ScoringNetwork
from postil.network import (
    Activation,
    Chain,
    CharacterConvolution,
    Dropout,
    Layer,
    LayerNorm,
    Linear,
    LookupTables,
    Residual,
    SentenceConvolution,
    Window,
    WindowAverage,
)
from postil.network.normalisation import EPSILON

_ACTIVATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "sigmoid": ("Sigmoid", {}),
    "tanh": ("Tanh", {}),
    "softsign": ("Softsign", {}),
    "relu": ("Relu", {}),
    "leaky-relu": ("LeakyRelu", {"alpha": 0.01}),
}


@final
class NetworkGraph:
    """Adds the layers of networks to a graph; ``is_word`` (B, T) says which places are words."""

    def __init__(self, g: Graph, is_word: str) -> None:
        self.g = g
        self.is_word = g.unsqueeze(is_word, 2)  # (B, T, 1)
        self._layers: dict[type[Layer], Callable[[Any, str], str]] = {
            Chain: self._chain,
            Dropout: lambda layer, X: X,
            Linear: self._linear,
            Activation: lambda layer, X: self._activation(layer.function, X),
            LayerNorm: self._norm,
            Window: lambda layer, X: self._windows(X, layer.padding.value, layer.size),
            WindowAverage: self._average,
            Residual: lambda layer, X: self.g.add("Add", X, self.layer(layer.layer, X)),
            SentenceConvolution: self._sentence,
        }

    # -------------------------------------------------------------------------------------------- a whole network

    def hidden(self, network: ScoringNetwork, ids: str) -> str:
        """What the encoder makes of ids (B, T, F): (B, T, H)."""
        return self.layer(network.encoder, self.token_vectors(network, ids))

    def scores(self, network: ScoringNetwork, hidden: str) -> str:
        """(B, T, L) of the output maps."""
        maps = [self._linear(output, hidden) for output in network.outputs]
        if len(maps) == 1:
            return maps[0]
        centre, previous, following = maps
        nothing = np.zeros(len(network.outputs[0].W.value), np.float32)
        before = self.g.slice(self._padded(previous, nothing, 1), 0, -2, 1)
        after = self.g.slice(self._padded(following, nothing, 1), 2, None, 1)
        return self.g.add("Add", self.g.add("Add", centre, before), after)

    def token_vectors(self, network: ScoringNetwork, ids: str) -> str:
        """All features side by side, (B, T, D): tables of words, vectors, characters, then those of the place."""
        tables, parts, first = network.form_tables, [], 0
        if tables is not None:
            parts += self._looked_up(tables, ids, first)
            first += len(tables.sizes)
        characters = None
        if network.characters is not None:
            characters = self._characters(network.characters, self.g.slice(ids, first, first + LONGEST, 2))
            first += LONGEST
        if network.vectors is not None:
            rows = self._column(ids, first)
            parts.append(self.g.cast(self.g.add("Gather", self.g.constant(network.vectors), rows), np.float32))
            first += 1
        if characters is not None:
            parts.append(characters)
        if network.extra_tables is not None:
            parts += self._looked_up(network.extra_tables, ids, first)
        return self.g.add("Concat", *parts, axis=2) if len(parts) > 1 else parts[0]

    def _looked_up(self, tables: LookupTables, ids: str, first: int) -> list[str]:
        """The rows of each feature, whose ids begin at column ``first``."""
        parts = []
        for group, table in zip(tables.groups, tables.tables, strict=True):
            whole = self.g.constant(table.value)
            for f in group:
                rows = self.g.add("Add", self._column(ids, first + f), self.g.constant(int(tables.starts[f]), np.int64))
                parts.append(self.g.add("Gather", whole, rows))
        return parts

    def _column(self, ids: str, place: int) -> str:
        return self.g.add("Gather", ids, self.g.constant(place, np.int64), axis=2)

    # -------------------------------------------------------------------------------------------- layers

    def layer(self, layer: Layer, X: str) -> str:
        """(B, T, D) to (B, T, H)."""
        add = self._layers.get(type(layer))
        if add is None:
            raise ConfigurationError(
                "layer of the network", expected="one that ONNX export knows", got=type(layer).__name__
            )
        return add(layer, X)

    def _chain(self, chain: Chain, X: str) -> str:
        for layer in chain.layers:
            X = self.layer(layer, X)
        return X

    def _linear(self, linear: Linear, X: str) -> str:
        Y = self.g.add("MatMul", X, self.g.constant(linear.W.value.T))
        return Y if linear.b is None else self.g.add("Add", Y, self.g.constant(linear.b.value))

    def _activation(self, function: str, X: str) -> str:
        if function == "hardtanh":
            return self.g.add("Clip", X, self.g.constant(-1.0, np.float32), self.g.constant(1.0, np.float32))
        operation, attributes = _ACTIVATIONS[function]
        return self.g.add(operation, X, **attributes)

    def _norm(self, norm: LayerNorm, X: str) -> str:
        gain, bias = self.g.constant(norm.gain.value), self.g.constant(norm.bias.value)
        return self.g.add("LayerNormalization", X, gain, bias, axis=-1, epsilon=EPSILON)

    def _padded(self, X: str, padding: Array, half: int) -> str:
        """(B, half + T + half, D): ``padding`` (D,) before the sentence, and from its end on."""
        g = self.g
        inside = g.add("Where", self.is_word, X, g.constant(padding))
        if not half:
            return inside
        outside = g.filled(padding.reshape(1, 1, -1), padding.dtype, g.sizes(g.size(X, 0), half, g.size(X, 2)))
        return g.add("Concat", outside, inside, outside, axis=1)

    def _shifted(self, X: str, padding: Array, size: int) -> list[str]:
        """(B, T, D) for each place of a window."""
        padded = self._padded(X, padding, size // 2)
        return [self.g.slice(padded, k, k - size + 1 or None, 1) for k in range(size)]

    def _windows(self, X: str, padding: Array, size: int) -> str:
        """(B, T, size · D)."""
        return self.g.add("Concat", *self._shifted(X, padding, size), axis=2)

    def _average(self, layer: WindowAverage, X: str) -> str:
        """The mean of the words in a window that are there."""
        zero = np.zeros(1, np.float32)
        total = self.g.add("Sum", *self._shifted(X, zero, layer.size))
        counts = self.g.add("Sum", *self._shifted(self.g.cast(self.is_word, np.float32), zero, layer.size))
        return self.g.add("Div", total, self.g.add("Max", counts, self.g.constant(1.0, np.float32)))

    # -------------------------------------------------------------------------------------------- characters

    def _characters(self, layer: CharacterConvolution, ids: str) -> str:
        """The largest value of each filter over the characters (B, T, M) of a word: (B, T, H)."""
        g, half = self.g, layer.window.size // 2
        # Row 0 is what stands around a word. Characters count from 1, so that 0 is "no character".
        table = np.concatenate([layer.window.padding.value[None], layer.table.value])
        nothing = g.filled(0, np.int64, g.sizes(g.size(ids, 0), g.size(ids, 1), half))
        vectors = g.add("Gather", g.constant(table), g.add("Concat", nothing, ids, nothing, axis=2))
        size = layer.window.size
        windows = g.add("Concat", *(g.slice(vectors, k, k - size + 1 or None, 2) for k in range(size)), axis=3)
        is_there = g.add("Greater", g.unsqueeze(ids, 3), g.constant(0, np.int64))
        values = g.add("Where", is_there, self._linear(layer.linear, windows), g.constant(FORBIDDEN, np.float32))
        largest = g.add("Tanh", g.reduce("ReduceMax", values, 2))
        has_some = g.reduce("ReduceMax", g.cast(is_there, np.float32), 2)  # a word without characters is zeros
        return g.add("Mul", largest, has_some)

    # -------------------------------------------------------------------------------------------- whole sentences

    def _sentence(self, layer: SentenceConvolution, X: str) -> str:
        """The convolution over a sentence as each of its words sees it, and the largest values: (B, T, H)."""
        g, (window, linear) = self.g, layer.convolution.layers
        assert isinstance(window, Window) and isinstance(linear, Linear)
        W, distances = linear.W.value, layer.distances.table.value
        of_distances = W.reshape(len(W), layer.size, -1)[:, :, -distances.shape[1] :]  # (H, K, P)
        # Within the sentence the distances are added below; beyond it the padding has a part for them.
        zeros = g.filled(np.zeros((1, 1, distances.shape[1])), W.dtype, g.sizes(g.size(X, 0), g.size(X, 1), 1))
        A = self._linear(linear, self._windows(g.add("Concat", X, zeros, axis=2), window.padding.value, layer.size))
        return self._largest_sums(A, np.einsum("rp,hkp->krh", distances, of_distances), layer.longest)

    def _largest_sums(self, A: str, E: Array, longest: int) -> str:
        """For each target t the largest over p of A (B, T, H) at p and E (K, R, H) at the distances p + k - t.

        A Scan over the targets, and over one more, because it may not run over nothing; for the same reason the largest
        value is also one of a last word that is none.
        """
        g, half, H = self.g, len(E) // 2, E.shape[2]
        T = g.add("Squeeze", g.size(A, 1))
        zero, one = g.constant(0, np.int64), g.constant(1, np.int64)
        places, targets = g.add("Range", zero, T, one), g.add("Range", zero, g.add("Add", T, one), one)
        is_there = self._shifted(g.cast(self.is_word, np.float32), np.zeros(1, np.float32), len(E))  # K of (B, T, 1)
        nobody = g.filled(np.full((1, 1, H), FORBIDDEN), np.float32, g.sizes(g.size(A, 0), 1, 1))

        def step(h: Graph, states: list[str], items: list[str]) -> Any:
            total = A
            for k, share in enumerate(is_there):
                distance = h.add("Sub", h.add("Add", places, h.constant(k - half, np.int64)), items[0])
                clipped = h.add("Clip", distance, h.constant(-longest, np.int64), h.constant(longest, np.int64))
                rows = h.add("Gather", h.constant(E[k]), h.add("Add", clipped, h.constant(longest, np.int64)))
                total = h.add("Add", total, h.add("Mul", rows, share))
            words = h.add("Where", self.is_word, total, h.constant(FORBIDDEN, np.float32))
            largest = h.reduce("ReduceMax", h.add("Concat", words, nobody, axis=1), 1)
            return [], [(largest, np.float32)]

        (by_target,) = g.scan(step, [], [(targets, np.int64)])  # (T + 1, B, H)
        return g.slice(g.add("Transpose", by_target, perm=[1, 0, 2]), 0, -1, 1)
