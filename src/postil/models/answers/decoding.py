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

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from numbers import Real
from typing import Any, final

import numpy as np

from postil.errors import ConfigurationError
from postil.models.answers.labelling import Labelling

LARGEST = 1e6
"""Of temperature, shift and bias: far beyond any use, and far from where float64 ends."""


@final
@dataclass(frozen=True, kw_only=True)
class Decoding:
    """How labels are chosen and probabilities calibrated.

    ``shift`` and ``bias`` are log-odds: 1 multiplies the odds by 2.72.
    """

    temperature: float = 1.0
    """Divides all scores: above 1, the model is less confident."""
    shift: float = 0.0
    """Added to the score of every label but O, in the distribution itself."""
    bias: float = 0.0
    """Added to the score of every entity when labels are chosen. Above 0: more entities, higher recall."""
    thresholds: Mapping[str, float] = field(default_factory=dict)
    """Class -> lowest probability at which an entity is returned."""

    def __post_init__(self) -> None:
        for name in ("temperature", "shift", "bias"):
            value: Any = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Real) or not -LARGEST <= float(value) <= LARGEST:
                expected = f"a finite number, from {-LARGEST:,.0f} to {LARGEST:,.0f}"
                raise ConfigurationError(name, expected=expected, got=repr(value)[:80])
        if self.temperature < 1 / LARGEST:
            raise ConfigurationError("temperature", expected="a positive number", got=self.temperature)
        if not isinstance(self.thresholds, Mapping):
            raise ConfigurationError("thresholds", expected="{class: probability}", got=repr(self.thresholds)[:80])
        for label, lowest in self.thresholds.items():
            check_probability(lowest, f"threshold of {label!r}")

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def uncalibrated(self) -> "Decoding":
        """The same choices over the uncalibrated distribution of the network."""
        return replace(self, temperature=1.0, shift=0.0)


def lowest_probabilities(threshold: float | Mapping[str, float], labelling: Labelling) -> dict[str, float]:
    """Class -> lowest probability of an answered entity, from one for all classes or from some by class."""
    if isinstance(threshold, Mapping):
        lowest = {label: check_probability(value, f"threshold of {label!r}") for label, value in threshold.items()}
    else:
        lowest = dict.fromkeys(labelling.classes, check_probability(threshold, "threshold"))
    if lowest and not labelling.has_spans:
        raise ConfigurationError("threshold", expected="needs a model of spans", got="labels without spans")
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
