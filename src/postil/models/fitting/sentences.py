"""From labelled sentences to a fitted model: features, network and the training loop put together.

A model has a head for each task; that of a tagger or a detector is called main.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, cycle
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np

from postil.archive import is_model_file
from postil.arrays import Array
from postil.errors import ConfigurationError, DataError, ForgettingWarning, LowerCaseWarning, SchemeWarning, warn_caller
from postil.features.folds import Folds
from postil.features.gazetteer import Gazetteer
from postil.features.inputs import InputFeatures, Sentences, batches_of_similar_length, forms_of
from postil.features.lexicon import NAMED_LISTS, load_clusters, load_names, vector_clusters, with_pretrained
from postil.features.named import NamedFeatures
from postil.features.vectors import WordVectors, coded, holds_model
from postil.features.vocabulary import Vocabulary
from postil.features.words import WordFeatureConfig, WordFeatures
from postil.graph import Parameter
from postil.models.config import ARCHITECTURE, ENCODER_SETTINGS, TaggerConfig, adapted, patience_in_epochs
from postil.models.decoding.codec import LabelCodec, Target, checked_tasks
from postil.models.estimator import Corpora, Data, Estimator, FitData, Trainee
from postil.models.fitting.fitting import Batches, Fitting, about, scaled_vectors
from postil.models.fitting.training_set import Lesson, Teacher, TrainingSet, check_student
from postil.models.inputs import checked_dev, checked_labelled, checked_sentences, described
from postil.models.model import (
    BY_CHARACTERS,
    GROUPS,
    INPUT,
    LABELS,
    LEARNT_FROM,
    TASKS,
    FittedModel,
    is_encoder,
    new_model,
)
from postil.models.networks.encoders import warn_of_long_sentences
from postil.models.networks.network import MAIN, Example, members_of
from postil.optimisation.loop import Batch
from postil.text.labels import schemes
from postil.text.labels.partial import Annotates, Labels, count_marks, is_partial, is_unknown, per_sentence, with_marks
from postil.text.labels.schemes import UNKNOWN, recognise
from postil.text.languages import looks_english, rules_for
from postil.text.splitting.segmenter import ENGLISH, Segmenter, are_characters

_OF_SPANS = ("B-", "I-", "S-", "U-", "E-", "L-", "M-")


class _TaskCorpus(NamedTuple):
    """The training data of one task; ``raw`` sentences are learned from what ``teachers`` say about them."""

    X: Sentences
    y: Labels
    annotates: Annotates
    raw: Sentences
    teachers: Sequence[Teacher]


@final
class SentenceFitting(Fitting):
    """One training on sentences, as Fitting describes it; ``data`` are the arguments of ``fit``.

    What marks leave open in the sentences ``completed`` is learned as the posterior of ``completed_by``; then no
    sentence may be without words or altogether unknown. The score of an epoch is the ``joint_score`` of the tasks that
    have held-out data.
    """

    def __init__(
        self,
        estimator: Trainee,
        data: FitData,
        *,
        completed_by: Teacher | None = None,
        completed: Sequence[int] = (),
    ) -> None:
        estimator.check()
        config = estimator._configured(estimator.settings)
        data, has_groups = estimator._by_task(data)
        corpora = _checked_corpora(estimator, data, config.word_key)
        self._is_frozen = data.freeze_encoder
        start = _start(estimator, data, corpora)
        labelled = [tokens for corpus in corpora.values() for tokens in corpus.X]
        all_sentences = labelled + [tokens for corpus in corpora.values() for tokens in corpus.raw]
        config = adapted(
            config,
            len(all_sentences),
            sum(map(len, all_sentences)),
            continued=start is not None and bool(start[1]),
            known_words=start is not None and not start[1],
            dense=not any(label[:2] in _OF_SPANS for corpus in corpora.values() for y in corpus.y for label in y),
        )
        by_characters = are_characters(map(forms_of, labelled))
        segmentation = estimator.segmenter
        if segmentation is None and not by_characters:
            # As in the model it starts from, or by the rules of its language. None: English.
            chosen = start[0].segmentation if start is not None else rules_for(_words(labelled))
            segmentation = None if start is None and chosen == ENGLISH else chosen
        model = _new_model(estimator, config, corpora, all_sentences, start, self._is_frozen, segmentation)
        heads = model.by_task()
        held_out = _checked_held_out(estimator, heads, data, config.word_key)
        warn_of_long_sentences(config, map(len, all_sentences))
        examples = {
            task: (corpus.X, heads[task].codec.widened(corpus.y, corpus.annotates) if corpus.annotates else corpus.y)
            for task, corpus in corpora.items()
        }  # an O may be a label of a class that is not annotated
        self._gold = {task: heads[task].codec.numbers(y) for task, (_, y) in examples.items()}
        lessons: dict[str, Lesson] = {}
        self.training_sets: dict[str, TrainingSet] = {}
        for task, (X, _, _, raw, teachers) in corpora.items():
            head, gold, learnt = heads[task], self._gold[task], X
            if raw:
                lessons[task] = Lesson.of(teachers, raw, X, gold, head)
                learnt = [*list(X) * lessons[task].repeats, *raw]
            elif completed_by and completed:
                lessons[task] = Lesson.completing(completed_by, X, gold, completed, head)
            self.training_sets[task] = TrainingSet(head, learnt, gold, lessons.get(task))
        self._held_out, self._judged_on, self._passes = held_out, {**examples, **held_out}, estimator._PASSES
        self._judges = {task: estimator._head(heads[task]) for task in self._judged_on}
        digests = {task: data_digest(*of_task) for task, of_task in examples.items()}
        counts: dict[str, dict[str, Any]] = {}
        for task, (X, y) in examples.items():
            counts[task] = {"sentences": len(X), "tokens": sum(map(len, X))}
            counts[task] |= {"partial": count_marks(y)} if any(map(is_partial, y)) else {}
            counts[task] |= lessons[task].about() if task in lessons else {}
        model.about["preset"] = estimator.preset
        if estimator._HAS_TASKS:  # which count their sentences together; all groups have the same
            counted = next(iter(examples.values()))[0] if has_groups else all_sentences
            model.about |= about(estimator, counted, data_digest([list(digests)], [list(digests.values())]))
            model.about["data"][TASKS] = counts
        else:
            model.about |= {LEARNT_FROM: LABELS} | about(estimator, examples[MAIN][0], digests[MAIN])
            model.about["data"] |= counts[MAIN]
        if has_groups:
            model.about[GROUPS] = {task: list(heads[task].codec.classes) for task in corpora}
        if by_characters if segmentation is None else segmentation.characters:
            model.about[INPUT] = BY_CHARACTERS
        if data.checkpoint is not None:
            digests |= {f"dev {task}": data_digest(*of_task) for task, of_task in held_out.items()}
            digests |= {f"lesson {task}": lesson.digest() for task, lesson in lessons.items()}
        super().__init__(
            estimator,
            model,
            judged=bool(held_out),
            checkpoint=data.checkpoint,
            digests=[*(f"{name} {digest}" for name, digest in digests.items()), f"frozen: {self._is_frozen}"],
            resume=data.resume,
        )

    def _learnt_parameters(self) -> dict[str, Parameter]:
        parameters = super()._learnt_parameters()
        if self._is_frozen:
            return {name: one for name, one in parameters.items() if name.startswith("heads.")}
        return parameters

    def _batches(self, rng: np.random.Generator) -> Sequence[Batch[Example]]:
        size, sets = self.model.config.batch_sentences, self.training_sets
        for examples in sets.values():
            examples.redraw(rng)
        if self.model.config.objective == "margin":
            order = [(MAIN, which) for which in batches_with_label(self._gold[MAIN], size, rng)]
        elif len(sets) == 1:
            order = [(task, which) for task, examples in sets.items() for which in examples.order(size, rng)]
        else:
            order = batches_by_task(
                {task: examples.lengths for task, examples in sets.items()}, size, rng, self._passes
            )
        return Batches(lambda of_task: sets[of_task[0]].batch(of_task[1]), order)

    def _patience(self) -> int | None:
        sentences = sum(len(examples.lengths) for examples in self.training_sets.values())
        return patience_in_epochs(self.model.config, sentences)

    def _score(self) -> float:
        return joint_score([float(self._judges[task].score(*data)) for task, data in self._held_out.items()])

    def _calibrate(self) -> None:
        for task, judge in self._judges.items():
            judge._calibrate_after_fit(*self._judged_on[task], held_out=task in self._held_out)


def batches_with_label(gold: Sequence[Array], size: int, rng: np.random.Generator) -> list[Array]:
    """The sentences of an epoch in batches of about ``size``: each has sentences with the label (1 in ``gold``).

    The margin objective learns from pairs of windows with and without it. A rare label makes few batches: then each
    epoch draws other sentences, rather than learn nothing from most batches. Each batch has at least one sentence
    without the label, if there are any.
    """
    has_label = np.array([bool((labels == 1).any()) for labels in gold])
    true, others = (rng.permutation(np.flatnonzero(kind)) for kind in (has_label, ~has_label))
    count = min(-(-len(gold) // size), len(true))
    others = others[: max(count * size - len(true), count)]
    dealt = zip(np.array_split(true, count), np.array_split(others, count), strict=True)
    return [rng.permutation(np.concatenate(pair)) for pair in dealt]


def joint_score(scores: Sequence[float]) -> float:
    """One less the geometric mean of the tasks' errors, so that a tenth of an error counts alike in every task.

    With the mean of the scores, a hard task with little held-out data would choose the epoch by its chance alone.
    """
    if len(scores) == 1:
        return scores[0]
    return float(1 - np.exp(np.mean(np.log(np.maximum(1 - np.asarray(scores), LEAST_ERROR)))))


LEAST_ERROR = 1e-4
"""A task without any error must not decide alone."""


def batches_by_task(
    lengths: Mapping[str, Array],
    size: int,
    rng: np.random.Generator,
    passes: Mapping[str, float] = MappingProxyType({}),
) -> list[tuple[str, Array]]:
    """The batches of an epoch: the task of each, and which of its sentences (b,) it has.

    ``lengths`` are those of the sentences of each task; ``passes`` says how often an epoch goes through them.
    """
    counts = {task: len(of_task) for task, of_task in lengths.items()}
    shares = batch_shares(counts, size)
    if passes:
        shares = {task: math.ceil(passes[task] * count / size) for task, count in counts.items()}
    found: list[tuple[str, Array]] = []
    for task, of_task in lengths.items():
        coming: list[Array] = []
        while len(coming) < shares[task]:
            coming += batches_of_similar_length(of_task, size, rng)
        found += [(task, which) for which in coming[: shares[task]]]
    return [found[i] for i in rng.permutation(len(found))] if len(lengths) > 1 else found


def batch_shares(sentences: Mapping[str, int], size: int) -> dict[str, int]:
    """The number of batches of each task in an epoch: in proportion to the square root of its number of sentences."""
    total = sum(-(-count // size) for count in sentences.values())
    roots = {task: float(np.sqrt(count)) for task, count in sentences.items()}
    return {task: max(1, round(total * root / sum(roots.values()))) for task, root in roots.items()}


# ----------------------------------------------------------------------------------------------------------------- data


def _checked_corpora(estimator: Trainee, data: FitData, word_key: str | None) -> dict[str, _TaskCorpus]:
    """The data of each task, whose marks are recognised; labels that break their scheme cause a warning.

    A sentence of which nothing is known is left out, and so is one without words.
    """
    if not isinstance(data.y, Mapping):
        raise DataError("y", expected="must be a dict: the labels of each task", got=described(data.y))
    all_annotates: Any = data.annotates or {}
    all_teachers: Any = data.teachers or {}
    tasks = checked_tasks(data.y)
    sentences = by_task(data.X, tasks)
    _refuse_others("annotates", all_annotates, tasks)
    corpora = {}
    for task in tasks:
        names = _named("X", task, estimator), _named("y", task, estimator)
        X, labels = checked_labelled(sentences[task], data.y[task], names, word_key=word_key)
        annotates = None if (given := all_annotates.get(task)) is None else per_sentence(given, len(X))
        sentences_with_words(X, labels)
        y = with_marks(labels, X, partial=data.partial)
        schemes.check(y, where=names[1])
        kept = [i for i in range(len(X)) if not is_unknown(y[i])]
        if not kept:
            raise DataError("every token is unknown", expected="some labels", got=f"nothing but {UNKNOWN!r}")
        X, y, annotates = [X[i] for i in kept], [y[i] for i in kept], annotates and [annotates[i] for i in kept]
        if task not in all_teachers and data.warm_start is None and len(only := {*chain.from_iterable(y)}) == 1:
            what = f"{names[1]}: every token has the label {only.pop()!r}, and so does every answer"
            warn_caller(what, SchemeWarning)
        forms = {form for tokens in X for form in forms_of(tokens)} if word_key is not None else set()
        # Feature dicts often hold the word twice, as it is and in lower case: the latter tells nothing of capitals.
        if any(form != form.upper() for form in forms) and all(form == form.lower() for form in forms):
            what = f"word_key={word_key!r}: no word has a capital letter; name the key of the words as they are written"
            warn_caller(what, LowerCaseWarning)
        corpora[task] = _TaskCorpus(X, y, annotates, (), ())
    _refuse_others("teachers", all_teachers, tasks)
    if data.unlabelled is None and not all_teachers:
        return corpora
    if data.unlabelled is None or not all_teachers or not all(all_teachers.values()):
        name = "unlabelled" if data.unlabelled is None else "teachers"
        raise ConfigurationError(f"{name}: needed where the other is given", expected="unlabelled and teachers")
    all_raw = by_task(data.unlabelled, [*all_teachers], "unlabelled", "those of teachers")
    check_student(estimator)
    for task, teachers in all_teachers.items():
        for teacher in teachers:
            if getattr(teacher, "_HAS_TASKS", False):
                expected = "taggers of one task, such as tagger['names']"
                raise ConfigurationError("teachers", expected=expected, got=f"a {teacher.KIND}")
        raw = [tokens for tokens in checked_sentences(all_raw[task], word_key=word_key) if len(tokens)]
        if not raw:
            raise DataError("unlabelled text", expected="at least one sentence with a word", got="none")
        corpora[task] = corpora[task]._replace(raw=raw, teachers=teachers)
    return corpora


def _named(what: str, task: str, estimator: Trainee) -> str:
    """How messages name the data of a task."""
    return f"{what} of {task!r}" if estimator._HAS_TASKS else what


def by_task(X: Corpora, tasks: Sequence[str], what: str = "X", which: str = "the tasks of y") -> dict[str, Any]:
    """The sentences of each task."""
    if not isinstance(X, Mapping):
        return dict.fromkeys(tasks, X)
    if set(X) != set(tasks):
        raise DataError(what, expected=f"{which}: " + ", ".join(tasks), got=", ".join(map(str, X)) or "none")
    return {task: X[task] for task in tasks}


def _refuse_others(what: str, of_tasks: Any, tasks: Sequence[str]) -> None:
    if not isinstance(of_tasks, Mapping):
        raise DataError(what, expected="must be a dict by task", got=described(of_tasks))
    for task in of_tasks:
        if task not in tasks:
            raise DataError(what, expected="the tasks " + ", ".join(tasks), got=repr(task)[:80])


def _checked_held_out(
    estimator: Trainee, heads: Mapping[str, FittedModel], data: FitData, word_key: str | None
) -> dict[str, Data]:
    """Held-out data of tasks, which may be tasks of a warm start only."""
    dev: Any = data.dev or {}
    _refuse_others("dev", dev, list(heads))
    held_out: dict[str, Data] = {}
    for task, head in heads.items():
        checked = checked_dev(dev.get(task), word_key)
        if checked is not None:
            X, labels = checked
            sentences_with_words(X, labels)
            y = with_marks(labels, X, partial=data.partial, known=head.codec.answers)
            scheme = "none" if head.codec.scheme == "none" else recognise(y)
            scheme = head.codec.scheme if scheme == "none" else scheme
            schemes.check(y, scheme, where=_named("y_dev", task, estimator))
            held_out[task] = sentences_with_words(X, y)
            if isinstance(head.codec, Target) and not any(
                (labels == 1).any() for labels in replace(head.codec, scheme=recognise(y)).numbers(held_out[task][1])
            ):  # every average precision would be 0, and no threshold better than another
                what, label = "no token of dev has the label to detect", head.codec.label
                raise DataError(what, expected=repr(label), got="other labels")
    return held_out


def sentences_with_words(X: Sentences, y: Labels) -> Data:
    """The sentences that have words; an error if there are none."""
    kept = [i for i in range(len(X)) if len(X[i])]
    if not kept:
        expected = "at least one sentence with a word"
        raise DataError("nothing to learn from", expected=expected, got=f"{len(X)} sentences")
    return [X[i] for i in kept], [y[i] for i in kept]


def data_digest(X: Sentences, y: Labels) -> str:
    digest = hashlib.sha256()
    for tokens, labels in zip(X, y, strict=True):
        digest.update(repr((list(tokens), list(labels))).encode("utf8", "surrogatepass"))
    return digest.hexdigest()


# ---------------------------------------------------------------------------------------------------------------- parts


_Start: TypeAlias = tuple[FittedModel, dict[str, FittedModel]]
"""The start of a training run: the words and the encoder of a model, and the heads that go on, by task."""


def _start(estimator: Trainee, data: FitData, corpora: Mapping[str, _TaskCorpus]) -> _Start | None:
    if data.freeze_encoder and not estimator._HAS_TASKS:
        raise ConfigurationError("freeze_encoder needs a MultiTaskTagger", got=f"a {estimator.KIND}")
    warm_start = pretrained_encoder(estimator, data.warm_start) or data.warm_start
    if warm_start is None:
        if data.freeze_encoder:
            raise ConfigurationError("freeze_encoder", expected="needs a model to start from (warm_start)", got="none")
        return None
    known, heads = warm_start.model, list(warm_start.model.by_task().values())
    if not estimator._HAS_TASKS and warm_start.KIND == estimator.KIND:
        label, known_label = (getattr(one, "label", None) for one in (estimator, known.codec))
        if label != known_label:
            raise ConfigurationError("label of the warm start", expected=repr(label), got=repr(known_label))
        return known, {} if is_encoder(known) else {MAIN: known}
    if not estimator._HAS_TASKS:  # the task that has a class of the data; if none has, words and encoder alone
        if not warm_start._HAS_TASKS or estimator.KIND != "tagger":
            raise ConfigurationError("warm start", expected=f"a {estimator.KIND}", got=f"a {warm_start.KIND}")
        codec = estimator._labels_of(corpora[MAIN].y)
        for head in heads:
            if head.codec.has_spans == codec.has_spans and {*head.codec.classes} & {*codec.classes}:
                return head, {MAIN: head}
        return heads[0], {}
    if not all(isinstance(head.codec, LabelCodec) for head in heads):
        raise ConfigurationError("warm start", expected="a tagger", got=f"a {warm_start.KIND}")
    if is_encoder(known):
        return known, {}
    if known.config.ensemble > 1:  # of an encoder, one member is enough
        raise ConfigurationError("warm start of several tasks", expected="a tagger", got="an ensemble")
    before = known.by_task() if warm_start._HAS_TASKS else {MAIN: known}
    forgotten = [task for task in before if task not in corpora]
    if forgotten and not data.freeze_encoder:
        names = ", ".join("the tagger's own task, main" if task == MAIN else task for task in forgotten)
        what = f"no data for {names}: its answers change with the encoder; freezing the encoder keeps them"
        warn_caller(what, ForgettingWarning)
    if "roles" in known.parts:
        warn_caller("the new model is without the semantic roles of the one that it starts from", ForgettingWarning)
    return known, before


def _new_model(
    estimator: Trainee,
    config: TaggerConfig,
    corpora: Mapping[str, _TaskCorpus],
    sentences: Sentences,
    start: _Start | None,
    is_frozen: bool,
    segmentation: Segmenter | None,
) -> FittedModel:
    """Heads for the tasks of the corpora, after those of a known model: its tasks stay."""
    known, before = start or (None, {})
    tasks = checked_tasks([*before, *(task for task in corpora if task not in before)])
    if known is not None:  # with its clusters, which are never made again
        names = ARCHITECTURE if before else ENCODER_SETTINGS
        if differing := [name for name in names if getattr(known.config, name) != getattr(config, name)][:4]:
            expected, got = (", ".join(f"{n}={getattr(c, n)}" for n in differing) for c in (known.config, config))
            expected += " of the model to start from"
            raise ConfigurationError("the architectures differ", expected=expected, got=got)
        config = replace(config, vector_clusters=known.config.vector_clusters)
    if known is not None and is_frozen:
        features, vectors = known.features, known.network.vectors
    else:
        features, vectors = new_features(estimator, config, sentences, known)
    codecs = {}
    for task in tasks:
        if task not in before:
            codecs[task] = estimator._labels_of(corpora[task].y)
        else:
            codec = before[task].codec
            codecs[task] = codec.extended(corpora[task].y) if task in corpora else codec
    # A promise about missed names was made for the network as it was.
    kept = before.items() if estimator._HAS_TASKS else ()
    decodings = {task: replace(head.decoding, promise=None) for task, head in kept}
    rng = np.random.default_rng(estimator.seed)
    model = new_model(estimator._network, config, codecs, features, vectors, rng, decodings, segmentation=segmentation)
    heads = model.by_task()
    if known is not None and not before:
        take_over(known, heads[tasks[0]], with_labels=False)  # all heads share the encoder
    for task, head in before.items():  # a new task begins fresh, with the tables and the encoder of the others
        take_over(head, heads[task])
    return model


def pretrained_encoder(estimator: Trainee, warm_start: object = None) -> Estimator | None:
    """The tagger in the estimator's pretrained file, which has learned from raw text alone; None if it has none."""
    path = estimator.pretrained
    if path is None or not is_model_file(path) or not holds_model(path):
        return None
    if warm_start is not None:
        raise ConfigurationError("warm start", expected="must not be given with a pretrained encoder", where=path)
    from postil.models.storage import load  # which knows the classes of all models

    known: Estimator = load(path)
    if not is_encoder(known.model):
        what = "must be a file of `postil pretrain`; to go on from a model, use a warm start"
        raise ConfigurationError("pretrained", expected=what, got=f"a trained {known.KIND}", where=path)
    return known


def _words(X: Sentences) -> Counter[str]:
    return Counter(chain.from_iterable(map(forms_of, X)))


def new_features(
    estimator: Trainee, config: TaggerConfig, X: Sentences, known: FittedModel | None
) -> tuple[InputFeatures, Array | None]:
    """The features of the sentences, after those of a ``known`` model, and the fixed vectors.

    Vectors of a known model stay unless a file has them for other words, and so do its clusters and lists: its encoder
    cannot read others.
    """
    sources, clusters = with_pretrained(estimator.vectors, estimator.clusters, estimator.pretrained)
    vectors = None
    if known is not None and known.network.vectors is not None:
        vectors = WordVectors(known.features.words.vocabularies["vector"], known.network.vectors)
    if sources is not None:
        new = scaled_vectors(sources, config.vector_scale)
        vectors = new if vectors is None else in_scale_of(vectors, new)
    named = [source for source in estimator.gazetteers if source in NAMED_LISTS]
    files = [Path(source) for source in estimator.gazetteers if source not in NAMED_LISTS]
    lexicons = {"clusters": load_clusters(clusters)} if clusters is not None else {}
    lexicons |= {"names": load_names(named)} if named else {}
    if known is None and vectors is not None:
        made = vector_clusters(vectors, config.vector_clusters)
        lexicons |= {"vector clusters": made} if made is not None else {}
    if vectors is not None and sources is not None:
        vectors = coded(vectors, exact=config.exact_vectors)
    of_dicts = None
    if config.word_key is not None:
        of_dicts = NamedFeatures.build(X, min_count=config.min_feature_count, buckets=config.feature_buckets)
    if known is not None:
        folds = known.features.words.folds
    else:  # English models look words up as they are
        folds = None if looks_english(words := _words(X)) else Folds.chosen(words)
    features = InputFeatures.build(
        WordFeatureConfig.of(config),
        X,
        folds,
        vectors=vectors,
        gazetteer=Gazetteer.load(files) if files else None,
        lexicons=lexicons,
        named=of_dicts,
    )
    if known is not None:
        others = [name for name in lexicons if name not in known.features.words.lexicons]
        if others:
            expected = "must be those of the model that the training starts from"
            raise ConfigurationError(f"lexicons of words ({', '.join(others)})", expected=expected, got="new ones")
        features = extended_features(known.features, features)
    return features, vectors.matrix if vectors is not None else None


# ----------------------------------------------------------------------------- beginning with the parameters of a model
# Strings keep their ids and new ones come after them, and so do the classes of labels. So a known word, affix, shape or
# value of a column keeps its row, and a label its row of the output maps and its transitions.


SAME_VECTORS = 0.8  # cosine of all shared words: codes of rare words cost a tenth of it, other vectors nearly all
_OF_LABELS = ("output", "crf.")  # how the names of parameters begin that are about labels


def extended_features(old: InputFeatures, new: InputFeatures) -> InputFeatures:
    """All strings of ``old`` under their ids, then those of ``new``; vectors and gazetteers are new."""
    sizes = [(len(one.columns), one.words.config.vector_dim) for one in (old, new)]
    for what, none, before, after in zip(
        ("extra columns of the data", "dimension of the word vectors"), (0, "no vectors"), *sizes, strict=True
    ):
        if before != after:
            expected = f"{before or none} as in the model"
            raise ConfigurationError(f"warm start: {what}", expected=expected, got=after or none)
    columns = [extended(*pair) for pair in zip(old.columns, new.columns, strict=True)]
    gazetteers = [features.gazetteer.columns if features.gazetteer is not None else [] for features in (old, new)]
    if new.gazetteer is not None and gazetteers[0] != gazetteers[1]:
        expected, got = (", ".join(names) or "none" for names in gazetteers)
        raise ConfigurationError("warm start: classes of the gazetteers", expected=expected, got=got)
    named = new.named
    if old.named is not None and old.named.names is not None and named is not None and named.names is not None:
        named = NamedFeatures(extended(old.named.names, named.names))
    vocabularies = {
        name: vocabulary if name == "vector" else extended(old.words.vocabularies[name], vocabulary)
        for name, vocabulary in new.words.vocabularies.items()
    }
    counts = new.words.counts
    if len(counts):
        counts = np.zeros(len(vocabularies["word"]), np.int64)
        for one in (old.words, new.words):
            counts[vocabularies["word"].ids(one.vocabularies["word"])] += one.counts
    words = WordFeatures(new.words.config, vocabularies, counts, old.words.lexicons, old.words.folds)
    return InputFeatures(words, columns, new.gazetteer or old.gazetteer, named)


def extended(old: Vocabulary, new: Vocabulary) -> Vocabulary:
    """The strings of ``old`` under their ids, then the others of ``new``."""
    return Vocabulary.build([*old, *(string for string in new if string not in old)])


def in_scale_of(known: WordVectors, vectors: WordVectors) -> WordVectors:
    """``vectors`` in the scale in which the encoder of a known model has learned to read its own.

    They must be the same vectors, as a rule of more words: a model that is shipped holds only those of useful words.
    Each dimension has its own factor, because several files may be joined side by side, each scaled as a whole.
    """
    if known.matrix.shape[1] != vectors.matrix.shape[1]:
        return vectors  # which ``extended_features`` refuses
    places = vectors.words.ids(known.words, 0)
    shared = np.flatnonzero(places)
    before, after = known.matrix[shared].astype(np.float64), vectors.matrix[places[shared]].astype(np.float64)
    # Coded vectors are means of those that they stand for, so they are what the exact ones are compared with.
    products, squares = (before * after).sum(axis=0), np.square(before).sum(axis=0)
    cosine = products.sum() / max(np.sqrt(squares.sum() * np.square(after).sum()), 1e-12)
    if cosine < SAME_VECTORS:
        raise ConfigurationError(
            "warm start: the word vectors are not those of the model",
            expected="the vectors that it was trained with, of the same or more words",
            got=f"others: a cosine of {cosine:.2f} over {len(shared):,} shared words",
        )
    factors = np.divide(squares, products, out=np.ones_like(products), where=products > 0)
    return vectors._replace(matrix=vectors.matrix * factors.astype(np.float32))


def take_over(old: FittedModel, new: FittedModel, *, with_labels: bool = True) -> None:
    """Copy the parameters of ``old`` to the same things in ``new``, which extends its features and labels.

    Not ``with_labels``: only what is known about words and their neighbours. A larger ensemble then has several members
    that begin alike; their labels and their noise differ.
    """
    of_labels: dict[str, Any] = {}
    members = members_of(old.network)
    if with_labels:
        number = {label: i for i, label in enumerate(new.codec.labels)}
        labels = np.array([number[label] for label in old.codec.labels])
        of_labels = {"crf.start": labels, "crf.end": labels, "crf.transitions": np.ix_(labels, labels)}
        if old.features.named is not None:
            of_labels["named"] = np.ix_(np.arange(len(old.features.named)), labels)
        for i in range(new.config.offsets):
            of_labels |= {f"output{i}.W": labels, f"output{i}.b": labels}
    for before, after in zip(cycle(members), members_of(new.network), strict=False):
        values = {name: parameter.value for name, parameter in before.parameters().items()}
        # Of each parameter that holds tables: where its old rows stand among the new ones; of others that stay, ().
        places = of_labels or {name: () for name in after.parameters() if name.startswith(_OF_LABELS)}
        for name, part in (("forms", "form_tables"), ("extra", "extra_tables")):
            tables, longer = getattr(before, part), getattr(after, part)
            for i, group in enumerate([] if tables is None else tables.groups):
                rows = [longer.starts[feature] + np.arange(tables.sizes[feature][0]) for feature in group]
                places = places | {f"{name}.tables.{i}": np.concatenate(rows)}
        if before.characters is not None:  # its ids are those of a vocabulary, and old ones stay
            places = places | {"characters.table": np.arange(before.alphabet)}
        for name, parameter in after.parameters().items():
            if name not in places:
                parameter.value[...] = values[name]
            elif len(places[name]):
                parameter.value[places[name]] = values[name]
