"""From sentences to the posterior over their label sequences, and from that to the labels that are answered.

sentences -> scores of the network -> lattice -> calibrated lattice -> LabelPosterior -> label numbers
                                                 temperature, shift,                     bias, thresholds
                                                 votes of rules
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, final

import numpy as np

from postil import kernels
from postil.arrays import Array, offsets_from_lengths
from postil.features.inputs import Sentences, Token
from postil.models.decoding.codec import LabelCodec, Target
from postil.models.decoding.constraints import Conditions, Constraints, check_constraints, constrained
from postil.models.decoding.distribution import Decoding, LabelPosterior, calibrated_lattice, lowest_probabilities
from postil.models.engine import Engine, Words
from postil.models.model import FittedModel
from postil.objectives.crf import ChainScores, Lattice
from postil.objectives.long_chains import LONG

if TYPE_CHECKING:
    from postil.objectives.mentions import Change

_IN_PYTHON = kernels.IN_USE.startswith("plain")
Threshold = float | Mapping[str, float] | None
"""The lowest probability of an entity, for all classes or by class; None: that of the model."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Decoded:
    """The labels, entities and probabilities that one task gives B sentences with N tokens; None if not requested."""

    codec: LabelCodec
    offsets: Array  # (B + 1,)
    numbers: Array  # (N,) label numbers
    probabilities: Array | None = None  # (B,) of each sentence's whole labelling
    label_probabilities: Array | None = None  # (N,) of each token's label
    spans: Array | None = None  # (M, 4) sentence, start, end, class
    span_probabilities: Array | None = None  # (M,)
    scores: Array | None = None  # (N,) of a margin model, which has no probabilities
    groups: Sequence[str] | None = None
    """The task of each class, if the entities are those of several tasks: then there are no labels."""

    def group_of(self, kind: int) -> str | None:
        """The task of a class; None if all are of one task."""
        return None if self.groups is None else self.groups[kind]

    def texts(self) -> list[list[str]]:
        """The labels of each sentence, in the scheme of the data."""
        return self.codec.texts_of_sentences(self.numbers, self.offsets)

    def places(self) -> Array:
        """(N,) places of the labels in the codec's ``spellings``."""
        return self.codec.places_of(self.numbers, self.offsets)

    def by_sentence(self) -> list[Array]:
        """The probabilities (T,) of the labels of each sentence, or the scores of a margin model."""
        figures = self.label_probabilities if self.scores is None else self.scores
        assert figures is not None, "asked for"
        return np.split(figures, self.offsets[1:-1]) if len(self.offsets) > 1 else []

    def entity_scores(self) -> list[float]:
        """The lowest score of the tokens of each entity of a margin model."""
        assert self.scores is not None, "asked for"
        return [float(self.scores[first:end].min()) for first, end, _ in self.entities().tolist()]

    def entities(self) -> Array:
        """(M, 3) first token, end and class of each entity, counted through all sentences."""
        spans = self.all_spans()
        placed: Array = spans[:, 1:].copy()
        placed[:, :2] += self.offsets[spans[:, 0], None]
        return placed

    def all_spans(self) -> Array:
        """``spans``, also if they were not requested."""
        if self.spans is not None:
            return self.spans
        return self.codec.spans_of_sentences(self.numbers, self.offsets)


def together(tasks: Mapping[str, Decoded]) -> Decoded:
    """The entities of groups of classes in the order of the text, of those that begin together the longest first.

    Given the sentence, groups are independent: the probability of all labellings is the product of theirs.
    """
    parts = list(tasks.values())
    spans, before = [], 0
    for part in parts:
        spans.append(part.all_spans() + np.array([0, 0, 0, before]))
        before += len(part.codec.classes)
    joined = np.concatenate(spans)
    order = np.lexsort((joined[:, 3], -joined[:, 2], joined[:, 1], joined[:, 0]))
    whole = [part.probabilities for part in parts if part.probabilities is not None]
    of_spans = [part.span_probabilities for part in parts if part.span_probabilities is not None]
    return Decoded(
        codec=LabelCodec("bio", tuple(name for part in parts for name in part.codec.classes)),
        offsets=parts[0].offsets,
        numbers=np.zeros_like(parts[0].numbers),
        probabilities=np.prod(whole, axis=0) if whole else None,
        spans=joined[order],
        span_probabilities=np.concatenate(of_spans)[order] if of_spans else None,
        groups=[task for task, part in tasks.items() for _ in part.codec.classes],
    )


def _joined(parts: Sequence[tuple[Sequence[int], Decoded]], offsets: Array) -> Decoded:
    """Decoded blocks, whose sentences have these places, as one in the order of all sentences (B + 1,)."""
    first = parts[0][1]
    if len(parts) == 1 and list(parts[0][0]) == list(range(len(offsets) - 1)):
        return first
    which = np.concatenate([np.array(places, np.int64) for places, _ in parts])
    lengths = np.diff(offsets)[which]
    tokens = np.repeat(offsets[which] - np.cumsum(lengths) + lengths, lengths) + np.arange(offsets[-1])

    def joined(name: str, places: Array | None = None) -> Any:
        if getattr(first, name) is None:
            return None
        values = np.concatenate([getattr(decoded, name) for _, decoded in parts])
        if places is None:
            return values
        whole = np.empty_like(values)
        whole[places] = values
        return whole

    spans, span_probabilities = joined("spans"), joined("span_probabilities")
    if spans is not None:
        entities = [len(decoded.spans) for _, decoded in parts if decoded.spans is not None]
        before = np.cumsum([0, *(len(places) for places, _ in parts)])[:-1]  # sentences before each block
        spans[:, 0] = which[np.repeat(before, entities) + spans[:, 0]]
        order = np.argsort(spans[:, 0], kind="stable")  # inside of a sentence they are in order
        spans, span_probabilities = spans[order], None if span_probabilities is None else span_probabilities[order]
    return Decoded(
        codec=first.codec,
        offsets=offsets,
        numbers=joined("numbers", tokens),
        probabilities=joined("probabilities", which),
        label_probabilities=joined("label_probabilities", tokens),
        spans=spans,
        span_probabilities=span_probabilities,
        scores=joined("scores", tokens),
    )


@final
class Posteriors:
    """The posteriors of a fitted tagger, from which answers are read. ``decoding`` replaces the model's own.

    A detector has scores instead; its answers are those of a tagger with one class.
    """

    def __init__(self, model: FittedModel, decoding: Decoding | None = None) -> None:
        self._target: Target | None = model.codec if isinstance(model.codec, Target) else None
        self.codec: LabelCodec = model.codec if self._target is None else self._target.span_codec
        self.decoding = decoding or model.decoding
        self._model, self._task = model, model.task

    @cached_property
    def engine(self) -> Engine:
        """The engine that scores sentences: built once, even while the network still changes."""
        return self._model.engine()

    @property
    def width(self) -> int:
        """The number of scores of a token."""
        return len(self.codec.labels) if self._target is None else 1

    @property
    def takes_cells(self) -> bool:
        """Whether words need not be strings: labels depend on nothing else and are always valid sequences."""
        return self.engine.takes_cells and bool(self._model.config.constrained)

    def of(self, X: Sentences, constraints: Conditions = None) -> Iterator[LabelPosterior]:
        """The posterior of the sentences, in blocks; given the constraints, one or None per sentence."""
        if constraints is not None:
            check_constraints(constraints, [len(tokens) for tokens in X])
            constraints = list(constraints)  # of a pandas Series, the positions count
        for which, lattice in self.lattices(X):
            posterior = LabelPosterior(which=which, lattice=lattice, codec=self.codec)
            if constraints is None or not any(constraints[i] for i in which):
                yield posterior
            else:
                yield from constrained(posterior, constraints, valid_only=self._model.config.constrained)

    def of_one(self, tokens: Sequence[Token], constraints: Constraints | None = None) -> LabelPosterior:
        """The posterior of one sentence."""
        return next(self.of([tokens], [constraints]))

    def lattices(self, X: Sentences, *, calibrated: bool = True) -> Iterator[tuple[Sequence[int], Lattice]]:
        """Blocks of sentences of similar length: their places in X, and all their label sequences.

        Those that are not ``calibrated`` have the scores of the network alone.
        """
        chain = self.engine.chains[self._task]
        for which, scores, offsets in self.engine.scored(X, [self._task]):
            if not calibrated:
                yield which, Lattice.over(scores[self._task], offsets, chain)
                continue
            voted = self.voted(scores[self._task], X, which)
            yield which, calibrated_lattice(Lattice.over(voted, offsets, chain), self.codec, self.decoding)

    def unaries(self, X: Sentences, *, calibrated: bool = True) -> tuple[list[Array], ChainScores | None]:
        """The scores (T, L) of the lattice of each sentence, and those of its steps; None without sentences."""
        rows, chain = [np.zeros((0, len(self.codec.labels)))] * len(X), None
        for which, lattice in self.lattices(X, calibrated=calibrated):
            chain = lattice.chain
            for place, of_sentence in zip(which, np.split(lattice.unary, lattice.offsets[1:-1]), strict=True):
                rows[place] = of_sentence
        return rows, chain

    def changes(self, X: Sentences) -> "Mapping[int, Change]":
        """By how much expected counts of sentences differ from those of their lattices: no tagger's do."""
        return {}

    def voted(self, scores: Array, X: Sentences, which: Sequence[int]) -> Array:
        """Scores (N, L) of some sentences with log P(votes | label) of the model's rules, if it has any.

        The evidence is about probabilities, not scores of the network: the temperature, which divides all scores,
        does not change it. Scores keep their type, as exported models have it.
        """
        if self._model.voters is None:
            return scores
        evidence = self._model.voters.evidence([X[i] for i in which], self.codec)
        voted: Array = scores + self.decoding.temperature * evidence
        return voted.astype(scores.dtype)

    def answered(
        self, posterior: LabelPosterior, threshold: Threshold = None, *, label_probabilities: bool = False
    ) -> Decoded:
        """The answers about these sentences, without improbable entities: the general path.

        Tokens that constraints do not allow to be O are kept, however improbable.
        """
        lowest = lowest_probabilities(self.decoding.thresholds if threshold is None else threshold, self.codec)
        offsets, numbers = posterior.lattice.offsets, posterior.best(self.decoding.bias)
        spans, probabilities = posterior.spans_of(numbers)
        limits = np.array([lowest.get(name, 0.0) for name in self.codec.classes])[spans[:, 3]]
        for i in np.flatnonzero(probabilities < limits):
            tokens = slice(*offsets[spans[i, 0]] + spans[i, 1:3])
            if posterior.may_be_outside(tokens):
                numbers[tokens], limits[i] = self.codec.outside, np.inf
        kept = limits < np.inf
        return Decoded(
            codec=self.codec,
            offsets=offsets,
            numbers=numbers,
            probabilities=posterior.probabilities_of(numbers),
            label_probabilities=posterior.label_probabilities(numbers) if label_probabilities else None,
            spans=spans[kept],
            span_probabilities=probabilities[kept],
        )

    def decode(self, X: Sentences, **asked: Any) -> Decoded:
        """``decode`` by this head alone."""
        return decode({self._task: self}, X, **asked)[self._task]

    def answering(
        self, threshold: Threshold = None, *, probabilities: bool = False, label_probabilities: bool = False
    ) -> Callable[[Array, Array], Decoded]:
        """Return a function from scores (N, L) and offsets (B + 1,) of a block of sentences to what they mean.

        One kernel goes from scores to answers. Sentences of many thousand tokens, models with hundreds of labels or
        that may break their scheme, and scores so far apart that scaled probabilities underflow take the general path.
        The probabilities of entities cost more than the labels, so they are computed only if they are asked for or a
        threshold needs them.
        """
        if self._target is not None:
            return partial(self._detected, self._target)
        codec, only_labels = self.codec, not (probabilities or label_probabilities)
        if only_labels and threshold is None and not self.decoding.thresholds:
            return lambda scores, offsets: Decoded(
                codec=codec, offsets=offsets, numbers=self._posterior(scores, offsets).best(self.decoding.bias)
            )
        # Every best path must be a valid labelling, from which the kernel can read entities.
        fuses = not codec.has_spans or bool(self._model.config.constrained)
        fuses = fuses and not (_IN_PYTHON or (label_probabilities and codec.scheme == "iob1"))
        chain, question = self.question(threshold, label_probabilities)

        def answer(scores: Array, offsets: Array) -> Decoded:
            if fuses and not (len(scores) > LONG and int(np.diff(offsets).max()) > LONG):
                answers = kernels.chain_answers(scores, offsets, chain.transitions, chain.start, chain.end, question)
                if answers is not None and 0 not in answers.is_exact.tobytes():
                    return Decoded(
                        codec,
                        offsets,
                        numbers=answers.numbers,
                        probabilities=answers.probabilities,
                        label_probabilities=answers.label_probabilities,
                        spans=answers.spans,
                        span_probabilities=answers.span_probabilities,
                    )
            return self.answered(self._posterior(scores, offsets), threshold, label_probabilities=label_probabilities)

        return answer

    def question(
        self, threshold: Threshold = None, label_probabilities: bool = True
    ) -> tuple[ChainScores, kernels.Question]:
        """The calibrated scores of steps, and what the kernel is asked. Without a threshold both are kept for the next
        call; by default they are those for all answers of the model's own decoding.
        """
        codec, decoding, cache = self.codec, self.decoding, self.engine.questions
        key = self._task, label_probabilities
        of, thresholds, *cached = cache.get(key, (None, None))
        if threshold is None and of is decoding and thresholds == decoding.thresholds:  # a mapping can be written to
            return cached[0], cached[1]
        lowest = lowest_probabilities(decoding.thresholds if threshold is None else threshold, codec)
        chain, T = self.engine.chains[self._task], decoding.temperature
        cooled = ChainScores(transitions=chain.transitions / T, start=chain.start / T, end=chain.end / T)
        begins, classes = codec.begins_and_classes if codec.has_spans else (None, None)
        question = kernels.Question(
            temperature=T,
            shift=decoding.shift,
            outside=-1 if codec.outside is None else codec.outside,
            bonus=decoding.bias * codec.opens_entity if decoding.bias else None,
            classes=classes,
            begins=begins,
            after=codec.after_entities,
            lowest=np.array([lowest.get(name, 0.0) for name in codec.classes]) if lowest else None,
            alike=codec.spelt_alike if label_probabilities else None,
        )
        if threshold is None:
            cache[key] = decoding, dict(decoding.thresholds), cooled, question
        return cooled, question

    def _posterior(self, scores: Array, offsets: Array) -> LabelPosterior:
        lattice = Lattice.over(scores, offsets, self.engine.chains[self._task])
        lattice = calibrated_lattice(lattice, self.codec, self.decoding)
        return LabelPosterior(which=list(range(len(offsets) - 1)), lattice=lattice, codec=self.codec)

    def _detected(self, target: Target, scores: Array, offsets: Array) -> Decoded:
        """Neighbouring tokens above the threshold of a detector are one entity."""
        of_tokens = scores[:, 0].astype(np.float64)  # so that comparing with a threshold is exact
        inside = np.append(of_tokens > target.threshold, False)
        begins, ends = inside.copy(), inside.copy()
        begins[1:] &= ~inside[:-1]
        begins[offsets] = inside[offsets]
        ends[:-1] &= ~inside[1:] | begins[1:]
        (labels,) = self.codec.entity_labels()
        places = (labels.middle, labels.first, labels.last, labels.only)
        kinds = np.array([place.argmax() for place in places])[begins + 2 * ends]
        numbers = np.where(inside, kinds, self.codec.outside or 0)[:-1]
        spans = self.codec.spans_of_sentences(numbers, offsets)
        return Decoded(codec=self.codec, offsets=offsets, numbers=numbers, spans=spans, scores=of_tokens)


def decode(
    heads: Mapping[str, Posteriors],
    X: Sentences,
    *,
    threshold: Threshold = None,
    probabilities: bool = True,
    label_probabilities: bool = False,
    constraints: Conditions = None,
    only_spans: bool = False,
) -> dict[str, Decoded]:
    """Decode sentences, or `Words`, by some heads of one model; they are scored once.

    With ``probabilities`` there are entities and all of theirs; with ``only_spans``, tasks without spans have labels
    alone. ``constraints`` are for one head, one or None per sentence.
    """
    whole = X.offsets if isinstance(X, Words) else offsets_from_lengths([len(tokens) for tokens in X])
    parts: dict[str, list[tuple[Sequence[int], Decoded]]] = {task: [] for task in heads}
    if constraints is not None:
        check_constraints(constraints, np.diff(whole).tolist())
    if constraints is not None and any(constraints):
        for task, one in heads.items():
            for posterior in one.of(X, constraints):
                answers = one.answered(posterior, threshold, label_probabilities=label_probabilities)
                parts[task].append((posterior.which, answers))
    else:
        engine = next(iter(heads.values())).engine
        answering = {
            task: one.answering()
            if only_spans and not one.codec.has_spans
            else one.answering(threshold, probabilities=probabilities, label_probabilities=label_probabilities)
            for task, one in heads.items()
        }
        for which, scores, offsets in engine.scored(X, list(heads), in_order=engine.takes_cells):
            for task, answer in answering.items():
                parts[task].append((which, answer(heads[task].voted(scores[task], X, which), offsets)))
        if not len(X):
            nothing = np.zeros(1, np.int64)
            for task, answer in answering.items():
                parts[task].append(((), answer(np.zeros((0, heads[task].width), np.float32), nothing)))
    return {task: _joined(of_task, whole) for task, of_task in parts.items()}
