"""The loop of pretraining: a generator of steps over blocks of text, with checkpoints."""

import dataclasses
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np

from postil import archive
from postil.arrays import Array
from postil.errors import ConfigurationError, ModelFileError, NumericalError, PostilError, similar
from postil.features.vectors import WordVectors
from postil.features.vocabulary import Vocabulary
from postil.kernels.plain_pretraining import ShardRoom
from postil.optimisation.optimisers import checked_state
from postil.pretraining.config import CorpusConfig, PretrainingConfig
from postil.pretraining.corpus import SENTENCE_END, Corpus, Texts, read_corpus
from postil.pretraining.methods import METHODS, Method, Parameters, ShardResult, merge

SHARDS = 8
"""Parts of a block, always: a block can use at most this many cores."""
SHARD_WORDS = 50_000
"""Words of a shard in a long text. A short one has smaller shards, so that an epoch has many steps."""
_LEAST_SHARD_WORDS = 500
_STEPS_PER_EPOCH = 50
_LAST_RATE = 0.01
CHECKPOINT_SECONDS = 120.0
_OF_CORPUS = {field.name for field in dataclasses.fields(CorpusConfig)}


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

    # -------------------------------------------------------------------------------------------- steps

    def _step(
        self, ids: Array, progress: float, pool: ThreadPoolExecutor, rooms: list[ShardRoom], began: float
    ) -> PretrainingStep:
        """Train on one block: shards side by side, then their changes in order."""
        rate = self.config.first_rate * max(1 - progress, _LAST_RATE)
        shards = np.array_split(ids, SHARDS)

        def run(number: int) -> ShardResult:
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

    # -------------------------------------------------------------------------------------------- checkpoints

    def save_checkpoint(self) -> None:
        """Write everything that is needed to continue."""
        assert self.checkpoint is not None
        archive.save(self.checkpoint, self.parameters, {"pretraining": self._state()})

    def _state(self) -> dict[str, Any]:
        settings, text = dataclasses.asdict(self.config), self.corpus.fingerprint
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
    known = _OF_CORPUS | {field.name for field in dataclasses.fields(PretrainingConfig)} - {"corpus"}
    for name in settings:
        if name not in known:
            raise ConfigurationError(f"unknown setting {name!r}{similar(name, known)}")
    corpus_config = CorpusConfig(**{name: value for name, value in settings.items() if name in _OF_CORPUS})
    others = {name: value for name, value in settings.items() if name not in _OF_CORPUS}
    config = PretrainingConfig(corpus=corpus_config, **others)
    with read_corpus(texts, corpus_config) as corpus:
        training = Pretraining(corpus, config, threads=threads)
        for _ in training:
            pass
        return training.vectors()
