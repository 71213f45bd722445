"""From labelled sentences to a fitted model: features, network and the training loop put together."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias, final

import numpy as np

from postil.archive import is_model_file
from postil.arrays import Array
from postil.errors import ConfigurationError, DataError, LowerCaseWarning, warn_caller
from postil.features.gazetteer import Gazetteer
from postil.features.inputs import InputFeatures, Token, forms_of
from postil.features.lexicon import Lexicon
from postil.features.lexicon_files import NAMED_LISTS, load_clusters, load_names
from postil.features.named import NamedFeatures
from postil.features.pretrained import holds_model
from postil.features.sources import with_pretrained
from postil.features.vector_clusters import vector_clusters
from postil.features.vectors import VectorSources, WordVectors
from postil.features.words import WordFeatureConfig
from postil.models.config import TaggerConfig, adapted, patience_in_epochs
from postil.models.fitting.completing import Completion
from postil.models.fitting.fitting import Batches, Fitting, Trainee, about, scaled_vectors
from postil.models.fitting.teaching import Lesson, Teacher, checked_lesson
from postil.models.fitting.training_set import TrainingSet
from postil.models.fitting.warm_start import (
    continued,
    extended_features,
    in_scale_of,
    take_over,
    take_over_encoder,
)
from postil.models.inputs import checked_dev, checked_labelled
from postil.models.parts import LABELS, LEARNT_FROM, Parts, is_encoder
from postil.models.scoring.network import Example
from postil.models.scoring.pieces import warn_of_long_sentences
from postil.models.sentences import CHARACTERS, INPUT
from postil.text.labels import scheme_checks
from postil.text.labels.partial import Annotates, count_marks, is_partial, is_unknown, per_sentence, with_marks
from postil.text.labels.partial_label import UNKNOWN
from postil.text.labels.schemes import recognise
from postil.text.splitting.characters import are_characters
from postil.training.loop import Batch

Data: TypeAlias = tuple[Sequence[Sequence[Token]], Sequence[Sequence[str]]]


class WordTrainee(Trainee, Protocol):
    """What the features of words are made by."""

    KIND: ClassVar[str]
    preset: str
    gazetteers: Sequence[str | os.PathLike[str]]
    pretrained: str | os.PathLike[str] | None
    clusters: str | os.PathLike[str] | None


class SentenceTrainee(WordTrainee, Protocol):
    """What a training on sentences asks of a tagger or a detector."""

    def _labels_of(self, y: Sequence[Sequence[str]]) -> Any: ...
    def _check_dev(self, y: Sequence[Sequence[str]]) -> None: ...
    def _check_warm_start(self, known: Parts[Any, Any]) -> None: ...


class FittedTrainee(Protocol):
    """What a training asks of a fitted model to go on from."""

    KIND: ClassVar[str]

    def fitted_parts(self) -> Parts[Any, Any]: ...


@final
class SentenceFitting(Fitting):
    """One training of a tagger or a detector, as Fitting describes it.

    With ``warm_start`` it begins with the parameters of that model, as far as they are about the same words, features
    and labels. ``partial`` says whether labels may be marks such as ``?``, ``annotates`` which classes the sentences
    annotate, ``unlabelled`` and ``teachers`` what else is learnt from: see ``SentenceEstimator.fit``. What marks leave
    open in the sentences ``completed`` is learnt as the posterior of ``completed_by``; then no sentence may be without
    words or altogether unknown.
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
        completed_by: Teacher | None = None,
        completed: Sequence[int] = (),
    ) -> None:
        estimator.check()
        config = estimator._configured(estimator.settings)
        labelled = checked_labelled(X, y, word_key=config.word_key)
        X, y, annotates = checked_training_data(*labelled, partial, annotates)
        if config.word_key is not None:
            _warn_of_lower_case(config.word_key, X)
        raw = checked_lesson(estimator, unlabelled, teachers, config.word_key)
        dev = checked_dev(dev, config.word_key)
        all_sentences = [*X, *raw]
        warm_start = pretrained_encoder(estimator, warm_start) or warm_start
        start = None if warm_start is None else _start(estimator, warm_start, y)
        config = adapted(
            config,
            len(all_sentences),
            sum(map(len, all_sentences)),
            continued=start is not None and start.with_labels,
            known_words=start is not None and not start.with_labels,
        )
        parts = _new_parts(estimator, config, all_sentences, y, start)
        if annotates is not None:
            y = parts.labelling.widened(y, annotates)
        held_out = None if dev is None else checked_held_out(dev, parts.labelling, partial)
        if held_out is not None:
            estimator._check_dev(held_out[1])
        warn_of_long_sentences(config, map(len, all_sentences))
        self._gold = parts.labelling.numbers(y)
        self._lesson = Lesson(teachers, raw, X, self._gold, parts) if raw else None
        learnt = all_sentences if self._lesson is None else [*list(X) * self._lesson.repeats, *raw]
        completion = Completion(completed_by, X, self._gold, completed, parts) if completed_by and completed else None
        self._examples = TrainingSet(parts, learnt, self._gold, self._lesson, completion=completion)
        self._judge, self._judged_on = estimator._with_parts(parts), held_out or (X, y)
        self._is_held_out = held_out is not None
        parts.about |= {"preset": estimator.preset, LEARNT_FROM: LABELS} | about(estimator, X, data_digest(X, y))
        if are_characters(map(forms_of, X)):
            parts.about[INPUT] = CHARACTERS
        if any(map(is_partial, y)):
            parts.about["data"] |= {"partial": count_marks(y)}
        if self._lesson is not None:
            parts.about["data"] |= self._lesson.about()
        digests = [data_digest(*data) for data in ((X, y), *([dev] if dev is not None else []))] if checkpoint else []
        digests += [self._lesson.digest()] if checkpoint and self._lesson is not None else []
        super().__init__(
            estimator, parts, judged=held_out is not None, checkpoint=checkpoint, digests=digests, resume=resume
        )

    def _batches(self, rng: np.random.Generator) -> Sequence[Batch[Example]]:
        size = self.parts.config.batch_sentences
        self._examples.redraw(rng)
        if self.parts.config.objective == "margin":
            return Batches(self._examples.batch, batches_with_label(self._gold, size, rng))
        return Batches(self._examples.batch, self._examples.order(size, rng))

    def _patience(self) -> int | None:
        return patience_in_epochs(self.parts.config, len(self._examples.lengths))

    def _score(self) -> float:
        return float(self._judge.score(*self._judged_on))

    def _calibrate(self) -> None:
        self._judge._calibrate_after_fit(*self._judged_on, held_out=self._is_held_out)


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


def pretrained_encoder(estimator: WordTrainee, warm_start: object = None) -> "FittedTrainee | None":
    """The tagger in the estimator's pretrained file, which has learnt from raw text alone; None where it has none."""
    path = estimator.pretrained
    if path is None or not is_model_file(path) or not holds_model(path):
        return None
    if warm_start is not None:
        raise ConfigurationError("warm start", expected="must not be given with a pretrained encoder", where=path)
    from postil.models.storage import load  # which knows the classes of all models

    known: FittedTrainee = load(path)
    if not is_encoder(known.fitted_parts()):
        what = "must be a file of `postil pretrain`; to go on from a model, use a warm start"
        raise ConfigurationError("pretrained", expected=what, got=f"a trained {known.KIND}", where=path)
    return known


class _Start(NamedTuple):
    """What a training begins with: a model of one task, or only its words and its encoder."""

    known: Parts[Any, Any]
    with_labels: bool


def _start(estimator: SentenceTrainee, warm_start: FittedTrainee, y: Sequence[Sequence[str]]) -> _Start:
    """Of a model of several tasks, the task that has a class of the data; if none has, words and encoder alone."""
    known = warm_start.fitted_parts()
    if warm_start.KIND == estimator.KIND:
        estimator._check_warm_start(known)
        return _Start(known, with_labels=not is_encoder(known))
    if not known.heads or estimator.KIND != "tagger":
        raise ConfigurationError("warm start", expected=f"a {estimator.KIND}", got=f"a {warm_start.KIND}")
    labelling = estimator._labels_of(y)
    for head in known.heads.values():
        if head.labelling.has_spans == labelling.has_spans and {*head.labelling.classes} & {*labelling.classes}:
            return _Start(head, with_labels=True)
    return _Start(next(iter(known.heads.values())), with_labels=False)


def _new_parts(
    estimator: SentenceTrainee,
    config: TaggerConfig,
    X: Sequence[Sequence[Token]],
    y: Sequence[Sequence[str]],
    start: _Start | None,
) -> Parts[Any, Any]:
    known, with_labels = start or (None, False)
    if known is not None:
        config = continued(known.config, config, with_labels=with_labels)
    features, vectors = new_features(estimator, config, X, known)
    labelling = known.labelling.extended(y) if known is not None and with_labels else estimator._labels_of(y)
    network = estimator._network(config, features, labelling, vectors, np.random.default_rng(estimator.seed))
    parts: Parts[Any, Any] = Parts(config=config, labelling=labelling, features=features, network=network)
    if known is not None:
        (take_over if with_labels else take_over_encoder)(known, parts)
    return parts


def new_features(
    estimator: WordTrainee, config: TaggerConfig, X: Sequence[Sequence[Token]], known: Parts[Any, Any] | None
) -> tuple[InputFeatures, Array | None]:
    """The features of the sentences, after those of a ``known`` model, and the fixed vectors."""
    sources, clusters = with_pretrained(estimator.vectors, estimator.clusters, estimator.pretrained)
    vectors = _vectors(sources, config, known)
    named = [source for source in estimator.gazetteers if source in NAMED_LISTS]
    files = [Path(source) for source in estimator.gazetteers if source not in NAMED_LISTS]
    lexicons = {"clusters": load_clusters(clusters)} if clusters is not None else {}
    lexicons |= {"names": load_names(named)} if named else {}
    if known is None and vectors is not None:  # a known model has its own
        made = vector_clusters(vectors, config.vector_clusters)
        lexicons |= {"vector clusters": made} if made is not None else {}
    features = InputFeatures.build(
        WordFeatureConfig.of(config),
        X,
        vectors=vectors,
        gazetteer=Gazetteer.load(files) if files else None,
        lexicons=lexicons,
        named=_named_features(config, X),
    )
    if known is not None:
        _check_lexicons(lexicons, known)
        features = extended_features(known.features, features)
    return features, vectors.matrix if vectors is not None else None


def _check_lexicons(lexicons: Mapping[str, Lexicon], known: Parts[Any, Any]) -> None:
    """A known model has the clusters and lists that it has: its encoder cannot read others."""
    new = [name for name in lexicons if name not in known.features.words.lexicons]
    if new:
        expected = "must be those of the model that the training starts from"
        raise ConfigurationError(f"lexicons of words ({', '.join(new)})", expected=expected, got="new ones")


def _named_features(config: TaggerConfig, X: Sequence[Sequence[Token]]) -> NamedFeatures | None:
    if config.word_key is None:
        return None
    return NamedFeatures.build(X, min_count=config.min_feature_count, buckets=config.feature_buckets)


def _vectors(sources: VectorSources | None, config: TaggerConfig, known: Parts[Any, Any] | None) -> WordVectors | None:
    """Fixed vectors in the scale of the config; those of a known model stay unless a file has them for other words."""
    before = None
    if known is not None and known.network.vectors is not None:
        before = WordVectors(known.features.words.vocabularies["vector"], known.network.vectors)
    if sources is None:
        return before
    vectors = scaled_vectors(sources, config.vector_scale)
    return vectors if before is None else in_scale_of(before, vectors)


def sentences_with_words(X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]]) -> Data:
    """The sentences that have words; an error where there are none."""
    kept = [i for i in range(len(X)) if len(X[i])]
    if not kept:
        raise DataError(
            "nothing to learn from", expected="at least one sentence with a word", got=f"{len(X)} sentences"
        )
    return [X[i] for i in kept], [y[i] for i in kept]


def checked_held_out(dev: Data, labelling: Any, partial: bool | None, name: str = "y_dev") -> Data:
    """The sentences of ``dev`` that have words. Marks are recognised, and broken schemes cause a warning."""
    X, y = dev
    sentences_with_words(X, y)
    y = with_marks(y, X, partial=partial, known=labelling.answers)
    recognised = "none" if labelling.scheme == "none" else recognise(y)
    scheme_checks.check(y, labelling.scheme if recognised == "none" else recognised, where=name)
    return sentences_with_words(X, y)


def checked_training_data(
    X: Sequence[Sequence[Token]],
    y: Sequence[Sequence[str]],
    partial: bool | None,
    annotates: Annotates,
    name: str = "y",
) -> tuple[Sequence[Sequence[Token]], Sequence[Sequence[str]], Annotates]:
    """Marks are recognised, and labels that break their scheme cause a warning.

    A sentence of which nothing is known is left out, and so is one without words.
    """
    entries = None if annotates is None else per_sentence(annotates, len(X))
    sentences_with_words(X, y)
    y = with_marks(y, X, partial=partial)
    scheme_checks.check(y, where=name)
    kept = [i for i in range(len(X)) if not is_unknown(y[i])]
    if not kept:
        raise DataError("every token is unknown", expected="some labels", got=f"nothing but {UNKNOWN!r}")
    return [X[i] for i in kept], [y[i] for i in kept], entries and [entries[i] for i in kept]


def _warn_of_lower_case(word_key: str, X: Sequence[Sequence[Token]]) -> None:
    """Features of dicts often hold the word twice, as it is and in lower case: the latter tells nothing of capitals."""
    forms = {form for tokens in X for form in forms_of(tokens)}
    if any(form != form.upper() for form in forms) and all(form == form.lower() for form in forms):
        what = f"word_key={word_key!r}: no word has a capital letter; name the key of the words as they are written"
        warn_caller(what, LowerCaseWarning)


def data_digest(X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]]) -> str:
    digest = hashlib.sha256()
    for tokens, labels in zip(X, y, strict=True):
        digest.update(repr((list(tokens), list(labels))).encode("utf8", "surrogatepass"))
    return digest.hexdigest()
