"""From labelled sentences to a fitted tagger: features, network and the training loop put together."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias, final

import numpy as np

from postil import archive
from postil.arrays import Array
from postil.errors import ConfigurationError, DataError
from postil.features.batching import batches_of_similar_length
from postil.features.gazetteer import Gazetteer
from postil.features.inputs import InputFeatures, Token
from postil.features.vectors import WordVectors, load_vectors
from postil.features.words import WordFeatureConfig
from postil.models.config import TaggerConfig, adapted, configured
from postil.models.labelling import Labelling
from postil.models.network import Example, TaggerNetwork
from postil.models.parts import TaggerParts
from postil.models.tagger import Tagger
from postil.threads import one_blas_thread
from postil.training import SGD, AdaGrad, Adam, Averaged
from postil.training.loop import Batch, Epoch, Plan, Step, Training

Data: TypeAlias = tuple[Sequence[Sequence[Token]], Sequence[Sequence[str]]]

_OPTIMISERS: dict[str, Callable[..., Any]] = {
    "adam": Adam,
    "adagrad": AdaGrad,
    "sgd": SGD,
    "sgd-fan-in": partial(SGD, divide_by="fan-in"),
    "sgd-root-fan-in": partial(SGD, divide_by="root-fan-in"),
}


@final
class Fitting:
    """One training of one tagger. ``parts`` are ready for use between events and after the last one.

    With ``checkpoint`` the state is written to that file after every epoch and by ``save_checkpoint``; with ``resume``
    the training goes on from there with the same bits.
    """

    def __init__(
        self,
        tagger: Tagger,
        X: Sequence[Sequence[Token]],
        y: Sequence[Sequence[str]],
        dev: Data | None = None,
        *,
        checkpoint: Path | None = None,
        resume: bool = False,
        warm_start: Tagger | None = None,
    ) -> None:
        X, y = _checked_data(X, y)
        self.checkpoint = checkpoint
        config = adapted(configured(tagger.preset, tagger.settings), len(X), sum(map(len, X)))
        self.parts = _parts(tagger, config, X, y, warm_start)
        self._inputs = self.parts.features.inputs(X)
        self._gold = self.parts.labelling.numbers(y)
        self._lengths = np.array([len(tokens) for tokens in X])
        self._fingerprint = _fingerprint(config, tagger.seed, X, y)
        self.parts.about |= _about(tagger, X, self._fingerprint)
        plan = Plan(
            epochs=_settled(config.epochs),
            patience=config.patience,
            clip=config.clip,
            threads=tagger.threads,
            minutes=tagger.minutes,
            seed=tagger.seed,
        )
        optimiser = _OPTIMISERS[config.optimiser](self.parts.network.parameters())
        self._averaged = Averaged(optimiser)
        score = self._dev_score(dev) if dev is not None and len(dev[0]) else None
        self.training = Training(
            self.parts.network, self._averaged, self._rate, self._batches, plan, score, self._means
        )
        if resume:
            self._resume()

    def run(self) -> Iterator[Step | Epoch]:
        """Train; give an event after every batch and every epoch."""
        with one_blas_thread():
            for event in self.training.run():
                if isinstance(event, Epoch) and self.checkpoint is not None:
                    self.save_checkpoint()
                yield event
        self.finish()

    def finish(self) -> None:
        """Settle on the best parameters so far and note how they came about."""
        progress = self.training.progress
        if not self.training.best:
            self.training.best = self._means()
        self.training.keep_best()
        self.parts.about["training"] = {
            "epochs": progress.epoch,
            "best_epoch": progress.best_epoch or progress.epoch,
            "dev_score": progress.best_score,
            "seconds": round(progress.seconds, 2),
            "history": progress.history,
        }

    # -------------------------------------------------------------------------------------------- pieces of the loop

    def _batches(self, epoch: int, rng: np.random.Generator) -> list[Batch[Example]]:
        size = _settled(self.parts.config.batch_sentences)
        if self.training.progress.batch == 0 and epoch <= self.parts.config.averaged_from * self.training.plan.epochs:
            self._averaged.restart()
        return [self._batch(which) for which in batches_of_similar_length(self._lengths, size, rng)]

    def _batch(self, which: Array) -> Batch[Example]:
        """A batch in shards; a shard's share of the mean is by sentences for a CRF, by words for a softmax."""
        pieces = np.array_split(which, min(_settled(self.parts.config.shards), len(which)))
        sizes = [len(p) if self.parts.network.crf is not None else self._lengths[p].sum() for p in pieces]
        shards = [
            Example(inputs=self._inputs.selected(p), gold=np.concatenate([self._gold[i] for i in p])) for p in pieces
        ]
        return Batch(shards, [float(size / sum(sizes)) for size in sizes], int(self._lengths[which].sum()))

    def _rate(self, share: float) -> float:
        """Linear up to the full rate, then linear down; ``share`` of the training is done."""
        config = self.parts.config
        if share < config.warm_up:
            factor = max(share / config.warm_up, 0.01)
        else:
            done = (share - config.warm_up) / max(1 - config.warm_up, 1e-9)
            factor = 1 - done * (1 - config.final_share)
        return float(_settled(config.rate) * factor)

    def _dev_score(self, dev: Data) -> Callable[[], float]:
        X, y = _checked_data(*dev)
        judge = Tagger()
        judge.parts = self.parts

        def score() -> float:
            with self._averaged.in_place():
                return judge.score(X, y)

        return score

    def _means(self) -> dict[str, Array]:
        """Parameters averaged over the last epochs: they generalise better than those of the last step."""
        return {name: self._averaged.mean(name) for name in self.parts.network.parameters()}

    # -------------------------------------------------------------------------------------------- checkpoints

    def save_checkpoint(self) -> None:
        """Write where the training stands."""
        if self.checkpoint is None:
            raise ConfigurationError("no checkpoint file was named", expected="checkpoint=PATH")
        arrays, progress = self.training.state()
        archive.save(self.checkpoint, arrays, {"fingerprint": self._fingerprint, "progress": progress})

    def _resume(self) -> None:
        if self.checkpoint is None or not self.checkpoint.exists():
            raise ConfigurationError("nothing to resume", expected="a checkpoint", where=self.checkpoint)
        arrays, metadata = archive.load(self.checkpoint)
        if metadata.get("fingerprint") != self._fingerprint:
            raise ConfigurationError(
                "the checkpoint belongs to another training",
                expected="the same data, settings and seed",
                got="different ones",
                where=self.checkpoint,
            )
        self.training.restore(arrays, metadata["progress"])


def _parts(
    tagger: Tagger,
    config: TaggerConfig,
    X: Sequence[Sequence[Token]],
    y: Sequence[Sequence[str]],
    warm_start: Tagger | None,
) -> TaggerParts:
    vectors = load_vectors(tagger.vectors) if tagger.vectors is not None else None
    gazetteer = Gazetteer.load([Path(path) for path in tagger.gazetteers]) if tagger.gazetteers else None
    labelling = Labelling.of(y)
    features = InputFeatures.build(word_features(config), X, vectors=vectors, gazetteer=gazetteer)
    network = build_network(config, features, labelling, _scaled(vectors, config), np.random.default_rng(tagger.seed))
    return TaggerParts(config=config, labelling=labelling, features=features, network=network)


def word_features(config: TaggerConfig) -> WordFeatureConfig:
    return WordFeatureConfig(
        word_dim=config.word_dim,
        min_count=_settled(config.min_count),
        caps_dim=config.caps_dim,
        shape_dim=config.shape_dim,
        prefix_dim=config.prefix_dim,
        suffix_dim=config.suffix_dim,
        prefix_lengths=config.prefix_lengths,
        suffix_lengths=config.suffix_lengths,
        min_affix_count=config.min_affix_count,
    )


def build_network(
    config: TaggerConfig,
    features: InputFeatures,
    labelling: Labelling,
    vectors: Array | None,
    rng: np.random.Generator,
) -> TaggerNetwork:
    return TaggerNetwork(
        config,
        form_sizes=features.form_sizes(),
        extra_sizes=features.extra_sizes(config.column_dim, config.gazetteer_dim),
        vectors=vectors,
        word_counts=features.words.counts,
        mask=labelling.mask,
        rng=rng,
    )


def _scaled(vectors: WordVectors | None, config: TaggerConfig) -> Array | None:
    if vectors is None:
        return None
    size = np.sqrt(np.square(vectors.matrix, dtype=np.float64).mean())
    return vectors.matrix * np.float32(config.vector_scale / max(size, 1e-12))


def _checked_data(X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]]) -> Data:
    if len(X) != len(y):
        raise DataError("sentences and label sequences", expected=f"{len(X)} of each", got=f"{len(y)} label sequences")
    for i, (tokens, labels) in enumerate(zip(X, y, strict=True)):
        if isinstance(tokens, str) or len(tokens) != len(labels):
            raise DataError(
                "tokens and labels", expected=f"{len(tokens)} labels", got=len(labels), where=f"sentence {i}"
            )
    kept = [i for i in range(len(X)) if len(X[i])]
    if not kept:
        raise DataError(
            "nothing to learn from", expected="at least one sentence with a word", got=f"{len(X)} sentences"
        )
    return [X[i] for i in kept], [y[i] for i in kept]


def _fingerprint(config: TaggerConfig, seed: int, X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]]) -> str:
    digest = hashlib.sha256(repr((sorted(asdict(config).items()), seed)).encode())
    for tokens, labels in zip(X, y, strict=True):
        digest.update(repr((list(tokens), list(labels))).encode("utf8", "surrogatepass"))
    return digest.hexdigest()


def _about(tagger: Tagger, X: Sequence[Sequence[Token]], fingerprint: str) -> dict[str, Any]:
    return {
        "preset": tagger.preset,
        "seed": tagger.seed,
        "data": {"sentences": len(X), "tokens": sum(map(len, X)), "sha256": fingerprint},
        "versions": {"postil": version("postil"), "numpy": np.__version__},
    }


def _settled(value: Any) -> Any:
    assert value is not None, "adapted() settles every open field"
    return value
