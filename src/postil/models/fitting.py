"""From labelled sentences to a fitted model: features, network and the training loop put together."""

import functools
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias, final

import numpy as np

from postil import archive
from postil.arrays import Array
from postil.errors import ConfigurationError, DataError
from postil.features.gazetteer import Gazetteer
from postil.features.inputs import InputFeatures, Token
from postil.features.vectors import WordVectors, load_vectors
from postil.features.words import WordFeatureConfig
from postil.models.config import TaggerConfig, adapted
from postil.models.estimator import Estimator, check_sentences
from postil.models.network import Example
from postil.models.parts import Parts
from postil.models.pieces import warn_of_long_sentences
from postil.models.warm_start import check_same_architecture, extended_features, take_over
from postil.text.partial import Annotates, count_marks, is_partial, is_unknown, per_sentence, with_marks
from postil.text.partial_label import UNKNOWN
from postil.threads import one_blas_thread
from postil.training import SGD, AdaGrad, Adam, Averaged
from postil.training.loop import Batch, Epoch, Plan, Step, Training

Data: TypeAlias = tuple[Sequence[Sequence[Token]], Sequence[Sequence[str]]]

_OPTIMISERS: dict[str, Callable[..., Any]] = {
    "adam": Adam,
    "adagrad": AdaGrad,
    "sgd": SGD,
    "sgd-fan-in": functools.partial(SGD, divide_by="fan-in"),
    "sgd-root-fan-in": functools.partial(SGD, divide_by="root-fan-in"),
}


@final
class Fitting:
    """One training of one estimator. ``parts`` are ready for use between events and after the last one.

    With ``checkpoint`` the state is written to that file after every epoch and by ``save_checkpoint``; with ``resume``
    the training goes on from there with the same bits. With ``warm_start`` it begins with the parameters of that
    model, as far as they are about the same words, features and labels. ``partial`` says whether labels may be marks
    such as ``?``, and ``annotates`` which classes the sentences annotate: see ``Estimator.fit``.
    """

    def __init__(
        self,
        estimator: Estimator[Any, Any],
        X: Sequence[Sequence[Token]],
        y: Sequence[Sequence[str]],
        dev: Data | None = None,
        *,
        checkpoint: Path | None = None,
        resume: bool = False,
        warm_start: Estimator[Any, Any] | None = None,
        partial: bool | None = None,
        annotates: Annotates = None,
    ) -> None:
        estimator.check()
        X, y, annotates = _checked_training_data(X, y, partial, annotates)
        held_out = _checked_data(*dev) if dev is not None and len(dev[0]) else None
        self.checkpoint = checkpoint
        config = adapted(estimator.configured(estimator.preset, estimator.settings), len(X), sum(map(len, X)))
        self.parts = _parts(estimator, config, X, y, warm_start)
        y = self.parts.labelling.widened(y, annotates)
        if held_out is not None:
            held_out = held_out[0], with_marks(held_out[1], held_out[0], partial=partial, known=_own_labels(self.parts))
            estimator.check_dev(held_out[1])
        warn_of_long_sentences(config, map(len, X))
        self._inputs = self.parts.features.inputs(X)
        self._gold = self.parts.labelling.numbers(y)
        self._lengths = np.array([len(tokens) for tokens in X])
        self._judge, self._judged_on = estimator.around(self.parts), held_out or (X, y)
        self.parts.about |= _about(estimator, X, _data_digest(X, y))
        if any(map(is_partial, y)):
            self.parts.about["data"] |= {"partial": count_marks(y)}
        if checkpoint is not None:
            self._fingerprint = _fingerprint(self.parts, estimator.seed, [(X, y), *([dev] if dev is not None else [])])
        plan = Plan(
            epochs=_settled(config.epochs),
            patience=config.patience,
            clip=config.clip,
            threads=estimator.threads,
            minutes=estimator.minutes,
            seed=estimator.seed,
        )
        optimiser = _OPTIMISERS[config.optimiser](self.parts.network.parameters())
        self._averaged = Averaged(optimiser)
        score = functools.partial(self._score, *held_out) if held_out is not None else None
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
        self._judge.settle(*self._judged_on)
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
        if self.training.progress.batch == 0:  # not where a stopped epoch goes on
            self._averaged.restart()
        return [self._batch(which) for which in self._judge.batches(self._gold, size, rng)]

    def _batch(self, which: Array) -> Batch[Example]:
        """A batch in shards, each with its share of the mean; one that has no share is left out."""
        pieces = np.array_split(which, min(_settled(self.parts.config.shards), len(which)))
        shards = [Example(inputs=self._inputs.selected(p), gold=self._gold_of(p)) for p in pieces]
        weights = [self.parts.network.weight(shard) for shard in shards]
        shares = [weight / (sum(weights) or 1) for weight in weights]
        kept = [replace(shard, share=share) for shard, share in zip(shards, shares, strict=True) if share]
        return Batch(kept, [shard.share for shard in kept], int(self._lengths[which].sum()))

    def _gold_of(self, which: Array) -> Array:
        """(N,) labels; where a sentence has several possible ones, (N, L) for all of them."""
        gold = [self._gold[i] for i in which]
        if all(labels.ndim == 1 for labels in gold):
            return np.concatenate(gold)
        single = np.eye(len(self.parts.labelling.labels), dtype=bool)
        return np.concatenate([labels if labels.ndim == 2 else single[labels] for labels in gold])

    def _rate(self, share: float) -> float:
        """Linear up to the full rate, then linear down; ``share`` of the training is done."""
        config = self.parts.config
        if share < config.warm_up:
            factor = max(share / config.warm_up, 0.01)
        else:
            done = (share - config.warm_up) / max(1 - config.warm_up, 1e-9)
            factor = 1 - done * (1 - config.final_share)
        return float(_settled(config.rate) * factor)

    def _score(self, X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]]) -> float:
        with self._averaged.in_place():
            return self._judge.score(X, y)

    def _means(self) -> dict[str, Array]:
        """Parameters averaged over the steps of the epoch: they generalise better than those of its last step."""
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
        if not metadata.get("progress"):
            raise ConfigurationError("nothing to resume", expected="a checkpoint", got="a model", where=self.checkpoint)
        if metadata.get("fingerprint") != self._fingerprint:
            raise ConfigurationError(
                "the checkpoint belongs to another training",
                expected="the same data, settings, vectors and seed",
                got="different ones",
                where=self.checkpoint,
            )
        self.training.restore(arrays, metadata["progress"])


def _parts(
    estimator: Estimator[Any, Any],
    config: TaggerConfig,
    X: Sequence[Sequence[Token]],
    y: Sequence[Sequence[str]],
    warm_start: Estimator[Any, Any] | None,
) -> Parts[Any, Any]:
    known = warm_start.fitted_parts() if warm_start is not None else None
    if warm_start is not None and known is not None:
        estimator.check_warm_start(warm_start)
        check_same_architecture(known.config, config)
    vectors = _vectors(estimator, config, known)
    gazetteer = Gazetteer.load([Path(path) for path in estimator.gazetteers]) if estimator.gazetteers else None
    features = InputFeatures.build(word_features(config), X, vectors=vectors, gazetteer=gazetteer)
    if known is not None:
        features = extended_features(known.features, features)
    labelling = estimator.labels_of(y) if known is None else known.labelling.extended(y)
    matrix = vectors.matrix if vectors is not None else None
    network = estimator.network(config, features, labelling, matrix, np.random.default_rng(estimator.seed))
    parts: Parts[Any, Any] = Parts(config=config, labelling=labelling, features=features, network=network)
    if known is not None:
        take_over(known, parts)
    return parts


def _vectors(estimator: Estimator[Any, Any], config: TaggerConfig, known: Parts[Any, Any] | None) -> WordVectors | None:
    """Fixed vectors in the scale of the config; those of a known model stay unless others are named."""
    if estimator.vectors is not None:
        vectors = load_vectors(estimator.vectors)
        return vectors._replace(matrix=_scaled(vectors.matrix, config.vector_scale))
    if known is not None and known.network.vectors is not None:
        return WordVectors(known.features.words.vocabularies["vector"], known.network.vectors)
    return None


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


def _scaled(matrix: Array, scale: float) -> Array:
    size = np.sqrt(np.square(matrix, dtype=np.float64).mean())
    scaled: Array = matrix * np.float32(scale / max(size, 1e-12))
    return scaled


def _checked_data(X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]]) -> Data:
    if len(X) != len(y):
        raise DataError("sentences and label sequences", expected=f"{len(X)} of each", got=f"{len(y)} label sequences")
    check_sentences(X)
    for i, (tokens, labels) in enumerate(zip(X, y, strict=True)):
        if len(tokens) != len(labels):
            raise DataError(
                "tokens and labels", expected=f"{len(tokens)} labels", got=len(labels), where=f"sentence {i}"
            )
    kept = [i for i in range(len(X)) if len(X[i])]
    if not kept:
        raise DataError(
            "nothing to learn from", expected="at least one sentence with a word", got=f"{len(X)} sentences"
        )
    return [X[i] for i in kept], [y[i] for i in kept]


def _checked_training_data(
    X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]], partial: bool | None, annotates: Annotates
) -> tuple[Sequence[Sequence[Token]], Sequence[Sequence[str]], list[tuple[str, ...] | None]]:
    """Marks are recognised; a sentence of which nothing is known is left out, and so is one without words."""
    entries = per_sentence(annotates, len(X))
    _checked_data(X, y)
    y = with_marks(y, X, partial=partial)
    kept = [i for i in range(len(X)) if not is_unknown(y[i])]
    if not kept:
        raise DataError("every token is unknown", expected="some labels", got=f"nothing but {UNKNOWN!r}")
    return [X[i] for i in kept], [y[i] for i in kept], [entries[i] for i in kept]


def _own_labels(parts: Parts[Any, Any]) -> list[str]:
    return list(parts.labelling.answers)


def _data_digest(X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]]) -> str:
    digest = hashlib.sha256()
    for tokens, labels in zip(X, y, strict=True):
        digest.update(repr((list(tokens), list(labels))).encode("utf8", "surrogatepass"))
    return digest.hexdigest()


def _fingerprint(parts: Parts[Any, Any], seed: int, data: Sequence[Data]) -> str:
    """Of everything that a training depends on: settings, seed, data, and with what it begins."""
    digest = hashlib.sha256(repr((sorted(asdict(parts.config).items()), seed, parts.labelling.as_json())).encode())
    for X, y in data:
        digest.update(_data_digest(X, y).encode())
    values = {name: parameter.value for name, parameter in parts.network.parameters().items()}
    if parts.network.vectors is not None:
        values["vectors"] = parts.network.vectors
    for name, array in sorted({**values, **parts.features.arrays()}.items()):
        digest.update(name.encode() + np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _about(estimator: Estimator[Any, Any], X: Sequence[Sequence[Token]], digest: str) -> dict[str, Any]:
    return {
        "preset": estimator.preset,
        "seed": estimator.seed,
        "data": {"sentences": len(X), "tokens": sum(map(len, X)), "sha256": digest},
        "versions": {"postil": version("postil"), "numpy": np.__version__},
    }


def _settled(value: Any) -> Any:
    assert value is not None, "adapted() settles every open field"
    return value
