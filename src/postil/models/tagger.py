"""The tagger: a scikit-learn style estimator around a network, its features and its labels."""

import os
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, final

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError, DataError
from postil.features.inputs import Token, forms_of
from postil.metrics import evaluate
from postil.models import storage
from postil.models.config import TaggerConfig, configured
from postil.models.labelling import Labelling
from postil.models.parts import TaggerParts
from postil.objectives.crf import Posterior
from postil.objectives.crf_decoding import k_best, viterbi
from postil.objectives.crf_spans import span_probabilities
from postil.objectives.lattice import Lattice
from postil.text import Document, Entity, Sentence, split_sentences, tokenise
from postil.text.lines import shortened
from postil.threads import one_blas_thread

TOKENS_PER_BLOCK = 4096  # what is tagged at once: large enough for matrix products, small enough for the cache


@final
class Tagger:
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
        self.parts: TaggerParts | None = None

    # -------------------------------------------------------------------------------------------- estimator rules

    _OWN = ("preset", "vectors", "gazetteers", "seed", "threads", "minutes")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._OWN} | self.settings

    def set_params(self, **parameters: Any) -> "Tagger":
        settings = dict(self.settings)
        for name, value in parameters.items():
            if name in self._OWN:
                setattr(self, name, value)
            else:
                settings[name] = value
        configured(self.preset, settings)
        self.settings = settings
        return self

    def __sklearn_tags__(self) -> Any:
        """Asked by scikit-learn only, which is therefore there to be imported.

        No "classifier": scikit-learn would then stratify by y, and refuse sequences of labels.
        """
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=True))

    def __sklearn_is_fitted__(self) -> bool:
        return self.parts is not None

    def __repr__(self) -> str:
        differing = {name: value for name, value in self.get_params().items() if value not in (None, (), 0)}
        return f"Tagger({', '.join(f'{name}={value!r}' for name, value in differing.items())})"

    def check(self) -> None:
        """Complain about impossible parameters; ``fit`` does this too, a command before it reads its files."""
        configured(self.preset, self.settings)
        if isinstance(self.gazetteers, str | os.PathLike):
            raise ConfigurationError("gazetteers", expected="a list of files", got=repr(self.gazetteers))
        for name, smallest in (("seed", 0), ("threads", 1)):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < smallest:
                raise ConfigurationError(name, expected=f"a whole number from {smallest}", got=repr(value))
        if self.minutes is not None and not self.minutes > 0:
            raise ConfigurationError("minutes", expected="a positive number", got=self.minutes)

    @property
    def config(self) -> TaggerConfig:
        """The settings: those of the fitted model where there is one, else preset and settings as they stand."""
        return self.parts.config if self.parts is not None else configured(self.preset, self.settings)

    @property
    def labelling(self) -> Labelling:
        """The scheme and the classes of the fitted model."""
        return self.fitted_parts().labelling

    @property
    def classes_(self) -> list[str]:
        return self.fitted_parts().labelling.data_labels()

    # -------------------------------------------------------------------------------------------- learning

    def fit(
        self,
        X: Sequence[Sequence[Token]],
        y: Sequence[Sequence[str]],
        dev: tuple[Sequence[Sequence[Token]], Sequence[Sequence[str]]] | None = None,
        *,
        warm_start: "Tagger | None" = None,
    ) -> "Tagger":
        """Learn from sentences X with labels y. With ``dev`` the best epoch on it is kept; without, the last one.

        With ``warm_start``, a fitted tagger of the same architecture (or this one itself), go on from what that one
        knows: its words and labels stay known, those that are new in X and y begin fresh.
        """
        for _ in self.fitting(X, y, dev, warm_start=warm_start):
            pass
        return self

    def fitting(
        self,
        X: Sequence[Sequence[Token]],
        y: Sequence[Sequence[str]],
        dev: tuple[Sequence[Sequence[Token]], Sequence[Sequence[str]]] | None = None,
        **options: Any,
    ) -> Iterator[Any]:
        """``fit`` step by step: gives the events of the training loop, for progress bars and logs."""
        from postil.models.fitting import Fitting  # training code is loaded only to train

        fitting = Fitting(self, X, y, dev, **options)
        yield from fitting.run()
        self.parts = fitting.parts

    # -------------------------------------------------------------------------------------------- answers

    def predict(self, X: Sequence[Sequence[Token]]) -> list[list[str]]:
        """The best labels of every sentence, in the scheme of the training data."""
        parts = self.fitted_parts()
        answers: list[list[str]] = [[] for _ in X]
        for which, lattice in self.lattices(X):
            labels = viterbi(lattice)
            for i, first, end in zip(which, lattice.offsets[:-1], lattice.offsets[1:], strict=True):
                answers[i] = parts.labelling.texts(labels[first:end])
        return answers

    def predict_with_probabilities(self, X: Sequence[Sequence[Token]]) -> tuple[list[list[str]], list[Array]]:
        """The best labels, and the probability of each token's label there, (T,) per sentence."""
        parts = self.fitted_parts()
        answers: list[list[str]] = [[] for _ in X]
        sure: list[Array] = [np.zeros(0) for _ in X]
        for which, lattice in self.lattices(X):
            labels = viterbi(lattice)
            found = parts.labelling.probabilities_of(labels, Posterior.of(lattice).marginals())
            for i, first, end in zip(which, lattice.offsets[:-1], lattice.offsets[1:], strict=True):
                answers[i], sure[i] = parts.labelling.texts(labels[first:end]), found[first:end]
        return answers, sure

    def score(self, X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]]) -> float:
        """conlleval's F1 for span schemes, else the share of right tokens; 0 to 1."""
        return evaluate(y, self.predict(X), scheme=self.fitted_parts().labelling.scheme).main_score

    def marginals(self, tokens: Sequence[Token]) -> list[dict[str, float]]:
        """The probability of every label at every token, over all label sequences."""
        parts, lattice = self.fitted_parts(), self._lattice(tokens)
        return parts.labelling.marginals(Posterior.of(lattice).marginals())

    def nbest(self, tokens: Sequence[Token], k: int = 5) -> list[tuple[list[str], float]]:
        """The k best label sequences with their probabilities, best first; fewer where there are fewer."""
        parts = self.fitted_parts()
        at_most = len(parts.labelling.labels) ** min(len(tokens), 64)  # Python's whole numbers do not overflow
        (paths,) = k_best(self._lattice(tokens), min(k, at_most))
        return [(parts.labelling.texts(path.labels), path.probability) for path in paths]

    def tag(self, text: str) -> Document:
        """Tokens, sentences, labels and entities of a raw text; offsets count its characters."""
        tokens = tokenise(text)
        sentences = [
            Sentence(
                tokens=tokens.tokens[first:end], text=text, starts=tokens.starts[first:end], ends=tokens.ends[first:end]
            )
            for first, end in split_sentences(tokens)
        ]
        return Document(text, sentences, [e for found in self.annotate(sentences) for e in found])

    def annotate(self, sentences: Sequence[Sentence]) -> list[list[Entity]]:
        """Put labels on the sentences, in place, and give the entities of each with their probabilities.

        Offsets of entities count characters where the sentence has a text, else tokens.
        """
        parts = self.fitted_parts()
        found: list[list[Entity]] = [[] for _ in sentences]
        for which, lattice in self.lattices([tokens_of(sentence) for sentence in sentences]):
            labels = viterbi(lattice)
            cut = [labels[a:b] for a, b in zip(lattice.offsets[:-1], lattice.offsets[1:], strict=True)]
            spans = [(row, span) for row, numbers in enumerate(cut) for span in parts.labelling.spans(numbers)]
            for i, numbers in zip(which, cut, strict=True):
                sentences[i].labels = parts.labelling.texts(numbers)
            for (row, span), probability in zip(spans, self._span_probabilities(lattice, spans), strict=True):
                i = which[row]
                found[i].append(_entity(sentences[i], span.label, span.start, span.end, float(probability)))
        return found

    def _span_probabilities(self, lattice: Lattice, spans: Sequence[tuple[int, Any]]) -> Array:
        if not spans:
            return np.zeros(0)
        labelling = self.fitted_parts().labelling
        rows = np.array([(row, span.start, span.end) for row, span in spans])
        kinds = np.array([labelling.classes.index(span.label) for _, span in spans])
        return span_probabilities(Posterior.of(lattice), rows, kinds, labelling.entity_labels())

    def lattices(self, X: Sequence[Sequence[Token]]) -> Iterator[tuple[list[int], Lattice]]:
        """Blocks of sentences of similar length: their places in X, and all their label sequences."""
        parts = self.fitted_parts()
        check_sentences(X)
        with one_blas_thread():
            for which in _blocks([len(tokens) for tokens in X]):
                yield which, parts.network.lattice(parts.features.inputs([X[i] for i in which]))

    def _lattice(self, tokens: Sequence[Token]) -> Lattice:
        return next(iter(self.lattices([tokens])))[1]

    # -------------------------------------------------------------------------------------------- model file

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model into one file, beside and renamed: it is the old one or the new one, never half of it."""
        storage.save(self, Path(path))

    def __getstate__(self) -> dict[str, Any]:
        state = {"parameters": self.get_params()}
        return state | ({"model": storage.to_bytes(self)} if self.parts is not None else {})

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        Tagger.__init__(self, **state["parameters"])
        if "model" in state:
            self.parts = storage.from_bytes(state["model"]).parts

    def fitted_parts(self) -> TaggerParts:
        """What was learnt; an error where nothing was."""
        if self.parts is None:
            raise ConfigurationError(
                "this tagger has not learnt anything yet", expected="fit(X, y) first, or load(path)"
            )
        return self.parts


def tokens_of(sentence: Sentence) -> list[Token]:
    """A sentence's tokens as a tagger takes them: with the extra columns where the source had any."""
    if sentence.columns is None:
        return list(sentence.tokens)
    return [(form, *columns) for form, columns in zip(sentence.tokens, sentence.columns, strict=True)]


def check_sentences(X: Sequence[Sequence[Token]]) -> None:
    """A text instead of its tokens is the commonest mistake, and its characters would be tagged."""
    for i, tokens in enumerate(X):
        if isinstance(tokens, str):
            raise DataError("a sentence", expected="a list of tokens", got=shortened(tokens), where=f"sentence {i}")


def _entity(sentence: Sentence, label: str, start: int, end: int, probability: float) -> Entity:
    if sentence.text is None or sentence.starts is None or sentence.ends is None:
        return Entity(" ".join(sentence.tokens[start:end]), label, start, end, probability)
    first, last = sentence.starts[start], sentence.ends[end - 1]
    return Entity(sentence.text[first:last], label, first, last, probability)


def _blocks(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Sentences by length, cut into blocks of so many tokens; a longer sentence is a block of its own."""
    block: list[int] = []
    tokens = 0
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if block and tokens + lengths[i] > TOKENS_PER_BLOCK:
            yield block
            block, tokens = [], 0
        block.append(i)
        tokens += lengths[i]
    if block:
        yield block


__all__ = ["Tagger", "forms_of", "tokens_of"]
