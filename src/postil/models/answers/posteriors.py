"""From sentences to the posterior over their label sequences, and from that to the labels that are answered.

sentences -> scores of the network -> lattice -> calibrated lattice -> Distribution -> label numbers
                                                 temperature, shift                    bias, thresholds
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.features.inputs import Token
from postil.models.answers.constraints import Constraints, check_constraints, constrained
from postil.models.answers.decoding import Decoding, lowest_probabilities
from postil.models.answers.distribution import Distribution, FoundSpan, calibrated_lattice
from postil.models.answers.labelling import Labelling
from postil.models.parts import Parts
from postil.models.scoring.blocks import scored, scored_cells
from postil.objectives.lattice import ChainScores, Lattice
from postil.objectives.long_chains import LONG


class BlockAnswers(NamedTuple):
    """What is answered about a block of sentences: N tokens, B sentences, M entities."""

    which: list[int]  # the places of the sentences in what was asked
    offsets: Array  # (B + 1,)
    numbers: Array  # (N,) label numbers
    probabilities: Array  # (B,) of each sentence's whole labelling
    label_probabilities: Array | None  # (N,) of each token's label, where asked for
    spans: Array  # (M, 4) sentence of the block, start, end, class
    span_probabilities: Array  # (M,)


def place_answers(
    block: BlockAnswers, labelling: Labelling, labels: list[list[str]], probabilities: list[Array]
) -> None:
    """Put the labels of a block and their probabilities (T,) where its sentences stand in lists of all sentences."""
    assert block.label_probabilities is not None, "asked for"
    texts = labelling.texts_of_sentences(block.numbers, block.offsets)
    by_sentence = np.split(block.label_probabilities, block.offsets[1:-1])
    for i, of_sentence, values in zip(block.which, texts, by_sentence, strict=True):
        labels[i], probabilities[i] = of_sentence, values


@final
class CollectedAnswers:
    """The answers about blocks of sentences, put together in the order of the sentences (B + 1,)."""

    def __init__(self, offsets: Array, label_probabilities: bool) -> None:
        N, B = int(offsets[-1]), len(offsets) - 1
        self._offsets, self._numbers, self._probabilities = offsets, np.empty(N, np.int64), np.empty(B)
        self._of_labels = np.empty(N) if label_probabilities else None
        self._spans, self._of_spans = [np.zeros((0, 4), np.int64)], [np.zeros(0)]

    def add(self, tokens: Array | slice, answers: BlockAnswers) -> None:
        """The answers about a block, whose tokens are these (n,) of all."""
        which = answers.which
        self._numbers[tokens], self._probabilities[which] = answers.numbers, answers.probabilities
        if self._of_labels is not None:
            self._of_labels[tokens] = answers.label_probabilities
        answers.spans[:, 0] = np.array(which)[answers.spans[:, 0]]
        self._spans.append(answers.spans)
        self._of_spans.append(answers.span_probabilities)

    def in_order(self) -> BlockAnswers:
        rows = np.concatenate(self._spans)
        order = np.argsort(rows[:, 0], kind="stable")  # inside of a sentence they are in order
        return BlockAnswers(
            list(range(len(self._offsets) - 1)),
            self._offsets,
            self._numbers,
            self._probabilities,
            self._of_labels,
            rows[order],
            np.concatenate(self._of_spans)[order],
        )


@final
class Posteriors:
    """What a fitted tagger's answers are read from. ``decoding`` takes the place of the model's own."""

    def __init__(self, parts: Parts[Labelling, Any], decoding: Decoding | None = None) -> None:
        self.labelling, self.decoding = parts.labelling, decoding or parts.decoding
        self._parts = parts

    # -------------------------------------------------------------------------------------------- distributions

    def of(
        self, X: Sequence[Sequence[Token]], constraints: Sequence[Constraints | None] | None = None
    ) -> Iterator[Distribution]:
        """The posterior of the sentences, in blocks; given the constraints, one or None per sentence."""
        if constraints is not None:
            check_constraints(constraints, [len(tokens) for tokens in X])
            constraints = list(constraints)  # of a pandas Series, the positions count
        for which, lattice in self.lattices(X):
            posterior = Distribution(which=which, lattice=lattice, labelling=self.labelling)
            if constraints is None or not any(constraints[i] for i in which):
                yield posterior
            else:
                yield from constrained(posterior, constraints, valid_only=self._parts.config.constrained)

    def of_one(self, tokens: Sequence[Token], constraints: Constraints | None = None) -> Distribution:
        """The posterior of one sentence."""
        return next(self.of([tokens], [constraints]))

    def lattices(self, X: Sequence[Sequence[Token]]) -> Iterator[tuple[list[int], Lattice]]:
        """Blocks of sentences of similar length: their places in X, and all their label sequences, calibrated."""
        for which, lattice in self.network_lattices(X):
            yield which, calibrated_lattice(lattice, self.labelling, self.decoding)

    def network_lattices(self, X: Sequence[Sequence[Token]]) -> Iterator[tuple[list[int], Lattice]]:
        """The same as the network scores them, not calibrated."""
        scorer = self._parts.scorer()
        assert scorer.chain is not None, "the network of a tagger"
        for which, scores, offsets in scored(scorer, X):
            yield which, Lattice.over(scores, offsets, scorer.chain)

    # -------------------------------------------------------------------------------------------- labels

    def has_thresholds(self, threshold: float | Mapping[str, float] | None = None) -> bool:
        """Whether entities may be too improbable to be answered."""
        return threshold is not None or bool(self.decoding.thresholds)

    def labels(self, posterior: Distribution, threshold: float | Mapping[str, float] | None = None) -> Array:
        """The label numbers (N,) that are answered.

        The probabilities of entities cost more than the labels, so they are computed only where a threshold asks.
        """
        if not self.has_thresholds(threshold):
            return posterior.best(self.decoding.bias)
        return self.labels_and_spans(posterior, threshold)[0]

    def labels_and_spans(
        self, posterior: Distribution, threshold: float | Mapping[str, float] | None = None
    ) -> tuple[Array, list[FoundSpan]]:
        """Label numbers (N,) without improbable entities; and the entities that were kept.

        What constraints do not allow to be O is kept, however improbable.
        """
        lowest = lowest_probabilities(self.decoding.thresholds if threshold is None else threshold, self.labelling)
        numbers = posterior.best(self.decoding.bias)
        kept = []
        for entity in posterior.spans_of(numbers):
            if entity.probability < lowest.get(entity.span.label, 0.0) and posterior.may_be_outside(entity):
                first = posterior.lattice.offsets[entity.row]
                numbers[first + entity.span.start : first + entity.span.end] = self.labelling.outside
            else:
                kept.append(entity)
        return numbers, kept

    # -------------------------------------------------------------------------------------------- answers

    def answers(
        self,
        X: Sequence[Sequence[Token]],
        constraints: Sequence[Constraints | None] | None = None,
        threshold: float | Mapping[str, float] | None = None,
        *,
        label_probabilities: bool = False,
    ) -> Iterator[BlockAnswers]:
        """Labels, entities and all their probabilities, in blocks.

        The fast path is one kernel from scores to answers. Constraints, sentences of many thousand tokens, models that
        may break their scheme, and scores so far apart that scaled probabilities underflow take the general path.
        """
        if constraints is not None and any(constraints):
            for posterior in self.of(X, constraints):
                yield self._general(posterior, threshold, label_probabilities)
            return
        answer = self.answering(threshold, label_probabilities)
        for which, scores, offsets in scored(self._parts.scorer(), X):
            yield answer(which, scores, offsets)

    def answering(
        self, threshold: float | Mapping[str, float] | None, label_probabilities: bool
    ) -> Callable[[list[int], Array, Array], BlockAnswers]:
        """What answers for blocks of sentences, from their places, scores and offsets."""
        fuses = self._can_fuse and not (label_probabilities and self.labelling.scheme == "iob1")
        chain, question = self._asked(threshold, label_probabilities)

        def answer(which: list[int], scores: Array, offsets: Array) -> BlockAnswers:
            answers = self._fused(which, scores, offsets, chain, question) if fuses else None
            return answers or self._general(self._posterior(which, scores, offsets), threshold, label_probabilities)

        return answer

    def _asked(
        self, threshold: float | Mapping[str, float] | None, label_probabilities: bool
    ) -> tuple[ChainScores, kernels.Question]:
        """The scores of steps and what the kernel is asked. Without a threshold they are the same for every call."""
        cache, thresholds = self._parts.scorer().questions, self.decoding.thresholds
        decoding, known, *cached = cache.get(label_probabilities, (None, None))
        if threshold is None and decoding is self.decoding and known == thresholds:  # a mapping can be written to
            return cached[0], cached[1]
        lowest = lowest_probabilities(thresholds if threshold is None else threshold, self.labelling)
        chain, question = self._calibrated_chain(), self._question(lowest, label_probabilities)
        if threshold is None:
            cache[label_probabilities] = self.decoding, dict(thresholds), chain, question
        return chain, question

    def question(self) -> tuple[ChainScores, kernels.Question]:
        """The calibrated scores of steps, and what a kernel is asked for all answers of the model's own decoding."""
        return self._asked(None, True)

    def _fused(
        self, which: list[int], scores: Array, offsets: Array, chain: ChainScores, question: kernels.Question
    ) -> BlockAnswers | None:
        """None where the general path has to answer."""
        if len(scores) > LONG and int(np.diff(offsets).max()) > LONG:
            return None
        answers = kernels.chain_answers(scores, offsets, chain.transitions, chain.start, chain.end, question)
        if not answers.is_exact.all():
            return None
        return BlockAnswers(which, offsets, *answers[:5])

    def _general(
        self, posterior: Distribution, threshold: float | Mapping[str, float] | None, label_probabilities: bool
    ) -> BlockAnswers:
        numbers, entities = self.labels_and_spans(posterior, threshold)
        number_of = {name: i for i, name in enumerate(self.labelling.classes)}
        rows = [(row, span.start, span.end, number_of[span.label]) for row, span, _ in entities]
        return BlockAnswers(
            posterior.which,
            posterior.lattice.offsets,
            numbers,
            posterior.probabilities_of(numbers),
            posterior.label_probabilities(numbers) if label_probabilities else None,
            np.array(rows, np.int64).reshape(-1, 4),
            np.array([entity.probability for entity in entities]),
        )

    @property
    def _can_fuse(self) -> bool:
        """Whether every best path is a valid labelling, from which the kernel can read entities."""
        return not self.labelling.has_spans or bool(self._parts.config.constrained)

    def _posterior(self, which: list[int], scores: Array, offsets: Array) -> Distribution:
        chain = self._parts.scorer().chain
        assert chain is not None, "the network of a tagger"
        lattice = calibrated_lattice(Lattice.over(scores, offsets, chain), self.labelling, self.decoding)
        return Distribution(which=which, lattice=lattice, labelling=self.labelling)

    def _calibrated_chain(self) -> ChainScores:
        chain, T = self._parts.scorer().chain, self.decoding.temperature
        assert chain is not None, "the network of a tagger"
        return ChainScores(transitions=chain.transitions / T, start=chain.start / T, end=chain.end / T)

    def _question(self, lowest: Mapping[str, float], label_probabilities: bool) -> kernels.Question:
        labelling, decoding = self.labelling, self.decoding
        begins, classes = labelling.begins_and_classes if labelling.has_spans else (None, None)
        return kernels.Question(
            temperature=decoding.temperature,
            shift=decoding.shift,
            outside=-1 if labelling.outside is None else labelling.outside,
            bonus=decoding.bias * labelling.opens_entity if decoding.bias else None,
            classes=classes,
            begins=begins,
            after=labelling.after_entities,
            lowest=np.array([lowest.get(name, 0.0) for name in labelling.classes]) if lowest else None,
            alike=labelling.spelt_alike if label_probabilities else None,
        )

    # -------------------------------------------------------------------------------------------- words as bytes

    @property
    def takes_cells(self) -> bool:
        """Whether words need not be strings: labels depend on nothing else and are always valid sequences."""
        return self._parts.scorer().takes_cells and bool(self._parts.config.constrained)

    def labels_of_cells(
        self, text: bytes, cells: Array, offsets: Array, threshold: float | Mapping[str, float] | None = None
    ) -> Array:
        """Labels of sentences (B + 1,) whose words stand in cells (N, 2) of a text in UTF-8: (N,) label numbers.

        Only if ``takes_cells``.
        """
        if self.has_thresholds(threshold):
            return self.answers_of_cells(text, cells, offsets, threshold).numbers
        numbers = np.empty(len(cells), np.int64)
        for _, tokens, scores, block in scored_cells(self._parts.scorer(), text, cells, offsets):
            numbers[tokens] = self.labels_of_scores(scores, block)
        return numbers

    def labels_of_scores(self, scores: Array, offsets: Array) -> Array:
        """The best label numbers (N,) of a block of sentences (B + 1,), from the network's scores (N, L)."""
        return self._posterior(list(range(len(offsets) - 1)), scores, offsets).best(self.decoding.bias)

    def numbering(self) -> Callable[[Array, Array], Array]:
        """What returns the answered label numbers (N,) of blocks, from scores (N, L) and offsets (B + 1,).

        Probabilities are computed only where a threshold asks for them.
        """
        if self.has_thresholds():
            answer = self.answering(None, False)
            return lambda scores, offsets: answer(list(range(len(offsets) - 1)), scores, offsets).numbers
        chain = self._parts.scorer().chain
        assert chain is not None, "the network of a tagger"

        def numbers(scores: Array, offsets: Array) -> Array:
            lattice = calibrated_lattice(Lattice.over(scores, offsets, chain), self.labelling, self.decoding)
            return Distribution(which=[], lattice=lattice, labelling=self.labelling).best(self.decoding.bias)

        return numbers

    def answers_of_scores(self, scores: Array, offsets: Array) -> BlockAnswers:
        """The same with the probabilities of entities and of whole labellings."""
        return self.answering(None, False)(list(range(len(offsets) - 1)), scores, offsets)

    def answers_of_cells(
        self,
        text: bytes,
        cells: Array,
        offsets: Array,
        threshold: float | Mapping[str, float] | None = None,
        *,
        label_probabilities: bool = False,
    ) -> BlockAnswers:
        """``answers`` for such sentences, in their order. Only if ``takes_cells``."""
        answer = self.answering(threshold, label_probabilities)
        if len(offsets) == 2:
            ((which, _, scores, block),) = scored_cells(self._parts.scorer(), text, cells, offsets)
            return answer(which, scores, block)
        collected = CollectedAnswers(offsets, label_probabilities)
        for which, tokens, scores, block in scored_cells(self._parts.scorer(), text, cells, offsets):
            collected.add(tokens, answer(which, scores, block))
        return collected.in_order()
