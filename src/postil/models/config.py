"""What a tagger or a detector is made of: features x encoder x objective x optimiser, in one frozen table of settings.

Every field can be set from Python (``Tagger(hidden=200)``) and from the command line (``--set hidden=200``). A field
that is None adapts to the size of the training data. A preset is a row of PRESETS: the fields in which it differs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from postil.errors import ConfigurationError
from postil.features.words import LEARNT_DIMS, LEXICONS
from postil.models.scoring.encoders import ENCODERS
from postil.models.settings import check_fields, check_known, check_positive, one_of, parsed
from postil.network import ACTIVATIONS, INITIALISERS
from postil.objectives.margin import NORMALISATIONS
from postil.training import OPTIMISERS, SCHEDULES

OBJECTIVES = ("softmax", "crf", "margin")  # the last one is for detectors, the others for taggers


@dataclass(frozen=True, kw_only=True)
class TaggerConfig:
    """All settings of a tagger. A dimension of 0 disables a feature."""

    # Features of the word alone (A2)
    word_dim: int = 50
    min_count: int | None = None
    """Words seen less often in training are unknown words."""
    caps_dim: int = 5
    shape_dim: int = 0
    prefix_dim: int = 0
    suffix_dim: int = 0
    prefix_lengths: tuple[int, ...] = (2, 3, 4)
    suffix_lengths: tuple[int, ...] = (1, 2, 3, 4)
    min_affix_count: int = 3
    cluster_dim: int = 12
    """Each column of the word clusters."""
    name_dim: int = 12
    """Each class of the lists of names that are features of words."""
    vector_scale: float = 1.0
    """Pre-trained vectors are brought to this root mean square."""
    # Features of the place in the sentence
    column_dim: int = 10
    """Each extra column of the file."""
    gazetteer_dim: int = 5
    position_dim: int = 5
    """Distance to the word being tagged (sentence approach only)."""
    # Encoder
    encoder: str = "window"
    window: int = 5
    hidden: int = 300
    layers: int = 1
    activation: str = "hardtanh"
    initialiser: str = "xavier"
    ensemble: int = 1
    """Networks that are trained side by side and whose scores are averaged (taggers only)."""
    # Noise
    input_dropout: float = 0.0
    hidden_dropout: float | None = 0.0
    word_dropout: float = 0.0
    """Words are replaced by the unknown word with probability word_dropout / (word_dropout + count)."""
    # Objective
    objective: str = "crf"
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
    # Learning
    optimiser: str = "adam"
    rate: float | None = None
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
    patience: int | None = None
    batch_sentences: int | None = None
    shards: int | None = None
    """Parts into which a batch is cut for the cores; results depend on it, not on the number of threads."""
    clip: float = 5.0

    def __post_init__(self) -> None:
        check_fields(self, CHOICES, LIMITS)
        if self.window % 2 == 0:
            raise ConfigurationError("window", expected="an odd number", got=self.window)
        check_positive(self, "rate", "word_rate", "tau", "clip", "vector_scale")
        if not any(getattr(self, name) for name in LEARNT_DIMS):
            raise ConfigurationError("features of words", expected="a dimension above 0", got="all switched off")


CHOICES: dict[str, Any] = {
    "encoder": tuple(ENCODERS),
    "objective": OBJECTIVES,
    "activation": tuple(ACTIVATIONS),
    "initialiser": tuple(INITIALISERS),
    "optimiser": tuple(OPTIMISERS),
    "schedule": tuple(SCHEDULES),
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
    **dict.fromkeys(("shards", "epochs", "patience", "batch_sentences"), (1, 1e9)),
    "corrupt": (1, 100_000),
    **dict.fromkeys(("min_count", "min_affix_count"), (1, 1e9)),
    **dict.fromkeys(("input_dropout", "hidden_dropout"), (0, 0.999)),
    **dict.fromkeys(("word_dropout", "l2", "margin"), (0, 1e9)),
    **dict.fromkeys(("warm_up", "final_share", "tau"), (0, 1)),
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
_NOISE = {"input_dropout": 0.3, "hidden_dropout": None, "word_dropout": 0.3}
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
        **_NOISE,
        "encoder": "window",
        "window": 5,
        "hidden": 128,
        "activation": "relu",
        "word_rate": 4.0,
    },
    "accurate": {
        **_EVERY_WORD_FEATURE,
        **_NOISE,
        "encoder": "convolutions",
        "window": 3,
        "hidden": 160,
        "layers": 3,
        "activation": "relu",
        "word_rate": 2.0,
    },
}


def configured(preset: str, settings: Mapping[str, Any]) -> TaggerConfig:
    """The preset's row with the user's settings on top."""
    one_of("preset", preset, PRESETS)
    check_known(TaggerConfig, settings)
    return TaggerConfig(**{**PRESETS[preset], **settings})


def adapted(config: TaggerConfig, sentences: int, tokens: int) -> TaggerConfig:
    """The config with its open fields resolved for this amount of training data."""
    batch = config.batch_sentences or max(8, min(32, sentences // 90))
    resolved: dict[str, Any] = {
        "min_count": 1 if config.word_dropout else 2,
        "hidden_dropout": 0.5 if tokens < 50_000 else 0.3,
        "batch_sentences": batch,
        "epochs": 10,
        # A second core pays for what it costs to cut a batch only where the batch and its network are large.
        "shards": 2 if ENCODERS[config.encoder].second_shard_pays and batch >= 32 else 1,
        "rate": {"adam": 0.005, "adagrad": 0.02}.get(config.optimiser, 0.05),
    }
    return replace(config, **{name: value for name, value in resolved.items() if getattr(config, name) is None})


def parsed_setting(text: str) -> tuple[str, Any]:
    """``name=value`` of the command line, with the value in the field's own type."""
    return parsed(text, TaggerConfig)
