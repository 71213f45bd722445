"""What taggers and detectors share: learning from sentences, tagging of raw text."""

import os
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from postil.errors import ConfigurationError
from postil.features.inputs import Token
from postil.models.config import TaggerConfig
from postil.models.estimator import Estimator
from postil.models.parts import Parts, WordLabels
from postil.models.scoring.ensemble_network import EnsembleNetwork
from postil.models.scoring.network import ScoringNetwork
from postil.models.sentences import listed_texts, sentences_of, takes_characters
from postil.text import Document, Entity, Sentence
from postil.text.labels.partial import Annotates

if TYPE_CHECKING:
    from postil.models.fitting.sentences import SentenceFitting
    from postil.models.fitting.teaching import Teacher

Labels = TypeVar("Labels", bound=WordLabels)
Network = TypeVar("Network", bound=ScoringNetwork | EnsembleNetwork)


class SentenceEstimator(Estimator[Labels, Network]):
    """An estimator over sentences; its ``settings`` are fields of TaggerConfig on top of a preset."""

    _CONFIG: ClassVar[type] = TaggerConfig
    _ROW: ClassVar[str] = "preset"
    clusters: str | os.PathLike[str] | None
    gazetteers: Sequence[str | os.PathLike[str]]
    pretrained: str | os.PathLike[str] | None
    preset: str

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
    def _labels_of(self, y: Sequence[Sequence[str]]) -> Labels:
        """What is to be learnt from training labels."""

    def _check_dev(self, y: Sequence[Sequence[str]]) -> None:
        """Refuse held-out labels by which a model of this kind cannot be judged."""

    def _check_warm_start(self, known: Parts[Any, Any]) -> None:
        """Refuse to go on from a model that has learnt something else."""

    @abstractmethod
    def _calibrate_after_fit(self, X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]], *, held_out: bool) -> None:
        """Choose what is not learnt by gradients, once the parameters are final.

        The data are held out, or those of the training where nothing was.
        """

    def check(self) -> None:
        super().check()
        if isinstance(self.gazetteers, str | os.PathLike):
            raise ConfigurationError("gazetteers", expected="a list of files", got=repr(self.gazetteers))

    # -------------------------------------------------------------------------------------------- learning

    def fit(
        self,
        X: Sequence[Sequence[Token]],
        y: Sequence[Sequence[str]],
        dev: tuple[Sequence[Sequence[Token]], Sequence[Sequence[str]]] | None = None,
        *,
        warm_start: Estimator[Any, Any] | None = None,
        partial: bool | None = None,
        annotates: Annotates = None,
        unlabelled: Sequence[Sequence[Token]] | None = None,
        teachers: Sequence["Teacher"] = (),
        verbose: bool = False,
    ) -> Self:
        """Train on sentences X with labels y.

        With ``dev``, the epoch that scores best on it is kept, otherwise the last one.

        With ``warm_start``, a fitted model of the same kind and architecture (or this one itself), training continues
        from that model: its words and labels stay known, and those that are new in X and y start fresh. From a model of
        several tasks (``postil.load("english")``) a tagger takes words and encoder, and the head of the task that knows
        a class of y; if none does, all labels start fresh.

        A label ``?`` is unknown, ``PER|ORG`` or ``B-PER|O`` one of these. With ``partial=False`` such strings are
        labels in their own right, with True never; None decides by the data. ``annotates`` lists the classes that the
        sentences annotate, for all sentences or for each (None: all). Where a class is not annotated, an O may be one
        of its labels.

        ``unlabelled`` is raw text as sentences of tokens. The ``teachers``, fitted taggers with the same labels, say
        what they make of it, and their averaged posterior is learnt beside the labels of y.

        With ``verbose``, the progress is shown in the terminal or the notebook. Programs can read it from the logger
        "postil". Ctrl-C after the first epoch ends the training early, with a warning: the best epoch so far is kept.
        """
        from postil.models.fitting.running import run  # training code is loaded only to train

        fitting = self.fitting(
            X,
            y,
            dev,
            warm_start=warm_start,
            partial=partial,
            annotates=annotates,
            unlabelled=unlabelled,
            teachers=teachers,
        )
        run(fitting, verbose=verbose)
        return self

    def fitting(
        self,
        X: Sequence[Sequence[Token]],
        y: Sequence[Sequence[str]],
        dev: tuple[Sequence[Sequence[Token]], Sequence[Sequence[str]]] | None = None,
        *,
        checkpoint: Path | None = None,
        resume: bool = False,
        warm_start: Estimator[Any, Any] | None = None,
        partial: bool | None = None,
        annotates: Annotates = None,
        unlabelled: Sequence[Sequence[Token]] | None = None,
        teachers: Sequence["Teacher"] = (),
    ) -> "SentenceFitting":
        """``fit`` step by step: iterating trains and yields the events of the training loop.

        With ``checkpoint`` the state of the training is written to that file after every epoch; with ``resume`` it goes
        on from there. This estimator is fitted when the last event has come.
        """
        from postil.models.fitting.sentences import SentenceFitting  # training code is loaded only to train

        return SentenceFitting(
            self,
            X,
            y,
            dev,
            checkpoint=checkpoint,
            resume=resume,
            warm_start=warm_start,
            partial=partial,
            annotates=annotates,
            unlabelled=unlabelled,
            teachers=teachers,
        )

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
