"""Words to integers: one column of ids per feature that depends on the word alone.

Whatever depends on the word alone is worked out once per distinct word: ``distinct`` finds the distinct words of a
batch, ``WordFeatures.rows`` returns their ids and caches them.

Each kind of feature in ``KINDS`` has a field of ``WordFeatureConfig``; models have a setting of the same name.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple, cast, final

import numpy as np

from postil import kernels
from postil.arrays import Array, arrays_under, describe, offsets_from_lengths
from postil.errors import ConfigurationError, ModelFileError
from postil.features.folds import Folds
from postil.features.lexicon import Lexicon
from postil.features.vectors import WordVectors, digit_mark, looked_up_cells
from postil.features.vocabulary import Vocabulary, prefixed
from postil.kernels import WordColumn, WordRules
from postil.kernels.characters import frozen_orthography
from postil.kernels.plain_text import KINDS, SURROGATES, word_cells

UNKNOWN = ""  # the string of id 0 in every vocabulary of features: no word is empty
_CACHED_WORDS = 200_000
_LONGEST_CACHED = 100  # characters; longer ones are rarely words and seldom come again
_LARGEST = 10**9  # of any setting
_CHARACTER = "character"  # the name of the vocabulary of characters
_MOST_LENGTHS = 64  # of prefixes or suffixes


@dataclass(frozen=True, kw_only=True)
class WordFeatureConfig:
    """Which features a word has: those whose dimension is above 0.

    Words are counted in lower case with digits folded; those seen fewer than ``min_count`` times in training share the
    unknown word. Prefixes and suffixes are those of the same lower-case form, one column per length;
    ``min_affix_count`` applies to them, to shapes and to the classes of lexicons. ``cluster_dim`` and ``name_dim`` are
    for each column of the lexicons of clusters and of names, where ``WordFeatures.build`` is given them;
    ``character_dim`` adds the characters of the form as it stands, which a network makes one vector of;
    ``vector_dim`` is set from the vectors given to ``build``.
    """

    word_dim: int = 0
    min_count: int = 1
    caps_dim: int = 0
    shape_dim: int = 0
    prefix_dim: int = 0
    prefix_lengths: tuple[int, ...] = ()
    suffix_dim: int = 0
    suffix_lengths: tuple[int, ...] = ()
    min_affix_count: int = 1
    cluster_dim: int = 0
    name_dim: int = 0
    character_dim: int = 0
    vector_dim: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            name, value = field.name, getattr(self, field.name)
            numbers, least = [value], 1 if name.startswith("min_") else 0
            if name.endswith("_lengths"):
                if not isinstance(value, Sequence) or isinstance(value, str):
                    raise ConfigurationError(name, expected="a list of lengths", got=repr(value)[:80])
                if len(value) > _MOST_LENGTHS:
                    raise ConfigurationError(name, expected=f"at most {_MOST_LENGTHS} lengths", got=len(value))
                numbers, least = list(value), 1
            for number in numbers:
                if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= _LARGEST:
                    expected = f"a whole number of at least {least}"
                    raise ConfigurationError(name, expected=expected, got=repr(number)[:80])
            if name.endswith("_lengths"):
                if len(set(numbers)) != len(numbers):
                    raise ConfigurationError(name, expected="different lengths", got=numbers)
                object.__setattr__(self, name, tuple(numbers))  # a list is what JSON returns for a tuple

    @classmethod
    def of(cls, settings: object) -> "WordFeatureConfig":
        """The features that the settings of a model ask for, by field name. A missing field stays disabled."""
        names = [field.name for field in fields(cls) if hasattr(settings, field.name)]
        return cls(**{name: getattr(settings, name) for name in names})


LEXICONS = {"clusters": "cluster_dim", "vector clusters": "cluster_dim", "names": "name_dim"}
"""The lexicons that words may have, and the setting with the dimension of their columns."""
LEARNT_DIMS = tuple(
    field.name
    for field in fields(WordFeatureConfig)
    if field.name.endswith("_dim") and field.name not in (*LEXICONS.values(), "vector_dim")
)
"""The settings that switch a learned feature of words on."""


class Column(NamedTuple):
    """One feature: ids from 0 (unknown) to V - 1, each looked up as a vector of D numbers."""

    name: str
    V: int
    D: int


def _features(config: WordFeatureConfig) -> dict[str, tuple[int, WordColumn]]:
    """Those whose values are strings, numbered by a vocabulary: of each kind one, or one for each of its lengths.

    D, and the column still without a table.
    """
    features: dict[str, tuple[int, WordColumn]] = {}
    for kind in KINDS:
        D = getattr(config, f"{kind}_dim")
        if D and kind not in ("caps", "vector"):  # classes that are fixed, and words that come with their vectors
            for n in getattr(config, f"{kind}_lengths", (0,)):
                features[f"{kind} {n}" if n else kind] = D, WordColumn(kind, n)
    return features


@final
class WordFeatures:
    """The ids of every feature of a word; the vocabularies come from the training words.

    ``columns`` are the features in the order of the ids; with ``character_dim`` the ids of ``character_columns``
    characters come after them, before the vector. ``counts`` (V of the column ``word``,) says how often each
    word id occurred in training; entry 0 counts the tokens whose word was too rare for its own id. It is empty if the
    word feature is disabled. ``rules`` are what the kernel ``word_features`` goes by. ``folds`` normalise words before
    they are looked up; None: words stay as they are.
    """

    def __init__(
        self,
        config: WordFeatureConfig,
        vocabularies: Mapping[str, Vocabulary],
        counts: Array,
        lexicons: Mapping[str, Lexicon] = MappingProxyType({}),
        folds: Folds | None = None,
    ) -> None:
        self.config, self.vocabularies, self.counts, self.lexicons = config, dict(vocabularies), counts, dict(lexicons)
        self.folds = folds
        features = _features(config)
        self.columns = [Column(name, len(vocabularies[name]), D) for name, (D, _) in features.items()]
        kinds = [column._replace(table=vocabularies[name].table) for name, (_, column) in features.items()]
        if config.caps_dim:
            self.columns.append(Column("caps", len(CAPS_CLASSES), config.caps_dim))
            kinds.append(WordColumn("caps"))
        for name, lexicon in self.lexicons.items():
            D = getattr(config, LEXICONS[name])
            self.columns += [Column(column, V, D) for column, V in zip(lexicon.columns, lexicon.sizes, strict=True)]
        self.alphabet = Alphabet(vocabularies[_CHARACTER]) if config.character_dim else None
        if config.vector_dim:
            self.columns.append(Column("vector", len(vocabularies["vector"]), config.vector_dim))
            kinds.append(WordColumn("vector", table=vocabularies["vector"].table))
        self.rules = WordRules(tuple(kinds), digit_mark(vocabularies["vector"]) if config.vector_dim else None)
        self._cache: dict[str, bytes] = {}

    @property
    def character_columns(self) -> int:
        """Columns of ``rows`` that hold characters."""
        return 0 if self.alphabet is None else LONGEST

    @classmethod
    def build(
        cls,
        config: WordFeatureConfig,
        sentences: Iterable[Iterable[str]],
        vectors: WordVectors | None = None,
        lexicons: Mapping[str, Lexicon] = MappingProxyType({}),
        folds: Folds | None = None,
    ) -> "WordFeatures":
        """Count the forms of the training sentences and number the values of every feature, most frequent first.

        ``lexicons`` by their names in LEXICONS; one whose dimension is 0 is left out.
        """
        if vectors is None and config.vector_dim:
            raise ConfigurationError("vector_dim without vectors", expected="0, or vectors", got=config.vector_dim)
        if vectors is not None:
            D = int(vectors.matrix.shape[1])
            if config.vector_dim not in (0, D):
                expected = f"{D}, the size of the vectors given"
                raise ConfigurationError("vector_dim", expected=expected, got=config.vector_dim)
            config = replace(config, vector_dim=D)
        occurrences = Counter(chain.from_iterable(sentences))
        if folds is not None:
            spelt, occurrences = occurrences, Counter()
            for form, count in spelt.items():
                occurrences[folds(form)] += count
        forms, normal = list(occurrences), list(map(normalise, occurrences))
        vocabularies, counts = {}, np.zeros(0, np.int64)
        for name, (_, column) in _features(config).items():
            values = column.values(forms, normal, frozen_orthography())
            totals: dict[str, int] = {}
            for value, count in zip(values, occurrences.values(), strict=True):
                totals[value] = totals.get(value, 0) + count
            least = config.min_count if name == "word" else config.min_affix_count
            vocabularies[name] = frequent_values(totals, least)
            if name == "word":
                counts = np.array([totals.get(word, 0) for word in vocabularies[name]], np.int64)
                counts[0] = sum(totals.values()) - counts[1:].sum()
        if config.character_dim:
            characters: Counter[str] = Counter()
            for form, count in occurrences.items():
                characters.update(dict.fromkeys(form, count))
            vocabularies[_CHARACTER] = frequent_values(characters, config.min_affix_count)
        if vectors is not None:
            vocabularies["vector"] = vectors.words
        used = {name: lexicons[name] for name in LEXICONS if name in lexicons and getattr(config, LEXICONS[name])}
        limited = {name: lexicon.limited_to(occurrences, config.min_affix_count) for name, lexicon in used.items()}
        return cls(config, vocabularies, counts, limited, folds)

    def rows(self, forms: Sequence[str]) -> Array:
        """(U, F) int32: the ids of the F columns for each of the U forms."""
        if len(self._cache) >= _CACHED_WORDS:
            self._cache = {}
        cache = self._cache  # held, because another thread may start a new one meanwhile
        packed = [cache.get(form) for form in forms]
        new = [place for place, ids in enumerate(packed) if ids is None]
        if new:
            folded = [forms[place] if self.folds is None else self.folds(forms[place]) for place in new]
            computed = self.rows_of_cells(*word_cells(folded))
            content, size = computed.tobytes(), computed.itemsize * computed.shape[1]
            for number, place in enumerate(new):
                packed[place] = ids = content[number * size : (number + 1) * size]
                if len(forms[place]) <= _LONGEST_CACHED and len(cache) < _CACHED_WORDS:
                    cache[forms[place]] = ids
        joined = bytearray().join(cast("list[bytes]", packed))
        return np.frombuffer(joined, np.int32).reshape(len(forms), len(self.columns) + self.character_columns)

    def rows_of_cells(self, text: bytes, cells: Array) -> Array:
        """The same for folded forms that stand in cells (U, 2) of a text in UTF-8. Nothing is cached."""
        ids = kernels.word_features(text, cells, self.rules)
        others = []
        for lexicon in self.lexicons.values():  # words with vectors have been looked up: the last of the ids
            rows = ids[:, -1] if self._is_of_vectors(lexicon) else looked_up_cells(lexicon.words, text, cells)
            others.append(lexicon.codes[rows].astype(np.int32))
        if self.alphabet is not None:
            others.append(self.alphabet.ids_of_cells(text, cells))
        if not others:
            return ids
        first = ids.shape[1] - bool(self.config.vector_dim)  # vectors are the last column
        return np.concatenate([ids[:, :first], *others, ids[:, first:]], axis=1)

    def _is_of_vectors(self, lexicon: Lexicon) -> bool:
        """Whether a lexicon has the words of the vectors, in their order: then they are stored once."""
        return bool(self.config.vector_dim) and lexicon.words is self.vocabularies["vector"]

    def arrays(self) -> dict[str, Array]:
        """Everything but the configuration, for the model file."""
        named: dict[str, Array] = {}
        for name, vocabulary in self.vocabularies.items():
            named |= prefixed(f"{name}/", vocabulary.arrays())
        for name, lexicon in self.lexicons.items():
            named |= prefixed(f"lexicon {name}/", lexicon.arrays(with_words=not self._is_of_vectors(lexicon)))
        return {**named, "counts": self.counts} | ({} if self.folds is None else {"folds": self.folds.table})

    @classmethod
    def from_arrays(cls, config: WordFeatureConfig, arrays: Mapping[str, Array]) -> "WordFeatures":
        """The features whose ``arrays()`` these are; the vocabularies are used in place."""
        names = [*_features(config), *[_CHARACTER] * bool(config.character_dim), *["vector"] * bool(config.vector_dim)]
        parts = {name: arrays_under(f"{name}/", arrays) for name in names}
        missing = [name for name in names if not parts[name]] + ["counts"] * ("counts" not in arrays)
        if missing:
            raise ModelFileError("arrays of word features", expected=", ".join(missing), got="none of these")
        vocabularies = {name: feature_vocabulary(parts[name], name) for name in names}
        counts, V = arrays["counts"], len(vocabularies["word"]) if "word" in vocabularies else 0
        if counts.dtype != np.int64 or counts.shape != (V,) or counts.min(initial=0) < 0:
            raise ModelFileError("counts of words", expected=f"int64 ({V},), none below 0", got=describe(counts))
        stored = {name: arrays_under(f"lexicon {name}/", arrays) for name in LEXICONS}
        of_vectors = vocabularies.get("vector")
        lexicons = {name: Lexicon.from_arrays(parts, of_vectors) for name, parts in stored.items() if parts}
        if any(not getattr(config, LEXICONS[name]) for name in lexicons):
            raise ModelFileError("lexicons", expected="a dimension above 0 for each", got=", ".join(lexicons))
        folds = Folds.from_array(arrays["folds"]) if "folds" in arrays else None
        return cls(config, vocabularies, counts, lexicons, folds)

    def __reduce__(self) -> tuple[Any, ...]:
        return WordFeatures, (self.config, self.vocabularies, self.counts, self.lexicons, self.folds)


def feature_vocabulary(arrays: Mapping[str, Array], name: str) -> Vocabulary:
    """A stored vocabulary of a feature: it begins with the unknown value."""
    vocabulary = Vocabulary.from_arrays(arrays)
    if not len(vocabulary) or vocabulary[0] != UNKNOWN:
        raise ModelFileError(f"vocabulary {name!r}", expected="the unknown value at id 0", got="another")
    return vocabulary


def frequent_values(values: Mapping[str, int], min_count: int) -> Vocabulary:
    """The values that occur at least ``min_count`` times, most frequent first, after the unknown value at id 0.

    Ties are sorted by their characters, so the order of the sentences does not matter.
    """
    frequent = [(-count, value) for value, count in values.items() if count >= min_count and value != UNKNOWN]
    return Vocabulary.build([UNKNOWN, *(value for _, value in sorted(frequent))])


def distinct(sentences: Iterable[Sequence[str]]) -> tuple[list[str], Array, Array]:
    """The distinct forms of a batch (U), the index of each token's form (N,), and the offsets (B + 1,)."""
    sentences = list(sentences)
    offsets = offsets_from_lengths([len(sentence) for sentence in sentences])
    places: defaultdict[str, int] = defaultdict()
    places.default_factory = places.__len__  # a new form gets the next place
    indices = np.fromiter(map(places.__getitem__, chain.from_iterable(sentences)), np.int64, int(offsets[-1]))
    return list(places), indices, offsets


# --------------------------------------------- The shape of a word: functions of the word alone, for text in any script


# The meaning of each value of `caps_class`; the value is the place in this list.
CAPS_CLASSES = (
    "no letters",  # 1984  ,  :-)
    "lower",  # house  e-mail  3rd
    "Title",  # House  O'neil  B2b
    "UPPER",  # NATO  U.S.  F-16A
    "single capital",  # A  J.  X-1
    "MiXed",  # McDonald  PhD: begins with a capital and has both kinds later on
    "mIXed",  # iPhone  mRNA: begins with a small letter and has a capital later on
    "letters without case",  # 東京  القاهرة
)


def fold_digits(word: str, mark: str = "0") -> str:
    """Replace every decimal digit, of any script, by ``mark``."""
    return frozen_orthography().fold_digits(word, mark)


def normalise(word: str) -> str:
    """Lower case, with every digit replaced by 0: ``May-1984`` -> ``may-0000``."""
    return frozen_orthography().normalise(word)


def caps_class(word: str) -> int:
    """How the word is capitalised, as an index into ``CAPS_CLASSES``. Only letters with case count."""
    return frozen_orthography().caps_class(word)


def shape(word: str) -> str:
    """The word with each character replaced by its class and runs shortened to three: ``Boeing-747s`` -> ``Xxxx-dddx``.

    X capital, x small letter, l letter without case, d digit, n other number, m mark (separate accent), s symbol that
    is not ASCII, z anything else; punctuation and ASCII symbols stand for themselves.
    """
    return frozen_orthography().shape(word)


# --------------------------------------------- The characters of words as ids: what a convolution over characters takes
#
# Characters are those of the form as it stands, with its capitals and digits. All words of a block are looked up at
# once, by their code points, so a new word does not become an object of Python.


LONGEST = 24
"""Characters of a word that are looked at: of a longer word the first and the last 12."""
_HEAD = LONGEST // 2


@final
class Alphabet:
    """Characters and their ids in a vocabulary, whose id 0 is any other character."""

    def __init__(self, characters: Vocabulary) -> None:
        codes = np.array([ord(character) if len(character) == 1 else -1 for character in characters], np.int64)
        self.ids = np.argsort(codes, kind="stable")  # of the code points, which rise
        self.codes = codes[self.ids]

    def ids_of_cells(self, text: bytes, cells: Array) -> Array:
        """(U, LONGEST) int32: 1 + the id of each character of the words in cells (U, 2) of a text in UTF-8.

        After the last character of a word there are zeros.
        """
        start, end = int(cells[:, 0].min(initial=len(text))), int(cells[:, 1].max(initial=0))
        part = text[start:end]  # that holds all cells
        cells = cells - start
        codes = np.frombuffer(str(part, "utf-8", SURROGATES).encode("utf-32-le", SURROGATES), np.uint32)
        codes = codes.astype(np.int64)
        if len(codes) != len(part):  # bytes to characters
            is_first = (np.frombuffer(part, np.uint8) & 0xC0) != 0x80
            cells = np.concatenate([[0], np.cumsum(is_first)])[cells]
        first, length = cells[:, 0], cells[:, 1] - cells[:, 0]
        place = np.arange(LONGEST)
        shown = np.minimum(length, LONGEST)[:, None]
        is_tail = (length[:, None] > LONGEST) & (place >= _HEAD)
        places = first[:, None] + place + np.where(is_tail, (length - LONGEST)[:, None], 0)
        is_there = place < shown
        ids = np.zeros((len(cells), LONGEST), np.int32)
        wanted = codes[places[is_there]]
        found = np.minimum(np.searchsorted(self.codes, wanted), len(self.codes) - 1)
        ids[is_there] = 1 + np.where(self.codes[found] == wanted, self.ids[found], 0)
        return ids
