"""The training problem: sentences as sparse attributes with gold labels, and the CRF's loss with its gradient.

    f(w) = Σ_sentences log Z - w · observed + c2 |w|²
    ∂f/∂w_k = expected_k - observed_k + 2 c2 w_k

A feature is a pair (attribute, label) or (label, next label); ``observed`` counts it on the gold labels, weighted with
the attribute's value, ``expected`` under the model. The weights (K + transitions,) are those of the attributes' pairs,
then those of pairs of labels in the order of the rows of the transition matrix.

Sentences are cut into shards whose number does not depend on the number of threads. The scores of a token and the
expectation of a feature are each summed by one thread in a fixed order, so the same bits come out of any number.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import chain as chained
from itertools import pairwise
from operator import itemgetter
from typing import Any, Self, TypeVar, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.errors import ConfigurationError, DataError
from postil.features.named import AttributeTable
from postil.integrations.crfsuite.model import Weights, chain_moments
from postil.kernels import Attributes, AttributeTokens, PairWeights
from postil.objectives import ChainScores
from postil.threads import cores, one_blas_thread

_TOKENS_OF_A_SHARD = 2048
_OCCURRENCES_OF_A_SHARD = 1 << 14
_SMALL_TABLE = 1 << 20
_R = TypeVar("_R")


@final
@dataclass(frozen=True, eq=False)
class AttributeCorpus:
    """Sentences as numbers, with the names of their attributes and labels in the order of their first occurrence."""

    attributes: Attributes
    offsets: Array  # (B + 1,)
    gold: Array  # (N,)
    names: list[str]
    labels: list[str]

    @classmethod
    def of(cls, X: Iterable[Any], y: Iterable[Any], also: Iterable[Iterable[str]] = ()) -> Self:
        """Number feature dicts and their labels. The labels of ``also`` are labels of the model too."""
        table, labels = AttributeTable(grows=True), _Labels()
        attributes, offsets = table.encoded(X)
        sequences = [list(labels_of_sentence) for labels_of_sentence in y]
        check_lengths(np.diff(offsets).tolist(), [len(sequence) for sequence in sequences])
        if any("\0" in name for name in table.ids):
            raise DataError("an attribute with a NUL character", expected="a name that CRFsuite's files can hold")
        gold = np.array([labels[label] for sequence in sequences for label in sequence], np.int64)
        for sequence in also:
            for label in sequence:
                labels[label]
        return cls(attributes, offsets, gold, [*table.ids], [*labels])

    @property
    def sentences(self) -> int:
        return len(self.offsets) - 1


class _Labels(dict[str, int]):
    def __missing__(self, label: str) -> int:
        if not isinstance(label, str) or "\0" in label:
            raise DataError("label", expected="a string without a NUL character", got=repr(label)[:80])
        return self.setdefault(label, len(self))


def check_lengths(items: list[int], labels: list[int]) -> None:
    """An error about the first sentence without exactly one label per item."""
    if len(items) != len(labels):
        raise DataError("X and y differ in length", expected=f"{len(items)} sequences of labels", got=len(labels))
    for b, (have, given) in enumerate(zip(items, labels, strict=True)):
        if have != given:
            raise DataError("items and labels differ in length", expected=f"{have} labels", got=given, where=f"y[{b}]")


@final
@dataclass(frozen=True, eq=False)
class _Shard:
    attributes: Attributes
    tokens: slice
    offsets: Array  # (b + 1,) of its sentences, from 0 on


@final
class TrainingProblem:
    """The features of a corpus, those seen at least ``min_freq`` times or all of a kind, and the objective over their
    weights."""

    def __init__(
        self,
        corpus: AttributeCorpus,
        threads: int | None = None,
        *,
        min_freq: float = 0.0,
        all_possible_states: bool = False,
        all_possible_transitions: bool = False,
    ) -> None:
        self.corpus, self.L = corpus, len(corpus.labels)
        if threads is not None and threads < 1:
            raise ConfigurationError("threads", expected="must be at least 1", got=threads)
        self.threads = threads or cores()
        occurrences = kernels.attribute_tokens(corpus.attributes, len(corpus.names))
        self.pairs, observed = _state_features(occurrences, corpus, min_freq, all_possible_states)
        # An occurrence with value 0 may make a feature, but adds nothing to any sum.
        self.attributes = _without_zeros(corpus.attributes)
        if self.attributes is not corpus.attributes:
            occurrences = kernels.attribute_tokens(self.attributes, len(corpus.names))
        self.occurrences = occurrences
        self.steps, steps_observed = _transition_features(corpus, min_freq, all_possible_transitions)  # (S,) i · L + j
        self.observed = np.concatenate([observed, steps_observed])

    @property
    def features(self) -> int:
        return len(self.observed)

    @cached_property
    def shards(self) -> list[_Shard]:
        """Whole sentences, about as many tokens in each."""
        return [self._shard(a, b) for a, b in _ranges(self.corpus.offsets, _TOKENS_OF_A_SHARD)]

    def _shard(self, first: int, end: int) -> _Shard:
        offsets, every = self.corpus.offsets[first : end + 1], self.attributes
        tokens = slice(int(offsets[0]), int(offsets[-1]))
        edges = every.offsets[tokens.start : tokens.stop + 1]
        rows = slice(int(edges[0]), int(edges[-1]))
        values = None if every.values is None else every.values[rows]
        return _Shard(Attributes(every.ids[rows], values, edges - edges[0]), tokens, offsets - offsets[0])

    @cached_property
    def instances(self) -> list[_Shard]:
        """Every sentence separately."""
        return [self._shard(b, b + 1) for b in range(self.corpus.sentences)]

    def states(self, weights: Array) -> Array:
        """(K,) the weights of pairs (attribute, label)."""
        return weights[: len(self.pairs.targets)]

    def named(self, weights: Array) -> Weights:
        """The weights with their names."""
        corpus, steps = self.corpus, self.chain(weights).transitions
        return Weights.pruned(corpus.labels, corpus.names, self.pairs, self.states(weights), steps)

    def chain(self, weights: Array) -> ChainScores:
        """The weights of pairs of labels, (L, L)."""
        table = np.zeros(self.L * self.L)
        table[self.steps] = weights[len(self.pairs.targets) :]
        edge = np.zeros(self.L)
        return ChainScores(transitions=table.reshape(self.L, self.L), start=edge, end=edge.copy())

    def objective(self, c2: float) -> Callable[[Array], tuple[float, Array]]:
        """f and its gradient; a pool of threads is kept until the function is forgotten."""
        pool = ThreadPoolExecutor(self.threads) if self.threads > 1 and len(self.shards) > 1 else None

        def each(function: Callable[[Any], _R], things: list[Any]) -> list[_R]:
            """One task per thread, which takes the next thing as long as there is one: a task per thing costs more."""
            if pool is None:
                return [function(thing) for thing in things]
            waiting = iter(range(len(things)))
            done = pool.map(lambda _: [(i, function(things[i])) for i in waiting], range(self.threads))
            return [result for _, result in sorted(chained.from_iterable(done), key=itemgetter(0))]

        blocks = _ranges(self.occurrences.starts, _OCCURRENCES_OF_A_SHARD)
        scores = Scorer(self.pairs, self.L, len(self.attributes.ids))
        marginals = np.zeros((len(self.corpus.gold), kernels.padded_labels(self.L)))

        def evaluate(weights: Array) -> tuple[float, Array]:
            chain = self.chain(weights)
            scores.set(self.states(weights))

            def solved(shard: _Shard) -> tuple[float, Array]:
                unary = scores(shard.attributes)
                log_partition, marginals[shard.tokens, : self.L], counts = chain_moments(unary, shard.offsets, chain)
                return log_partition, counts

            gradient = np.empty(self.features)
            expected = self.states(gradient)

            def counted(block: tuple[int, int]) -> None:
                kernels.attribute_counts(self.occurrences, self.pairs, marginals, self.L, *block, out=expected)

            with one_blas_thread():
                parts = each(solved, self.shards)
                each(counted, blocks)
                gradient[len(expected) :] = np.sum([counts for _, counts in parts], axis=0).reshape(-1)[self.steps]
                gradient -= self.observed
                gradient += 2.0 * c2 * weights
                value = sum(part for part, _ in parts) - float(weights @ self.observed)
                return value + c2 * float(weights @ weights), gradient

        return evaluate


@final
class Scorer:
    """Attributes -> the scores (N, L) of every label of every token, under weights (K,) that may be set again.

    Whole rows of a table are added faster than single weights, but a table of all pairs of attribute and label may be
    far larger than the weights: it is used if it is small compared with ``occurrences`` attributes to be scored.
    """

    def __init__(self, pairs: PairWeights, L: int, occurrences: int) -> None:
        A, P = len(pairs.firsts) - 1, kernels.padded_labels(L)
        self.pairs, self.L, self._weights = pairs, L, np.zeros(len(pairs.targets))
        self._table = np.zeros((A, P)) if max(4 * occurrences, _SMALL_TABLE) >= A * P else None
        if self._table is not None:
            self._places = np.repeat(np.arange(A) * P, np.diff(pairs.firsts)) + pairs.targets

    def set(self, weights: Array) -> None:
        """Score with these weights from now on."""
        if self._table is None:
            self._weights = np.ascontiguousarray(weights)
        else:
            self._table.reshape(-1)[self._places] = weights

    def __call__(self, attributes: Attributes) -> Array:
        scores: Array
        if self._table is None:
            scores = kernels.attribute_scores(attributes, self.pairs, self._weights, self.L)
        else:
            scores = kernels.attribute_sums(attributes, self._table, self.L)
        return scores


# ------------------------------------------------------------------------------------------------ features


def _state_features(
    occurrences: AttributeTokens, corpus: AttributeCorpus, min_freq: float, every: bool
) -> tuple[PairWeights, Array]:
    """Pairs (attribute, label) and how often each was seen, Σ of the attribute's values."""
    A, L = len(corpus.names), len(corpus.labels)
    pairs, totals = kernels.observed_features(occurrences, corpus.gold, L)
    if every:
        dense = np.zeros((A, L))
        dense[np.repeat(np.arange(A), np.diff(pairs.firsts)), pairs.targets] = totals
        pairs = PairWeights(np.arange(A + 1, dtype=np.int64) * L, np.tile(np.arange(L, dtype=np.int32), A))
        totals = dense.reshape(-1)
    kept = totals >= min_freq
    firsts = np.concatenate([[0], np.cumsum(kept)])[pairs.firsts].astype(np.int64)
    return PairWeights(firsts, pairs.targets[kept]), totals[kept]


def _transition_features(corpus: AttributeCorpus, min_freq: float, every: bool) -> tuple[Array, Array]:
    """Pairs of labels i · L + j, and how often each was seen."""
    L, gold = len(corpus.labels), corpus.gold
    followed = np.ones(len(gold), bool)
    followed[corpus.offsets[1:][np.diff(corpus.offsets) > 0] - 1] = False
    places = np.flatnonzero(followed)
    counts = np.bincount(gold[places] * L + gold[places + 1], minlength=L * L).astype(np.float64)
    kept = (counts >= min_freq) & (every | (counts > 0))
    steps = np.flatnonzero(kept)
    return steps, counts[steps]


def _without_zeros(attributes: Attributes) -> Attributes:
    if attributes.values is None:
        return attributes
    kept = attributes.values != 0.0
    offsets = np.concatenate([[0], np.cumsum(kept)])[attributes.offsets].astype(np.int64)
    values = attributes.values[kept]
    return Attributes(attributes.ids[kept], None if (values == 1.0).all() else values, offsets)


def _ranges(starts: Array, size: int) -> list[tuple[int, int]]:
    """Ranges of what begins at ``starts`` (the last is the end of all), about ``size`` in each."""
    count = max(1, int(starts[-1]) // size)
    cuts = np.unique([0, *np.searchsorted(starts, np.linspace(0, starts[-1], count + 1)[1:-1]), len(starts) - 1])
    return [(int(a), int(b)) for a, b in pairwise(cuts)]
