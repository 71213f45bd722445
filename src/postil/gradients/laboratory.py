"""A tagger's loss on one sentence as a laboratory: numbers can be changed, gradients checked, single steps taken.

Everything is computed in float64 on a copy of the network that has only those rows of its tables which the sentence
uses. The model itself is never changed.
"""

from collections.abc import Sequence
from typing import final

import numpy as np

from postil import graph
from postil.arrays import Array
from postil.errors import ConfigurationError
from postil.features.inputs import Token
from postil.gradients.fitted import cut_down
from postil.graph import Node, Parameter, ancestors
from postil.models.explaining.flow import loss_graph, sentence_example
from postil.models.scoring.network import Example
from postil.models.tagger import Tagger
from postil.training import OPTIMISERS, Optimiser

CHANGED = "changed"
"""Name of the node that adds what was changed to a computed value."""


@final
class Laboratory:
    """The graph of a sentence's loss that is computed anew after every change.

    Nodes have keys: parameters their paths, computed values "#0", "#1", … in the order of the computation.
    """

    def __init__(self, tagger: Tagger, tokens: Sequence[Token], labels: Sequence[str] | None = None) -> None:
        example = sentence_example(tagger, tokens, labels)
        self._network, inputs = cut_down(tagger.fitted_parts(), example.inputs)
        self._example = Example(inputs=inputs, gold=example.gold)
        self.parameters: dict[str, Parameter] = self._network.parameters()
        for parameter in self.parameters.values():
            parameter.value = parameter.value.astype(np.float64)
        self._added: dict[str, Array] = {}
        self._optimisers: dict[str, Optimiser] = {}

    def graph(self) -> tuple[Node, dict[Node, str]]:
        """The loss, and the keys of all nodes that can be changed."""
        keys: dict[Node, str] = {}
        count = 0

        def visit(node: Node) -> Node:
            nonlocal count
            key = f"#{count}"
            count += 1
            if key in self._added:
                changed = graph.add(node, self._added[key])
                changed.name, changed.offsets = CHANGED, node.offsets
                node = changed
            keys[node] = key
            return node

        loss = loss_graph(self._network, self._example, visit)
        used = set(ancestors(loss))
        keys |= {parameter: name for name, parameter in self.parameters.items() if parameter in used}
        return loss, keys

    def loss(self) -> float:
        return float(self.graph()[0].value)

    def set(self, key: str, row: int, column: int, value: float) -> None:
        """Give one number of a node another value; arrays are seen as rows and columns."""
        array = self._array(key)
        if not (0 <= row < len(array) and 0 <= column < array.shape[1]):
            expected = f"a row below {len(array)} and a column below {array.shape[1]}"
            raise ConfigurationError(f"entry of {key}", expected=expected, got=f"{row}, {column}")
        self._add(key, row, column, value - float(array[row, column]))

    def step(self, optimiser: str, rate: float) -> float:
        """Move every parameter against its gradient; returns the loss afterwards. Optimisers keep their state."""
        if optimiser not in self._optimisers:
            self._optimisers[optimiser] = OPTIMISERS[optimiser](self.parameters)
        loss, _ = self.graph()
        self._optimisers[optimiser].step(graph.gradients(loss, list(self.parameters.values())), rate)
        return self.loss()

    def slopes(self, key: str, rows: int, columns: int, step: float = 1e-5) -> tuple[Array, Array]:
        """Central and one-sided differences of the loss at the first entries of a node, (rows, columns) each (B4)."""
        array = self._array(key)
        rows, columns = min(rows, len(array)), min(columns, array.shape[1])
        base = self.loss()
        central, one_sided = np.zeros((rows, columns)), np.zeros((rows, columns))
        for row in range(rows):
            for column in range(columns):
                above, below = (self._loss_beside(key, row, column, by) for by in (step, -step))
                central[row, column] = (above - below) / (2 * step)
                one_sided[row, column] = (above - base) / step
        return central, one_sided

    def _loss_beside(self, key: str, row: int, column: int, by: float) -> float:
        if key in self.parameters:
            before = self.parameters[key].value.copy()
        else:
            before = self._added.get(key, np.zeros(0)).copy()
        self._add(key, row, column, by)
        try:
            return self.loss()
        finally:
            if key in self.parameters:
                self.parameters[key].value = before
            elif before.size:
                self._added[key] = before
            else:
                del self._added[key]

    def _add(self, key: str, row: int, column: int, by: float) -> None:
        if key in self.parameters:
            value = self.parameters[key].value.copy()
            as_table(value)[row, column] += by
            self.parameters[key].value = value
            return
        added = self._added[key].copy() if key in self._added else np.zeros(self._node(key).shape)
        as_table(added)[row, column] += by
        self._added[key] = added

    def _array(self, key: str) -> Array:
        return as_table(self._node(key).value)

    def _node(self, key: str) -> Node:
        if key in self.parameters:
            return self.parameters[key]
        found = next((node for node, name in self.graph()[1].items() if name == key), None)
        if found is None:
            raise ConfigurationError("node", expected="the key of a node of this graph", got=repr(key[:40]))
        return found


def as_table(array: Array) -> Array:
    """Any array as rows and columns, without a copy: a vector is a column."""
    return array.reshape(len(array), -1) if array.ndim > 1 else array.reshape(-1, 1)
