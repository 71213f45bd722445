"""Training of vectors on text: two methods, how the shards of a block of text become one step, and the loop of steps.

Skip-gram: every word predicts the words around it, against random ones; two tables, the vectors are the inputs.
Ranking (E4, Collobert & Weston): true windows score higher than corrupt ones, so that words that fit into the same
windows get similar vectors. Its table has two rows more than the dictionary: an unknown word, and the padding outside
of a sentence.

Kernels (``kernels/plain_pretraining.py``) work on shards of text; what they need at random is drawn here. All shards of
a block start from the same parameters and run independently, on any number of threads. Their changes are added in the
order of the shards, so the result does not depend on the threads.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np

from postil import archive, kernels
from postil.arrays import Array
from postil.errors import ConfigurationError, ModelFileError, NumericalError, PostilError, ShapeError, similar
from postil.features.vectors import WordVectors
from postil.features.vocabulary import Vocabulary
from postil.graph import Node, Result
from postil.graph.node import note_branches
from postil.kernels import plain_pretraining as plain
from postil.kernels.plain_pretraining import (
    LANES,
    MOST_NEGATIVES,
    MOST_REACH,
    UNIT_LANES,
    ShardChanges,
    ShardRoom,
)
from postil.optimisation.optimisers import checked_state
from postil.pretraining.corpus import SENTENCE_END, UNKNOWN_WORD, Corpus, CorpusConfig, Texts, at_least, read_corpus

Parameters: TypeAlias = dict[str, Array]


@final
@dataclass(frozen=True, kw_only=True)
class PretrainingConfig:
    """How vectors are learned. A checkpoint stores it."""

    method: str = "skipgram"
    """``skipgram``: words predict their neighbours; ``ranking``: true windows score higher than corrupt ones (E4)."""
    dimensions: int = 50
    window: int | None = None
    """Words on each side; by default 5 for skip-gram and 2 for ranking."""
    epochs: int = 5
    negatives: int = 5
    """Skip-gram: random words for each true one."""
    sample: float = 1e-3
    """Skip-gram: words that are more frequent than this share of the text are skipped at random."""
    hidden: int = 64
    """Ranking: units of the hidden layer, a multiple of 16."""
    rate: float | None = None
    """Learning rate at the beginning, which falls linearly; by default 0.025 for skip-gram and 0.1 for ranking."""
    seed: int = 0
    corpus: CorpusConfig = field(default_factory=CorpusConfig)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ConfigurationError("method", expected=" or ".join(METHODS), got=repr(self.method))
        at_least(2, dimensions=self.dimensions)
        at_least(1, epochs=self.epochs, negatives=self.negatives, hidden=self.hidden)
        at_least(0, seed=self.seed)
        if self.hidden % UNIT_LANES:
            raise ConfigurationError("hidden", expected=f"must be a multiple of {UNIT_LANES}", got=self.hidden)
        for name, value, most in (("window", self.window, MOST_REACH), ("negatives", self.negatives, MOST_NEGATIVES)):
            if value is not None and not 1 <= value <= most:
                raise ConfigurationError(name, expected=f"1 to {most}", got=value)
        for name, number in (("sample", self.sample), ("rate", self.rate)):
            if number is not None and not (0 < number < inf):
                raise ConfigurationError(name, expected="more than 0", got=number)

    @property
    def reach(self) -> int:
        """The window, with the method's default."""
        return self.window if self.window is not None else {"skipgram": 5, "ranking": 2}[self.method]

    @property
    def first_rate(self) -> float:
        return self.rate if self.rate is not None else {"skipgram": 0.025, "ranking": 0.1}[self.method]


class Method(ABC):
    """A way to learn vectors from text: initial parameters, and one pass over a shard."""

    vectors: str  # the parameter whose rows are the vectors
    unit_length: bool  # whether the vectors are brought to length 1 in the end
    curvature: float  # of the cost of one touch along a row, roughly; see ``merging_scales``

    def __init__(self, config: PretrainingConfig, corpus: Corpus) -> None:
        self.config, self.corpus, self.sampler = config, corpus, WordSampler(corpus.counts)

    @abstractmethod
    def initial(self, V: int, rng: np.random.Generator) -> Parameters:
        """The parameters at the beginning; tables are float32 (rows, P)."""

    @abstractmethod
    def run(
        self, parameters: Parameters, ids: Array, rate: float, rng: np.random.Generator, room: ShardRoom
    ) -> ShardChanges:
        """Train on one shard of ``Corpus.ids``; ``parameters`` are not changed."""


def padded_table(values: Array) -> Array:
    """(V, D) -> float32 (V, P): P is the next multiple of LANES, the columns after D are zero."""
    V, D = values.shape
    table = np.zeros((V, -(-D // LANES) * LANES), np.float32)
    table[:, :D] = values
    return table


@final
class WordSampler:
    """Draws words with probability count^¾ / Σ count^¾, each in constant time (Walker's alias method).

    Rare words are drawn more often than they occur. Slot ``i`` holds word ``i`` with probability ``own[i]``, else word
    ``other[i]``; all slots are equally likely.
    """

    def __init__(self, counts: Array, power: float = 0.75) -> None:
        weights = counts.astype(np.float64) ** power
        shares = weights * len(weights) / weights.sum()
        self.own, self.other = np.minimum(shares, 1).astype(np.float32), np.arange(len(shares), dtype=np.int32)
        # Slots with too little take the rest from one with too much.
        left = shares.tolist()
        poor = [i for i, share in enumerate(left) if share < 1]
        rich = [i for i, share in enumerate(left) if share >= 1]
        while poor and rich:
            receiver, giver = poor.pop(), rich[-1]
            self.own[receiver], self.other[receiver] = left[receiver], giver
            left[giver] -= 1 - left[receiver]
            if left[giver] < 1:
                poor.append(rich.pop())
        self.own[np.array(poor + rich, np.int64)] = 1  # what is left differs from 1 by rounding

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        """Numbers of words, int32."""
        slots = rng.integers(0, len(self.own), shape, np.int32)
        return np.where(rng.random(shape, np.float32) < self.own[slots], slots, self.other[slots])


# ------------------------------------------------------------------------------------------------ skip-gram


@final
class Skipgram(Method):
    vectors = "inputs"
    unit_length = False
    curvature = 0.1  # of the cost of one pair along a row: σ'(s) |x|² with vectors of an ordinary length

    def initial(self, V: int, rng: np.random.Generator) -> Parameters:
        D = self.config.dimensions
        inputs = padded_table(rng.uniform(-0.5 / D, 0.5 / D, (V, D)))
        return {"inputs": inputs, "outputs": np.zeros_like(inputs)}

    def run(
        self, parameters: Parameters, ids: Array, rate: float, rng: np.random.Generator, room: ShardRoom
    ) -> ShardChanges:
        return kernels.skipgram_shard(parameters["inputs"], parameters["outputs"], self.drawn(ids, rng), rate, room)

    @cached_property
    def keeping(self) -> Array:
        """(V,) with which probability an occurrence is used, √(t/f) + t/f for a word of frequency f."""
        ratio = self.config.sample * self.corpus.tokens / self.corpus.counts
        return np.minimum(np.sqrt(ratio) + ratio, 1).astype(np.float32)

    def drawn(self, ids: Array, rng: np.random.Generator) -> plain.SkipgramText:
        """A text without unknown words and some of the frequent ones; with the reach and the negatives of each word."""
        is_kept = ids >= 0
        is_kept[is_kept] = rng.random(int(is_kept.sum()), np.float32) < self.keeping[ids[is_kept]]
        words = ids[is_kept]
        offsets = np.concatenate([[0], np.cumsum(is_kept)[ids == SENTENCE_END], [len(words)]])
        reach = rng.integers(1, self.config.reach, len(words), np.uint8, endpoint=True)
        return plain.SkipgramText(words, offsets, reach, self.sampler.draw((len(words), self.config.negatives), rng))


def negative_sampling(contexts: Node, outputs: Node, wanted: Array) -> Result:
    """A node with the cost of one window: contexts (M, D), outputs (Q, D); wanted (Q,) is 1 for the true word, 0 for a
    negative, -1 for one that is left out."""
    X, Y = contexts.value, outputs.value
    if X.ndim != 2 or Y.ndim != 2 or X.shape[1] != Y.shape[1] or wanted.shape != (len(Y),):
        expected, got = "contexts (M, D), outputs (Q, D), wanted (Q,)", f"{X.shape}, {Y.shape}, {wanted.shape}"
        raise ShapeError("a window", expected=expected, got=got, where="skip-gram")
    loss, dX, dY = plain.pair_losses(X, Y, wanted)
    return Result(np.asarray(loss, X.dtype), (contexts, outputs), lambda dJ: [dJ * dX, dJ * dY], "negative sampling")


# ------------------------------------------------------------------------------------------------ ranking of windows


MARGIN = 1.0
LAYER_RATIO = 0.1
"""The rate of the layers relative to that of the words: every window moves the layers, few move a word."""
_INITIAL_SIZE = 0.01  # standard deviation of the words' numbers


@final
class Ranking(Method):
    vectors = "words"
    unit_length = True
    """Words grow with every window that moves them. Without this, frequent words drown all others in a tagger."""
    curvature = 0.002  # measured: a hinge is flat almost everywhere

    def initial(self, V: int, rng: np.random.Generator) -> Parameters:
        S, D, H = 2 * self.config.reach + 1, self.config.dimensions, self.config.hidden
        words = padded_table(rng.normal(0, _INITIAL_SIZE, (V + 2, D)))
        W = np.zeros((S, words.shape[1], H), np.float32)
        W[:, :D] = rng.normal(0, (S * D) ** -0.5, (S, D, H))
        u = rng.normal(0, H**-0.5, H).astype(np.float32)
        return {"words": words, "W": W, "b": np.zeros(H, np.float32), "u": u}

    def run(
        self, parameters: Parameters, ids: Array, rate: float, rng: np.random.Generator, room: ShardRoom
    ) -> ShardChanges:
        layers = plain.RankingLayers(parameters["W"], parameters["b"], parameters["u"])
        rates = plain.RankingRates(rate, LAYER_RATIO, MARGIN)
        return kernels.ranking_shard(parameters["words"], layers, self.drawn(ids, rng), rates, room)

    def drawn(self, ids: Array, rng: np.random.Generator) -> plain.RankingText:
        """The sentences of a shard with a corrupt centre for each word."""
        V, is_word = len(self.corpus.words), ids != SENTENCE_END
        words = ids[is_word]
        words[words == UNKNOWN_WORD] = V
        offsets = np.concatenate([[0], np.cumsum(is_word)[~is_word], [len(words)]])
        return plain.RankingText(words, offsets, self.sampler.draw((len(words),), rng), V)


def window_ranking(windows: Node, corrupt: Node, W: Node, b: Node, u: Node, margin: float = MARGIN) -> Result:
    """A node with the sum of max(0, Δ - s(true) + s(corrupt)) over windows (n, S, D) and corrupt centres (n, D).

    s = u · hardtanh(W x + b) of the words of a window side by side; W (S, D, H), b (H,), u (H,).
    """
    X, C, layers = windows.value, corrupt.value, plain.RankingLayers(W.value, b.value, u.value)
    if X.ndim != 3 or C.shape != (len(X), X.shape[2]) or layers.W.shape[:2] != X.shape[1:]:
        got = f"{X.shape}, {C.shape}, {layers.W.shape}"
        expected = "windows (n, S, D), corrupt centres (n, D), W (S, D, H)"
        raise ShapeError("windows", expected=expected, got=got, where="ranking")
    losses = plain.ranking_losses(X, C, layers, margin)
    note_branches(losses.violated)
    note_branches(losses.pieces)
    parts = [losses.dX, losses.dC, *losses.layers]
    value = np.asarray(losses.loss, X.dtype)
    return Result(value, (windows, corrupt, W, b, u), lambda dY: [dY * part for part in parts], "window ranking")


METHODS: dict[str, Callable[[PretrainingConfig, Corpus], Method]] = {"skipgram": Skipgram, "ranking": Ranking}

# ------------------------------------------------------------------------------------------------ merging shards


def merge(
    method: Method,
    parameters: Parameters,
    results: Sequence[ShardChanges],
    rate: float,
    each: Callable[..., Iterable[None]] = map,
) -> None:
    """Add the changes of all shards to the parameters, in their order; ``each`` may work on several tables at once."""

    def merge_table(name: str) -> None:
        changes = [result.rows[name] for result in results]
        rows, touches = (np.concatenate(arrays) for arrays in zip(*((c.rows, c.touches) for c in changes), strict=True))
        scales = merging_scales(rows, touches, rate * method.curvature, len(parameters[name]))
        ends = np.cumsum([len(change.rows) for change in changes])[:-1]
        for change, scale in zip(changes, np.split(scales, ends), strict=True):
            kernels.merge_rows(parameters[name], change, scale)

    list(each(merge_table, results[0].rows))
    for name in results[0].arrays:  # touched by every window: the shards' results are averaged
        parameters[name] += sum(result.arrays[name] for result in results) / np.float32(len(results))


def merging_scales(rows: Array, touches: Array, pull: float, V: int) -> Array:
    """By what each shard's change of a row is multiplied, float32 (n,).

    If the cost along a row is a parabola, n touches move it by a share 1 - exp(-a) of the way to its minimum, with
    a = ``pull`` × n. Shards that run one after the other would move it by 1 - exp(-Σ a); the sum of their changes, all
    from the same beginning, is Σ (1 - exp(-a)), too far for frequent words. The ratio of both is the scale: 1 for rare
    words, whose changes add up, and 1/S for words that every one of S shards has settled already.
    """
    a = pull * touches.astype(np.float64)
    moved = -np.expm1(-a)
    totals = np.zeros((2, V))
    np.add.at(totals[0], rows, a)
    np.add.at(totals[1], rows, moved)
    return np.asarray(-np.expm1(-totals[0, rows]) / np.maximum(totals[1, rows], 1e-300), np.float32)


# ------------------------------------------------------------------------------------------------ the loop


SHARDS = 8  # parts of a block, always: a block can use at most this many cores
SHARD_WORDS = 50_000
"""Words of a shard in a long text. A short one has smaller shards, so that an epoch has many steps."""
_LEAST_SHARD_WORDS = 500
_STEPS_PER_EPOCH = 50
_LAST_RATE = 0.01
CHECKPOINT_SECONDS = 120.0
_OF_CORPUS = {setting.name for setting in fields(CorpusConfig)}


class PretrainingStep(NamedTuple):
    """The result of training on one block of text."""

    epoch: int
    words: int
    """Of this block."""
    progress: float
    """How much of the whole training is done, 0 to 1."""
    loss: float
    seconds: float
    """Since training began or was resumed."""


@final
class Pretraining:
    """Learns vectors from a corpus: iterate over it to train.

    The same configuration and text give the same bits, whatever the number of threads, and also after an interruption.
    """

    def __init__(
        self,
        corpus: Corpus,
        config: PretrainingConfig,
        *,
        threads: int = 1,
        checkpoint: Path | None = None,
        resume: bool = False,
    ) -> None:
        if threads < 1:
            raise ConfigurationError("threads", expected="at least 1", got=threads)
        self.corpus, self.config, self.checkpoint = corpus, config, checkpoint
        self.method: Method = METHODS[config.method](config, corpus)
        self.epoch, self.block = 0, 0
        self._threads = threads
        share = len(corpus.ids) // (SHARDS * _STEPS_PER_EPOCH)
        self._shard_words = min(max(share, _LEAST_SHARD_WORDS), SHARD_WORDS)
        self.parameters: Parameters = self._resumed() if resume else self._initial()

    def __iter__(self) -> Iterator[PretrainingStep]:
        """One ``PretrainingStep`` per block of text. The checkpoint is saved every two minutes."""
        began = saved = time.perf_counter()
        rooms = [ShardRoom() for _ in range(SHARDS)]
        with ThreadPoolExecutor(min(self._threads, SHARDS)) as pool:
            while self.epoch < self.config.epochs:
                done = 0
                for number, ids in enumerate(self.corpus.blocks(SHARDS * self._shard_words)):
                    done += len(ids)
                    if number < self.block:
                        continue  # before the interruption
                    progress = (self.epoch + done / len(self.corpus.ids)) / self.config.epochs
                    yield self._step(ids, progress, pool, rooms, began)
                    if self.checkpoint is not None and time.perf_counter() - saved > CHECKPOINT_SECONDS:
                        self.save_checkpoint()
                        saved = time.perf_counter()
                self.epoch, self.block = self.epoch + 1, 0

    def vectors(self) -> WordVectors:
        """The words and their vectors, those of ranking with length 1; id 0 is the unknown word, with zeros."""
        table = self.parameters[self.method.vectors][: len(self.corpus.words), : self.config.dimensions]
        if self.method.unit_length:
            table = table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), np.float32(1e-12))
        matrix = np.concatenate([np.zeros((1, table.shape[1]), np.float32), table])
        return WordVectors(Vocabulary.build(["", *self.corpus.words]), matrix)

    def _step(
        self, ids: Array, progress: float, pool: ThreadPoolExecutor, rooms: list[ShardRoom], began: float
    ) -> PretrainingStep:
        """Train on one block: shards side by side, then their changes in order."""
        rate = self.config.first_rate * max(1 - progress, _LAST_RATE)
        shards = np.array_split(ids, SHARDS)

        def run(number: int) -> ShardChanges:
            rng = np.random.default_rng([self.config.seed, self.epoch, self.block, number])
            with np.errstate(over="raise", invalid="raise"):
                return self.method.run(self.parameters, shards[number], rate, rng, rooms[number])

        try:
            results = list(pool.map(run, range(SHARDS)))
        except FloatingPointError:
            raise NumericalError("the numbers have grown beyond all bounds: try a lower rate", got=rate) from None
        merge(self.method, self.parameters, results, rate, pool.map)
        self.block += 1
        loss = sum(result.loss for result in results) / max(sum(result.terms for result in results), 1)
        words = int(np.count_nonzero(ids != SENTENCE_END))
        return PretrainingStep(self.epoch, words, progress, loss, time.perf_counter() - began)

    def save_checkpoint(self) -> None:
        """Write everything that is needed to continue."""
        assert self.checkpoint is not None
        archive.save(self.checkpoint, self.parameters, {"pretraining": self._state()})

    def _state(self) -> dict[str, Any]:
        settings, text = asdict(self.config), self.corpus.fingerprint
        return {"config": settings, "text": text, "epoch": self.epoch, "block": self.block}

    def _resumed(self) -> Parameters:
        """The parameters of the checkpoint, which must be of the same text and configuration."""
        assert self.checkpoint is not None
        arrays, metadata = archive.load(self.checkpoint)
        state = metadata.get("pretraining")
        if not isinstance(state, dict) or set(state) != set(self._state()):
            raise ModelFileError("not a checkpoint of a pretraining", where=self.checkpoint)
        whats = {"config": "the checkpoint has other settings", "text": "the checkpoint is of another text"}
        for name, what in whats.items():
            if state[name] != self._state()[name]:
                raise ConfigurationError(what, expected="the same command as before", where=self.checkpoint)
        blocks = -(-len(self.corpus.ids) // (SHARDS * self._shard_words))
        for name, most in (("epoch", self.config.epochs), ("block", blocks)):
            if type(state[name]) is not int or not 0 <= state[name] <= most:
                what = f"{name} of the checkpoint"
                raise ModelFileError(what, expected=f"0 to {most}", got=repr(state[name])[:80], where=self.checkpoint)
        self.epoch, self.block = state["epoch"], state["block"]
        try:
            return checked_state(arrays, self._initial(), "parameters of the checkpoint")
        except PostilError as error:
            raise ModelFileError(f"the checkpoint does not fit this training: {error}", where=self.checkpoint) from None

    def _initial(self) -> Parameters:
        return self.method.initial(len(self.corpus.words), np.random.default_rng(self.config.seed))


def pretrain(texts: Texts, *, threads: int = 1, **settings: Any) -> WordVectors:
    """Learn word vectors from raw text.

    Parameters
    ----------
    texts : str, pathlib.Path, or an iterable of these
        Texts as strings, or files of text as paths.
    threads : int, default=1
        Cores to use. Does not change the result.
    **settings
        Fields of ``PretrainingConfig`` and ``CorpusConfig``: method, dimensions, window, epochs, min_count, seed …

    Returns
    -------
    WordVectors
    """
    known = _OF_CORPUS | {setting.name for setting in fields(PretrainingConfig)} - {"corpus"}
    for name in settings:
        if name not in known:
            raise ConfigurationError(f"unknown setting {name!r}{similar(name, known)}")
    of_corpus = CorpusConfig(**{name: settings.pop(name) for name in _OF_CORPUS & settings.keys()})
    config = PretrainingConfig(corpus=of_corpus, **settings)
    with read_corpus(texts, of_corpus) as corpus:
        training = Pretraining(corpus, config, threads=threads)
        for _ in training:
            pass
        return training.vectors()
