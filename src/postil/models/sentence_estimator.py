"""What the estimators of words share: learning from sentences, and for one task the tagging of raw text."""

import os
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, TypeVar

from postil.errors import ConfigurationError
from postil.features.inputs import Token
from postil.models.config import TaggerConfig
from postil.models.estimator import Estimator
from postil.models.parts import LearntLabels, Parts, TrainedNetwork
from postil.models.sentences import listed_texts, sentences_of, takes_characters
from postil.models.settings import takes
from postil.text import Document, Entity, Sentence
from postil.text.labels.partial import Annotates

if TYPE_CHECKING:
    from postil.models.fitting.sentences import SentenceFitting
    from postil.models.fitting.teaching import Teacher

Labels = TypeVar("Labels", bound=LearntLabels)
Network = TypeVar("Network", bound=TrainedNetwork)


Corpora: TypeAlias = Mapping[str, Sequence[Sequence[Token]]] | Sequence[Sequence[Token]]
"""Sentences; for several tasks those of each task, or the same for all."""
Data: TypeAlias = tuple[Sequence[Sequence[Token]], Sequence[Sequence[str]]]


@dataclass(frozen=True)
class FitData:
    """The arguments of ``fit``: see there."""

    X: Corpora
    y: Sequence[Sequence[str]] | Mapping[str, Sequence[Sequence[str]]]
    dev: Data | Mapping[str, Data] | None = None
    _: KW_ONLY
    warm_start: Estimator[Any, Any] | None = None
    freeze_encoder: bool = False
    partial: bool | None = None
    annotates: Annotates | Mapping[str, Annotates] = None
    unlabelled: Corpora | None = None
    teachers: "Sequence[Teacher] | Mapping[str, Sequence[Teacher]]" = ()
    checkpoint: Path | None = None
    resume: bool = False
    verbose: bool = False


class WordEstimator(Estimator[Labels, Network]):
    """An estimator that learns from sentences; its ``settings`` are fields of TaggerConfig on top of a preset."""

    _CONFIG: ClassVar[type] = TaggerConfig
    _ROW: ClassVar[str] = "preset"
    clusters: str | os.PathLike[str] | None
    gazetteers: Sequence[str | os.PathLike[str]]
    pretrained: str | os.PathLike[str] | None
    preset: str

    @abstractmethod
    def _labels_of(self, y: Sequence[Sequence[str]]) -> Any:
        """What is to be learnt from the training labels of a task."""

    def _check_dev(self, y: Sequence[Sequence[str]]) -> None:
        """Refuse held-out labels by which a model of this kind cannot be judged."""

    def _check_warm_start(self, known: Parts[Any, Any]) -> None:
        """Refuse to go on from a model that has learnt something else."""

    def _head(self, parts: Parts[Any, Any]) -> "SentenceEstimator[Any, Any]":
        """The estimator of one task, which answers with these parts."""
        raise NotImplementedError

    def check(self) -> None:
        super().check()
        if isinstance(self.gazetteers, str | os.PathLike):
            raise ConfigurationError("gazetteers", expected="a list of files", got=repr(self.gazetteers))

    @takes(FitData)
    def fit(self, *arguments: Any, **options: Any) -> Self:
        """Train on sentences X with labels y. For several tasks, both are dicts by task, and so is ``dev``.

        With ``dev``, a pair (X_dev, y_dev), the epoch that scores best on it is kept, otherwise the last one. Of
        several tasks with dev, the epoch with the smallest geometric mean of their errors is kept. X may be one list
        of sentences if y labels these for every task. Each batch has sentences of one task; the batches of an epoch are
        divided among the tasks in proportion to the square root of the number of their sentences.

        With ``warm_start``, a fitted model of the same kind and architecture (or this one itself), training continues
        from that model: its words and labels stay known, and those that are new in X and y start fresh. From a model of
        several tasks (``postil.load("english")``) a tagger takes words and encoder, and the head of the task that knows
        a class of y; if none does, all labels start fresh. A model of several tasks keeps the tasks of the model that
        it starts from (that of a Tagger is called ``main``); with ``freeze_encoder``, only heads learn, and the answers
        of tasks that y does not have stay the same.

        A label ``?`` is unknown, ``PER|ORG`` or ``B-PER|O`` one of these. With ``partial=False`` such strings are
        labels in their own right, with True never; None decides by the data. ``annotates`` lists the classes that the
        sentences annotate, for all sentences or for each (None: all), for several tasks by task. Where a class is not
        annotated, an O may be one of its labels.

        ``unlabelled`` is raw text as sentences of tokens. The ``teachers``, fitted taggers with the same labels, label
        it, and their averaged posterior is learnt together with the labels of y. For several tasks, ``teachers`` is a
        dict by task, ``unlabelled`` may be one, and a task of a fitted model, ``model[task]``, can be a teacher.

        With ``checkpoint`` the state of the training is written to that file after every epoch; with ``resume`` it goes
        on from there.

        With ``verbose``, the progress is shown in the terminal or the notebook. Programs can read it from the logger
        "postil". Ctrl-C after the first epoch ends the training early, with a warning: the best epoch so far is kept.
        """
        from postil.models.fitting.running import run  # training code is loaded only to train

        data = FitData(*arguments, **options)
        run(self._fitting(data), verbose=data.verbose)
        return self

    @takes(FitData)
    def fitting(self, *arguments: Any, **options: Any) -> "SentenceFitting":
        """``fit`` step by step: iterating trains and yields the events of the training loop.

        This estimator is fitted when the last event has come.
        """
        return self._fitting(FitData(*arguments, **options))

    def _fitting(self, data: FitData) -> "SentenceFitting":
        from postil.models.fitting.sentences import SentenceFitting  # training code is loaded only to train

        return SentenceFitting(self, data)


class SentenceEstimator(WordEstimator[Labels, Network]):
    """A model of one task."""

    def _head(self, parts: Parts[Any, Any]) -> Self:
        return self._with_parts(parts)

    # -------------------------------------------------------------------------------------------- what kinds differ in

    @abstractmethod
    def score(self, X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]]) -> float:
        """The quality on labelled data, 0 to 1."""

    @abstractmethod
    def annotate(self, sentences: Sequence[Sentence]) -> Sequence[Sequence[Entity]]:
        """Put labels on the sentences, in place, and return the entities of each.

        Offsets of entities count characters where the sentence has a text, else tokens.
        """

    @abstractmethod
    def _calibrate_after_fit(self, X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]], *, held_out: bool) -> None:
        """Choose what is not learnt by gradients, once the parameters are final.

        The data are held out, or those of the training where nothing was.
        """

    @property
    def _word_key(self) -> str | None:
        """The key of the word in the feature dicts that the fitted model takes; None where it takes words."""
        key: str | None = self.fitted_parts().config.word_key
        return key

    # -------------------------------------------------------------------------------------------- answers

    def tag(self, text: str) -> Document:
        """Tokens, sentences, labels and entities of a raw text; offsets count its characters."""
        sentences = sentences_of(text, takes_characters(self.fitted_parts()))
        return Document(text, sentences, [entity for entities in self.annotate(sentences) for entity in entities])

    def tag_many(self, texts: Iterable[str]) -> list[Document]:
        """``tag`` for each of many texts."""
        return [self.tag(text) for text in listed_texts(texts)]
