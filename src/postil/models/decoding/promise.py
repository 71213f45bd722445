"""A promise about names that redaction misses, and the figures by which a text is recognised as one like dev.

Redaction hides every token whose probability of belonging to a name reaches a threshold t, so a name is missed if the
lowest probability s of its tokens is below t. With n names on dev and t at their (k + 1)-th smallest s, the share of
names below t in the population is at most a Beta(k + 1, n - k) variable, whatever the distribution of s is, and

    P(Beta(k + 1, n - k) > miss) = P(Binomial(n, miss) <= k).

So t keeps the promise "at most ``miss`` of the names, with this confidence" if the right side is at most
1 - confidence. This is the exact binomial (Clopper-Pearson) bound at k misses. No correction for having chosen t on the
same data is needed: the order statistics are the proof.

Names are not independent: misses come together in a sentence or a document. So n is divided by the design effect of
these groups, as in surveys (Korn and Graubard, 1998): the variance of the share of misses over groups divided by that
of independent names, and more if it is known from few groups. It is measured at a threshold that misses more names than
promised, where misses are not so rare. If documents are not marked, runs of neighbouring sentences stand for them: the
design effect is the largest of those of all lengths of which the data have enough.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, isfinite, lgamma, log, log1p, sqrt
from typing import Any, NamedTuple, Self, final

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError, DataError

SLACK = 1e-6  # of the threshold: the same sentence in another batch may differ in the last digits
MOST_NAMES = 1_000_000
MANY, TIMES = 20, 5  # the design effect is measured at MANY misses, or TIMES those promised if that is more
FEWEST_DOCUMENTS = 5  # the variance over fewer marked documents is not known
RUNS = 20  # runs of sentences count as groups if at least so many of them have names


# ------------------------------------------------------------------------------------------------ the bound


def most_misses(names: int, miss: float, confidence: float) -> int:
    """The largest k with P(Binomial(names, miss) <= k) <= 1 - confidence; -1 if there is none."""
    total, k = 0.0, -1
    while k + 1 < names:
        j = k + 1
        choices = lgamma(names + 1) - lgamma(j + 1) - lgamma(names - j + 1)
        total += exp(choices + j * log(miss) + (names - j) * log1p(-miss))
        if total > 1 - confidence:
            break
        k = j
    return k


def names_needed(miss: float, confidence: float) -> int:
    """The number of independent names, none of them missed, from which the promise can be made."""
    return int(np.ceil(log(1 - confidence) / log1p(-miss)))


def design_effect(missed: Array, groups: Array) -> float:
    """How many times the variance of a share of misses is that of independent names; at least 1.

    missed (n,) boolean; groups (n,) the number of each name's group.
    """
    n, share = len(missed), float(missed.mean()) if len(missed) else 0.0
    if not 0 < share < 1:
        return 1.0
    off = np.bincount(groups, weights=missed - share)  # per group: misses above what its names let expect
    filled = len(np.unique(groups))
    independent = n * share * (1 - share) * n / (n - 1)
    effect = float((off**2).sum()) * filled / max(filled - 1, 1) / independent
    return effect if effect > 1 + 1e-9 else 1.0


def _corrected_effect(missed: Array, groups: Array, confidence: float) -> float:
    """The design effect, times the squared ratio of Student's quantiles: how well it is known from these groups."""

    def quantile(freedom: int) -> float:  # the expansion of Fisher and Cornish; exact to 1 % from 3 degrees on
        from statistics import NormalDist  # with Python's slow modules: only whoever makes a promise waits for them

        z = NormalDist().inv_cdf(max(confidence, 0.5 + 1e-9))
        return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)

    freedom = max(len(np.unique(groups)) - 1, 1)
    return design_effect(missed, groups) * (quantile(freedom) / quantile(max(len(missed) - 1, freedom))) ** 2


def chosen_threshold(
    scores: Array, sentences: Array, miss: float, confidence: float, documents: Array | None = None
) -> tuple[float, int, float]:
    """The highest threshold that keeps the promise, the names that it misses, and the design effect.

    scores (n,): s of every name; sentences, documents (n,): the number of its sentence in the text, of its document.
    """
    scores, sentences = scores[:MOST_NAMES], sentences[:MOST_NAMES]
    ordered, n = np.sort(scores), len(scores)
    reference = min(n - 1, max(MANY, round(TIMES * miss * n)))
    effect = 1.0
    if n:
        groupings = [sentences] if documents is None else [documents[:MOST_NAMES]]
        while documents is None and len(np.unique(longer := groupings[-1] // 2)) >= RUNS:
            groupings.append(longer)
        effect = max(_corrected_effect(scores < ordered[reference], groups, confidence) for groups in groupings)
    k = most_misses(int(n / effect), miss, confidence)
    if k < 0:
        needed = int(np.ceil(effect * names_needed(miss, confidence)))
        got = f"{n:,} names, which count as {int(n / effect):,} independent ones" if effect > 1 else f"{n:,} names"
        expected = f"at least {needed:,} labelled names of these classes for a miss rate of {miss:g}"
        raise DataError("too few names to promise this", expected=expected, got=got)
    threshold = float(ordered[min(int(k * effect), n - 1)]) * (1 - SLACK)
    return threshold, int((scores < threshold).sum()), effect


# ------------------------------------------------------------------------------------------------ figures of a text


class ClassShare(NamedTuple):
    """A ratio of sums over sentences, x / n, with what its standard error needs: the sums of x², xn and n²."""

    x: float
    n: float
    xx: float
    xn: float
    nn: float

    @classmethod
    def of(cls, x: Array, n: Array) -> Self:
        """x, n (B,) of each sentence."""
        x, n = np.asarray(x, np.float64), np.asarray(n, np.float64)
        return cls(*map(float, (x.sum(), n.sum(), (x * x).sum(), (x * n).sum(), (n * n).sum())))

    @property
    def value(self) -> float:
        return self.x / self.n if self.n else 0.0

    @property
    def spread(self) -> float:
        """Σ (x - r n)² over the sentences, for the ratio r."""
        r = self.value
        return max(self.xx - 2 * r * self.xn + r * r * self.nn, 0.0)

    def distance(self, base: "ClassShare") -> float:
        """The difference from another share in standard errors of it; 0 if there is nothing to compare.

        Sentences are counted, not words. A text of few sentences says little about its own error, so it is at least
        that of as many words of the other, and of as many independent words.
        """
        if not self.n or not base.n:
            return 0.0
        share = min((base.x + 1) / (base.n + 2), 0.5)  # never 0, even if the other has none
        per_word = max(base.spread / base.n, share * (1 - share))
        error = sqrt(max(self.spread / self.n**2, per_word / self.n) + per_word / base.n)
        return (self.value - base.value) / error


Profile = Mapping[str, ClassShare]  # figures of some sentences by name, without any of their text
UNKNOWN, LEFT = "unknown words", "names left, by the model's own probabilities"
MOST_FIGURES = 100_000


def profile_from_json(content: Any, what: str = "profile") -> dict[str, ClassShare]:
    """A profile as stored, checked."""
    rows: Any = content.items() if isinstance(content, Mapping) and len(content) <= MOST_FIGURES else [(None, None)]
    profile = {}
    for name, row in rows:
        is_row = isinstance(row, Sequence) and not isinstance(row, str) and len(row) == len(ClassShare._fields)
        if not is_row or not isinstance(name, str) or not all(map(_is_amount, row)):
            expected = "{figure: 5 numbers, 0 or more}"
            raise ConfigurationError(what, expected=expected, got=repr({name: row} if name else content)[:80])
        profile[name] = ClassShare(*map(float, row))
    return profile


def _is_amount(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and isfinite(value) and 0 <= value <= 1e300  # type: ignore[arg-type, operator]


SIGNIFICANT = 3.0  # standard errors
MATERIAL = 1.5  # times the share on dev


class Drift(NamedTuple):
    """A figure that differs from the base."""

    figure: str
    here: float
    base: float
    distance: float
    """In standard errors."""


def drifted(profile: Profile, base: Profile, significant: float) -> list[Drift]:
    """Figures that are materially other than those of the base, by more than ``significant`` standard errors."""
    shared = [name for name in profile if name in base]
    found = [Drift(n, profile[n].value, base[n].value, profile[n].distance(base[n])) for n in shared]
    return [
        one
        for one in found
        if abs(one.distance) > significant and not one.base / MATERIAL <= one.here <= one.base * MATERIAL
    ]


def unlike(profile: Profile, base: Profile) -> list[str]:
    """List in words how a text is unlike dev: figures that are surely and materially higher than there.

    More unknown words or more doubt mean other misses than on dev; more or fewer names alone do not.
    """
    told = {name: profile[name] for name in (UNKNOWN, LEFT) if name in profile}
    higher = (one for one in drifted(told, base, SIGNIFICANT) if one.distance > 0)
    return [f"{one.figure} {100 * one.here:.1f} %, on dev {100 * one.base:.1f} %" for one in higher]


@final
@dataclass(frozen=True, kw_only=True)
class Promise:
    """At most ``miss`` of the names of these classes are missed, with this confidence, in texts like dev.

    A name is missed unless all of its tokens are hidden.
    """

    classes: tuple[str, ...]
    miss: float
    confidence: float
    threshold: float  # tokens are hidden if they belong to such a name with at least this probability
    names: int  # on dev
    missed: int
    design_effect: float  # ``names`` divided by it is the number of independent names in the binomial bound
    hidden: float  # share of dev's tokens that are hidden
    in_names: float  # share of dev's tokens that belong to such names
    temperature: float
    shift: float  # the calibration for which the promise was made
    profile: Profile  # figures of dev, with which texts are compared

    def __post_init__(self) -> None:
        classes: object = self.classes
        if not isinstance(classes, tuple | list) or not classes or not all(isinstance(name, str) for name in classes):
            raise ConfigurationError("classes of a promise", expected="names of classes", got=repr(classes)[:80])
        object.__setattr__(self, "classes", tuple(classes))
        for name in ("miss", "confidence"):
            check_open(getattr(self, name), name)
        for name in ("threshold", "names", "missed", "design_effect", "hidden", "in_names", "temperature"):
            if not _is_amount(getattr(self, name)):
                got = repr(getattr(self, name))[:80]
                raise ConfigurationError(f"{name} of a promise", expected="a number, 0 or more", got=got)
        effective = int(self.names / max(self.design_effect, 1.0))
        if self.threshold > 1 or self.missed > self.names or self.names > MOST_NAMES:
            expected = f"a threshold up to 1, at most {MOST_NAMES:,} names, no more of them missed"
            raise ConfigurationError("promise", expected=expected, got="others")
        if self.missed > max(self.design_effect, 1.0) * most_misses(effective, self.miss, self.confidence):
            got = f"{self.missed} of {self.names} names missed"
            raise ConfigurationError("promise", expected="counts that its bound allows", got=got)
        object.__setattr__(self, "profile", profile_from_json(self.profile, "profile of a promise"))

    def __str__(self) -> str:
        names = f"{self.missed:,} of {self.names:,} missed on dev"
        names += f", which count as {int(self.names / self.design_effect):,}" if self.design_effect > 1 else ""
        promise = f"at most {100 * self.miss:g} % of {', '.join(self.classes)} missed"
        return f"{promise}, with {100 * self.confidence:g} % confidence ({names})"


def check_open(value: object, what: str) -> None:
    """Refuse what is not a number between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating) or not 0 < value < 1:
        raise ConfigurationError(what, expected="a number between 0 and 1", got=repr(value)[:80])
