"""What taggers and detectors share: scikit-learn's estimator rules, learning, tagging of raw text, the model file."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError, DataError
from postil.features.inputs import InputFeatures, Inputs, Token
from postil.models import storage
from postil.models.config import TaggerConfig
from postil.models.network import ScoringNetwork
from postil.models.parts import LearntLabels, Parts
from postil.models.pieces import warn_of_long_sentences
from postil.text import Document, Entity, Sentence, split_sentences, tokenise
from postil.text.lines import shortened
from postil.text.partial import Annotates
from postil.threads import one_blas_thread

TOKENS_PER_BLOCK = 4096  # what is tagged at once: large enough for matrix products, small enough for the cache

Labels = TypeVar("Labels", bound=LearntLabels)
Network = TypeVar("Network", bound=ScoringNetwork)


class Estimator(ABC, Generic[Labels, Network]):
    """An estimator whose parameters are those of ``OWN`` and, beyond them, fields of TaggerConfig (``settings``)."""

    KIND: ClassVar[str]
    """How a model file names this kind of model."""
    OWN: ClassVar[tuple[str, ...]]
    settings: dict[str, Any]
    parts: Parts[Labels, Network] | None
    # Every estimator has these of its own.
    vectors: str | os.PathLike[str] | None
    gazetteers: Sequence[str | os.PathLike[str]]
    preset: str
    seed: int
    threads: int
    minutes: float | None

    # -------------------------------------------------------------------------------------------- what kinds differ in

    @staticmethod
    @abstractmethod
    def configured(preset: str, settings: Mapping[str, Any]) -> TaggerConfig:
        """The preset with the user's settings on top, refused where this kind of model cannot be made of them."""

    @abstractmethod
    def labels_of(self, y: Sequence[Sequence[str]]) -> Labels:
        """What is to be learnt from training labels."""

    @staticmethod
    @abstractmethod
    def labels_from_json(content: Mapping[str, Any]) -> Labels:
        """What ``as_json`` of the labels has written into a model file."""

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

    def check_warm_start(self, known: "Estimator[Any, Any]") -> None:
        """Refuse to go on from a model that has learnt something else."""
        if known.KIND != self.KIND:
            raise ConfigurationError("warm start", expected=f"a {self.KIND}", got=f"a {known.KIND}")

    def settle(self, X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]]) -> None:
        """Choose on held-out data what was not learnt; asked once, when the parameters are final."""

    # -------------------------------------------------------------------------------------------- estimator rules

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.OWN} | self.settings

    def set_params(self, **parameters: Any) -> Self:
        settings = dict(self.settings)
        for name, value in parameters.items():
            if name in self.OWN:
                setattr(self, name, value)
            else:
                settings[name] = value
        self.configured(self.preset, settings)
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
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in differing.items())})"

    def check(self) -> None:
        """Complain about impossible parameters; ``fit`` does this too, a command before it reads its files."""
        self.configured(self.preset, self.settings)
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
        return self.parts.config if self.parts is not None else self.configured(self.preset, self.settings)

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
        """Learn from sentences X with labels y. With ``dev`` the best epoch on it is kept; without, the last one.

        With ``warm_start``, a fitted model of the same kind and architecture (or this one itself), go on from what that
        one knows: its words and labels stay known, those that are new in X and y begin fresh.

        A label ``?`` is unknown, ``PER|ORG`` or ``B-PER|O`` one of these. With ``partial=False`` such strings are
        labels of their own, with True they never are; None decides by the data (docs/partial-labels.md). ``annotates``
        are the classes that the sentences annotate, or a list of them for each sentence (None: all): where a class is
        not annotated, an O may be one of its labels.
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
        from postil.models.fitting import Fitting  # training code is loaded only to train

        fitting = Fitting(self, X, y, dev, **options)
        yield from fitting.run()
        self.parts = fitting.parts
        self.parts.network.freeze()

    def around(self, parts: Parts[Labels, Network]) -> Self:
        """An estimator with the same parameters that answers with these parts."""
        other = type(self)(**self.get_params())
        other.parts = parts
        return other

    # -------------------------------------------------------------------------------------------- answers

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

    def blocks(self, X: Sequence[Sequence[Token]]) -> Iterator[tuple[list[int], Inputs]]:
        """Sentences of similar length, so many that they fill the cores: their places in X, and their arrays."""
        features = self.fitted_parts().features
        check_sentences(X)
        warn_of_long_sentences(self.config, map(len, X))
        with one_blas_thread():
            for which in _blocks([len(tokens) for tokens in X]):
                yield which, features.inputs([X[i] for i in which])

    def scored(self, X: Sequence[Sequence[Token]]) -> Iterator[tuple[list[int], Array, Array]]:
        """Blocks of sentences of similar length: their places in X, the scores (N, L) of their tokens, their offsets."""
        prepared = self.fitted_parts().prepared()
        check_sentences(X)
        warn_of_long_sentences(self.config, map(len, X))
        with one_blas_thread():
            for which in _blocks([len(tokens) for tokens in X]):
                yield which, *prepared.scores([X[i] for i in which])

    # -------------------------------------------------------------------------------------------- model file

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model into one file, beside and renamed: it is the old one or the new one, never half of it."""
        storage.save(self, Path(path))

    def __getstate__(self) -> dict[str, Any]:
        state = {"parameters": self.get_params()}
        return state | ({"model": storage.to_bytes(self)} if self.parts is not None else {})

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        type(self).__init__(self, **state["parameters"])
        if "model" in state:
            self.parts = storage.from_bytes(state["model"]).parts

    def fitted_parts(self) -> Parts[Labels, Network]:
        """What was learnt; an error where nothing was."""
        if self.parts is None:
            raise ConfigurationError(
                f"this {self.KIND} has not learnt anything yet", expected="fit(X, y) first, or load(path)"
            )
        return self.parts


def tokens_of(sentence: Sentence) -> list[Token]:
    """A sentence's tokens as an estimator takes them: with the extra columns where the source had any."""
    if sentence.columns is None:
        return list(sentence.tokens)
    return [(form, *columns) for form, columns in zip(sentence.tokens, sentence.columns, strict=True)]


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
