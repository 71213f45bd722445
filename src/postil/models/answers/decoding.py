"""How answers are read from a network's scores: settings of a fitted model, stored beside its config.

Two of them shape the posterior. Every probability comes from the one distribution

    p(y) ∝ exp(s(y) / temperature + shift · (tokens that y does not label O)).

Two decide what is *answered*, given the posterior. ``bias`` finds more entities: answered is the labelling with the
largest

    log p(y) + bias · (entities of y).

A bonus per entity, not per token, does not make entities longer: measured, it reaches more recall and keeps more
precision. ``thresholds`` then drop entities that are not probable enough. So a probability means the same wherever the
dial stands.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, final

import numpy as np

from postil.errors import ConfigurationError
from postil.models.answers.labelling import Labelling


@final
@dataclass(frozen=True, kw_only=True)
class Decoding:
    """``shift`` and ``bias`` are in units of log-odds: 1 makes the odds 2.72 times as high."""

    temperature: float = 1.0
    """All scores are divided by it: above 1 the model is less sure of everything."""
    shift: float = 0.0
    """What every label but O scores more, in the distribution itself."""
    bias: float = 0.0
    """What every entity scores more when labels are chosen. Above 0: more entities, more recall."""
    thresholds: Mapping[str, float] = field(default_factory=dict)
    """Class -> lowest probability of an entity that is answered."""

    def __post_init__(self) -> None:
        for name in ("temperature", "shift", "bias"):
            if not math.isfinite(getattr(self, name)):
                raise ConfigurationError(name, expected="a finite number", got=getattr(self, name))
        if self.temperature <= 0:
            raise ConfigurationError("temperature", expected="a positive number", got=self.temperature)
        for label, lowest in self.thresholds.items():
            check_probability(lowest, f"threshold of {label!r}")

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def uncalibrated(self) -> "Decoding":
        """The same decisions over the network's own distribution."""
        return replace(self, temperature=1.0, shift=0.0)


def lowest_probabilities(threshold: float | Mapping[str, float], labelling: Labelling) -> dict[str, float]:
    """Class -> lowest probability of an answered entity, from one for all classes or from some by class."""
    if isinstance(threshold, Mapping):
        lowest = {label: check_probability(value, f"threshold of {label!r}") for label, value in threshold.items()}
    else:
        lowest = dict.fromkeys(labelling.classes, check_probability(threshold, "threshold"))
    if lowest and not labelling.has_spans:
        raise ConfigurationError("threshold", expected="a model of spans", got="labels without spans")
    unknown = [label for label in lowest if label not in labelling.classes]
    if unknown:
        known = ", ".join(labelling.classes[:12])
        raise ConfigurationError("threshold of an unknown class", expected=f"one of {known}", got=repr(unknown[0]))
    return lowest


def check_probability(value: float, what: str) -> float:
    """A number from 0 to 1, or an error."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating) or not 0 <= value <= 1:
        raise ConfigurationError(what, expected="a number from 0 to 1", got=repr(value))
    return float(value)
