"""The base of estimators of words: training on sentences, and for a single task the tagging of raw text."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

from postil.features.inputs import Token
from postil.models.decoding.constraints import Constraints
from postil.models.decoding.posteriors import Posteriors, Threshold
from postil.models.decoding.tagged import tagged_documents
from postil.models.estimator import FitData, Trainee
from postil.models.model import FittedModel
from postil.models.sentences import checked_text, listed_texts
from postil.models.settings import takes
from postil.text import Document, Entity, Sentence

if TYPE_CHECKING:
    from postil.models.fitting.sentences import SentenceFitting


class WordEstimator(Trainee):
    """An estimator that is fitted to sentences, for one task or several."""

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
        a class of y; if none does, all labels start fresh. A multi-task model keeps the tasks of the model that
        it starts from (that of a Tagger is called ``main``); with ``freeze_encoder``, only heads learn, and the answers
        of tasks that y does not have stay the same.

        A label ``?`` is unknown, ``PER|ORG`` or ``B-PER|O`` one of these. With ``partial=False`` such strings are
        labels in their own right, with True never; None decides by the data. ``annotates`` lists the classes that the
        sentences annotate, for all sentences or for each (None: all), for several tasks by task. Where a class is not
        annotated, an O may be one of its labels.

        ``unlabelled`` is raw text as sentences of tokens. The ``teachers``, fitted taggers with the same labels, label
        it, and their averaged posterior is learned together with the labels of y. For several tasks, ``teachers`` is a
        dict by task, ``unlabelled`` may be one, and a task of a fitted model, ``model[task]``, can be a teacher.

        With ``checkpoint`` the state of the training is written to that file after every epoch; with ``resume`` it goes
        on from there.

        With ``verbose``, the progress is shown in the terminal or the notebook. Programs can read it from the logger
        "postil". Ctrl-C after the first epoch ends the training early, with a warning: the best epoch so far is kept.
        """
        from postil.models.fitting.display import run  # training code is loaded only to train

        run(self.fitting(*arguments, **options), verbose=bool(options.get("verbose")))
        return self

    @takes(FitData)
    def fitting(self, *arguments: Any, **options: Any) -> "SentenceFitting":
        """``fit`` step by step: iterating trains and yields the events of the training loop.

        This estimator is fitted when the last event has come.
        """
        from postil.models.fitting.sentences import SentenceFitting  # training code is loaded only to train

        return SentenceFitting(self, FitData(*arguments, **options))


class SentenceEstimator(WordEstimator):
    """A model of one task."""

    def _head(self, model: FittedModel) -> Self:
        return self._with_model(model)

    # -------------------------------------------------------------------------------------------- what kinds differ in

    @abstractmethod
    def score(self, X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]]) -> float:
        """The quality on labelled data, 0 to 1."""

    @abstractmethod
    def annotate(self, sentences: Sequence[Sentence]) -> Sequence[Sequence[Entity]]:
        """Put labels on the sentences, in place, and return the entities of each.

        Offsets of entities count characters if the sentence has a text, else tokens.
        """

    @abstractmethod
    def _calibrate_after_fit(self, X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]], *, held_out: bool) -> None:
        """Choose what is not learned by gradients, once the parameters are final.

        The data are held out, or those of the training if nothing was.
        """

    # -------------------------------------------------------------------------------------------- answers

    @property
    def _posteriors(self) -> Posteriors:
        """The posteriors from which answers are read."""
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
        model, heads = self.model, {self.model.task: self._posteriors}
        return tagged_documents(texts, heads, model.segmenter, model.task, (), threshold, constraints)
