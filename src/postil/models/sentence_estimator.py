"""The base of estimators of words: training on sentences, and for a single task the tagging of raw text."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

from postil.features.inputs import Sentences
from postil.models.decoding.constraints import Constraints
from postil.models.decoding.posteriors import Posteriors, Threshold
from postil.models.decoding.tagged import tagged_documents
from postil.models.estimator import FitData, Trainee
from postil.models.sentences import checked_text, listed_texts
from postil.models.settings import takes
from postil.text import Document, Entity, Sentence
from postil.text.labels.partial import Labels

if TYPE_CHECKING:
    from postil.models.fitting.sentences import SentenceFitting


class WordEstimator(Trainee):
    """An estimator that is fitted to sentences, for one task or several."""

    @takes(FitData)
    def fit(self, *arguments: Any, **options: Any) -> Self:
        """Train on sentences X with labels y.

        For several tasks, X, y, ``dev``, ``annotates`` and ``teachers`` are dicts by task; X may be one list if every
        sentence is labelled for every task, and ``unlabelled`` may be one. Batches are divided among the tasks in
        proportion to the square root of the number of their sentences. Ctrl-C after the first epoch ends training with
        a warning and keeps the best epoch so far.

        Parameters
        ----------
        X : sequence of sentences
            Each is a sequence of tokens.
        y : sequence of sequences of str
            A label for every token. ``?`` is unknown, ``PER|ORG`` or ``B-PER|O`` one of these.
        dev : pair (X_dev, y_dev), optional
            Held-out data: the epoch that scores best on them is kept (for several tasks, the one with the smallest
            geometric mean of errors), and the probabilities are calibrated. Without them, the last epoch is kept.
        warm_start : fitted model of the same kind and architecture, optional
            Continue from it: its words and labels stay known, new ones start fresh. From a model of several tasks
            (``postil.load("english")``), a tagger takes words and encoder, and the head of the task that has a class of
            y. A multi-task model keeps the tasks of the model (that of a Tagger is called ``main``).
        freeze_encoder : bool, default=False
            Train only the heads of the tasks in y; the answers of other tasks stay the same.
        partial : bool or None, default=None
            Whether ``?`` and ``A|B`` mean unknown labels and alternatives. None: decided by the data.
        annotates : classes, or a sequence of classes for each sentence, optional
            The classes that the sentences annotate: an O may hide any other class. None: all.
        unlabelled : sequence of sentences, optional
            Raw text, which the teachers label.
        teachers : sequence of fitted taggers
            Taggers with the same labels. Their averaged posterior on ``unlabelled`` is learned together with y.
        checkpoint : path, optional
            File to which the state is written after every epoch.
        resume : bool, default=False
            Continue from the checkpoint.
        verbose : bool, default=False
            Show the progress in the terminal or the notebook. The logger "postil" has it in any case.

        Returns
        -------
        self
        """
        from postil.models.fitting.fitting import run  # training code is loaded only to train

        run(self.fitting(*arguments, **options), verbose=bool(options.get("verbose")))
        return self

    @takes(FitData)
    def fitting(self, *arguments: Any, **options: Any) -> "SentenceFitting":
        """``fit`` step by step: iterating trains and yields the events of the training loop.

        This estimator is fitted when the last event has come.
        """
        from postil.models.fitting.sentences import SentenceFitting  # training code is loaded only to train

        try:
            data = FitData(*arguments, **options)
        except TypeError as error:  # an unknown argument, or none
            raise TypeError(str(error).replace("FitData.__init__", "fit")) from None
        return SentenceFitting(self, data)


class SentenceEstimator(WordEstimator):
    """A model of one task."""

    @abstractmethod
    def score(self, X: Sentences, y: Labels) -> float:
        """The quality on labelled data, 0 to 1."""

    @abstractmethod
    def annotate(self, sentences: Sequence[Sentence]) -> Sequence[Sequence[Entity]]:
        """Put labels on the sentences, in place, and return the entities of each."""

    @abstractmethod
    def _calibrate_after_fit(self, X: Sentences, y: Labels, *, held_out: bool) -> None:
        """Choose what is not learned by gradients, on held-out data or, if nothing was, on those of the training."""

    @property
    def _posteriors(self) -> Posteriors:
        return Posteriors(self.model)

    def tag(self, text: str) -> Document:
        """Tokens, sentences, labels and entities of a raw text; offsets count its characters."""
        return self._documents([checked_text(text)])[0]

    def tag_many(self, texts: Iterable[str]) -> list[Document]:
        """``tag`` for each of many texts: fastest if there are many, or long ones."""
        return self._documents(listed_texts(texts))

    def _documents(
        self, texts: list[str], threshold: Threshold = None, constraints: Constraints | None = None
    ) -> list[Document]:
        return tagged_documents(self.model, texts, self.model.task, (), threshold, constraints)
