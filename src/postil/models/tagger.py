"""The tagger: labels on words, as whole label sequences with exact probabilities."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError
from postil.features.inputs import Token
from postil.metrics import Evaluation, evaluate
from postil.metrics.counts import check_same_shape
from postil.models.answers.constraints import Constraints
from postil.models.answers.decoding import check_probability
from postil.models.answers.dial import Dial
from postil.models.answers.tuning import Tuned, checked_wish, tuned
from postil.models.config import TaggerConfig, configured
from postil.models.explaining.explanation import Explanation, explain_entity
from postil.models.sentence_estimator import entity, sentences_of, tokens_of
from postil.models.sequences import SequenceEstimator
from postil.text import Document, Entity, Sentence, with_marks


class Answer(NamedTuple):
    """What is answered about one sentence."""

    labels: list[str]
    entities: list[Entity]
    probability: float
    """Of the whole labelling."""


@final
class Tagger(SequenceEstimator):
    """Labels words: names, parts of speech, chunks.

        tagger = Tagger(preset="fast", seed=0)
        tagger.fit(X, y, dev=(X_dev, y_dev))
        tagger.predict(X)

    X is a list of sentences, each a list of tokens (a token is its form, or a tuple of the form and extra columns). y
    is a list of lists of labels. ``settings`` are fields of TaggerConfig that override the preset. Follows
    scikit-learn's estimator rules.
    """

    def __init__(
        self,
        *,
        preset: str = "fast",
        vectors: str | os.PathLike[str] | None = None,
        gazetteers: Sequence[str | os.PathLike[str]] = (),
        seed: int = 0,
        threads: int = 1,
        minutes: float | None = None,
        **settings: Any,
    ) -> None:
        self.preset, self.vectors, self.gazetteers = preset, vectors, gazetteers
        self.seed, self.threads, self.minutes = seed, threads, minutes
        self.settings = settings
        self.parts = None

    # -------------------------------------------------------------------------------------------- its kind of model

    KIND: ClassVar[str] = "tagger"
    OWN: ClassVar[tuple[str, ...]] = ("preset", "vectors", "gazetteers", "seed", "threads", "minutes")

    @staticmethod
    def configured(preset: str, settings: Mapping[str, Any]) -> TaggerConfig:
        config = configured(preset, settings)
        if config.objective == "margin":
            raise ConfigurationError("objective of a tagger", expected="softmax or crf", got="margin: see Detector")
        return config

    # -------------------------------------------------------------------------------------------- answers

    def predict(
        self,
        X: Sequence[Sequence[Token]],
        *,
        constraints: Sequence[Constraints | None] | None = None,
        threshold: float | Mapping[str, float] | None = None,
    ) -> list[list[str]]:
        """The best labels of every sentence, in the scheme of the training data.

        With ``constraints``, one or None per sentence, the best labels that satisfy them. Entities less probable than
        ``threshold`` (one for all classes, or by class) are dropped; the default is the thresholds of the model.
        """
        answers: list[list[str]] = [[] for _ in X]
        for believed in self.distributions(X, constraints):
            labels = believed.texts(self._numbers(believed, threshold))
            for i, own in zip(believed.which, labels, strict=True):
                answers[i] = own
        return answers

    def predict_cells(self, text: bytes, cells: Array, offsets: Array) -> Array:
        """``predict`` of sentences (B + 1,) whose words stand in cells (N, 2) of a text in UTF-8: (N,) places in the
        labelling's ``spellings``. Only where ``takes_cells``."""
        answers = np.empty(len(cells), np.int64)
        for tokens, believed in self.distributions_of_cells(text, cells, offsets):
            numbers = self._numbers(believed, None)
            answers[tokens] = self.labelling.places_of(numbers, believed.lattice.offsets)
        return answers

    @property
    def takes_cells(self) -> bool:
        """Whether words need not be strings: answers depend on nothing else and are always valid labellings."""
        return self.fitted_parts().prepared().takes_cells and self.config.constrained

    def predict_with_probabilities(
        self,
        X: Sequence[Sequence[Token]],
        *,
        constraints: Sequence[Constraints | None] | None = None,
        threshold: float | Mapping[str, float] | None = None,
    ) -> tuple[list[list[str]], list[Array]]:
        """What ``predict`` answers, and the probability of each token's label there, (T,) per sentence."""
        answers: list[list[str]] = [[] for _ in X]
        sure: list[Array] = [np.zeros(0) for _ in X]
        for believed in self.distributions(X, constraints):
            numbers = self._numbers(believed, threshold)
            found = believed.by_sentence(believed.label_probabilities(numbers))
            for i, labels, own in zip(believed.which, believed.texts(numbers), found, strict=True):
                answers[i], sure[i] = labels, own
        return answers, sure

    def score(self, X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]]) -> float:
        """conlleval's F1 for span schemes, otherwise token accuracy; 0 to 1."""
        return self.evaluate(X, y).main_score

    def evaluate(self, X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]]) -> Evaluation:
        """All scores of ``predict``. What unknown labels (``?``, ``PER|ORG``) leave undetermined is not counted."""
        gold = with_marks(y, X, known=self.labelling.data_labels())
        return evaluate(gold, self.predict(X), scheme=self.labelling.scheme)

    def marginals(self, tokens: Sequence[Token], constraints: Constraints | None = None) -> list[dict[str, float]]:
        """The probability of every label at every token, over all label sequences."""
        believed = self._believed(tokens, constraints)
        marked = believed.marked_beginnings() if self.labelling.scheme == "iob1" else None
        return self.labelling.marginals(believed.marginals(), marked)

    def nbest(
        self, tokens: Sequence[Token], k: int = 5, constraints: Constraints | None = None
    ) -> list[tuple[list[str], float]]:
        """The k most probable label sequences with their probabilities, best first; fewer if there are fewer."""
        at_most = len(self.labelling.labels) ** min(len(tokens), 64)  # Python's whole numbers do not overflow
        (paths,) = self._believed(tokens, constraints).ranked(min(k, at_most))
        return [(self.labelling.texts(labels), probability) for labels, probability in paths]

    def probability(
        self, tokens: Sequence[Token], labels: Sequence[str], constraints: Constraints | None = None
    ) -> float:
        """The probability of a whole labelling."""
        check_same_shape([tokens], [labels])
        (numbers,) = self.labelling.numbers([labels])
        return float(self._believed(tokens, constraints).probabilities_of(numbers)[0])

    def explain(self, tokens: Sequence[Token], start: int, end: int, label: str | None = None) -> Explanation:
        """The contribution of each word and each feature to the log-odds of "exactly ``start:end`` is a ``label``".

        ``label`` defaults to the label of the span on the best path, or, if it has none, to its most probable one. "O"
        asks why the tokens belong to no entity. For labels without spans, ``end`` is ``start + 1``.
        """
        _, lattice = next(iter(self.lattices([tokens])))
        return explain_entity(self.fitted_parts(), tokens, lattice, (start, end), label)

    def spans_above(
        self, tokens: Sequence[Token], lowest: float, constraints: Constraints | None = None
    ) -> list[Entity]:
        """Every span with at least this probability, on the best path or not. Spans may overlap.

        Offsets count tokens.
        """
        forms = [token if isinstance(token, str) else token[0] for token in tokens]
        (found,) = self.entities_above([Sentence(forms)], lowest, constraints=[constraints], X=[tokens])
        return found

    def entities_above(
        self,
        sentences: Sequence[Sentence],
        lowest: float,
        *,
        constraints: Sequence[Constraints | None] | None = None,
        X: Sequence[Sequence[Token]] | None = None,
    ) -> list[list[Entity]]:
        """``spans_above`` of many sentences. Offsets count characters where a sentence has a text, else tokens."""
        check_probability(lowest, "lowest probability")
        if not lowest > 0:
            raise ConfigurationError("lowest probability", expected="above 0", got=lowest)
        found: list[list[Entity]] = [[] for _ in sentences]
        for believed in self.distributions(X or [tokens_of(sentence) for sentence in sentences], constraints):
            for row, span, probability in believed.spans_above(lowest):
                i = believed.which[row]
                found[i].append(entity(sentences[i], span.label, span.start, span.end, probability))
        return found

    def tag(
        self,
        text: str,
        *,
        constraints: Constraints | None = None,
        threshold: float | Mapping[str, float] | None = None,
    ) -> Document:
        """Tokens, sentences, labels and entities of a raw text.

        Offsets, including those of constraints, count characters.
        """
        sentences = sentences_of(text)
        own = [constraints.in_tokens(sentence) for sentence in sentences] if constraints else None
        found = self.annotate(sentences, constraints=own, threshold=threshold)
        return Document(text, sentences, [e for entities in found for e in entities])

    def annotate(
        self,
        sentences: Sequence[Sentence],
        *,
        constraints: Sequence[Constraints | None] | None = None,
        threshold: float | Mapping[str, float] | None = None,
    ) -> list[list[Entity]]:
        """Put labels on the sentences, in place, and give the entities of each with their probabilities.

        Offsets of entities count characters where the sentence has a text, else tokens; those of constraints tokens.
        """
        answers = self.answers(sentences, constraints=constraints, threshold=threshold)
        for sentence, answer in zip(sentences, answers, strict=True):
            sentence.labels = answer.labels
        return [answer.entities for answer in answers]

    def answers(
        self,
        sentences: Sequence[Sentence],
        *,
        constraints: Sequence[Constraints | None] | None = None,
        threshold: float | Mapping[str, float] | None = None,
    ) -> list[Answer]:
        """Labels, entities with their probabilities, and the probability of the whole labelling, of each sentence."""
        answers = [Answer([], [], 1.0) for _ in sentences]
        for believed in self.distributions([tokens_of(sentence) for sentence in sentences], constraints):
            numbers, spans = self.answered(believed, threshold)
            whole = believed.probabilities_of(numbers).tolist()
            for i, labels, probability in zip(believed.which, believed.texts(numbers), whole, strict=True):
                answers[i] = Answer(labels, [], probability)
            for row, span, probability in spans:
                i = believed.which[row]
                answers[i].entities.append(entity(sentences[i], span.label, span.start, span.end, probability))
        return answers

    # -------------------------------------------------------------------------------------------- the dial

    def tune(
        self,
        X: Sequence[Sequence[Token]],
        y: Sequence[Sequence[str]],
        *,
        recall: float | None = None,
        precision: float | None = None,
        margin: float = 1.0,
    ) -> Tuned:
        """Trade precision for recall: reach the requested recall (or precision), with as much of the other as possible.

        Sets the decoding bias, which finds more entities, or one threshold for all classes, which drops the least
        probable ones. X and y should be held out from training; the figure must be reached on them with a margin of
        ``margin`` standard errors. Returns the chosen setting, with the expected precision and recall, and the curve.
        """
        figure, wanted = checked_wish(recall, precision, margin)
        dial = Dial.of(self, X, y)
        found = tuned(dial.counts, figure, wanted, margin, partial(dial.hint, figure, wanted, margin))
        self.decoding = dial.decoding(found.chosen.setting, self.decoding)
        return found


__all__ = ["Tagger", "tokens_of"]
