"""The tagger: labels on words, as whole label sequences with exact probabilities."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, final

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError
from postil.features.batching import batches_of_similar_length
from postil.features.inputs import InputFeatures, Token
from postil.metrics import Evaluation, evaluate
from postil.models.config import TaggerConfig, configured
from postil.models.estimator import Estimator, entity, tokens_of
from postil.models.explanation import Explanation, explain_entity
from postil.models.labelling import Labelling
from postil.models.network import TaggerNetwork, feature_sizes
from postil.objectives import long_chains
from postil.objectives.crf_decoding import k_best, viterbi
from postil.objectives.lattice import Lattice
from postil.text import Entity, Sentence, with_marks


@final
class Tagger(Estimator[Labelling, TaggerNetwork]):
    """Labels words: names, parts of speech, chunks.

        tagger = Tagger(preset="fast", seed=0)
        tagger.fit(X, y, dev=(X_dev, y_dev))
        tagger.predict(X)

    X are lists of tokens (a token is its form, or a tuple of form and extra columns), y lists of labels. ``settings``
    are fields of TaggerConfig that differ from the preset. Follows scikit-learn's estimator rules.
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

    def labels_of(self, y: Sequence[Sequence[str]]) -> Labelling:
        return Labelling.of(y)

    @staticmethod
    def labels_from_json(content: Mapping[str, Any]) -> Labelling:
        return Labelling(content["scheme"], tuple(content["classes"]))

    @staticmethod
    def network(
        config: TaggerConfig,
        features: InputFeatures,
        labels: Labelling,
        vectors: Array | None,
        rng: np.random.Generator | None,
    ) -> TaggerNetwork:
        return TaggerNetwork(config, **feature_sizes(config, features), vectors=vectors, mask=labels.mask, rng=rng)

    @staticmethod
    def batches(gold: Sequence[Array], size: int, rng: np.random.Generator) -> list[Array]:
        """Sentences of similar length stand together."""
        return batches_of_similar_length([len(labels) for labels in gold], size, rng)

    @property
    def labelling(self) -> Labelling:
        """The scheme and the classes of the fitted model."""
        return self.fitted_parts().labelling

    @property
    def classes_(self) -> list[str]:
        return self.fitted_parts().labelling.data_labels()

    # -------------------------------------------------------------------------------------------- answers

    def predict(self, X: Sequence[Sequence[Token]]) -> list[list[str]]:
        """The best labels of every sentence, in the scheme of the training data."""
        parts = self.fitted_parts()
        answers: list[list[str]] = [[] for _ in X]
        for which, lattice in self.lattices(X):
            texts = parts.labelling.texts_of_sentences(viterbi(lattice), lattice.offsets)
            for i, labels in zip(which, texts, strict=True):
                answers[i] = labels
        return answers

    def predict_with_probabilities(self, X: Sequence[Sequence[Token]]) -> tuple[list[list[str]], list[Array]]:
        """The best labels, and the probability of each token's label there, (T,) per sentence."""
        parts = self.fitted_parts()
        answers: list[list[str]] = [[] for _ in X]
        sure: list[Array] = [np.zeros(0) for _ in X]
        for which, lattice in self.lattices(X):
            labels = viterbi(lattice)
            found = parts.labelling.probabilities_of(labels, long_chains.marginals(lattice))
            texts = parts.labelling.texts_of_sentences(labels, lattice.offsets)
            for i, first, end, words in zip(which, lattice.offsets[:-1], lattice.offsets[1:], texts, strict=True):
                answers[i], sure[i] = words, found[first:end]
        return answers, sure

    def score(self, X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]]) -> float:
        """conlleval's F1 for span schemes, else the share of right tokens; 0 to 1."""
        return self.evaluate(X, y).main_score

    def evaluate(self, X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]]) -> Evaluation:
        """All scores of the predictions. What unknown labels (``?``, ``PER|ORG``) leave open is not counted."""
        labelling = self.fitted_parts().labelling
        gold = with_marks(y, X, known=labelling.data_labels())
        return evaluate(gold, self.predict(X), scheme=labelling.scheme)

    def marginals(self, tokens: Sequence[Token]) -> list[dict[str, float]]:
        """The probability of every label at every token, over all label sequences."""
        parts, lattice = self.fitted_parts(), self._lattice(tokens)
        return parts.labelling.marginals(long_chains.marginals(lattice))

    def nbest(self, tokens: Sequence[Token], k: int = 5) -> list[tuple[list[str], float]]:
        """The k best label sequences with their probabilities, best first; fewer where there are fewer."""
        parts = self.fitted_parts()
        at_most = len(parts.labelling.labels) ** min(len(tokens), 64)  # Python's whole numbers do not overflow
        (paths,) = k_best(self._lattice(tokens), min(k, at_most))
        return [(parts.labelling.texts(path.labels), path.probability) for path in paths]

    def explain(self, tokens: Sequence[Token], start: int, end: int, label: str | None = None) -> Explanation:
        """What each word and each feature contributed to the log-odds of "exactly ``start:end`` is a ``label``".

        Without ``label``: the one that the best path gives the span; where it gives none, the most probable one. "O"
        asks why the tokens belong to no entity. For labels without spans: ``end`` is ``start + 1``.
        """
        _, lattice = next(iter(self.lattices([tokens])))
        return explain_entity(self.fitted_parts(), tokens, lattice, (start, end), label)

    def annotate(self, sentences: Sequence[Sentence]) -> list[list[Entity]]:
        """Put labels on the sentences, in place, and give the entities of each with their probabilities.

        Offsets of entities count characters where the sentence has a text, else tokens.
        """
        parts = self.fitted_parts()
        found: list[list[Entity]] = [[] for _ in sentences]
        for which, lattice in self.lattices([tokens_of(sentence) for sentence in sentences]):
            labels = viterbi(lattice)
            for i, texts in zip(which, parts.labelling.texts_of_sentences(labels, lattice.offsets), strict=True):
                sentences[i].labels = texts
            rows, kinds = parts.labelling.spans_of_sentences(labels, lattice.offsets)
            probabilities = self._span_probabilities(lattice, rows, kinds).tolist()
            for (row, start, end), kind, p in zip(rows.tolist(), kinds.tolist(), probabilities, strict=True):
                i = which[row]
                found[i].append(entity(sentences[i], parts.labelling.classes[kind], start, end, p))
        return found

    def _span_probabilities(self, lattice: Lattice, rows: Array, kinds: Array) -> Array:
        """(M,) of spans (M, 3) of the given kinds (M,)."""
        if not len(rows):
            return np.zeros(0)
        return long_chains.entity_probabilities(lattice, rows, kinds, self.fitted_parts().labelling.entity_labels())

    def lattices(self, X: Sequence[Sequence[Token]]) -> Iterator[tuple[list[int], Lattice]]:
        """Blocks of sentences of similar length: their places in X, and all their label sequences."""
        chain = self.fitted_parts().prepared().chain
        assert chain is not None
        for which, scores, offsets in self.scored(X):
            yield which, Lattice.over(scores, offsets, chain)

    def _lattice(self, tokens: Sequence[Token]) -> Lattice:
        return next(iter(self.lattices([tokens])))[1]


__all__ = ["Tagger", "tokens_of"]
