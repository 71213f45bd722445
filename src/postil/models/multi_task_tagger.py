"""A tagger of several tasks: shared words and encoder, one head for each task."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

from postil.errors import ConfigurationError, DataError
from postil.features.inputs import Sentences, Token
from postil.models import storage
from postil.models.config import PRESETS, MultiTaskParameters
from postil.models.decoding.codec import Predictions, Tasks, checked_tasks, known_tasks
from postil.models.decoding.distribution import Decoding
from postil.models.decoding.posteriors import Decoded, Posteriors, decode
from postil.models.decoding.tagged import entities_of, put_labels, tagged_documents
from postil.models.estimator import Corpora, FitData
from postil.models.inputs import checked_documents, in_order, listed_sentences
from postil.models.model import GROUPS, FittedModel
from postil.models.sentence_estimator import WordEstimator
from postil.models.sentences import listed_texts, tokens_of
from postil.models.settings import UNSET, takes
from postil.models.tagger import Tagger
from postil.text import Document, Entity, Sentence, Span
from postil.text.labels.groups import Annotation, Groups, by_group, checked_groups, found_groups

if TYPE_CHECKING:
    from postil.metrics import Evaluation
    from postil.models.explaining.explanation import Explanation
    from postil.models.voting.files import RuleSource
    from postil.models.voting.reliability import Reliability

Gold: TypeAlias = Mapping[str, Sequence[Sequence[str]]] | Sequence[Annotation]
"""The labels of each task; of groups of classes, also the spans or labels of each sentence."""
ROLES = "roles"
"""The part that labels semantic roles, if there is one."""


def _annotations(y: Any, name: str) -> list[Annotation]:
    """The spans or labels of each sentence; a span may also be (start, end, label)."""

    def item(value: Any) -> Any:
        if isinstance(value, Span | str):
            return value
        if not isinstance(value, tuple | list) or len(value) != 3:
            raise DataError(name, expected="labels, or spans (start, end, label)", got=repr(value)[:80])
        return Span(value[2], value[0], value[1])

    return [[item(value) for value in annotation] for annotation in in_order(y, name, "a list of spans per sentence")]


def head_of(estimator: WordEstimator, model: FittedModel) -> Tagger:
    """The tagger of one task. Presets that are ensembles for one task are single networks here."""
    parameters = estimator.get_params()
    parameters.pop("groups", None)
    if parameters["ensemble"] is UNSET and PRESETS.get(estimator.preset, {}).get("ensemble", 1) > 1:
        parameters["ensemble"] = 1
    return Tagger(**parameters)._with_model(model)


@final
class MultiTaskTagger(WordEstimator):
    """Labels words for several tasks at once: names and parts of speech, say. Takes the parameters of a Tagger.

    X and y are dicts from the name of a task to its data, as a Tagger takes them; the corpora of the tasks may be
    disjoint. Answers are also dicts by task. ``tagger["names"]`` is an ordinary Tagger of one task, which shares its
    words and encoder with the others.

    For entities of different classes that overlap, the tasks are ``groups`` of classes. X and y are then lists, and y
    has the spans of each sentence. ``tag`` returns the entities of all groups in one list.

    Examples
    --------
    >>> from postil import MultiTaskTagger
    >>> X = {"names": [["Anna", "lives", "in", "Oslo"]] * 10, "words": [["she", "lives", "here"]] * 10}
    >>> y = {"names": [["B-PER", "O", "O", "B-LOC"]] * 10, "words": [["PRON", "VERB", "ADV"]] * 10}
    >>> tagger = MultiTaskTagger(preset="fast", hidden=20, seed=0).fit(X, y)
    >>> tagger.tasks
    ['names', 'words']
    >>> tagger.predict([["Anna", "lives", "here"]])["words"][0][1:]
    ['VERB', 'ADV']
    >>> tagger["names"].predict([["Anna", "lives", "here"]])
    [['B-PER', 'O', 'O']]
    """

    groups: Groups | None

    @takes(MultiTaskParameters)
    def __init__(self, **parameters: Any) -> None:
        self._store(parameters)

    KIND: ClassVar[str] = "multi-task-tagger"
    _HAS_TASKS: ClassVar[bool] = True
    _PARTS: ClassVar[Mapping[str, str]] = MappingProxyType({ROLES: "role-labeller"})

    # -------------------------------------------------------------------------------------------- its kind of model

    @classmethod
    def _check_model(cls, model: FittedModel) -> None:
        if ROLES in model.heads and ROLES in model.parts:
            raise DataError("tasks", expected=f"others than {ROLES} in a model with a role labeller", got=ROLES)

    def check(self) -> None:
        super().check()
        if self.groups is not None:
            checked_tasks(checked_groups(self.groups))

    def _by_task(self, data: FitData) -> tuple[FitData, bool]:
        if isinstance(data.y, Mapping):
            if self.groups is not None and set(self.groups) != set(data.y):
                got = ", ".join(map(str, data.y))
                raise DataError("y", expected=f"the groups {', '.join(self.groups)}", got=got)
            return data, self.groups is not None
        dev: Any = data.dev
        is_pair = isinstance(dev, tuple | list) and len(dev) == 2
        y, y_dev = _annotations(data.y, "y"), _annotations(dev[1], "y_dev") if is_pair else []
        groups = found_groups([*y, *y_dev]) if self.groups is None else self.groups
        if self.groups is None and len(groups) < 2:  # nothing overlaps: labels of one task
            return data, False
        if is_pair:
            dev = {task: (dev[0], of_group) for task, of_group in by_group(y_dev, dev[0], groups).items()}
        return replace(data, y=by_group(y, listed_sentences(data.X), groups), dev=dev), True

    def _head(self, model: FittedModel) -> Tagger:
        return head_of(self, model)

    # -------------------------------------------------------------------------------------------- the fitted model

    @property
    def tasks(self) -> list[str]:
        """The names of the tasks."""
        return list(self.model.heads)

    def by_task(self, tasks: Tasks = None) -> dict[str, Any]:
        """The tagger of each task, or of these. Semantic roles come only if they alone are asked for."""
        known = known_tasks(tasks, [*self.model.heads, *self.model.parts]) if tasks is not None else []
        inside = [name for name in known if name in self.model.parts]
        if inside and len(known) > 1:
            raise ConfigurationError("tasks", expected=f"{inside[0]} alone", got=", ".join(known))
        return {name: self.model.parts[name] for name in inside} or super().by_task(tasks)

    def __getitem__(self, task: str) -> Any:
        """The Tagger of one task. Calibrating or tuning it, or replacing its parts, also changes this model.

        ``tagger["roles"]`` is the RoleLabeller inside, if there is one.
        """
        return self.by_task([task])[task]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tasks)

    @property
    def groups_(self) -> dict[str, list[str]]:
        """The classes of each task if the tasks are groups of classes that may overlap, otherwise empty."""
        groups: dict[str, list[str]] = self.model.about.get(GROUPS, {})
        return groups

    @property
    def classes_(self) -> dict[str, list[str]]:
        """The labels that may occur in the answers of each task."""
        return {task: head.classes_ for task, head in self.by_task().items()}

    @property
    def decoding(self) -> dict[str, Decoding]:
        """How the answers of each task are read from its scores; replace that of ``tagger[task]``."""
        return {task: head.decoding for task, head in self.model.heads.items()}

    def _decoded(self, X: Sentences, tasks: Tasks, **asked: Any) -> dict[str, Decoded]:
        heads = {task: Posteriors(self.model.of_task(task)) for task in known_tasks(tasks, self.tasks)}
        return decode(heads, X, **asked)

    # -------------------------------------------------------------------------------------------- answers

    def predict(self, X: Sentences, *, tasks: Tasks = None) -> dict[str, list[list[str]]]:
        """The best labels of every sentence, by task. ``tasks`` leaves the others out.

        The sentences are encoded once, whatever the number of tasks. Constraints and thresholds are arguments of
        ``tagger[task].predict``.
        """
        decoded = self._decoded(listed_sentences(X), tasks, probabilities=False)
        return {task: Predictions(of_task.texts()) for task, of_task in decoded.items()}

    def score(self, X: Corpora, y: Gold) -> dict[str, float]:
        """conlleval's F1 of tasks with spans, token accuracy of others; 0 to 1."""
        return {task: evaluation.main_score for task, evaluation in self.evaluate(X, y).items()}

    def evaluate(self, X: Corpora, y: Gold) -> "dict[str, Evaluation]":
        """All scores of each task of y."""
        from postil.models.fitting.sentences import by_task  # what only held-out data need is loaded with them

        if not isinstance(y, Mapping):
            y = by_group(_annotations(y, "y"), listed_sentences(X), self.groups_)
        names = known_tasks(y, self.tasks)
        sentences = by_task(X, names)
        return {task: self[task].evaluate(sentences[task], y[task]) for task in names}

    def explain(
        self, tokens: Sequence[Token], start: int, end: int, label: str | None = None, *, task: str
    ) -> "Explanation":
        """Why one task says what it says: see ``Tagger.explain``."""
        explanation: Explanation = self[task].explain(tokens, start, end, label)
        return explanation

    def tag(self, text: str, *, tasks: Tasks = None) -> Document:
        """Tokens and sentences of a raw text, and the answers of each task: ``layers[task]`` is also a Document.

        ``entities``, and the labels of ``sentences``, are those of the first task with spans. If the tasks are groups
        of classes, ``entities`` are those of all groups, sorted by their offsets.
        """
        (document,) = self.tag_many([text], tasks=tasks)
        return document

    def tag_many(self, texts: Iterable[str], *, tasks: Tasks = None) -> list[Document]:
        """``tag`` for each of many texts: fastest if there are many, or long ones."""
        layers = known_tasks(tasks, self.tasks)
        return tagged_documents(self.model, listed_texts(texts), self.main_task(layers), layers)

    def with_rules(
        self,
        rules: "RuleSource | None",
        *,
        task: str | None = None,
        reliability: "Reliability | None" = None,
    ) -> "MultiTaskTagger":
        """The same tagger with rules that vote on one task, by default the first with spans: ``Tagger.with_rules``."""
        (task,) = known_tasks([self.main_task() if task is None else task], self.tasks)
        voting = self[task].with_rules(rules, reliability=reliability)
        whole = replace(self.model, heads={**self.model.heads, task: voting.model.heads[task]})
        whole._engine = self.model.engine()
        return self._with_model(whole)

    def with_roles(self, labeller: Any) -> "MultiTaskTagger":
        """The same tagger with a RoleLabeller inside, ``tagger["roles"]``; None: without one.

        If the labeller has a tagger that is one of the tasks, it takes its tags from that task. The other tasks answer
        as before.
        """
        if labeller is not None and self._PARTS[ROLES] != labeller.KIND:
            raise ConfigurationError("with_roles", expected="needs a RoleLabeller or None", got=f"a {labeller.KIND}")
        whole = replace(self.model, parts={})
        whole._engine = self.model.engine()
        tagger = self._with_model(whole)
        if labeller is not None:
            model, inside = labeller.model, labeller.tagger
            content = None if inside is None else storage.to_bytes(inside)
            for head in tagger.by_task().values() if inside is not None else ():
                if storage.to_bytes(head._with_model(replace(head.model, segmentation=None))) == content:
                    model = replace(model, parts={**model.parts, "tagger": head})
            whole.parts[ROLES] = labeller._with_model(model)
        self._check_model(whole)
        return tagger

    def main_task(self, tasks: Sequence[str] | None = None) -> str:
        """The task whose entities are those of a document: of these tasks (of all), the first that has spans."""
        heads, tasks = self.model.heads, known_tasks(tasks, self.tasks)
        return next((task for task in tasks if heads[task].codec.has_spans), tasks[0])

    def annotate(self, sentences: Sequence[Sentence], *, tasks: Tasks = None) -> dict[str, Sequence[Sequence[Entity]]]:
        """The entities of each sentence with their probabilities, by task.

        The labels of the first task with spans are put on the sentences, in place.
        """
        sentences = checked_documents(sentences)
        decoded = self._decoded(list(map(tokens_of, sentences)), tasks)
        put_labels(decoded[self.main_task(list(decoded))], sentences)
        return {task: entities_of(of_task, sentences) for task, of_task in decoded.items()}
