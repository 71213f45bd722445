"""From sentences to the posterior over their label sequences, and from that to the labels that are answered.

sentences -> scores of the network -> lattice -> calibrated lattice -> LabelPosterior -> label numbers
                                                 temperature, shift,                     bias, thresholds
                                                 votes of rules
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, final

import numpy as np

from postil import kernels
from postil.arrays import Array, offsets_from_lengths
from postil.features.inputs import Token
from postil.kernels.plain_text import SURROGATES
from postil.models.decoding.codec import LabelCodec
from postil.models.decoding.constraints import Constraints, check_constraints, constrained
from postil.models.decoding.distribution import (
    Decoding,
    FoundSpan,
    LabelPosterior,
    calibrated_lattice,
    lowest_probabilities,
)
from postil.models.engine import Engine
from postil.models.model import FittedModel
from postil.models.networks.encoders import warn_of_long_sentences
from postil.network.pooling import LONGEST_VIEW
from postil.objectives.crf import ChainScores, Lattice
from postil.objectives.long_chains import LONG
from postil.threads import one_blas_thread

TOKENS_AT_ONCE = 8192
"""So many are scored and then answered: their scores stay near the processor."""
Threshold = float | Mapping[str, float] | None
"""The lowest probability of an entity, for all classes or by class; None: that of the model."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answers:
    """The answers of one task for B sentences with N tokens and M entities. Answers not requested are None."""

    codec: LabelCodec
    offsets: Array  # (B + 1,)
    numbers: Array  # (N,) label numbers
    probabilities: Array | None = None  # (B,) of each sentence's whole labelling
    label_probabilities: Array | None = None  # (N,) of each token's label
    spans: Array | None = None  # (M, 4) sentence, start, end, class
    span_probabilities: Array | None = None  # (M,)

    def texts(self) -> list[list[str]]:
        """The labels of each sentence, in the scheme of the data."""
        return self.codec.texts_of_sentences(self.numbers, self.offsets)

    def by_sentence(self) -> list[Array]:
        """The probabilities (T,) of the labels of each sentence."""
        assert self.label_probabilities is not None, "asked for"
        return np.split(self.label_probabilities, self.offsets[1:-1]) if len(self.offsets) > 1 else []

    def entities(self) -> Array:
        """(M, 3) first token, end and class of each entity, counted through all sentences."""
        spans = self.spans
        if spans is None:
            spans = np.column_stack(self.codec.spans_of_sentences(self.numbers, self.offsets))
        placed: Array = spans[:, 1:].copy()
        placed[:, :2] += self.offsets[spans[:, 0], None]
        return placed


def _joined(parts: Sequence[tuple[Sequence[int], Answers]], offsets: Array) -> Answers:
    """The answers about blocks, whose sentences have these places among all (B + 1,), in the order of all sentences."""
    first = parts[0][1]
    if len(parts) == 1 and list(parts[0][0]) == list(range(len(offsets) - 1)):
        return first
    which = np.concatenate([np.array(places, np.int64) for places, _ in parts])
    lengths = np.diff(offsets)[which]
    tokens = np.repeat(offsets[which] - np.cumsum(lengths) + lengths, lengths) + np.arange(offsets[-1])

    def joined(name: str, places: Array | None = None) -> Any:
        if getattr(first, name) is None:
            return None
        values = np.concatenate([getattr(answers, name) for _, answers in parts])
        if places is None:
            return values
        whole = np.empty_like(values)
        whole[places] = values
        return whole

    spans, span_probabilities = joined("spans"), joined("span_probabilities")
    if spans is not None:
        entities = [len(answers.spans) for _, answers in parts if answers.spans is not None]
        before = np.cumsum([0, *(len(places) for places, _ in parts)])[:-1]  # sentences before each block
        spans[:, 0] = which[np.repeat(before, entities) + spans[:, 0]]
        order = np.argsort(spans[:, 0], kind="stable")  # inside of a sentence they are in order
        spans, span_probabilities = spans[order], span_probabilities[order]
    return Answers(
        codec=first.codec,
        offsets=offsets,
        numbers=joined("numbers", tokens),
        probabilities=joined("probabilities", which),
        label_probabilities=joined("label_probabilities", tokens),
        spans=spans,
        span_probabilities=span_probabilities,
    )


@final
class Posteriors:
    """The posteriors of a fitted tagger, from which answers are read. ``decoding`` replaces the model's own."""

    def __init__(self, model: FittedModel, decoding: Decoding | None = None) -> None:
        self.codec, self.decoding = model.codec, decoding or model.decoding
        self._model, self._task = model, model.task

    @cached_property
    def engine(self) -> Engine:
        """The engine that scores sentences: built once, even while the network still changes."""
        return self._model.engine()

    @property
    def has_rules(self) -> bool:
        return self._model.voters is not None

    @property
    def takes_cells(self) -> bool:
        """Whether words need not be strings: labels depend on nothing else and are always valid sequences."""
        return self.engine.takes_cells and bool(self._model.config.constrained)

    # -------------------------------------------------------------------------------------------- distributions

    def of(
        self, X: Sequence[Sequence[Token]], constraints: Sequence[Constraints | None] | None = None
    ) -> Iterator[LabelPosterior]:
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

    def lattices(self, X: Sequence[Sequence[Token]], *, calibrated: bool = True) -> Iterator[tuple[list[int], Lattice]]:
        """Blocks of sentences of similar length: their places in X, and all their label sequences.

        Those that are not ``calibrated`` have the scores of the network alone.
        """
        chain = self.engine.chains[self._task]
        for which, scores, offsets in self.engine.scored(X, [self._task]):
            if not calibrated:
                yield which, Lattice.over(scores[self._task], offsets, chain)
                continue
            voted = self.voted(scores[self._task], [X[i] for i in which])
            yield which, calibrated_lattice(Lattice.over(voted, offsets, chain), self.codec, self.decoding)

    def voted(self, scores: Array, sentences: Sequence[Sequence[Token]]) -> Array:
        """Scores (N, L) of sentences with log P(votes | label) of the model's rules, if it has any.

        The evidence is about probabilities, not scores of the network: the temperature, which divides all scores,
        does not change it. Scores keep their type, as exported models have it.
        """
        if self._model.voters is None:
            return scores
        evidence = self._model.voters.evidence(sentences, self.codec)
        voted: Array = scores + self.decoding.temperature * evidence
        return voted.astype(scores.dtype)

    # -------------------------------------------------------------------------------------------- labels

    def labels(self, posterior: LabelPosterior, threshold: Threshold = None) -> Array:
        """The label numbers (N,) that are answered.

        The probabilities of entities cost more than the labels, so they are computed only if a threshold asks.
        """
        if threshold is None and not self.decoding.thresholds:
            return posterior.best(self.decoding.bias)
        return self.labels_and_spans(posterior, threshold)[0]

    def labels_and_spans(self, posterior: LabelPosterior, threshold: Threshold = None) -> tuple[Array, list[FoundSpan]]:
        """Label numbers (N,) without improbable entities; and the entities that were kept.

        Tokens that constraints do not allow to be O are kept, however improbable.
        """
        lowest = lowest_probabilities(self.decoding.thresholds if threshold is None else threshold, self.codec)
        numbers = posterior.best(self.decoding.bias)
        kept = []
        for entity in posterior.spans_of(numbers):
            if entity.probability < lowest.get(entity.span.label, 0.0) and posterior.may_be_outside(entity):
                first = posterior.lattice.offsets[entity.row]
                numbers[first + entity.span.start : first + entity.span.end] = self.codec.outside
            else:
                kept.append(entity)
        return numbers, kept

    # -------------------------------------------------------------------------------------------- answers

    def answers(
        self,
        X: Sequence[Sequence[Token]],
        constraints: Sequence[Constraints | None] | None = None,
        threshold: Threshold = None,
        *,
        probabilities: bool = True,
        label_probabilities: bool = False,
    ) -> Answers:
        """Labels, and with ``probabilities`` entities and all of theirs."""
        if constraints is not None:
            check_constraints(constraints, [len(tokens) for tokens in X])
        if constraints is None or not any(constraints):
            return answers_of({self._task: self}, X, threshold, probabilities, label_probabilities)[self._task]
        blocks = [
            (posterior.which, self._general(posterior, threshold, label_probabilities))
            for posterior in self.of(X, constraints)
        ]
        return _joined(blocks, offsets_from_lengths([len(tokens) for tokens in X]))

    def answers_of_cells(
        self,
        text: bytes,
        cells: Array,
        offsets: Array,
        threshold: Threshold = None,
        *,
        probabilities: bool = True,
        label_probabilities: bool = False,
    ) -> Answers:
        """The same for sentences (B + 1,) whose words stand in cells (N, 2) of a text in UTF-8, if ``takes_cells``."""
        words, heads = (text, cells, offsets), {self._task: self}
        return answers_of_cells(heads, words, threshold, probabilities, label_probabilities)[self._task]

    def answering(
        self, threshold: Threshold, probabilities: bool, label_probabilities: bool
    ) -> Callable[[Array, Array], Answers]:
        """Return a function from scores (N, L) and offsets (B + 1,) of a block of sentences to answers.

        One kernel goes from scores to answers. Sentences of many thousand tokens, models that may break their scheme,
        and scores so far apart that scaled probabilities underflow take the general path. The probabilities of entities
        cost more than the labels, so they are computed only if they are asked for or a threshold needs them.
        """
        codec, only_labels = self.codec, not (probabilities or label_probabilities)
        if only_labels and threshold is None and not self.decoding.thresholds:
            return lambda scores, offsets: Answers(
                codec=codec, offsets=offsets, numbers=self._posterior(scores, offsets).best(self.decoding.bias)
            )
        # Every best path must be a valid labelling, from which the kernel can read entities.
        fuses = not codec.has_spans or bool(self._model.config.constrained)
        fuses = fuses and not (label_probabilities and codec.scheme == "iob1")
        chain, question = self.question(threshold, label_probabilities)

        def answer(scores: Array, offsets: Array) -> Answers:
            if fuses and not (len(scores) > LONG and int(np.diff(offsets).max()) > LONG):
                numbers, whole, of_labels, spans, of_spans, exact = kernels.chain_answers(
                    scores, offsets, chain.transitions, chain.start, chain.end, question
                )
                if 0 not in exact.tobytes():
                    return Answers(
                        codec=codec,
                        offsets=offsets,
                        numbers=numbers,
                        probabilities=whole,
                        label_probabilities=of_labels,
                        spans=spans,
                        span_probabilities=of_spans,
                    )
            return self._general(self._posterior(scores, offsets), threshold, label_probabilities)

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

    def _general(self, posterior: LabelPosterior, threshold: Threshold, label_probabilities: bool) -> Answers:
        numbers, entities = self.labels_and_spans(posterior, threshold)
        number_of = {name: i for i, name in enumerate(self.codec.classes)}
        rows = [(row, span.start, span.end, number_of[span.label]) for row, span, _ in entities]
        return Answers(
            codec=self.codec,
            offsets=posterior.lattice.offsets,
            numbers=numbers,
            probabilities=posterior.probabilities_of(numbers),
            label_probabilities=posterior.label_probabilities(numbers) if label_probabilities else None,
            spans=np.array(rows, np.int64).reshape(-1, 4),
            span_probabilities=np.array([entity.probability for entity in entities]),
        )

    def _posterior(self, scores: Array, offsets: Array) -> LabelPosterior:
        lattice = Lattice.over(scores, offsets, self.engine.chains[self._task])
        lattice = calibrated_lattice(lattice, self.codec, self.decoding)
        return LabelPosterior(which=list(range(len(offsets) - 1)), lattice=lattice, codec=self.codec)


# --------------------------------------------------------------------------------------------------- some heads at once


def answers_of(
    heads: Mapping[str, Posteriors],
    X: Sequence[Sequence[Token]],
    threshold: Threshold = None,
    probabilities: bool = True,
    label_probabilities: bool = False,
) -> dict[str, Answers]:
    """The answers of some heads of one model, by task: sentences are scored once."""
    engine = next(iter(heads.values())).engine
    answering = {task: one.answering(threshold, probabilities, label_probabilities) for task, one in heads.items()}
    found: dict[str, list[tuple[Sequence[int], Answers]]] = {task: [] for task in heads}
    for which, scores, offsets in engine.scored(X, list(heads), in_order=engine.takes_cells):
        sentences = [X[i] for i in which]
        for task, answer in answering.items():
            found[task].append((which, answer(heads[task].voted(scores[task], sentences), offsets)))
    if not X:
        return {task: _nothing(one.codec, label_probabilities) for task, one in heads.items()}
    whole = offsets_from_lengths([len(tokens) for tokens in X])
    return {task: _joined(found[task], whole) for task in heads}


def answers_of_cells(
    heads: Mapping[str, Posteriors],
    words: tuple[bytes, Array, Array],
    threshold: Threshold = None,
    probabilities: bool = True,
    label_probabilities: bool = False,
    *,
    only_spans: bool = False,
) -> dict[str, Answers]:
    """The same for a text in UTF-8, cells (N, 2) and offsets (B + 1,).

    With ``only_spans``, tasks without spans have labels alone.
    """
    text, cells, offsets = words
    engine = next(iter(heads.values())).engine
    if len(cells) > LONGEST_VIEW:
        warn_of_long_sentences(engine.config, np.diff(offsets).tolist())
    answering = {
        task: one.answering(None, False, False)
        if only_spans and not one.codec.has_spans
        else one.answering(threshold, probabilities, label_probabilities)
        for task, one in heads.items()
    }
    has_rules = any(one.has_rules for one in heads.values())

    def answers_of_part(cells: Array, offsets: Array) -> dict[str, Answers]:
        scores = engine.scores_of_cells(text, cells, offsets, list(heads))
        if has_rules:  # which read words as strings
            words = [text[first:end].decode("utf-8", SURROGATES) for first, end in cells.tolist()]
            sentences = [words[first:end] for first, end in pairwise(offsets.tolist())]
            scores = {task: one.voted(scores[task], sentences) for task, one in heads.items()}
        return {task: answer(scores[task], offsets) for task, answer in answering.items()}

    if len(cells) <= TOKENS_AT_ONCE:
        return answers_of_part(cells, offsets)
    found: dict[str, list[tuple[Sequence[int], Answers]]] = {task: [] for task in heads}
    first, B = 0, len(offsets) - 1
    with one_blas_thread():
        while first < B:
            reached = int(np.searchsorted(offsets, offsets[first] + TOKENS_AT_ONCE, side="right")) - 1
            end = max(reached, first + 1)
            low, high = int(offsets[first]), int(offsets[end])
            for task, answers in answers_of_part(cells[low:high], offsets[first : end + 1] - low).items():
                found[task].append((range(first, end), answers))
            first = end
    return {task: _joined(found[task], offsets) for task in heads}


def _nothing(codec: LabelCodec, label_probabilities: bool) -> Answers:
    """The answers about no sentences."""
    nothing = np.zeros(0)
    return Answers(
        codec=codec,
        offsets=np.zeros(1, np.int64),
        numbers=np.zeros(0, np.int64),
        probabilities=nothing,
        label_probabilities=nothing if label_probabilities else None,
        spans=np.zeros((0, 4), np.int64),
        span_probabilities=nothing,
    )
