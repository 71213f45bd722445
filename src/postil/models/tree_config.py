"""What a tree classifier is made of: all its settings, and the row of each composition."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

from postil.errors import ConfigurationError
from postil.models.settings import WIDEST, CommonParameters, check_fields, check_known, one_of, setting
from postil.network import ACTIVATIONS, INITIALISERS
from postil.network.tree_compositions import COMPOSITIONS
from postil.reading import parsed_json
from postil.text.trees.binarisation import Direction
from postil.text.trees.tree import SHAPES
from postil.training import OPTIMISERS, SCHEDULES

LOSSES = ("all", "root")
UNWEIGHTED, BALANCED = "none", "balanced"


@dataclass(frozen=True, kw_only=True)
class TreeConfig:
    """All settings of a tree classifier."""

    composition: str = setting(
        "tree-lstm", "How the vectors of two phrases become that of the phrase they form.", choices=COMPOSITIONS
    )
    # Trees
    binarise: str = setting(
        "left", "From which side the children of a node with more than two are joined.", choices=get_args(Direction)
    )
    tree: str = setting("balanced", "The shape of the tree that plain tokens get.", choices=SHAPES)
    # Words
    word_dim: int = setting(50, "Width of learnt word vectors; pre-trained ones bring their own.", low=1, high=WIDEST)
    min_count: int = setting(1, "Words seen less often in training are unknown words.", low=1)
    vector_scale: float = setting(0.3, "Pre-trained vectors are brought to this root mean square.", positive=True)
    learn_vectors: bool = setting(True, "Whether pre-trained vectors are changed by learning.")
    # Network
    hidden: int = setting(50, "Width of the vectors of phrases.", low=1, high=WIDEST)
    activation: str = setting(
        "tanh", "Non-linearity of all compositions but the Tree-LSTM, whose activations are fixed.", choices=ACTIVATIONS
    )
    initialiser: str = setting("xavier", "Distribution of the initial weights.", choices=INITIALISERS)
    # Noise
    input_dropout: float = setting(
        0.0, "Share of the word vectors' entries that are set to 0 in training.", low=0, high=0.999
    )
    hidden_dropout: float = setting(
        0.0,
        "Share of the entries of the nodes' vectors that are set to 0 in training, before labels are chosen.",
        low=0,
        high=0.999,
    )
    word_dropout: float = setting(
        0.1, "Words are replaced by the unknown word with probability word_dropout / (word_dropout + count).", low=0
    )
    # Objective
    loss: str = setting("all", "Whether the labels of all nodes are learnt, or only those of roots.", choices=LOSSES)
    class_weights: str | Mapping[str, float] = setting(
        UNWEIGHTED,
        "none; balanced: classes weigh the same in total; or JSON {label: weight} (a mapping in Python), else 1.",
        kind="str or mapping of str to float",
    )
    l2: float = setting(0.0, "Weight of the L2 penalty on the parameters.", low=0)
    # Learning
    optimiser: str = setting("adam", "How parameters follow their gradients.", choices=OPTIMISERS)
    rate: float = setting(0.002, "Learning rate at its height.", positive=True)
    word_rate: float = setting(
        1.0, "Word vectors learn at this multiple of the rate: most words are rare and have few steps.", positive=True
    )
    schedule: str = setting(
        "linear", "How the rate changes: linear (up, then down), constant, or inverse-decay (B8).", choices=SCHEDULES
    )
    warm_up: float = setting(0.05, "Schedule linear: share of the training in which the rate rises.", low=0, high=1)
    final_share: float = setting(0.05, "Schedule linear: what is left of the rate at the end.", low=0, high=1)
    tau: float = setting(
        0.2,
        "Schedule inverse-decay: share of the training with the full rate; after it the rate falls like 1/t.",
        low=0,
        high=1,
        positive=True,
    )
    epochs: int = setting(10, "Passes over the training data.", low=1)
    patience: int | None = setting(
        None, "Stop after this number of epochs without a better score on dev. None: never.", low=1
    )
    batch_trees: int | None = setting(
        None, "Trees in a step of training. None: 8 to 32, more for more data.", low=1, adapts=True
    )
    shards: int = setting(
        1, "Parts into which a batch is cut for the cores; results depend on it, not on the number of threads.", low=1
    )
    clip: float = setting(5.0, "Gradients whose norm is larger are scaled down to it.", positive=True)

    def __post_init__(self) -> None:
        if isinstance(self.class_weights, Mapping):  # a model file stores the text
            object.__setattr__(self, "class_weights", json.dumps(self.class_weights, ensure_ascii=False))
        check_fields(self)
        if self.class_weights not in (UNWEIGHTED, BALANCED):
            explicit_weights(self)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TreeParameters(CommonParameters, TreeConfig):
    """The parameters of a TreeClassifier."""


# Chosen by single runs on the development part of a sentiment treebank with 50-d vectors. Products of units overshoot
# at the rates of the others: at 0.003 the tensor composition got only a third of the roots right.
_PLAIN = {"word_rate": 6.0, "hidden_dropout": 0.2, "vector_scale": 0.15, "epochs": 6}
_NOISY = {"word_rate": 6.0, "input_dropout": 0.2}
DEFAULTS: dict[str, dict[str, Any]] = {
    "sum": {**_PLAIN, "rate": 0.005},
    "concatenation": {**_NOISY, "rate": 0.004, "hidden_dropout": 0.3, "epochs": 8},
    "tensor": {**_PLAIN, "hidden": 30, "word_dim": 30, "rate": 0.0005, "word_rate": 12.0},
    "tree-lstm": {**_NOISY, "hidden": 100, "rate": 0.005, "hidden_dropout": 0.5, "epochs": 6},
}


def configured_tree(composition: str, settings: Mapping[str, Any]) -> TreeConfig:
    """The composition's row with the user's settings on top."""
    one_of("composition", composition, COMPOSITIONS)
    check_known(TreeConfig, settings)
    return TreeConfig(**{"composition": composition, **DEFAULTS[composition], **settings})


def adapted_tree(config: TreeConfig, trees: int) -> TreeConfig:
    """The config with its open field resolved for this number of training trees."""
    return config if config.batch_trees is not None else replace(config, batch_trees=max(8, min(32, trees // 90)))


def explicit_weights(config: TreeConfig) -> dict[str, float]:
    """The weights that ``class_weights`` names one by one."""
    complaint = ConfigurationError(
        "class_weights",
        expected='none, balanced or {"label": weight, …} with weights of 0 or more',
        got=config.class_weights,
    )
    try:
        weights = parsed_json(str(config.class_weights))
    except ValueError:
        raise complaint from None
    if not isinstance(weights, dict) or not all(type(w) in (int, float) and 0 <= w < 1e9 for w in weights.values()):
        raise complaint
    return {label: float(weight) for label, weight in weights.items()}
