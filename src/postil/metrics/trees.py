"""Predicted labels of trees against gold labels: at the root, at all nodes, as good or bad, by length of the phrase.

Only nodes that have a gold label count. If labels are degrees from "0" (very bad) to "4" (very good), the *binary*
accuracy leaves out what is neutral in the gold standard ("2") and asks for the side only: the prediction is good if
the model gives more probability to {3, 4} than to {0, 1}. So a model that finds "2" the likeliest still takes a side,
as one that was trained on two classes would have to. With equal mass on both sides it has taken none, and is wrong.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postil.errors import DataError
from postil.metrics.calibration import Calibration, calibrate
from postil.metrics.counts import TokenScores
from postil.metrics.tables import MOST_SHOWN, Cell, Scores, Table, confusion_table, label_table
from postil.text.trees.tree import Tree

BAD, NEUTRAL, GOOD = ("0", "1"), "2", ("3", "4")
LENGTHS = (1, 2, 4, 8, 16, 32)
"""Upper ends of the classes of phrase lengths, in words; longer phrases are one class more."""

NodePrediction = tuple[str, Mapping[str, float]]
"""The likeliest label of a node and the probability of every label."""


class _Answer(NamedTuple):
    """One node with a gold label."""

    gold: str
    label: str
    probability: float
    is_good: bool | None
    """Which side has more probability; None: neither, or labels are not degrees."""
    length: int


@dataclass(frozen=True, slots=True)
class TreeScores(Scores):
    """All scores of a set of predicted trees; ``binary`` scores are None unless labels are degrees from 0 to 4."""

    trees: int
    roots: TokenScores
    nodes: TokenScores
    root_binary: TokenScores | None
    node_binary: TokenScores | None
    lengths: dict[str, TokenScores]
    """Labelled nodes by the number of words below them."""
    root_calibration: Calibration
    node_calibration: Calibration
    root_counts: NDArray[np.int64] = field(repr=False, compare=False)
    """(B, 2): correct and labelled roots of each tree, for `significance`."""
    node_counts: NDArray[np.int64] = field(repr=False, compare=False)
    """(B, 2): correct and labelled nodes of each tree."""

    @property
    def main_score(self) -> float:
        """Accuracy at the roots, or at all nodes if no root has a label; 0 to 1."""
        return self.roots.accuracy if self.roots.tokens else self.nodes.accuracy

    def summary(self) -> str:
        """The scores in one line, in percent."""
        of_roots = f"{100 * self.roots.accuracy:.2f}" if self.roots.tokens else "unknown"
        binary = _percent(self.root_binary)
        sides = f", good or bad {binary:.2f}" if binary is not None else ""
        return f"root accuracy {of_roots}  (all nodes {100 * self.nodes.accuracy:.2f}{sides})"

    details = "Details"
    has_title = True

    def size(self) -> str:
        """How many trees, roots and nodes were scored."""
        return f"{self.trees:,} trees, {self.roots.tokens:,} labelled roots, {self.nodes.tokens:,} nodes"

    def tables(self) -> list[Table]:
        """Labels and confusion of the roots, labels of all nodes, phrases by length."""
        every = [
            label_table(self.roots.by_label(), title="Roots", column="label", most=MOST_SHOWN),
            confusion_table(self.roots, "Confusion at the roots"),
            label_table(self.nodes.by_label(), title="All nodes", column="label", most=MOST_SHOWN),
            length_table(self),
        ]
        return [table for table in every if table.rows] or every[:1]

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, ratios in percent."""
        return {
            "trees": self.trees,
            "root_accuracy": 100 * self.roots.accuracy if self.roots.tokens else None,
            "node_accuracy": 100 * self.nodes.accuracy,
            "root_binary_accuracy": _percent(self.root_binary),
            "node_binary_accuracy": _percent(self.node_binary),
            "roots": self.roots.tokens,
            "nodes": self.nodes.tokens,
            "labels": {label: counts.to_dict() for label, counts in self.roots.by_label().items()},
            "confusion": self.roots.confusion_dict(),
            "node_labels": {label: counts.to_dict() for label, counts in self.nodes.by_label().items()},
            "node_confusion": self.nodes.confusion_dict(),
            "phrase_lengths": {
                name: {"accuracy": 100 * one.accuracy, "nodes": one.tokens} for name, one in self.lengths.items()
            },
            "calibration": {"root": self.root_calibration.to_dict(), "nodes": self.node_calibration.to_dict()},
        }


def score_trees(gold: Sequence[Tree], predicted: Sequence[Sequence[NodePrediction]]) -> TreeScores:
    """Compare each labelled node of the gold trees with its prediction, in post-order."""
    if len(gold) != len(predicted):
        raise DataError("gold and predictions differ in their number of trees", expected=len(gold), got=len(predicted))
    labels = {label for tree in gold for label in tree.labels if label is not None}
    are_degrees = labels <= {*BAD, NEUTRAL, *GOOD} and not labels.isdisjoint(BAD) and not labels.isdisjoint(GOOD)
    nodes = [list(_answers(tree, found, are_degrees)) for tree, found in zip(gold, predicted, strict=True)]
    roots = [[answers[-1]] if tree.root_label is not None else [] for tree, answers in zip(gold, nodes, strict=True)]
    every_node, every_root = [a for answers in nodes for a in answers], [a for answers in roots for a in answers]

    def scored(answers: Iterable[_Answer]) -> TokenScores:
        return TokenScores(Counter((answer.gold, answer.label) for answer in answers))

    def binary(answers: Sequence[_Answer]) -> TokenScores:
        sides = {True: "good", False: "bad", None: "neither"}
        taken = ((answer.gold in GOOD, answer.is_good) for answer in answers if answer.gold != NEUTRAL)
        return TokenScores(Counter((sides[gold], sides[predicted]) for gold, predicted in taken))

    def calibration(answers: Sequence[_Answer]) -> Calibration:
        # Probabilities of float32 may add up to a little more than 1.
        return calibrate([min(a.probability, 1.0) for a in answers], [a.gold == a.label for a in answers])

    def counts(by_tree: Sequence[Sequence[_Answer]]) -> NDArray[np.int64]:
        rows = [(sum(one.gold == one.label for one in answers), len(answers)) for answers in by_tree]
        return np.array(rows, np.int64).reshape(-1, 2)

    lengths: dict[str, TokenScores] = {}  # classes without a node are left out
    for low, high in pairwise((0, *LENGTHS, math.inf)):
        name = f"{low + 1}+" if high == math.inf else f"{high}" if high == low + 1 else f"{low + 1}-{high}"
        if inside := [answer for answer in every_node if low < answer.length <= high]:
            lengths[name] = scored(inside)
    return TreeScores(
        trees=len(gold),
        roots=scored(every_root),
        nodes=scored(every_node),
        root_binary=binary(every_root) if are_degrees else None,
        node_binary=binary(every_node) if are_degrees else None,
        lengths=lengths,
        root_calibration=calibration(every_root),
        node_calibration=calibration(every_node),
        root_counts=counts(roots),
        node_counts=counts(nodes),
    )


def _answers(tree: Tree, found: Sequence[NodePrediction], are_degrees: bool) -> Iterator[_Answer]:
    if len(tree) != len(found):
        raise DataError("one prediction for each node is needed", expected=f"{len(tree)} nodes", got=len(found))
    for gold, (start, end), (label, probabilities) in zip(tree.labels, tree.spans, found, strict=True):
        if gold is not None:
            bad, good = (sum(probabilities.get(label, 0.0) for label in side) for side in (BAD, GOOD))
            side = good > bad if are_degrees and bad != good else None
            yield _Answer(gold, label, float(probabilities[label]), side, end - start)


def _percent(scores: TokenScores | None) -> float | None:
    return None if scores is None or not scores.tokens else 100 * scores.accuracy


def length_table(scores: TreeScores) -> Table:
    """Accuracy by length of the phrase."""
    rows: list[tuple[Cell, ...]] = [(name, 100 * one.accuracy, one.tokens) for name, one in scores.lengths.items()]
    return Table("Phrases by length", ("words", "accuracy", "nodes"), rows)
