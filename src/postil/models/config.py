"""What a tagger or a detector is made of: features x encoder x objective x optimiser, in one frozen table of settings.

Every field can be set from Python (``Tagger(hidden=200)``) and from the command line (``--set hidden=200``). A field
of ADAPTIVE that is None adapts to the size of the training data. A preset is a row of PRESETS: the fields in which it
differs.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from postil.errors import ConfigurationError
from postil.features.named import MOST_BUCKETS
from postil.features.vector_clusters import check_numbers_of_clusters
from postil.features.words import LEARNT_DIMS, LEXICONS
from postil.models.scoring.encoders import ENCODERS
from postil.models.settings import check_fields, check_known, check_positive, one_of, parsed
from postil.network import ACTIVATIONS, INITIALISERS
from postil.objectives.margin import NORMALISATIONS
from postil.training.names import OPTIMISER_NAMES, SCHEDULE_NAMES

FULL_EPOCH = 90  # steps: batches grow with the data as long as an epoch has this number of them
FEW_SENTENCES = 720  # fewer than these are not enough for full epochs with batches of 8
FEWEST_STEPS = 600  # of a training on few sentences
OBJECTIVES = ("softmax", "crf", "margin")  # the last one is for detectors, the others for taggers


@dataclass(frozen=True, kw_only=True)
class TaggerConfig:
    """All settings of a tagger. A dimension of 0 disables a feature."""

    # Features of the word alone (A2)
    word_dim: int = 50
    """Width of learnt word vectors. Pre-trained vectors (``vectors``) come on top."""
    min_count: int | None = None
    """Words seen less often in training are unknown words. None: 1 with ``word_dropout``, otherwise 2."""
    caps_dim: int = 5
    """Width of the vectors of capitalisation: all lower case, first letter upper case, and so on."""
    shape_dim: int = 0
    """Width of the vectors of word shapes, such as Xx-00."""
    prefix_dim: int = 0
    """Width of the vectors of prefixes."""
    suffix_dim: int = 0
    """Width of the vectors of suffixes."""
    prefix_lengths: tuple[int, ...] = (2, 3, 4)
    """Lengths of prefixes, in characters."""
    suffix_lengths: tuple[int, ...] = (1, 2, 3, 4)
    """Lengths of suffixes, in characters."""
    min_affix_count: int = 3
    """Prefixes, suffixes and shapes seen less often in training are unknown."""
    cluster_dim: int = 12
    """Each column of the word clusters."""
    vector_clusters: tuple[int, ...] = ()
    """Numbers of clusters that are made of the pre-trained vectors: each is a feature, of width ``cluster_dim``."""
    name_dim: int = 12
    """Each class of the lists of names that are features of words."""
    character_dim: int = 0
    """Width of what a convolution over the characters of a word finds, the largest value of each filter."""
    vector_scale: float = 1.0
    """Pre-trained vectors are brought to this root mean square."""
    # Features of the place in the sentence
    word_key: str | None = None
    """The key of the word in feature dicts, whose other features are learnt as well. None: tokens are words."""
    min_feature_count: int = 1
    """Features of dicts seen less often in training are unknown."""
    feature_buckets: int | None = None
    """Features of dicts are hashed into this number of weights for each label. None: each has its own."""
    column_dim: int = 10
    """Width of the vectors of each extra column of the data."""
    gazetteer_dim: int = 5
    """Width of the vectors of membership in each gazetteer class."""
    position_dim: int = 5
    """Width of the vectors of the distance to the word being tagged (encoder sentence only)."""
    # Encoder
    encoder: str = "window"
    """How a word sees its neighbours."""
    window: int = 5
    """Words seen at once, an odd number: the word itself and its neighbours on both sides."""
    hidden: int = 300
    """Width of the hidden layers."""
    layers: int = 1
    """Number of hidden layers (encoders window and convolutions)."""
    activation: str = "hardtanh"
    """Non-linearity of the hidden layers."""
    initialiser: str = "xavier"
    """Distribution of the initial weights."""
    ensemble: int = 1
    """Networks that are trained side by side and whose scores are averaged (taggers only)."""
    # Noise
    input_dropout: float | None = 0.0
    """Share of the entries of features that are set to 0 in training. None: 0.3, or 0.5 where ``epochs`` adapts."""
    hidden_dropout: float | None = 0.0
    """Share of the outputs of hidden layers that are set to 0 in training. None: 0.5 below 50,000 tokens, then 0.3."""
    word_dropout: float = 0.0
    """Words are replaced by the unknown word with probability word_dropout / (word_dropout + count)."""
    mention_replacement: float = 0.0
    """Share of the mentions that are replaced by others of their class, anew in every epoch (taggers of spans only)."""
    # Objective
    objective: str = "crf"
    """What is learnt: labels word by word, whole label sequences, or a margin (detectors only)."""
    offsets: int = 1
    """Output maps per word: 1, or 3 for the neighbours' too (C2)."""
    constrained: bool = True
    """Label sequences that the scheme forbids are impossible."""
    corrupt: int = 50
    """Windows without the label that are sampled for each window with it (margin objective only)."""
    margin: float = 1.0
    """By how much a true window must outscore a corrupt one (B2's Δ)."""
    pairs: str = "mean"
    """Over the pairs of a batch: their mean cost, or as E4 prints it their sum."""
    l2: float = 0.0
    """Weight of the L2 penalty on the parameters."""
    # Learning
    optimiser: str = "adam"
    """How parameters follow their gradients."""
    rate: float | None = None
    """Learning rate at its height. None: 0.005 with adam, 0.02 with adagrad, otherwise 0.05."""
    word_rate: float = 1.0
    """Tables of word features learn at this multiple of the rate: most words are rare and have few steps."""
    schedule: str = "linear"
    """How the rate changes: linear (up, then down), constant, or inverse-decay (B8)."""
    warm_up: float = 0.05
    """Schedule linear: share of the training in which the rate rises."""
    final_share: float = 0.05
    """Schedule linear: what is left of the rate at the end."""
    tau: float = 0.2
    """Schedule inverse-decay: share of the training with the full rate; after it the rate falls like 1/t."""
    epochs: int | None = None
    """Passes over the training data. None: 10; below 720 sentences more, to reach 600 steps."""
    patience: int | None = None
    """Epochs without a better score on dev before training stops; those below 90 steps count less. None: never."""
    batch_sentences: int | None = None
    """Sentences in a step of training. None: 8 to 32, more for more data; 2 to 8 where ``epochs`` adapts."""
    shards: int | None = None
    """Parts of a batch for the cores; results depend on it, not on the number of threads. None: 1 or 2."""
    clip: float = 5.0
    """Gradients whose norm is larger are scaled down to it."""

    def __post_init__(self) -> None:
        check_fields(self, CHOICES, LIMITS)
        if self.window % 2 == 0:
            raise ConfigurationError("window", expected="an odd number", got=self.window)
        check_positive(self, "rate", "word_rate", "tau", "clip", "vector_scale")
        check_numbers_of_clusters(self.vector_clusters)
        if not any(getattr(self, name) for name in LEARNT_DIMS):
            raise ConfigurationError("features of words", expected="a dimension above 0", got="all switched off")


CHOICES: dict[str, Any] = {
    "encoder": tuple(ENCODERS),
    "objective": OBJECTIVES,
    "activation": tuple(ACTIVATIONS),
    "initialiser": tuple(INITIALISERS),
    "optimiser": OPTIMISER_NAMES,
    "schedule": SCHEDULE_NAMES,
    "offsets": (1, 3),
    "pairs": NORMALISATIONS,
}
LIMITS: dict[str, tuple[float, float]] = {
    **dict.fromkeys((*LEARNT_DIMS, *LEXICONS.values()), (0, 100_000)),
    **dict.fromkeys(("column_dim", "gazetteer_dim", "position_dim"), (1, 100_000)),
    "hidden": (1, 100_000),
    "window": (1, 99),
    "layers": (1, 100),
    "ensemble": (1, 100),
    **dict.fromkeys(("shards", "epochs", "patience", "batch_sentences"), (1, 10**9)),
    "corrupt": (1, 100_000),
    **dict.fromkeys(("min_count", "min_affix_count", "min_feature_count"), (1, 10**9)),
    "feature_buckets": (1, MOST_BUCKETS),
    **dict.fromkeys(("input_dropout", "hidden_dropout"), (0, 0.999)),
    **dict.fromkeys(("word_dropout", "l2", "margin"), (0, 10**9)),
    **dict.fromkeys(("warm_up", "final_share", "tau", "mention_replacement"), (0, 1)),
}


# One width for all small features: they then share one table, which is faster.
_EVERY_WORD_FEATURE = {
    "word_dim": 32,
    "caps_dim": 12,
    "shape_dim": 12,
    "prefix_dim": 12,
    "suffix_dim": 12,
    "prefix_lengths": (1, 2, 3, 4),
    "min_affix_count": 2,
}
_NOISE = {"input_dropout": None, "hidden_dropout": None, "word_dropout": 0.3}
_VECTOR_CLUSTERS = {"vector_clusters": (64, 256, 1000)}
_SENNA = {"activation": "hardtanh", "hidden": 300, "window": 5}

PRESETS: dict[str, dict[str, Any]] = {
    # the models of the documents; the noise in training is ours: without it they learn small corpora by heart
    "average-softmax": {**_NOISE, "encoder": "average", "objective": "softmax"},
    "window-softmax": {**_NOISE, "encoder": "window", "objective": "softmax", "activation": "tanh", "hidden": 100},
    "window-wll": {**_NOISE, **_SENNA, "encoder": "window", "objective": "softmax"},
    "window-sll": {**_NOISE, **_SENNA, "encoder": "window", "objective": "crf"},
    "sentence-wll": {**_NOISE, "encoder": "sentence", "objective": "softmax", "hidden": 200, "window": 3},
    "sentence-sll": {**_NOISE, "encoder": "sentence", "objective": "crf", "hidden": 200, "window": 3},
    "linear-crf": {**_NOISE, "encoder": "none", "objective": "crf", "offsets": 3},
    "neural-crf": {
        **_NOISE,
        "encoder": "window",
        "objective": "crf",
        "offsets": 3,
        "window": 1,
        "hidden": 200,
        "activation": "relu",
    },
    # max-margin detection of one label (B2, E4): for Detector
    "margin": {
        **_EVERY_WORD_FEATURE,
        **_NOISE,
        "encoder": "window",
        "objective": "margin",
        "activation": "relu",
        "epochs": 20,
    },
    # our own
    "fast": {
        **_EVERY_WORD_FEATURE,
        **_VECTOR_CLUSTERS,
        **_NOISE,
        "encoder": "window",
        "window": 5,
        "hidden": 128,
        "activation": "relu",
        "word_rate": 4.0,
    },
    "accurate": {
        **_EVERY_WORD_FEATURE,
        **_VECTOR_CLUSTERS,
        **_NOISE,
        "encoder": "convolutions",
        "window": 3,
        # Three narrow networks instead of one of 160 units: about as accurate, and faster to tag with.
        "hidden": 64,
        "layers": 3,
        "ensemble": 3,
        "activation": "relu",
        "word_rate": 2.0,
        "character_dim": 32,
    },
}


def configured(preset: str, settings: Mapping[str, Any]) -> TaggerConfig:
    """The preset's row with the user's settings on top."""
    one_of("preset", preset, PRESETS)
    check_known(TaggerConfig, settings)
    return TaggerConfig(**{**PRESETS[preset], **settings})


def adapted(
    config: TaggerConfig, sentences: int, tokens: int, *, continued: bool = False, known_words: bool = False
) -> TaggerConfig:
    """The config with its open fields resolved for this amount of training data.

    With few sentences and 10 epochs a network does not learn anything, so there are more epochs. With a hidden layer,
    smaller batches and more noise keep it from learning the sentences by heart (docs/start/results.md has figures). A
    detector, which draws other pairs in every epoch, a training that is ``continued`` from a fitted model, and one with
    a given number of epochs are as with more data. ``known_words``: words and encoder come from a model, which learns
    more from few sentences with larger batches, and with noise in the words but not in its encoder.
    """
    adapts = config.epochs is None and config.objective != "margin" and not continued
    few = adapts and sentences < FEW_SENTENCES
    noisy = few and config.encoder != "none" and not known_words
    batch = config.batch_sentences or max(2 if noisy else 8, min(32, sentences // FULL_EPOCH))
    resolved: dict[str, Any] = {
        "min_count": 1 if config.word_dropout else 2,
        "input_dropout": 0.5 if few and config.encoder != "none" else 0.3,
        "hidden_dropout": 0.5 if tokens < 50_000 and not known_words else 0.3,
        "batch_sentences": batch,
        "epochs": max(10, math.ceil(FEWEST_STEPS / math.ceil(sentences / batch))) if few else 10,
        # A second core pays for what it costs to cut a batch only where the batch and its network are large.
        "shards": 2 if ENCODERS[config.encoder].second_shard_pays and batch >= 32 else 1,
        "rate": {"adam": 0.005, "adagrad": 0.02}.get(config.optimiser, 0.05),
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
