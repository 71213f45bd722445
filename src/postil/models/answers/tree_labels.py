"""The labels of trees: which there are, which of them roots have, and how much each weighs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from postil.arrays import Array
from postil.errors import DataError
from postil.models.answers.names import checked_names
from postil.text.trees.tree import Tree

NO_LABEL = -1


@final
@dataclass(frozen=True, eq=False)
class TreeLabels:
    """``labels`` of all nodes that are learnt from, in their order; ``at_roots`` are those that a root can get."""

    labels: list[str]
    at_roots: list[str]

    @classmethod
    def of(cls, trees: Sequence[Tree], loss: str) -> "TreeLabels":
        """The labels of training trees; with the loss "root" only those of roots."""
        at_roots = {tree.root_label for tree in trees} - {None}
        learnt = at_roots if loss == "root" else {label for tree in trees for label in tree.labels} - {None}
        if not learnt:
            raise DataError("no labels to learn from", expected="a label at every root, or at phrases", got="none")
        labels = checked_names(sorted(label for label in learnt if label is not None), "labels of trees")
        return cls(labels, sorted(label for label in at_roots if label is not None) or labels)

    def numbers(self, trees: Sequence[Sequence[str | None]]) -> list[Array]:
        """Label sequences as numbers; NO_LABEL where there is none, or one that training has not seen."""
        number = {label: i for i, label in enumerate(self.labels)}
        return [
            np.array([number.get(label, NO_LABEL) if label is not None else NO_LABEL for label in labels], np.int64)
            for labels in trees
        ]

    @property
    def not_at_roots(self) -> Array:
        """Numbers of the labels that no root had in training: no root will get them."""
        known = set(self.at_roots)
        return np.array([i for i, label in enumerate(self.labels) if label not in known], np.int64)

    def as_json(self) -> dict[str, Any]:
        return {"labels": self.labels, "at_roots": self.at_roots}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "TreeLabels":
        """What ``as_json`` has written into a model file, checked."""
        labels, at_roots = (checked_names(content[part], f"{part} of trees") for part in ("labels", "at_roots"))
        if not at_roots or not set(at_roots) <= set(labels):
            raise DataError("labels of roots", expected="some of the labels", got=repr(at_roots)[:80])
        return cls(labels, at_roots)


def balanced_weights(gold: Array, L: int) -> Array:
    """(L,) weights with which all classes that occur weigh the same in total, 1 on average."""
    counts = np.bincount(gold, minlength=L)
    return len(gold) / (np.maximum(counts, 1) * max(int((counts > 0).sum()), 1))


def named_weights(weights: Mapping[str, float], labels: Sequence[str]) -> Array:
    """(L,) weights by name, 1 for the others; a name that is no label is a mistake."""
    unknown = sorted(set(weights) - set(labels))
    if unknown:
        raise DataError("class_weights of an unknown label", expected=f"one of {', '.join(labels)}", got=unknown[0])
    return np.array([weights.get(label, 1.0) for label in labels])
