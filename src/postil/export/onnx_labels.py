"""From the label numbers of a network to those of the data, as a graph of ONNX.

A network labels entities in IOBES, whatever the scheme of the data. A label has one spelling in that scheme, but for
IOB1: there the first word of an entity is a B only right after another entity of its class.
"""

from typing import final

import numpy as np

from postil.arrays import Array
from postil.export.onnx_graph import FORBIDDEN, Graph
from postil.export.onnx_lattice import Answers, LatticeGraph
from postil.models.answers.labelling import Labelling


@final
class DataLabels:
    """The labels of the data, C of them, and how the L labels of a network are spelt in them."""

    def __init__(self, labelling: Labelling) -> None:
        self._labelling = labelling
        self.names = labelling.data_labels()
        spellings = labelling.spellings[: len(labelling.labels)]
        self._numbers = np.array([self.names.index(spelling) for spelling in spellings])  # (L,)

    @property
    def _merged(self) -> Array:
        """(L, C) 1 where a label is spelt like this."""
        return np.asarray(self._numbers[:, None] == np.arange(len(self.names)), np.float64)

    def answers(self, g: Graph, found: Answers, lattice: LatticeGraph) -> tuple[str, str]:
        """Label numbers (B, T) and marginals (B, T, C) float64 of the data's labels."""
        marginals = g.add("MatMul", found.marginals, g.constant(self._merged))
        if self._labelling.scheme != "iob1":
            return g.add("Gather", g.constant(self._numbers, np.int64), found.labels), marginals
        return self._iob1_numbers(g, found.labels), self._iob1_marginals(g, found, lattice, marginals)

    # -------------------------------------------------------------------------------------------- IOB1

    @property
    def _insides(self) -> Array:
        """(L,) the number of the inside label of the same class; that of O is its own."""
        _, classes = self._labelling.begins_and_classes
        bare = self._labelling.spellings[len(self._numbers) :]
        spelt = np.array([self.names.index(name) for name in bare])
        return np.asarray(np.where(classes < 0, self._numbers, spelt))

    def _iob1_numbers(self, g: Graph, labels: str) -> str:
        begins, classes = self._labelling.begins_and_classes
        kinds = g.add("Gather", g.constant(classes, np.int64), labels)
        nothing = g.filled([[-1]], np.int64, g.sizes(g.size(labels, 0), 1))
        before = g.slice(g.add("Concat", nothing, kinds, axis=1), 0, -1, 1)
        is_first = g.add("Gather", g.constant(begins), labels)
        is_bare = g.add("And", is_first, g.add("Not", g.add("Equal", kinds, before)))
        marked, bare = (g.add("Gather", g.constant(x, np.int64), labels) for x in (self._numbers, self._insides))
        return g.add("Where", is_bare, bare, marked)

    def _iob1_marginals(self, g: Graph, found: Answers, lattice: LatticeGraph, merged: str) -> str:
        """Beginnings that follow no entity of their class are moved from B to I."""
        begins, classes = self._labelling.begins_and_classes
        is_marked = np.zeros((lattice.L + 1, lattice.L + 1), bool)
        is_marked[:-1, :-1] = (classes[:, None] == classes) & begins & (classes >= 0)
        steps = g.constant(np.where(is_marked, lattice.transitions, FORBIDDEN))
        before, row, after = g.slice(found.beginnings, 0, -1, 1), found.rows, found.endings
        row, after = (g.slice(value, 1, None, 1) for value in (row, after))
        pairs = g.add("Add", g.unsqueeze(before, 3), steps)  # (B, T, S, S)
        rest = g.unsqueeze(g.add("Sub", g.add("Add", row, after), g.unsqueeze(g.unsqueeze(found.log_z, 1), 2)), 2)
        marked = g.reduce("ReduceSum", g.add("Exp", g.add("Add", pairs, rest)), 2)  # (B, T, S)
        marked = g.slice(marked, 0, lattice.L, 2)
        begin = np.where(begins[:, None], self._merged, 0.0)
        inside = np.where(begins[:, None], np.eye(len(self.names))[self._insides], 0.0)
        beginnings = g.add("Sub", found.marginals, marked)  # of the labels that begin, those that are bare
        moved = g.add("MatMul", beginnings, g.constant(inside - begin))
        return g.add("Max", g.add("Add", merged, moved), g.constant(0.0, np.float64))
