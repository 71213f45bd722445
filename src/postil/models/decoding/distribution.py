"""The posterior over the label sequences of some sentences, and what is read from it: labels, spans, probabilities."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from numbers import Real
from typing import Any, final

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError
from postil.models.decoding.codec import LabelCodec
from postil.models.decoding.promise import Promise
from postil.objectives import long_chains
from postil.objectives.crf import ChainScores, Lattice, Posterior, k_best, path_scores, viterbi
from postil.objectives.spans import EntityLabels, Windows, entities_of, span_probabilities, window_probabilities
from postil.text import Span

# ------------------------------------------------------------------------- How answers are read from a network's scores
#
# Two of them shape the posterior. Every probability comes from the one distribution
#
#     p(y) ∝ exp(s(y) / temperature + shift · (tokens that y does not label O)).
#
# Two decide what is *answered*, given the posterior. ``bias`` finds more entities: answered is the labelling with the
# largest
#
#     log p(y) + bias · (entities of y).
#
# A bonus per entity, not per token, does not make entities longer: measured, it reaches more recall and keeps more
# precision. ``thresholds`` then drop entities that are not probable enough. So a probability means the same wherever
# the dial stands.


LARGEST = 1e6  # of temperature, shift and bias: far beyond any use, and far from where float64 ends


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
    promise: Promise | None = field(default=None, repr=False)
    """How redaction hides names, and what it promises: see ``Tagger.promise``."""

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
        given: Any = self.promise
        if isinstance(given, dict):  # of a model file
            if set(given) != {field.name for field in fields(Promise)}:
                raise ConfigurationError("promise", expected="all its fields and no others", got=", ".join(given)[:200])
            object.__setattr__(self, "promise", Promise(**given))
        elif given is not None and not isinstance(given, Promise):
            raise ConfigurationError("promise", expected="a Promise or None", got=repr(given)[:80])

    def as_json(self) -> dict[str, Any]:
        content = asdict(self)
        return content if self.promise is not None else {name: content[name] for name in content if name != "promise"}

    @property
    def uncalibrated(self) -> "Decoding":
        """The same choices over the uncalibrated distribution of the network."""
        return replace(self, temperature=1.0, shift=0.0)


def lowest_probabilities(threshold: float | Mapping[str, float], codec: LabelCodec) -> dict[str, float]:
    """Class -> lowest probability of an answered entity, from one for all classes or from some by class."""
    if isinstance(threshold, Mapping):
        lowest = {label: check_probability(value, f"threshold of {label!r}") for label, value in threshold.items()}
    else:
        lowest = dict.fromkeys(codec.classes, check_probability(threshold, "threshold"))
    if lowest and not codec.has_spans:
        raise ConfigurationError("threshold", expected="needs a model of spans", got="labels without spans")
    unknown = [label for label in lowest if label not in codec.classes]
    if unknown:
        known = ", ".join(codec.classes[:12])
        raise ConfigurationError("threshold of an unknown class", expected=f"one of {known}", got=repr(unknown[0]))
    return lowest


def check_probability(value: float, what: str) -> float:
    """A number from 0 to 1, or an error."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating) or not 0 <= value <= 1:
        raise ConfigurationError(what, expected="a number from 0 to 1", got=repr(value))
    return float(value)


def calibrated_lattice(lattice: Lattice, codec: LabelCodec, decoding: Decoding) -> Lattice:
    """The lattice of the posterior, from that of the network's scores: temperature and shift are applied."""
    T, shift = decoding.temperature, decoding.shift
    if T == 1 and not shift:
        return lattice
    chain, unary = lattice.chain, lattice.unary / T
    if shift and codec.outside is not None:
        unary[:, codec.outside] -= shift  # the same probabilities as adding it to all others
    cooled = ChainScores(transitions=chain.transitions / T, start=chain.start / T, end=chain.end / T)
    return Lattice(unary=unary, offsets=lattice.offsets, chain=cooled)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class LabelPosterior:
    """``which`` sentences these are, and the lattice of their labellings."""

    which: Sequence[int]
    lattice: Lattice
    codec: LabelCodec
    meaning: Array | None = None  # (S,) the model's label that each label of the lattice stands for; None: itself

    def best(self, bias: float) -> Array:
        """The best label numbers (N,), where every entity scores ``bias`` more."""
        lattice = self.lattice
        if bias:
            lattice = replace(lattice, unary=lattice.unary + bias * self.codec.opens_entity[self._meanings])
        return self._meant(viterbi(lattice))

    def spans_of(self, numbers: Array) -> tuple[Array, Array]:
        """(M, 4) the entities of a labelling (N,) in the order of the text, and (M,) their probabilities."""
        spans = self.codec.spans_of_sentences(numbers, self.lattice.offsets)
        return spans, self.span_probabilities(spans)

    def may_be_outside(self, tokens: slice) -> bool:
        """Whether none of the tokens has to belong to an entity, as constraints may demand."""
        scores = self.lattice.unary[tokens, self._meanings == self.codec.outside]
        return bool(np.isfinite(scores).any(axis=1).all())

    def marginals(self) -> Array:
        """(N, L) the probability of every label at every token."""
        marginals = long_chains.marginals(self.lattice) if self._is_long else self.posterior.marginals()
        if self.meaning is None:
            return marginals
        folded = np.zeros((len(marginals), len(self.codec.labels)))
        np.add.at(folded.T, self.meaning, marginals.T)
        return folded

    def label_probabilities(self, numbers: Array) -> Array:
        """(N,) how probable each token's answer is, of label numbers (N,), as the data's scheme spells it."""
        marked = self.marked_beginnings() if self.codec.scheme == "iob1" else None
        return self.codec.probabilities_of(numbers, self.lattice.offsets, self.marginals(), marked)

    def marked_beginnings(self) -> Array:
        """(N, classes) the probability that an entity begins here right after another one of its class: IOB1's B."""
        tokens = self.lattice.pairs + 1  # all but the first ones
        answers = np.zeros((len(self.lattice.unary), len(self.codec.classes)))
        begins, classes = self.codec.begins_and_classes
        begins, classes = begins[self._meanings], classes[self._meanings]  # (S,)
        rows = np.stack([tokens - 1, tokens], axis=1).ravel()
        offsets = 2 * np.arange(len(tokens) + 1)
        for kind in range(answers.shape[1] if len(tokens) else 0):
            steps = np.stack([classes == kind, (classes == kind) & begins])  # (2, S)
            windows = Windows(rows, offsets, np.tile(steps, (len(tokens), 1)))
            answers[tokens, kind] = window_probabilities(self.posterior, windows)
        return answers

    def ranked(self, k: int) -> list[list[tuple[Array, float]]]:
        """The k most probable labellings of each sentence with their probabilities."""
        return [[(self._meant(path.labels), path.probability) for path in paths] for paths in k_best(self.lattice, k)]

    def probabilities_of(self, numbers: Array) -> Array:
        """(B,) the probability of each sentence's whole labelling, of (N,); 1 for a sentence without tokens."""
        if self.meaning is None:
            is_long = self._is_long
            log_Z = long_chains.log_partition(self.lattice) if is_long else self.posterior.log_partition  # (B,)
            return np.asarray(np.exp(path_scores(self.lattice, numbers) - log_Z))
        filled = np.flatnonzero(self.lattice.lengths)
        answers = np.ones(len(self.lattice.lengths))
        if len(filled):
            wanted = numbers[:, None] == self.meaning  # (N, S)
            offsets = np.concatenate([[0], self.lattice.offsets[1:][filled]])
            windows = Windows(np.arange(len(wanted)), offsets, wanted)
            answers[filled] = window_probabilities(self.posterior, windows)
        return answers

    def log_probability_within(self, allowed: Array) -> Array:
        """(B,) log of the probability that every token of a sentence has an allowed label: log Z(allowed) - log Z.

        allowed (N, L) boolean; some labelling must be possible.
        """
        lattices = self.lattice, self.lattice.restricted(allowed[:, self._meanings])
        if self._is_long:
            whole, part = map(long_chains.log_partition, lattices)
        else:
            whole, part = self.posterior.log_partition, Posterior.of(lattices[1]).log_partition
        return np.asarray(np.minimum(part - whole, 0.0))

    def span_probabilities(self, spans: Array) -> Array:
        """(M,) the probability that exactly these tokens are such an entity; (M, 4) row, start, end, class."""
        if not len(spans):
            return np.zeros(0)
        if self._is_long:
            return long_chains.entity_probabilities(self.lattice, spans[:, :3], spans[:, 3], self.entities)
        return span_probabilities(self.posterior, spans[:, :3], spans[:, 3], self.entities)

    def spans_above(self, lowest: float) -> list[list[tuple[Span, float]]]:
        """Every span of each sentence with at least this probability, on the best path or not, by place.

        A span is no more probable than any of its tokens' labels: only spans all of whose labels reach ``lowest`` are
        asked for, so none is missed.
        """
        found: list[list[tuple[Span, float]]] = [[] for _ in self.which]
        if not self.codec.has_spans:
            return found
        marginals = self.marginals() + 1e-9  # the bound must hold for computed numbers as well
        rows = np.repeat(np.arange(len(self.lattice.lengths)), self.lattice.lengths)  # (N,) sentence of each token
        candidates: list[tuple[int, int, int, int]] = []
        for kind, entity in enumerate(self.codec.entity_labels()):
            places = (entity.only, entity.first, entity.middle, entity.last)
            only, first, middle, last = (marginals[:, labels].sum(axis=1) >= lowest for labels in places)
            for start in np.flatnonzero(only | first).tolist():
                row = int(rows[start])
                low, high = int(self.lattice.offsets[row]), int(self.lattice.offsets[row + 1])
                ends = [start + 1] if only[start] else []
                token = start + 1 if first[start] else high
                while token < high:  # every token of an entity has a label that is probable enough
                    if last[token]:
                        ends.append(token + 1)
                    token = token + 1 if middle[token] else high
                candidates += [(row, start - low, end - low, kind) for end in ends]
        probabilities = self.span_probabilities(np.array(candidates, np.int64)).tolist()
        for (row, start, end, kind), probability in zip(candidates, probabilities, strict=True):
            if probability >= lowest:
                found[row].append((Span(self.codec.classes[kind], start, end), probability))
        return [sorted(spans, key=lambda one: (one[0].start, one[0].end, one[0].label)) for spans in found]

    @property
    def _is_long(self) -> bool:
        """Too long a sentence to keep all its messages."""
        return bool((self.lattice.lengths > long_chains.LONG).any())

    @cached_property
    def posterior(self) -> Posterior:
        return Posterior.of(self.lattice)

    @cached_property
    def entities(self) -> list[EntityLabels]:
        """How entities are written in the lattice's labels."""
        entities = self.codec.entity_labels()
        return entities if self.meaning is None else entities_of(entities, self.meaning)

    @property
    def _meanings(self) -> Array:
        """(S,) the model's label that each label of the lattice stands for."""
        return np.arange(self.lattice.chain.labels) if self.meaning is None else self.meaning

    def _meant(self, labels: Array) -> Array:
        return labels if self.meaning is None else self.meaning[labels]

    def by_sentence(self, values: Array) -> list[Array]:
        """(N,) cut into sentences."""
        return np.split(values, self.lattice.offsets[1:-1])
