"""The detector: which words are of one class, by a score that ranks them (B2, E4)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, final

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError
from postil.features.inputs import Sentences, Token
from postil.metrics.detection import DetectionScores, average_precision, best_threshold, score_detection
from postil.models.config import PRESETS, DetectorParameters, TaggerConfig, configured
from postil.models.decoding.codec import UNDECIDED, Predictions, Target
from postil.models.decoding.tagged import entities_of, put_labels
from postil.models.explaining.explanation import Explanation, explain_detection
from postil.models.inputs import checked_documents, checked_for_scores, checked_sentence, listed_sentences
from postil.models.sentence_estimator import SentenceEstimator
from postil.models.sentences import tokens_of
from postil.models.settings import takes
from postil.text import Entity, Sentence, with_marks
from postil.text.labels.partial import Labels

_FIXED = {"objective": "margin", "ensemble": 1}  # whatever the preset says


@final
class Detector(SentenceEstimator):
    """Detects the words of one class, by a score that ranks them. Follows scikit-learn's estimator rules.

    X is a list of sentences, each a list of tokens (a token is its form, or a tuple of the form and extra columns). y
    is a list of lists of labels in any scheme. The objective is always the margin between windows whose middle has the
    label and windows whose middle has not. Hyperparameters that are not set have the values of the preset.

    Examples
    --------
    >>> from postil import Detector
    >>> X = [["Anna", "lives", "in", "Oslo"], ["the", "museums", "of", "Lima"]] * 10
    >>> y = [["B-PER", "O", "O", "B-LOC"], ["O", "O", "O", "B-LOC"]] * 10
    >>> detector = Detector(label="LOC", hidden=20, seed=0).fit(X, y)
    >>> detector.predict([["Anna", "lives", "in", "Lima"]])
    [['O', 'O', 'O', 'LOC']]
    >>> [len(scores) for scores in detector.decision([["Anna", "lives"], ["Oslo"]])]  # one score per token
    [2, 1]
    """

    label: str

    @takes(DetectorParameters)
    def __init__(self, **parameters: Any) -> None:
        self._store(parameters)

    # -------------------------------------------------------------------------------------------- its kind of model

    KIND: ClassVar[str] = "detector"
    _LABELS: ClassVar[Any] = Target

    @classmethod
    def _rows(cls) -> dict[str, TaggerConfig]:
        return {preset: configured(preset, _FIXED) for preset in PRESETS}

    def _configured(self, settings: Mapping[str, Any]) -> TaggerConfig:
        if settings.get("objective", "margin") != "margin":
            raise ConfigurationError("objective of a detector", expected="margin", got=settings["objective"])
        if settings.get("ensemble", 1) != 1:
            raise ConfigurationError("ensemble of a detector", expected="1: only taggers have ensembles")
        return configured(self.preset, {**settings, **_FIXED})

    def _labels_of(self, y: Labels) -> Target:
        return Target.of(self.label, y)

    def _calibrate_after_fit(self, X: Sentences, y: Labels, *, held_out: bool) -> None:
        threshold = best_threshold(*self._truth_and_scores(X, y)).value
        self.model.head.codec = replace(self.model.codec, threshold=threshold)

    @property
    def threshold(self) -> float:
        """Tokens with higher scores are detected; chosen for the best F1 on dev, without dev on the training data."""
        threshold: float = self.model.codec.threshold
        return threshold

    @property
    def classes_(self) -> list[str]:
        """The labels that may occur in answers."""
        labels: list[str] = self.model.codec.answers
        return labels

    # -------------------------------------------------------------------------------------------- answers

    def decision(self, X: Sentences) -> list[Array]:
        """One score per token, an array (T,) for each sentence. Higher is likelier; scores are not probabilities."""
        X = listed_sentences(X, word_key=self._word_key)
        return self._posteriors.decode(X).by_sentence()

    def predict(self, X: Sentences) -> list[list[str]]:
        """The label itself if the score is above the threshold, else O."""
        return Predictions(map(self.model.codec.detected, self.decision(X)))

    def score(self, X: Sentences, y: Labels) -> float:
        """Average precision of the scores, 0 to 1."""
        return average_precision(*self._truth_and_scores(*checked_for_scores(X, y, self._word_key)))

    def evaluate(self, X: Sentences, y: Labels) -> DetectionScores:
        """Average precision, and at the threshold precision, recall and F1."""
        X, y = checked_for_scores(X, y, self._word_key)
        truth, scores = self._truth_and_scores(X, y)
        return score_detection(truth, scores, self.threshold, label=self.label, sentences=len(X))

    def explain(self, tokens: Sequence[Token], start: int, end: int, label: str | None = None) -> Explanation:
        """Explain how each word and feature contributed to the lowest score of these tokens, above the threshold."""
        tokens = checked_sentence(tokens, self._word_key)
        return explain_detection(self.model, tokens, self.decision([tokens])[0], (start, end), label)

    def annotate(self, sentences: Sequence[Sentence]) -> Sequence[Sequence[Entity]]:
        """Put labels on the sentences, in place, and return the entities of each: adjacent detected tokens are one.

        Offsets of entities count characters if the sentence has a text, else tokens. Their probability is None.
        """
        sentences = checked_documents(sentences)
        decoded = self._posteriors.decode(list(map(tokens_of, sentences)))
        put_labels(decoded, sentences)
        return entities_of(decoded, sentences)

    def _truth_and_scores(self, X: Sentences, y: Labels) -> tuple[Array, Array]:
        """(N,) and (N,) over all tokens of which it is known whether they have the label."""
        target = self.model.codec
        truth = np.concatenate(target.numbers(with_marks(y, X, known=[target.label])))
        known = truth != UNDECIDED
        return truth[known].astype(bool), np.concatenate(self.decision(X))[known]
