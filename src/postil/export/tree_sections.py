"""A fitted tree classifier as the arrays of an exported one."""

from typing import Any

import numpy as np

from postil.export.flat_file import strings
from postil.export.sections import TREE, about
from postil.models.engine import (
    ACTIVATION_NAMES,
    Sections,
    character_sections,
    integers,
    linear_arrays,
    refused,
    word_sections,
)
from postil.models.parts import Parts
from postil.network.tree import AffineComposition, SumComposition, TensorComposition
from postil.network.tree_lstm import TreeLSTM

SUMS, PAIRS, TENSOR, CELLS = range(4)
"""How the runtime composes phrases."""


def tree_sections(parts: Parts[Any, Any]) -> Sections:
    """The sections of a tree classifier."""
    network, config, labels = parts.network, parts.config, parts.labelling
    if network.dtype != np.float32:
        raise refused(f"numbers of the type {network.dtype}")
    how, composition = _composition(network.composition)
    function = ACTIVATION_NAMES.index("tanh" if how == CELLS else network.composition.activation)
    D, H = network.composition.leaf_dim if network.leaf_map is None else network.leaf_map.W.shape[1], config.hidden
    sections: Sections = {
        "kind": integers(TREE),
        "about": about(parts, "tree classifier"),
        **character_sections(),
        **word_sections(parts.features.words),
        "tree": integers(how, D, H, len(labels.labels), function, config.binarise == "right"),
        "tree/labels": strings(labels.labels),
        "tree/at_root": np.array([label in labels.at_roots for label in labels.labels], np.uint8),
        **composition,
        **_named("tree/output", linear_arrays(network.output)),
    }
    if network.leaf_map is not None:
        sections |= _named("tree/leaves", linear_arrays(network.leaf_map))
    if network.table is not None:
        sections["tree/table"] = network.table.table.value
    if network.vectors is not None:
        sections["vectors"] = np.asarray(network.vectors, np.float32)
    return sections


def _composition(layer: Any) -> tuple[int, Sections]:
    """How phrases are composed, and the arrays for that."""
    match layer:
        case SumComposition():
            return SUMS, {"tree/phrases/W": layer.W.value.T, "tree/phrases/b": np.zeros(layer.hidden, np.float32)}
        case AffineComposition():
            return PAIRS, {"tree/phrases/W": layer.W.value.T, "tree/phrases/b": layer.b.value}
        case TensorComposition():
            by_first = layer.V.value.transpose(0, 2, 1)  # (2 D, 2 D, D): the sums over the last part run in rows
            tensor = np.ascontiguousarray(by_first).reshape(len(by_first), -1)
            phrases = {"tree/phrases/W": layer.W.value.T, "tree/phrases/b": layer.b.value}
            return TENSOR, {**phrases, "tree/tensor": tensor}
        case TreeLSTM():
            words = {"tree/words/W": layer.W.value.T, "tree/words/b": layer.b.value}
            return CELLS, {**words, "tree/phrases/W": layer.U.value.T, "tree/phrases/b": layer.d.value}
    raise refused(f"a composition {type(layer).__name__}")


def _named(prefix: str, arrays: Sections) -> Sections:
    return {f"{prefix}/{name}": array for name, array in arrays.items()}
