"""Lists of names, matched over several words and coded like tags."""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, final

import numpy as np

from postil.arrays import Array, arrays_under, describe
from postil.errors import ConfigurationError, DataError, ModelFileError, is_printable
from postil.features.vocabulary import Vocabulary, prefixed, stored_names
from postil.reading import decoded_lines

# The meaning of each id: outside every name, or beginning, inside, end of one, or a name of a single word.
GAZETTEER_CODES = ("none", "B", "I", "E", "S")
_NONE, _BEGIN, _INSIDE, _END, _SINGLE = range(len(GAZETTEER_CODES))
_BORDER = "\x1f"  # between the words of a name; a space may stand inside a word, such as 10 000
_MOST_CLASSES = 63  # the classes of a name are the bits of one int64


@final
class Gazetteer:
    """Names of C classes. ``columns`` are the classes, sorted; a name may belong to several.

    The lists that a model was trained with may be replaced by others with the same classes (``checked_columns``).
    """

    def __init__(self, columns: Sequence[str], ignore_case: bool, names: Vocabulary, classes: Array) -> None:
        if len(names) != len(classes) or not 0 < len(columns) <= _MOST_CLASSES:
            expected = f"1 to {_MOST_CLASSES} classes, and the classes of {len(names)} names"
            got = f"{len(columns)}, and those of {len(classes)}"
            raise ModelFileError("damaged gazetteer", expected=expected, got=got)
        self.columns, self.ignore_case = list(columns), ignore_case
        self._names, self._classes = names, classes

    @classmethod
    def load(
        cls,
        paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        ignore_case: bool = True,
        tokenise: Callable[[str], Sequence[str]] = str.split,
        label: str | None = None,
    ) -> "Gazetteer":
        """Read files, or all files of folders: one name per line, or ``CLASS<TAB>name``.

        Without a class on the line, the class is the file's name without its extension, or ``label`` if given.
        ``tokenise`` splits a name into words; it should match the tokenisation of the text.
        """
        classes_of: dict[str, set[str]] = defaultdict(set)
        for name_class, name in names_in_files([paths] if isinstance(paths, str | os.PathLike) else paths):
            words = tokenise(name.casefold() if ignore_case else name)
            classes_of[_BORDER.join(words)].add(label or name_class)
        columns = sorted(set().union(*classes_of.values()))
        if not 0 < len(columns) <= _MOST_CLASSES:
            raise DataError("classes of a gazetteer", expected=f"must number 1 to {_MOST_CLASSES}", got=len(columns))
        bits = {name_class: 1 << i for i, name_class in enumerate(columns)}
        names = sorted(classes_of)
        classes = np.array([sum(bits[c] for c in classes_of[name]) for name in names], np.int64)
        return cls(columns, ignore_case, Vocabulary.build(names), classes)

    def __len__(self) -> int:
        return len(self._names)

    def checked_columns(self, expected: Sequence[str]) -> "Gazetteer":
        """Return this gazetteer, or raise an error if its classes are not those that a model was trained with."""
        if self.columns != list(expected):
            what = "these gazetteers do not fit the model"
            raise ConfigurationError(what, expected=f"classes {list(expected)}", got=self.columns)
        return self

    @cached_property
    def _index(self) -> tuple[dict[str, list[int]], dict[str, int]]:
        """First word -> how many words its names have, longest first; name -> bits of its classes.

        Built when the first sentence is matched: dicts are ten times as fast as the vocabulary they come from.
        """
        classes = dict(zip(self._names, self._classes.tolist(), strict=True))
        lengths: dict[str, set[int]] = defaultdict(set)
        for name in classes:
            lengths[name.partition(_BORDER)[0]].add(name.count(_BORDER) + 1)
        return {first: sorted(counts, reverse=True) for first, counts in lengths.items()}, classes

    def match(self, tokens: Sequence[str]) -> Array:
        """(T, C) int32: the position of each token in the names of each class, as an index into ``GAZETTEER_CODES``.

        Each class is matched separately, from left to right, taking the longest name that begins at a word and never
        two over the same word.
        """
        C = len(self.columns)
        codes = bytearray(len(tokens) * C)  # (T, C): single cells of a bytearray are set faster than those of an array
        lengths, classes = self._index
        words = [token.casefold() for token in tokens] if self.ignore_case else tokens
        free_from = [0] * C
        for start, word in enumerate(words):
            for length in lengths.get(word, ()):
                if start + length > len(words):
                    continue
                bits = classes.get(_BORDER.join(words[start : start + length]), 0)
                for column in range(bits.bit_length()):
                    if bits >> column & 1 and start >= free_from[column]:
                        free_from[column] = start + length
                        name = [_SINGLE] if length == 1 else [_BEGIN, *[_INSIDE] * (length - 2), _END]
                        codes[start * C + column : (start + length) * C : C] = bytes(name)
        return np.frombuffer(codes, np.uint8).reshape(len(tokens), C).astype(np.int32)

    def arrays(self) -> dict[str, Array]:
        """Everything, for the model file."""
        columns = Vocabulary.build(self.columns)
        named = prefixed("names/", self._names.arrays()) | prefixed("columns/", columns.arrays())
        return {**named, "classes": self._classes, "ignore_case": np.array(self.ignore_case)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> "Gazetteer":
        """The gazetteer whose ``arrays()`` these are."""
        missing = {"classes", "ignore_case"} - set(arrays)
        if missing:
            raise ModelFileError("arrays of a gazetteer", expected=", ".join(sorted(missing)), got="none of these")
        names = Vocabulary.from_arrays(arrays_under("names/", arrays))
        columns = stored_names(arrays_under("columns/", arrays), "a gazetteer's classes")
        ignore_case, classes = arrays["ignore_case"], arrays["classes"]
        if ignore_case.shape != () or ignore_case.dtype != np.bool_:
            raise ModelFileError("ignore_case of a gazetteer", expected="true or false", got=describe(ignore_case))
        if classes.ndim != 1 or classes.dtype != np.int64 or len(columns) > _MOST_CLASSES:
            raise ModelFileError("classes of a gazetteer", expected="a vector of int64", got=describe(classes))
        if classes.min(initial=0) < 0 or classes.max(initial=0) >= 1 << len(columns):
            raise ModelFileError("classes of a gazetteer", expected=f"bits of {len(columns)} classes", got="others")
        return cls(columns, bool(ignore_case), names, classes)

    def __reduce__(self) -> tuple[Any, ...]:
        return Gazetteer, (self.columns, self.ignore_case, self._names, self._classes)


def names_in_files(paths: Iterable[str | os.PathLike[str]]) -> Iterator[tuple[str, str]]:
    """(class, name) for every line of files, or of all files of folders, that is not empty."""
    for given in map(Path, paths):
        inner = [given]
        if given.is_dir():
            inner = sorted(path for path in given.iterdir() if path.is_file() and not path.name.startswith("."))
        for path in inner:
            count = 0
            for text, where in decoded_lines(path, "the gazetteer"):
                if not text.strip():
                    continue
                before, tab, after = text.partition("\t")
                name_class, name = (before.strip(), after) if tab else (path.stem, before)
                if not name_class or not name.strip() or not is_printable(name_class):
                    expected = "a name, or CLASS<TAB>name"
                    raise DataError("a line of the gazetteer", expected=expected, got=repr(text[:80]), where=where)
                yield name_class, name
                count += 1
            if not count:
                raise DataError("the gazetteer is empty", expected="a name a line", where=path)
