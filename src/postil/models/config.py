"""The settings of taggers and detectors: features x encoder x objective x optimiser, in one frozen table.

Every field can be set from Python (``Tagger(hidden=200)``) and from the command line (``--set hidden=200``). A field
that ``adapts`` and is None depends on the size of the training data. A preset is a row of PRESETS: the fields in which
it differs.
"""

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, get_args

from postil.errors import ConfigurationError
from postil.features.lexicon import check_numbers_of_clusters
from postil.features.named import MOST_BUCKETS
from postil.features.words import LEARNT_DIMS
from postil.models.networks.encoders import ENCODERS
from postil.models.settings import (
    WIDEST,
    CommonParameters,
    check_fields,
    check_names,
    one_of,
    parsed,
    rule,
    rules,
    setting,
    width,
)
from postil.network import ACTIVATIONS, COMPOSITIONS, INITIALISERS
from postil.objectives.losses import NORMALISATIONS
from postil.optimisation import OPTIMISERS, SCHEDULES, USUAL_RATES
from postil.reading import parsed_json
from postil.text.trees.tree import SHAPES, Direction

EPOCHS = 10  # unless sentences are few
FULL_EPOCH = 90  # steps: batches grow with the data as long as an epoch has this number of them
FEW_SENTENCES = 720  # fewer than these are not enough for full epochs with batches of 8
FEWEST_STEPS = 600  # of a training run on few sentences
DENSE_TOKENS = 300_000  # seen in a training run, if every token is labelled, as with parts of speech
MOST_EPOCHS = 60
OBJECTIVES = ("softmax", "crf", "margin")  # the last one is for detectors, the others for taggers
_DROPOUT: dict[str, Any] = {"low": 0, "high": 0.999}
_SHARE: dict[str, Any] = {"low": 0, "high": 1, "in_loss": False}


@dataclass(frozen=True, kw_only=True)
class TaggerConfig:
    """All settings of a tagger. A dimension of 0 disables a feature."""

    # Features of the word alone (A2)
    word_dim: int = width(50, "Width of trained word vectors, in addition to pre-trained ``vectors``.")
    min_count: int | None = setting(
        None, "Rarer words in training are unknown words. None: 1 with ``word_dropout``, else 2.", low=1, adapts=True
    )
    caps_dim: int = width(5, "Width of the vectors of capitalisation: lower case, first letter upper case, and so on.")
    shape_dim: int = width(0, "Width of the vectors of word shapes, such as Xx-00.")
    prefix_dim: int = width(0, "Width of the vectors of prefixes.")
    suffix_dim: int = width(0, "Width of the vectors of suffixes.")
    prefix_lengths: tuple[int, ...] = setting((2, 3, 4), "Lengths of prefixes, in characters.", shapes="encoder")
    suffix_lengths: tuple[int, ...] = setting((1, 2, 3, 4), "Lengths of suffixes, in characters.", shapes="encoder")
    min_affix_count: int = setting(3, "Prefixes, suffixes and shapes seen less often in training are unknown.", low=1)
    cluster_dim: int = width(12, "Width of the vectors of each column of word clusters.")
    vector_clusters: tuple[int, ...] = setting(
        (), "Numbers of clusters made of the pre-trained vectors: each is a feature, of width ``cluster_dim``."
    )
    name_dim: int = width(12, "Width of the vectors of each class in lists of names.")
    character_dim: int = width(0, "Number of filters of the convolution over the characters of a word.")
    vector_scale: float = setting(1.0, "Pre-trained vectors are rescaled to this root mean square.", positive=True)
    exact_vectors: bool = setting(
        False, "Store pre-trained vectors exactly. Otherwise 20,000 or more are quantised, to a tenth of the size."
    )
    # Features of the place in the sentence
    word_key: str | None = setting(
        None,
        "The key of the word in feature dicts, whose features are learned. None: tokens are words.",
        shapes="encoder",
    )
    min_feature_count: int = setting(1, "Features of dicts seen less often in training are unknown.", low=1)
    feature_buckets: int | None = setting(
        None,
        "Features of dicts are hashed into this number of weights for each label. None: each has its own.",
        low=1,
        high=MOST_BUCKETS,
        shapes="encoder",
    )
    column_dim: int = width(10, "Width of the vectors of each extra column of the data.", low=1)
    gazetteer_dim: int = width(5, "Width of the vectors of membership in each gazetteer class.", low=1)
    position_dim: int = width(5, "Width of the vectors of the distance to the tagged word (encoder sentence).", low=1)
    # Encoder
    encoder: str = setting("window", "How words and neighbours are combined.", choices=ENCODERS, shapes="encoder")
    window: int = setting(
        5, "Words seen at once: the word itself and its neighbours, an odd number.", low=1, high=99, shapes="encoder"
    )
    hidden: int = width(300, "Width of the hidden layers.", low=1)
    layers: int = setting(
        1, "Hidden layers (encoders window, convolutions and dilated).", low=1, high=100, shapes="encoder"
    )
    activation: str = setting("hardtanh", "Non-linearity of the hidden layers.", choices=ACTIVATIONS, shapes="encoder")
    initialiser: str = setting("xavier", "Distribution of the initial weights.", choices=INITIALISERS, in_loss=False)
    ensemble: int = setting(
        1, "Networks trained side by side, whose scores are averaged (taggers).", low=1, high=100, shapes="output"
    )
    # Noise
    input_dropout: float | None = setting(
        0.0,
        "Share of the entries of features that are set to 0 in training. None: 0.3, or 0.5 if ``epochs`` adapts;"
        " 0.1 from 50,000 tokens on with encoder dilated.",
        **_DROPOUT,
        adapts=True,
    )
    hidden_dropout: float | None = setting(
        0.0,
        "Share of the outputs of hidden layers that are set to 0 in training. None: 0.5 below 50,000 tokens, then 0.3,"
        " or 0.1 with encoder dilated.",
        **_DROPOUT,
        adapts=True,
    )
    word_dropout: float = setting(
        0.0, "Words are replaced by the unknown word with probability word_dropout / (word_dropout + count).", low=0
    )
    mention_replacement: float = setting(
        0.0, "Share of mentions replaced by others of their class, anew in every epoch (spans).", low=0, high=1
    )
    # Objective
    objective: str = setting(
        "crf", "Likelihood of labels or label sequences, or a margin (detectors).", choices=OBJECTIVES, shapes="output"
    )
    offsets: int = setting(
        1, "Output maps per word: 1, or 3 for the neighbours' too (C2).", choices=(1, 3), shapes="output"
    )
    constrained: bool = setting(True, "Label sequences that the scheme forbids are impossible.")
    corrupt: int = setting(50, "Windows without the label sampled per window with it (margin).", low=1, high=WIDEST)
    margin: float = setting(1.0, "Margin between the scores of a true and a corrupt window (B2's Δ).", low=0)
    pairs: str = setting("mean", "Cost of a batch: the mean over its pairs, or the sum (E4).", choices=NORMALISATIONS)
    l2: float = setting(0.0, "Weight of the L2 penalty on the parameters.", low=0)
    # Learning
    optimiser: str = setting("adam", "Update rule of the parameters.", choices=OPTIMISERS, in_loss=False)
    rate: float | None = setting(
        None,
        f"Highest learning rate. None: {', '.join(f'{rate:g} with {name}' for name, rate in USUAL_RATES.items())}.",
        positive=True,
        adapts=True,
    )
    word_rate: float = setting(
        1.0, "Tables of word features learn at this multiple of the rate: most words are rare.", positive=True
    )
    schedule: str = setting(
        "linear", "The rate is linear (up, down), constant, or inverse-decay (B8).", choices=SCHEDULES, in_loss=False
    )
    warm_up: float = setting(0.05, "Schedule linear: share of the run in which the rate rises.", **_SHARE)
    final_share: float = setting(0.05, "Schedule linear: share of the highest rate at the end.", **_SHARE)
    tau: float = setting(
        0.2, "Schedule inverse-decay: share of the run with the full rate, before 1/t.", **_SHARE, positive=True
    )
    epochs: int | None = setting(
        None, "Passes over the data. None: 10; below 720 sentences more, to reach 600 steps.", low=1, adapts=True
    )
    patience: int | None = setting(
        None, "Epochs without a better score before training stops; short ones count less. None: never.", low=1
    )
    batch_sentences: int | None = setting(
        None, "Sentences in a step. None: 8 to 32, by the data; 2 to 8 if ``epochs`` adapts.", low=1, adapts=True
    )
    shards: int | None = setting(
        None, "Parts of a batch for the cores, which change results a little. None: 1 or 2.", low=1, adapts=True
    )
    clip: float = setting(5.0, "Gradients whose norm is larger are scaled down to it.", positive=True)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.window % 2 == 0:
            raise ConfigurationError("window", expected="an odd number", got=self.window)
        check_numbers_of_clusters(self.vector_clusters)
        if not any(getattr(self, name) for name in LEARNT_DIMS):
            raise ConfigurationError("features of words", expected="a dimension above 0", got="all switched off")


ENCODER_SETTINGS = tuple(name for name, of in rules(TaggerConfig).items() if of.shapes == "encoder")
"""The settings that decide which parameters of words and encoder there are, and what they mean."""
ARCHITECTURE = tuple(name for name, of in rules(TaggerConfig).items() if of.shapes)
"""The same, with those of the output maps."""


_PRESET = "The kind of model: a row of ``postil.models.PRESETS``, listed by ``postil info --presets``."


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TaggerParameters(CommonParameters, TaggerConfig):
    """The parameters of a Tagger: its settings, and those below, which the config of a fitted model does not have."""

    preset: str = setting("fast", _PRESET)
    clusters: str | os.PathLike[str] | None = setting(
        None,
        "Clusters of words: a file with ``path<TAB>word`` or ``word<TAB>cluster`` on each line, or brown.",
        kind="str, path or None",
    )
    gazetteers: Sequence[str | os.PathLike[str]] = setting(
        (),
        "Files with names of a class, one per line, matched as phrases; or names, places, which are features of words.",
        kind="sequence of str or path",
    )
    pretrained: str | os.PathLike[str] | None = setting(
        None, "Vectors and clusters together: a file of ``postil pretrain --with-brown``.", kind="str, path or None"
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MultiTaskParameters(TaggerParameters):
    """The parameters of a MultiTaskTagger."""

    groups: Mapping[str, Sequence[str]] | None = setting(
        None,
        "Classes that may overlap, in groups: the classes of each task. y is then one list of spans or labels. None: "
        "found in such a list, or y is a dict of tasks.",
        kind="dict of list of str, or None",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DetectorParameters(TaggerParameters):
    """The parameters of a Detector."""

    label: str = field(
        metadata=rule("The label to detect. Labels of a scheme (B-LOC, I-LOC) count as their class (LOC).")
    )
    preset: str = setting("margin", _PRESET)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RoleParameters(TaggerParameters):
    """The parameters of a RoleLabeller."""

    preset: str = setting("roles", _PRESET)


_NOISE = {"input_dropout": None, "hidden_dropout": None, "word_dropout": 0.3}
# One width for all small features: they then share one table, which is faster.
_WORDS: dict[str, Any] = {"word_dim": 32, **dict.fromkeys(("caps_dim", "shape_dim", "prefix_dim", "suffix_dim"), 12)}
_WORDS |= {"prefix_lengths": (1, 2, 3, 4), "min_affix_count": 2}


def _row(encoder: str, objective: str = "crf", **others: Any) -> dict[str, Any]:
    """A model of the documents. The noise in training is ours: without it they learn small corpora by heart."""
    return {**_NOISE, "encoder": encoder, "objective": objective, **others}


def _rich(encoder: str, **others: Any) -> dict[str, Any]:
    """A model with every feature of words."""
    return {**_WORDS, **_NOISE, "encoder": encoder, "activation": "relu", **others}


_SENNA: dict[str, Any] = {"activation": "hardtanh", "hidden": 300, "window": 5}
_OWN: dict[str, Any] = {"vector_clusters": (64, 256, 1000), "word_rate": 2.0}
PRESETS: dict[str, dict[str, Any]] = {
    "average-softmax": _row("average", "softmax"),
    "window-softmax": _row("window", "softmax", activation="tanh", hidden=100),
    "window-wll": _row("window", "softmax", **_SENNA),
    "window-sll": _row("window", **_SENNA),
    "sentence-wll": _row("sentence", "softmax", hidden=200, window=3),
    "sentence-sll": _row("sentence", hidden=200, window=3),
    "linear-crf": _row("none", offsets=3),
    "neural-crf": _row("window", offsets=3, window=1, hidden=200, activation="relu"),
    # max-margin detection of one label (B2, E4): for Detector
    "margin": _rich("window", objective="margin", epochs=20),
    # our own; three narrow networks are about as accurate as one of 160 units, and faster to tag with
    "fast": _rich("window", **{**_OWN, "word_rate": 4.0}, window=5, hidden=128),
    "accurate": _rich("convolutions", **_OWN, window=3, hidden=64, layers=3, ensemble=3, character_dim=32),
    # sees 32 words to each side: for semantic roles, which do not depend on how words begin
    "roles": _rich("dilated", **_OWN, prefix_dim=0, window=3, hidden=128, layers=6, column_dim=24),
}


def configured(preset: str, settings: Mapping[str, Any]) -> TaggerConfig:
    """The preset's row with the user's settings on top."""
    one_of("preset", preset, PRESETS)
    check_names(settings, rules(TaggerConfig))
    return TaggerConfig(**{**PRESETS[preset], **settings})


def adapted(
    config: TaggerConfig,
    sentences: int,
    tokens: int,
    *,
    continued: bool = False,
    known_words: bool = False,
    dense: bool = False,
) -> TaggerConfig:
    """The config with its open fields resolved for this amount of training data.

    With few sentences and 10 epochs a network does not learn anything, so there are more epochs. With a hidden layer,
    smaller batches and more noise keep it from learning the sentences by heart (docs/benchmarks/results.md). A
    detector, which draws other pairs in every epoch, a run that is ``continued`` from a fitted model, and one with
    a given number of epochs are as with more data. ``known_words``: words and encoder come from a model, which learns
    more from few sentences with larger batches, and with noise in the words but not in its encoder. ``dense``: labels
    are not spans, as with parts of speech. Every token teaches something then: more epochs help, more noise does not.
    """
    adapts = config.epochs is None and config.objective != "margin" and not continued
    dense = dense and adapts and config.encoder != "none" and not known_words and tokens * EPOCHS < DENSE_TOKENS
    few = adapts and sentences < FEW_SENTENCES and not dense
    noisy = few and config.encoder != "none" and not known_words
    fewest = 2 if noisy else 4 if dense and 3 * EPOCHS * tokens < DENSE_TOKENS else 8
    batch = config.batch_sentences or max(fewest, min(32, sentences // FULL_EPOCH))
    epochs = max(EPOCHS, math.ceil(FEWEST_STEPS / math.ceil(sentences / batch))) if few else EPOCHS
    if dense:
        epochs = min(MOST_EPOCHS, math.ceil(DENSE_TOKENS / tokens))
    is_calm = config.encoder == "dilated" and tokens >= 50_000  # with more noise it learns its wide view slowly
    resolved: dict[str, Any] = {
        "min_count": 1 if config.word_dropout else 2,
        "input_dropout": 0.5 if few and config.encoder != "none" else 0.1 if is_calm else 0.3,
        "hidden_dropout": 0.5 if tokens < 50_000 and not known_words else 0.1 if is_calm else 0.3,
        "batch_sentences": batch,
        "epochs": epochs,
        # A second core outweighs the cost of cutting a batch only if the batch and its network are large.
        "shards": 2 if ENCODERS[config.encoder].second_shard_pays and batch >= 32 else 1,
        "rate": USUAL_RATES[config.optimiser],
    }
    return replace(config, **{name: value for name, value in resolved.items() if getattr(config, name) is None})


def patience_in_epochs(config: TaggerConfig, sentences: int) -> int | None:
    """The patience of an adapted config, in epochs of this data: those of fewer than 90 steps count in proportion."""
    if config.patience is None or config.batch_sentences is None or config.objective == "margin":
        return config.patience
    steps = math.ceil(sentences / config.batch_sentences)
    return math.ceil(config.patience * max(FULL_EPOCH, steps) / steps)


def parsed_setting(text: str) -> tuple[str, Any]:
    """``name=value`` of the command line, with the value in the field's own type."""
    return parsed(text, TaggerConfig)


# --------------------------------- What a tree classifier is made of: all its settings, and the row of each composition


LOSSES = ("all", "root")
UNWEIGHTED, BALANCED = "none", "balanced"


def _of_taggers(name: str, default: Any = MISSING) -> Any:
    """The setting that taggers have under this name."""
    (one,) = (one for one in fields(TaggerConfig) if one.name == name)
    return field(default=one.default if default is MISSING else default, metadata=one.metadata)


@dataclass(frozen=True, kw_only=True)
class TreeConfig:
    """All settings of a tree classifier."""

    composition: str = setting("tree-lstm", "How two phrases' vectors become that of both.", choices=COMPOSITIONS)
    # Trees
    binarise: str = setting(
        "left", "The side from which more than two children are joined.", choices=get_args(Direction), in_loss=False
    )
    tree: str = setting("balanced", "The shape of the tree that plain tokens get.", choices=SHAPES, in_loss=False)
    # Words
    word_dim: int = setting(50, "Width of trained word vectors; pre-trained ones keep theirs.", low=1, high=WIDEST)
    min_count: int = setting(1, "Words seen less often in training are unknown words.", low=1)
    vector_scale: float = _of_taggers("vector_scale", 0.3)
    exact_vectors: bool = _of_taggers("exact_vectors")
    learn_vectors: bool = setting(True, "Whether pre-trained vectors are trained further.")
    # Network
    hidden: int = setting(50, "Width of the vectors of phrases.", low=1, high=WIDEST)
    activation: str = setting(
        "tanh", "Non-linearity of all compositions but the Tree-LSTM, which has its own.", choices=ACTIVATIONS
    )
    initialiser: str = _of_taggers("initialiser")
    # Noise
    input_dropout: float = setting(0.0, "Share of the entries of word vectors set to 0 in training.", **_DROPOUT)
    hidden_dropout: float = setting(0.0, "Share of the entries of nodes' vectors set to 0 in training.", **_DROPOUT)
    word_dropout: float = _of_taggers("word_dropout", 0.1)
    # Objective
    loss: str = setting("all", "Whether the labels of all nodes are learned, or only those of roots.", choices=LOSSES)
    class_weights: str | Mapping[str, float] = setting(
        UNWEIGHTED,
        "none; balanced: classes weigh the same in total; or JSON {label: weight} (a mapping in Python), else 1.",
        kind="str or mapping of str to float",
    )
    l2: float = _of_taggers("l2")
    # Learning
    optimiser: str = _of_taggers("optimiser")
    rate: float = setting(0.002, "Highest learning rate.", positive=True)
    word_rate: float = _of_taggers("word_rate")
    schedule: str = _of_taggers("schedule")
    warm_up: float = _of_taggers("warm_up")
    final_share: float = _of_taggers("final_share")
    tau: float = _of_taggers("tau")
    epochs: int = setting(10, "Passes over the training data.", low=1)
    patience: int | None = setting(
        None, "Epochs without a better score on dev before training stops. None: never.", low=1
    )
    batch_trees: int | None = setting(None, "Trees in a step. None: 8 to 32, by the data.", low=1, adapts=True)
    shards: int = setting(1, "Parts of a batch for the cores, which change results a little.", low=1)
    clip: float = _of_taggers("clip")

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
    check_names(settings, rules(TreeConfig))
    return TreeConfig(**{"composition": composition, **DEFAULTS[composition], **settings})


def explicit_weights(config: TreeConfig) -> dict[str, float]:
    """The weights that ``class_weights`` names one by one."""
    expected = 'none, balanced or {"label": weight, …} with weights of 0 or more'
    complaint = ConfigurationError("class_weights", expected=expected, got=config.class_weights)
    try:
        weights = parsed_json(str(config.class_weights))
    except ValueError:
        raise complaint from None
    if not isinstance(weights, dict) or not all(type(w) in (int, float) and 0 <= w < 1e9 for w in weights.values()):
        raise complaint
    return {label: float(weight) for label, weight in weights.items()}
