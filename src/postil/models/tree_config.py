"""What a tree classifier is made of: all its settings, and the row of each composition."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

from postil.errors import ConfigurationError
from postil.models.settings import check_fields, check_known, check_positive, one_of
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

    composition: str = "tree-lstm"
    """How the vectors of two phrases become that of the phrase they form."""
    # Trees
    binarise: str = "left"
    """From which side the children of a node with more than two are joined."""
    tree: str = "balanced"
    """The shape of the tree that plain tokens get."""
    # Words
    word_dim: int = 50
    """Width of learnt word vectors; pre-trained ones bring their own."""
    min_count: int = 1
    """Words seen less often in training are unknown words."""
    vector_scale: float = 0.3
    """Pre-trained vectors are brought to this root mean square."""
    learn_vectors: bool = True
    """Whether pre-trained vectors are changed by learning."""
    # Network
    hidden: int = 50
    """Width of the vectors of phrases."""
    activation: str = "tanh"
    """Non-linearity of all compositions but the Tree-LSTM, whose activations are fixed."""
    initialiser: str = "xavier"
    """Distribution of the initial weights."""
    # Noise
    input_dropout: float = 0.0
    """Share of the word vectors' entries that are set to 0 in training."""
    hidden_dropout: float = 0.0
    """Share of the entries of the nodes' vectors that are set to 0 in training, before labels are chosen."""
    word_dropout: float = 0.1
    """Words are replaced by the unknown word with probability word_dropout / (word_dropout + count)."""
    # Objective
    loss: str = "all"
    """Whether the labels of all nodes are learnt, or only those of roots."""
    class_weights: str = UNWEIGHTED
    """none; balanced: classes weigh the same in total; or JSON {label: weight} (a mapping in Python), else 1."""
    l2: float = 0.0
    """Weight of the L2 penalty on the parameters."""
    # Learning
    optimiser: str = "adam"
    """How parameters follow their gradients."""
    rate: float = 0.002
    """Learning rate at its height."""
    word_rate: float = 1.0
    """Word vectors learn at this multiple of the rate: most words are rare and have few steps."""
    schedule: str = "linear"
    """How the rate changes: linear (up, then down), constant, or inverse-decay (B8)."""
    warm_up: float = 0.05
    """Schedule linear: share of the training in which the rate rises."""
    final_share: float = 0.05
    """Schedule linear: what is left of the rate at the end."""
    tau: float = 0.2
    """Schedule inverse-decay: share of the training with the full rate; after it the rate falls like 1/t."""
    epochs: int = 10
    """Passes over the training data."""
    patience: int | None = None
    """Stop after this number of epochs without a better score on dev. None: never."""
    batch_trees: int | None = None
    """Trees in a step of training. None: 8 to 32, more for more data."""
    shards: int = 1
    """Parts into which a batch is cut for the cores; results depend on it, not on the number of threads."""
    clip: float = 5.0
    """Gradients whose norm is larger are scaled down to it."""

    def __post_init__(self) -> None:
        check_fields(self, CHOICES, LIMITS)
        check_positive(self, "rate", "word_rate", "tau", "clip", "vector_scale")
        if self.class_weights not in (UNWEIGHTED, BALANCED):
            explicit_weights(self)


CHOICES: dict[str, Any] = {
    "composition": tuple(COMPOSITIONS),
    "binarise": get_args(Direction),
    "tree": tuple(SHAPES),
    "activation": tuple(ACTIVATIONS),
    "initialiser": tuple(INITIALISERS),
    "loss": LOSSES,
    "optimiser": tuple(OPTIMISERS),
    "schedule": tuple(SCHEDULES),
}
LIMITS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("word_dim", "hidden"), (1, 100_000)),
    **dict.fromkeys(("min_count", "epochs", "patience", "batch_trees", "shards"), (1, 10**9)),
    **dict.fromkeys(("input_dropout", "hidden_dropout"), (0, 0.999)),
    **dict.fromkeys(("word_dropout", "l2"), (0, 10**9)),
    **dict.fromkeys(("warm_up", "final_share", "tau"), (0, 1)),
}

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
    given = dict(settings)
    if isinstance(given.get("class_weights"), Mapping):
        given["class_weights"] = json.dumps(given["class_weights"], ensure_ascii=False)
    return TreeConfig(**{"composition": composition, **DEFAULTS[composition], **given})


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
        weights = parsed_json(config.class_weights)
    except ValueError:
        raise complaint from None
    if not isinstance(weights, dict) or not all(type(w) in (int, float) and 0 <= w < 1e9 for w in weights.values()):
        raise complaint
    return {label: float(weight) for label, weight in weights.items()}
