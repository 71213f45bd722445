"""How good the taggers are on the texts that clients send, without labels: expected scores and drift, as metrics.

The last texts of each tagger are kept in memory; when the metrics are read, its expected scores on them are computed
(``evaluation/expectation.py``), and how far they are from a base profile. No text leaves the process.
"""

import contextlib
import threading
import warnings
from collections import deque
from collections.abc import Mapping, Sequence
from typing import final

from msgspec import UNSET
from prometheus_client import CollectorRegistry, Gauge

from postil.errors import CalibrationWarning, PostilError
from postil.evaluation.expectation import Expected, expected
from postil.models.decoding.promise import Profile
from postil.models.sentences import tokens_of
from postil.models.tagger import Tagger
from postil.server.answers import sentences_in
from postil.server.api import DocumentAsked
from postil.server.registry import Served

LAST = 200
"""Texts that are kept of each tagger."""
LONGEST = 2_000
"""Characters; longer texts are left out, so that metrics are cheap."""
_SCORES = ("precision", "recall", "f1")


@final
class Expectations:
    """Gauges of expected scores and drift. Safe for threads: texts come from one, metrics are read in others."""

    def __init__(self, registry: CollectorRegistry, bases: Mapping[str, Profile]) -> None:
        self._bases, self._lock, self._computing = bases, threading.Lock(), threading.Lock()
        self._last: dict[str, deque[DocumentAsked]] = {}
        self._models: dict[str, Served] = {}
        self._changed: set[str] = set()

        def gauge(name: str, about: str, *labels: str) -> Gauge:
            return Gauge(f"postil_{name}", about, ["model", *labels], registry=registry)

        self._scores = {one: gauge(f"expected_{one}", f"Expected {one} on the last texts.", "label") for one in _SCORES}
        self._low, self._high = (gauge(f"expected_{end}", "End of the 90 % interval.") for end in ("low", "high"))
        self._profile = gauge("profile", "Figures of the last texts: rates of classes, unknown words.", "figure")
        self._drift = gauge("drift", "Standard errors from the base.", "figure")
        self._drifted = gauge("drifted", "Figures that surely and materially differ from the base.")

    def saw(self, served: Served, documents: Sequence[DocumentAsked]) -> None:
        """Keep texts that a tagger has labelled."""
        if not isinstance(served.model, Tagger):
            return
        with self._lock:
            kept = self._last.setdefault(served.name, deque(maxlen=LAST))
            self._models[served.name] = served
            for one in documents:
                if 0 < sum(map(len, (one.text if one.tokens is UNSET else one.tokens) or "")) <= LONGEST:
                    kept.append(one)
                    self._changed.add(served.name)

    def update(self) -> None:
        """Compute the figures of the taggers that were asked since the last time."""
        with self._computing:
            with self._lock:
                asked = [(self._models[name], list(self._last[name])) for name in self._changed]
                self._changed.clear()
            for served, documents in asked:
                with warnings.catch_warnings(), contextlib.suppress(PostilError):  # an ensemble, or nothing but spaces
                    warnings.simplefilter("ignore", CalibrationWarning)
                    X = [tokens_of(sentence) for one in documents for sentence in sentences_in(served, one)]
                    self._show(served.name, expected(served.model, X, self._bases.get(served.name)))  # type: ignore[arg-type]

    def _show(self, name: str, found: Expected) -> None:
        counts = {"all": found.counts, **(found.by_class if found.has_spans else {})}
        for score in _SCORES if found.has_spans else _SCORES[:1]:
            for label, one in counts.items():
                self._scores[score].labels(name, label).set(getattr(one, score))
        self._low.labels(name).set(found.low)
        self._high.labels(name).set(found.high)
        for figure, share in found.profile.items():
            self._profile.labels(name, figure).set(share.value)
            if figure in self._bases.get(name, {}):
                self._drift.labels(name, figure).set(share.distance(self._bases[name][figure]))
        if found.drift is not None:
            self._drifted.labels(name).set(len(found.drift))
