"""From labelled sentences to a fitted model: features, network and the training loop put together."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias, final

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError, DataError
from postil.features.batching import batches_of_similar_length
from postil.features.gazetteer import Gazetteer
from postil.features.inputs import InputFeatures, Inputs, Token, forms_of
from postil.features.lexicon_files import NAMED_LISTS, load_clusters, load_names
from postil.features.named import NamedFeatures
from postil.features.vectors import WordVectors
from postil.features.words import WordFeatureConfig
from postil.models.config import TaggerConfig, adapted, patience_in_epochs
from postil.models.fitting.fitting import Batches, Fitting, Trainee, about, scaled_vectors
from postil.models.fitting.replacing import MentionReplacement
from postil.models.fitting.teaching import Lesson, Teacher, checked_lesson
from postil.models.fitting.warm_start import check_same_architecture, extended_features, take_over
from postil.models.inputs import checked_dev, checked_labelled
from postil.models.parts import Parts
from postil.models.scoring.network import Example
from postil.models.scoring.pieces import warn_of_long_sentences
from postil.models.sentences import CHARACTERS, INPUT
from postil.objectives.lattice import Lattice
from postil.text.characters import are_characters
from postil.text.partial import Annotates, count_marks, is_partial, is_unknown, per_sentence, with_marks
from postil.text.partial_label import UNKNOWN
from postil.training.loop import Batch

Data: TypeAlias = tuple[Sequence[Sequence[Token]], Sequence[Sequence[str]]]


class SentenceTrainee(Trainee, Protocol):
    """What a training on sentences asks of a tagger or a detector."""

    KIND: ClassVar[str]
    preset: str
    gazetteers: Sequence[str | os.PathLike[str]]
    clusters: str | os.PathLike[str] | None

    def _labels_of(self, y: Sequence[Sequence[str]]) -> Any: ...
    def _check_dev(self, y: Sequence[Sequence[str]]) -> None: ...
    def _check_warm_start(self, known: Parts[Any, Any]) -> None: ...


class FittedTrainee(Protocol):
    """What a training asks of a fitted model to go on from."""

    KIND: ClassVar[str]

    def fitted_parts(self) -> Parts[Any, Any]: ...


class _Learnt(NamedTuple):
    """Sentences to learn from: inputs, and the label numbers of each, (T,), or (T, …) where they are not known."""

    inputs: Inputs
    gold: Sequence[Array]

    @property
    def lengths(self) -> Array:
        return np.diff(self.inputs.offsets)

    def redrawn(self, tokens: Array, offsets: Array) -> "_Learnt":
        """The same sentences made of other tokens (N,) of theirs; one without known labels must stay as it is."""
        old = self.inputs
        inputs = replace(old, places=old.places[tokens], extra=old.extra[tokens], offsets=offsets)
        flat = np.concatenate([labels if labels.ndim == 1 else np.zeros(len(labels), np.int64) for labels in self.gold])
        drawn = np.split(flat[tokens], offsets[1:-1])
        return _Learnt(inputs, [new if of.ndim == 1 else of for new, of in zip(drawn, self.gold, strict=True)])


@final
class SentenceFitting(Fitting):
    """One training of a tagger or a detector, as Fitting describes it.

    With ``warm_start`` it begins with the parameters of that model, as far as they are about the same words, features
    and labels. ``partial`` says whether labels may be marks such as ``?``, ``annotates`` which classes the sentences
    annotate, ``unlabelled`` and ``teachers`` what else is learnt from: see ``SentenceEstimator.fit``.
    """

    def __init__(
        self,
        estimator: SentenceTrainee,
        X: Sequence[Sequence[Token]],
        y: Sequence[Sequence[str]],
        dev: Data | None = None,
        *,
        checkpoint: Path | None = None,
        resume: bool = False,
        warm_start: FittedTrainee | None = None,
        partial: bool | None = None,
        annotates: Annotates = None,
        unlabelled: Sequence[Sequence[Token]] | None = None,
        teachers: Sequence[Teacher] = (),
    ) -> None:
        estimator.check()
        config = estimator._configured(estimator.settings)
        labelled = checked_labelled(X, y, word_key=config.word_key)
        X, y, annotates = _checked_training_data(*labelled, partial, annotates)
        raw = checked_lesson(estimator, unlabelled, teachers, config.word_key)
        dev = checked_dev(dev, config.word_key)
        held_out: Data | None = _with_words(*dev) if dev is not None else None
        all_sentences = [*X, *raw]
        config = adapted(
            config,
            len(all_sentences),
            sum(map(len, all_sentences)),
            continued=warm_start is not None,
        )
        parts = _new_parts(estimator, config, all_sentences, y, warm_start)
        if annotates is not None:
            y = parts.labelling.widened(y, annotates)
        if held_out is not None:
            X_dev, y_dev = held_out
            held_out = X_dev, with_marks(y_dev, X_dev, partial=partial, known=parts.labelling.answers)
            estimator._check_dev(held_out[1])
        warn_of_long_sentences(config, map(len, all_sentences))
        self._gold = parts.labelling.numbers(y)
        self._lesson = Lesson(teachers, raw, self._gold, parts) if raw else None
        learnt = all_sentences if self._lesson is None else [*list(X) * self._lesson.repeats, *raw]
        gold = (
            [] if self._lesson is None else [*self._gold * self._lesson.repeats, *(np.zeros((len(t), 0)) for t in raw)]
        )
        self._learnt = self._whole = _Learnt(parts.features.inputs(learnt), gold or self._gold)
        self._replacement = _replacement(config, self._whole.gold, parts.labelling)
        self._judge, self._judged_on = estimator._with_parts(parts), held_out or (X, y)
        self._is_held_out = held_out is not None
        parts.about |= {"preset": estimator.preset} | about(estimator, X, _data_digest(X, y))
        if are_characters(map(forms_of, X)):
            parts.about[INPUT] = CHARACTERS
        if any(map(is_partial, y)):
            parts.about["data"] |= {"partial": count_marks(y)}
        if self._lesson is not None:
            parts.about["data"] |= self._lesson.about()
        digests = [_data_digest(*data) for data in ((X, y), *([dev] if dev is not None else []))] if checkpoint else []
        digests += [self._lesson.digest()] if checkpoint and self._lesson is not None else []
        super().__init__(
            estimator, parts, judged=held_out is not None, checkpoint=checkpoint, digests=digests, resume=resume
        )

    def _batches(self, rng: np.random.Generator) -> Sequence[Batch[Example]]:
        size = self.parts.config.batch_sentences
        if self._replacement is not None:
            self._learnt = self._whole.redrawn(*self._replacement.draw(rng))
        if self.parts.config.objective == "margin":
            return Batches(self._batch, batches_with_label(self._gold, size, rng))
        return Batches(self._batch, batches_of_similar_length(self._learnt.lengths, size, rng))

    def _batch(self, which: Array) -> Batch[Example]:
        """A batch in shards, each with its share of the mean; one that has no share is left out."""
        count = min(self.parts.config.shards, len(which))
        pieces = np.array_split(which, count) if count > 1 else [which]
        shards = [Example(inputs=self._learnt.inputs.selected(p), gold=self._gold_of(p)) for p in pieces]
        weights = [self.parts.network.weight(shard) for shard in shards]
        shares = [weight / (sum(weights) or 1) for weight in weights]
        kept = [replace(shard, share=share) for shard, share in zip(shards, shares, strict=True) if share]
        return Batch(kept, [shard.share for shard in kept], int(self._learnt.lengths[which].sum()))

    def _gold_of(self, which: Array) -> Array | Lattice:
        """(N,) labels; where a sentence has several possible ones, (N, L) for all of them. Or what teachers say."""
        if self._lesson is not None:
            return self._lesson.lattice(which, self._learnt.gold)
        gold = [self._learnt.gold[i] for i in which]
        if all(labels.ndim == 1 for labels in gold):
            return np.concatenate(gold)
        single = np.eye(len(self.parts.labelling.labels), dtype=bool)
        return np.concatenate([labels if labels.ndim == 2 else single[labels] for labels in gold])

    def _patience(self) -> int | None:
        return patience_in_epochs(self.parts.config, len(self._learnt.gold))

    def _score(self) -> float:
        return float(self._judge.score(*self._judged_on))

    def _calibrate(self) -> None:
        self._judge._calibrate_after_fit(*self._judged_on, held_out=self._is_held_out)


def _replacement(config: TaggerConfig, gold: Sequence[Array], labelling: Any) -> MentionReplacement | None:
    """Only for spans: detectors and labels of words have no mentions."""
    if not config.mention_replacement or config.objective == "margin" or not labelling.has_spans:
        return None
    return MentionReplacement(gold, labelling, config.mention_replacement)


def batches_with_label(gold: Sequence[Array], size: int, rng: np.random.Generator) -> list[Array]:
    """The sentences of an epoch in batches of about ``size``: each has sentences with the label (1 in ``gold``).

    The margin objective learns from pairs of windows with and without it. A rare label makes few batches: then each
    epoch draws other sentences, rather than learn nothing from most batches. Each batch has at least one sentence
    without the label, where there are any.
    """
    has_label = np.array([bool((labels == 1).any()) for labels in gold])
    true, others = (rng.permutation(np.flatnonzero(kind)) for kind in (has_label, ~has_label))
    count = min(-(-len(gold) // size), len(true))
    others = others[: max(count * size - len(true), count)]
    dealt = zip(np.array_split(true, count), np.array_split(others, count), strict=True)
    return [rng.permutation(np.concatenate(pair)) for pair in dealt]


def _new_parts(
    estimator: SentenceTrainee,
    config: TaggerConfig,
    X: Sequence[Sequence[Token]],
    y: Sequence[Sequence[str]],
    warm_start: FittedTrainee | None,
) -> Parts[Any, Any]:
    known = None
    if warm_start is not None:
        if warm_start.KIND != estimator.KIND:
            raise ConfigurationError("warm start", expected=f"a {estimator.KIND}", got=f"a {warm_start.KIND}")
        known = warm_start.fitted_parts()
        estimator._check_warm_start(known)
        check_same_architecture(known.config, config)
    vectors = _vectors(estimator, config, known)
    named = [source for source in estimator.gazetteers if source in NAMED_LISTS]
    files = [Path(source) for source in estimator.gazetteers if source not in NAMED_LISTS]
    lexicons = {"clusters": load_clusters(estimator.clusters)} if estimator.clusters is not None else {}
    lexicons |= {"names": load_names(named)} if named else {}
    features = InputFeatures.build(
        WordFeatureConfig.of(config),
        X,
        vectors=vectors,
        gazetteer=Gazetteer.load(files) if files else None,
        lexicons=lexicons,
        named=_named_features(config, X),
    )
    if known is not None:
        features = extended_features(known.features, features)
    labelling = estimator._labels_of(y) if known is None else known.labelling.extended(y)
    matrix = vectors.matrix if vectors is not None else None
    network = estimator._network(config, features, labelling, matrix, np.random.default_rng(estimator.seed))
    parts: Parts[Any, Any] = Parts(config=config, labelling=labelling, features=features, network=network)
    if known is not None:
        take_over(known, parts)
    return parts


def _named_features(config: TaggerConfig, X: Sequence[Sequence[Token]]) -> NamedFeatures | None:
    if config.word_key is None:
        return None
    return NamedFeatures.build(X, min_count=config.min_feature_count, buckets=config.feature_buckets)


def _vectors(estimator: SentenceTrainee, config: TaggerConfig, known: Parts[Any, Any] | None) -> WordVectors | None:
    """Fixed vectors in the scale of the config; those of a known model stay unless others are named."""
    if estimator.vectors is not None:
        return scaled_vectors(estimator.vectors, config.vector_scale)
    if known is not None and known.network.vectors is not None:
        return WordVectors(known.features.words.vocabularies["vector"], known.network.vectors)
    return None


def _with_words(X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]]) -> Data:
    """The sentences that have words; an error where there are none."""
    kept = [i for i in range(len(X)) if len(X[i])]
    if not kept:
        raise DataError(
            "nothing to learn from", expected="at least one sentence with a word", got=f"{len(X)} sentences"
        )
    return [X[i] for i in kept], [y[i] for i in kept]


def _checked_training_data(
    X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]], partial: bool | None, annotates: Annotates
) -> tuple[Sequence[Sequence[Token]], Sequence[Sequence[str]], Annotates]:
    """Marks are recognised; a sentence of which nothing is known is left out, and so is one without words."""
    entries = None if annotates is None else per_sentence(annotates, len(X))
    _with_words(X, y)
    y = with_marks(y, X, partial=partial)
    kept = [i for i in range(len(X)) if not is_unknown(y[i])]
    if not kept:
        raise DataError("every token is unknown", expected="some labels", got=f"nothing but {UNKNOWN!r}")
    return [X[i] for i in kept], [y[i] for i in kept], entries and [entries[i] for i in kept]


def _data_digest(X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]]) -> str:
    digest = hashlib.sha256()
    for tokens, labels in zip(X, y, strict=True):
        digest.update(repr((list(tokens), list(labels))).encode("utf8", "surrogatepass"))
    return digest.hexdigest()
