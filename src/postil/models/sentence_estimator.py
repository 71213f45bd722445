"""What taggers and detectors share: learning from sentences, tagging of raw text."""

import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from postil.arrays import Array, offsets_from_lengths
from postil.errors import ConfigurationError, DataError
from postil.features.inputs import InputFeatures, Inputs, Token
from postil.models.config import TaggerConfig
from postil.models.estimator import Estimator
from postil.models.parts import WordLabels
from postil.models.scoring.network import ScoringNetwork
from postil.models.scoring.pieces import warn_of_long_sentences
from postil.text import Document, Entity, Sentence, split_sentences, tokenise
from postil.text.lines import shortened
from postil.text.partial import Annotates
from postil.threads import one_blas_thread

TOKENS_PER_BLOCK = 4096  # what is tagged at once: large enough for matrix products, small enough for the cache

Labels = TypeVar("Labels", bound=WordLabels)
Network = TypeVar("Network", bound=ScoringNetwork)


class SentenceEstimator(Estimator[Labels, Network]):
    """An estimator over sentences; its ``settings`` are fields of TaggerConfig on top of a preset."""

    CONFIG: ClassVar[type] = TaggerConfig
    vectors: str | os.PathLike[str] | None
    gazetteers: Sequence[str | os.PathLike[str]]
    preset: str

    # -------------------------------------------------------------------------------------------- what kinds differ in

    @staticmethod
    @abstractmethod
    def configured(preset: str, settings: Mapping[str, Any]) -> TaggerConfig:
        """The preset with the user's settings on top, refused where this kind of model cannot be made of them."""

    def configuration(self, settings: Mapping[str, Any]) -> TaggerConfig:
        return self.configured(self.preset, settings)

    @abstractmethod
    def labels_of(self, y: Sequence[Sequence[str]]) -> Labels:
        """What is to be learnt from training labels."""

    @staticmethod
    @abstractmethod
    def network(
        config: TaggerConfig,
        features: InputFeatures,
        labels: Labels,
        vectors: Array | None,
        rng: np.random.Generator | None,
    ) -> Network:
        """The network for these features and labels; without ``rng`` all its parameters are zeros."""

    @staticmethod
    @abstractmethod
    def batches(gold: Sequence[Array], size: int, rng: np.random.Generator) -> list[Array]:
        """The sentences of an epoch in batches of about ``size``; ``gold`` are their label numbers."""

    @abstractmethod
    def score(self, X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]]) -> float:
        """The quality on labelled data, 0 to 1."""

    @abstractmethod
    def annotate(self, sentences: Sequence[Sentence]) -> list[list[Entity]]:
        """Put labels on the sentences, in place, and give the entities of each.

        Offsets of entities count characters where the sentence has a text, else tokens.
        """

    def check_dev(self, y: Sequence[Sequence[str]]) -> None:
        """Refuse held-out labels by which a model of this kind cannot be judged."""

    def check_warm_start(self, known: "SentenceEstimator[Any, Any]") -> None:
        """Refuse to go on from a model that has learnt something else."""
        if known.KIND != self.KIND:
            raise ConfigurationError("warm start", expected=f"a {self.KIND}", got=f"a {known.KIND}")

    def settle(self, X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]], *, held_out: bool) -> None:
        """Choose what was not learnt; asked once, when the parameters are final.

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
        warm_start: Self | None = None,
        partial: bool | None = None,
        annotates: Annotates = None,
    ) -> Self:
        """Train on sentences X with labels y.

        With ``dev``, the epoch that scores best on it is kept, otherwise the last one.

        With ``warm_start``, a fitted model of the same kind and architecture (or this one itself), training continues
        from that model: its words and labels stay known, and those that are new in X and y start fresh.

        A label ``?`` is unknown, ``PER|ORG`` or ``B-PER|O`` one of these. With ``partial=False`` such strings are
        labels in their own right, with True never; None decides by the data. ``annotates`` lists the classes that the
        sentences annotate, for all sentences or for each (None: all). Where a class is not annotated, an O may be one
        of its labels.
        """
        for _ in self.fitting(X, y, dev, warm_start=warm_start, partial=partial, annotates=annotates):
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
        from postil.models.fitting.sentences import SentenceFitting  # training code is loaded only to train

        fitting = SentenceFitting(self, X, y, dev, **options)
        yield from fitting.run()
        self.parts = fitting.parts
        self.parts.network.freeze()

    # -------------------------------------------------------------------------------------------- answers

    def tag(self, text: str) -> Document:
        """Tokens, sentences, labels and entities of a raw text; offsets count its characters."""
        sentences = sentences_of(text)
        return Document(text, sentences, [e for found in self.annotate(sentences) for e in found])

    def blocks(self, X: Sequence[Sequence[Token]]) -> Iterator[tuple[list[int], Inputs]]:
        """Sentences of similar length, so many that they fill the cores: their places in X, and their arrays."""
        features = self.fitted_parts().features
        check_sentences(X)
        warn_of_long_sentences(self.config, map(len, X))
        with one_blas_thread():
            for which in _blocks([len(tokens) for tokens in X]):
                yield which, features.inputs([X[i] for i in which])

    def scored(self, X: Sequence[Sequence[Token]]) -> Iterator[tuple[list[int], Array, Array]]:
        """Blocks of sentences of similar length: their places in X, scores (N, L) of their tokens, their offsets."""
        prepared = self.fitted_parts().prepared()
        check_sentences(X)
        warn_of_long_sentences(self.config, map(len, X))
        with one_blas_thread():
            for which in _blocks([len(tokens) for tokens in X]):
                yield which, *prepared.scores([X[i] for i in which])

    def scored_cells(self, text: bytes, cells: Array, offsets: Array) -> Iterator[tuple[Array, Array, Array]]:
        """``scored`` of sentences (B + 1,) whose words stand in cells (N, 2) of a text in UTF-8, in the same blocks:
        which of the N tokens a block has, their scores, the offsets of its sentences.

        Only for models whose ``prepared`` takes cells.
        """
        prepared = self.fitted_parts().prepared()
        rows, ids = prepared.look_up_cells(text, cells)
        lengths = np.diff(offsets)
        with one_blas_thread():
            for which in _blocks(lengths.tolist()):
                own = offsets_from_lengths(lengths[which])
                tokens = np.repeat(offsets[which] - own[:-1], lengths[which]) + np.arange(own[-1])
                yield tokens, prepared.scores_of_words(rows, ids[tokens], own), own


def sentences_of(text: str) -> list[Sentence]:
    """A raw text cut into tokens and sentences."""
    tokens = tokenise(text)
    return [
        Sentence(
            tokens=tokens.tokens[first:end], text=text, starts=tokens.starts[first:end], ends=tokens.ends[first:end]
        )
        for first, end in split_sentences(tokens)
    ]


def tokens_of(sentence: Sentence) -> list[Token]:
    """A sentence's tokens as an estimator takes them: with the extra columns where the source had any."""
    _check_sentence(sentence)
    if sentence.columns is None:
        return list(sentence.tokens)
    return [(form, *columns) for form, columns in zip(sentence.tokens, sentence.columns, strict=True)]


def _check_sentence(sentence: object) -> None:
    if not isinstance(sentence, Sentence):
        expected = "a postil.text.Sentence (predict takes lists of tokens)"
        raise DataError("a sentence to annotate", expected=expected, got=f"a {type(sentence).__name__}")


def check_sentences(X: Sequence[Sequence[Token]]) -> None:
    """A text instead of its tokens is the commonest mistake, and its characters would be tagged."""
    for i, tokens in enumerate(X):
        if isinstance(tokens, str):
            raise DataError("a sentence", expected="a list of tokens", got=shortened(tokens), where=f"sentence {i}")


def entity(sentence: Sentence, label: str, start: int, end: int, probability: float | None = None) -> Entity:
    """The tokens ``start:end`` as an entity: in characters where the sentence has a text."""
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
