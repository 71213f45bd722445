"""Sentences as the integer arrays that a network takes: distinct words once, and which of them each token is."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import itemgetter
from types import MappingProxyType
from typing import TypeAlias, final

import numpy as np

from postil.arrays import Array, arrays_under, selected_rows
from postil.errors import ConfigurationError, DataError, ModelFileError
from postil.features.folds import Folds
from postil.features.gazetteer import GAZETTEER_CODES, Gazetteer
from postil.features.lexicon import Lexicon
from postil.features.named import NamedFeatures
from postil.features.vectors import WordVectors
from postil.features.vocabulary import Vocabulary, prefixed
from postil.features.words import WordFeatureConfig, WordFeatures, distinct, feature_vocabulary, frequent_values
from postil.kernels import Attributes
from postil.kernels.characters import frozen
from postil.lazy import Remembered

# A token is its form, or a tuple of its form and the extra columns of the file; a FeatureToken is such a tuple too.
Token: TypeAlias = str | tuple[str, ...]
Sentences: TypeAlias = Sequence[Sequence[Token]]


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Inputs:
    """B sentences with N tokens of U distinct forms."""

    forms: Array  # (U, F) ids of the learned features of each distinct form; those of its characters come last
    vectors: Array  # (U,) its row among the fixed vectors; zeros if there are none
    places: Array  # (N,) which form stands at each token
    extra: Array  # (N, E) ids of the features of the token in its sentence: columns of the file, gazetteers
    offsets: Array  # (B + 1,)
    attributes: Attributes | None = None  # hand-made features of the N tokens

    def selected(self, sentences: Array) -> "Inputs":
        """The arrays of some of the sentences, in the order given, with only the forms that occur in them."""
        offsets, rows = selected_rows(self.offsets, sentences)
        return self._of_tokens(rows, offsets)

    def rows(self, first: int, end: int, offsets: Array) -> "Inputs":
        """The tokens ``first:end``, cut into sentences by ``offsets``, with only the forms that occur among them."""
        return self._of_tokens(np.arange(first, end), offsets)

    def joined(self) -> tuple[Array, Array, Array]:
        """The distinct pairs of a form and its extra features: forms (P,), extra (P, E), pair of each token (N,)."""
        pairs, places = distinct_rows(np.column_stack([self.places, self.extra]))
        return pairs[:, 0], pairs[:, 1:], places

    def _of_tokens(self, tokens: Array, offsets: Array) -> "Inputs":
        used, places = distinct_numbers(self.places[tokens], len(self.forms))
        return Inputs(
            forms=self.forms[used],
            vectors=self.vectors[used],
            places=places,
            extra=self.extra[tokens],
            offsets=offsets,
            attributes=None if self.attributes is None else selected_attributes(self.attributes, tokens),
        )


def selected_attributes(attributes: Attributes, tokens: Array) -> Attributes:
    """The attributes of some of the tokens, in the order given."""
    offsets, places = selected_rows(attributes.offsets, tokens)
    values = None if attributes.values is None else attributes.values[places]
    return Attributes(attributes.ids[places], values, offsets)


def distinct_numbers(numbers: Array, size: int) -> tuple[Array, Array]:
    """The distinct ones (U,) among numbers (N,) below ``size``, rising; and where each number stands among them."""
    if size > 64 * len(numbers):
        return np.unique(numbers, return_inverse=True)
    is_used = np.zeros(size, bool)  # several times as fast as sorting
    is_used[numbers] = True
    used = np.flatnonzero(is_used)
    place = np.empty(size, np.int64)
    place[used] = np.arange(len(used))
    return used, place[numbers]


def distinct_rows(ids: Array) -> tuple[Array, Array]:
    """The different rows of ids (N, E), and which of them belongs to each token, (N,)."""
    sizes = ids.max(axis=0, initial=0) + 1
    if float(np.prod(sizes, dtype=np.float64)) >= 2**62:  # too many for one number: every token has its own
        return ids, np.arange(len(ids))
    steps = np.concatenate([[1], np.cumprod(sizes[:-1])])
    _, first, places = np.unique(ids @ steps, return_index=True, return_inverse=True)
    return ids[first], places


@final
class NumberedSentence(list[str]):
    """The forms of a sentence, and the ids (T, E) of its extra columns."""

    def __init__(self, forms: Sequence[str], ids: Array) -> None:
        super().__init__(forms)
        self.ids = ids


@final
class InputFeatures:
    """All features of a tagger: of words, of the file's extra columns (one vocabulary each), gazetteers, hand-made."""

    def __init__(
        self,
        words: WordFeatures,
        columns: Sequence[Vocabulary],
        gazetteer: Gazetteer | None,
        named: NamedFeatures | None = None,
    ) -> None:
        self.words, self.columns, self.gazetteer, self.named = words, list(columns), gazetteer, named
        self.unicode: str | None = frozen().version_name
        """The version of Unicode by which the vocabularies were made; None if nobody wrote it down."""
        # Value of a column -> its id, 0 for one that is not known. Columns have few values, which come again and again.
        self._column_ids = [Remembered(partial(one.id, default=0), most=20_000) for one in self.columns]

    @classmethod
    def build(
        cls,
        config: WordFeatureConfig,
        sentences: Sequence[Sequence[Token]],
        folds: Folds | None = None,
        *,
        vectors: WordVectors | None = None,
        gazetteer: Gazetteer | None = None,
        lexicons: Mapping[str, Lexicon] = MappingProxyType({}),
        use_columns: bool = True,
        named: NamedFeatures | None = None,
    ) -> "InputFeatures":
        """Number the values of every feature in the training sentences."""
        words = WordFeatures.build(config, (forms_of(tokens) for tokens in sentences), vectors, lexicons, folds)
        counts: list[Counter[str]] = []  # of the values of each column
        for token in chain.from_iterable(sentences) if use_columns and named is None else ():
            if isinstance(token, tuple):
                counts += [Counter() for _ in range(len(token) - 1 - len(counts))]
                for counter, value in zip(counts, token[1:], strict=False):
                    counter[value] += 1
        return cls(words, [frequent_values(counter, 1) for counter in counts], gazetteer, named)

    def form_sizes(self) -> list[tuple[int, int]]:
        """(V, D) of each learned feature of a form."""
        return [(column.V, column.D) for column in self.words.columns if column.name != "vector"]

    def extra_sizes(self, column_dim: int, gazetteer_dim: int) -> list[tuple[int, int]]:
        """(V, D) of each feature of a token in its sentence."""
        classes = self.gazetteer.columns if self.gazetteer is not None else []
        sizes = [(len(vocabulary), column_dim) for vocabulary in self.columns]
        return sizes + [(len(GAZETTEER_CODES), gazetteer_dim) for _ in classes]

    def inputs(self, sentences: Sequence[Sequence[Token]]) -> Inputs:
        """The arrays of a batch."""
        forms = [forms_of(tokens) for tokens in sentences]
        distinct_forms, places, offsets = distinct(forms)
        ids, vectors = self.form_ids(distinct_forms)
        return Inputs(
            forms=ids,
            vectors=vectors,
            places=places,
            extra=self.extra(sentences, len(places)),
            offsets=offsets,
            attributes=None if self.named is None else self.named.of(sentences),
        )

    def form_ids(self, forms: Sequence[str]) -> tuple[Array, Array]:
        """Ids (U, F) of the learned features of some forms, and their rows (U,) among the fixed vectors."""
        rows = self.words.rows(forms)
        if not self.words.config.vector_dim:
            return rows, np.zeros(len(rows), np.int32)
        return rows[:, :-1], rows[:, -1]

    @property
    def column_ids(self) -> Sequence[Mapping[str, int]]:
        """The id of each value of each extra column, 0 for one that is not known."""
        return self._column_ids

    def extra(self, sentences: Sequence[Sequence[Token]], N: int) -> Array:
        """(N, E) ids of the features of each token in its sentence."""
        parts: list[Array] = []
        numbered = [tokens.ids for tokens in sentences if isinstance(tokens, NumberedSentence)]
        if numbered and len(numbered) == len(sentences):
            parts.append(np.concatenate(numbered))
        elif self.columns:
            tokens = list(chain.from_iterable(sentences))
            check_columns(tokens, len(self.columns))
            for i, ids in enumerate(self._column_ids, 1):
                parts.append(np.fromiter(map(ids.__getitem__, map(itemgetter(i), tokens)), np.int64, N))
        matched = [self.gazetteer.match(forms_of(one)) for one in sentences] if self.gazetteer is not None else []
        codes = np.concatenate(matched) if matched else np.zeros((N, 0), np.int64)
        return np.column_stack([*parts, codes]).astype(np.int64) if parts else codes

    def arrays(self) -> dict[str, Array]:
        """For the model file; gazetteers are stored as their lists of names."""
        named = prefixed("words/", self.words.arrays())
        for i, vocabulary in enumerate(self.columns):
            named |= prefixed(f"column{i}/", vocabulary.arrays())
        for name, part in (("gazetteer", self.gazetteer), ("named", self.named)):
            named |= prefixed(f"{name}/", part.arrays()) if part is not None else {}
        return named

    @classmethod
    def from_arrays(
        cls, config: WordFeatureConfig, columns: int, arrays: Mapping[str, Array], unicode: str | None = None
    ) -> "InputFeatures":
        """Those of a model file, which was made with a version of ``unicode``."""
        words = WordFeatures.from_arrays(config, arrays_under("words/", arrays))
        if not isinstance(columns, int) or isinstance(columns, bool) or not 0 <= columns <= len(arrays):
            expected = "that of their vocabularies"
            raise ModelFileError("number of extra columns", expected=expected, got=repr(columns)[:80])
        vocabularies = [feature_vocabulary(arrays_under(f"column{i}/", arrays), f"column{i}") for i in range(columns)]
        names, named = arrays_under("gazetteer/", arrays), arrays_under("named/", arrays)
        features = cls(
            words,
            vocabularies,
            Gazetteer.from_arrays(names) if names else None,
            NamedFeatures.from_arrays(named) if named else None,
        )
        features.unicode = unicode
        return features


def forms_of(tokens: Sequence[Token]) -> list[str]:
    """The forms alone. A TypeError for anything that is not a token: a list would otherwise pass for a tuple."""
    kinds = set(map(type, tokens))
    if wrong := [kind for kind in kinds if not issubclass(kind, str | tuple)]:
        raise TypeError(f"a token is a string or a tuple, not a {wrong[0].__name__}")
    return [token if isinstance(token, str) else token[0] for token in tokens]


def check_columns(tokens: Sequence[Token], expected: int) -> None:
    """A DataError if a token has fewer extra columns than this."""
    for token in tokens:
        if isinstance(token, str) or len(token) <= expected:
            got = 0 if isinstance(token, str) else len(token) - 1
            form = token if isinstance(token, str) else token[0]
            raise DataError(f"token {form!r} lacks extra columns", expected=f"{expected}, as in training", got=got)


# -------------------------------------------------------------------- Batches: which sentences share a step of training


# Lengths are blurred by up to this share before sorting, so that a sentence meets others from epoch to epoch.
_BLUR = 0.1


def batches_of_similar_length(
    lengths: Sequence[int] | Array, size: int, rng: "np.random.Generator", *, unit: str = "sentences"
) -> list[Array]:
    """Divide sentences (B,) into batches of similar length: a list of index arrays, in random order, each index once.

    A batch holds at most ``size`` sentences, or with ``unit="tokens"`` at most ``size`` tokens; a longer sentence forms
    a separate batch. The result depends only on the state of ``rng``.
    """
    if unit not in ("sentences", "tokens"):
        raise ConfigurationError("unit of the size of batches", expected="'sentences' or 'tokens'", got=repr(unit))
    if size < 1:
        raise ConfigurationError("size of batches", expected="1 or more", got=size)
    lengths = np.asarray(lengths, np.int64)
    order = np.argsort(lengths * (1 + _BLUR * rng.random(len(lengths))), kind="stable")
    weights = lengths[order] if unit == "tokens" else np.ones(len(order), np.int64)
    # Cut as seldom as possible, so that each part weighs at most ``size`` or is one item.
    ends = np.cumsum(weights)
    cuts, start, before = [], 0, 0
    while start < len(order):
        start = max(start + 1, int(np.searchsorted(ends, before + size, side="right")))
        before = int(ends[start - 1])
        cuts.append(start)
    batches = np.split(order, cuts[:-1])
    return [batches[i] for i in rng.permutation(len(batches))] if len(order) else []
