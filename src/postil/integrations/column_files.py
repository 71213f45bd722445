"""Files of columns, larger than memory: Parquet and CSV in, Parquet with the answers added out.

A job writes a folder of parts, one for each row group of Parquet or block of CSV. A part is written under another name
and renamed. An interrupted job continues with the parts that are missing or damaged: a part is done if the folder
``_parts`` has a receipt for it and it still has the size and SHA-256 of the receipt. ``_job.json`` describes the job.
Readers of such folders skip names that begin with ``_`` or ``.``.
"""

import hashlib
import json
import os
import posixpath
import secrets
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, final

from postil.errors import ConfigurationError, DataError
from postil.extras import needed
from postil.files import replaced
from postil.integrations.arrow import is_text, known_column, tag_table
from postil.models.decoding.posteriors import Threshold
from postil.reading import MOST_JSON_BYTES, limit, open_regular, parsed_json
from postil.tagging.bulk import check_threads, in_order
from postil.threads import one_blas_thread

T = TypeVar("T")

# ------------------------------------------------------------------------------------------------ folders of parts

_RECEIPTS = "_parts"
_MOST_RECEIPT = 1 << 16  # bytes
_UNFINISHED = ".partial"
ROWS_WRITTEN, BYTES_WRITTEN = 1 << 16, 1 << 26
"""A row group is written when it has this many rows or bytes."""


JOB_FILE = "_job.json"
"""The description of the job, in its folder."""


@final
@dataclass(frozen=True, kw_only=True)
class TableJob:
    """The questions about a column of texts, and how files are read. Equal jobs write the same output."""

    model: str = ""
    """SHA-256 of the model file."""
    column: str = "text"
    tasks: tuple[str, ...] = ()
    """Of a multi-task model: those that are answered, each in a column; none: all."""
    parts: tuple[str, ...] = ("entities",)
    """The answers that are added, each as a column; none: of each task the usual one."""
    offsets: str = "characters"
    threshold: Threshold = None
    input: str = "parquet"
    encoding: str | None = None
    """CSV: of the files; None for UTF-8."""
    part_rows: int = 1
    """Ray: a part takes further row groups until it has this many rows."""

    def stored(self) -> dict[str, Any]:
        """The job as the folder's file of it is read again."""
        stored: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return stored

    def claim(self, out: Any, folder: str, files: Mapping[str, list[int]]) -> list[str]:
        """Mark a folder as this job's, and return the input files of all calls so far, in the order of their numbers.

        Files may join, but not change: each is recognised by some numbers. ``out`` is an Arrow file system.
        """
        selector, path = needed("pyarrow.fs", "arrow").FileSelector, f"{folder}/{JOB_FILE}"
        known: dict[str, Any] = {"job": self.stored(), "files": {}}
        if out.get_file_info(folder).is_file:
            expected = "must be a folder, or a file .parquet"
            raise ConfigurationError("output", expected=expected, got="another file", where=folder)
        out.create_dir(folder, recursive=True)
        if out.get_file_info(path).is_file:
            with out.open_input_stream(path) as stream:
                content = bytes(stream.read(limit(MOST_JSON_BYTES)))
            described: Any = None
            with suppress(ValueError):
                described = parsed_json(content)
            if not isinstance(described, dict) or not all(isinstance(described.get(name), dict) for name in known):
                raise DataError("not the description of a job", expected="what postil tag wrote", where=path)
            known = described
            for name, value in self.stored().items():
                if known["job"].get(name) != value:
                    expected = f"a new folder, or {name} {known['job'].get(name)!r}"
                    what = "the folder holds parts of another job"
                    raise ConfigurationError(what, expected=expected, got=repr(value), where=folder)
            for name, numbers in files.items():
                if known["files"].get(name, numbers) != numbers:
                    what = "the folder holds parts of a file that has changed since"
                    raise ConfigurationError(what, expected="a new folder", got=name, where=folder)
        elif out.get_file_info(selector(folder)):
            raise ConfigurationError("output", expected="must be a new folder or one of the same job", where=folder)
        if not known["files"].keys() >= files.keys():
            known["files"] |= files
            write_beside(out, path, lambda stream: stream.write(json.dumps(known, indent=1).encode()))
        return list(known["files"])

    def tag(self, table: Any, model: Any) -> Any:
        """An Arrow table or record batch with the answers added."""
        tasks = self.tasks if getattr(model, "tasks", None) else ()  # the model of one task has no others
        options: dict[str, Any] = {"offsets": self.offsets, "threshold": self.threshold}
        return tag_table(table, model, self.column, tasks=tasks or None, parts=self.parts or None, **options)


@final
class Hashed:
    """A stream that is written to, and the size and the SHA-256 of what was written."""

    closed = False

    def __init__(self, stream: Any) -> None:
        self._stream, self.sha256, self.size = stream, hashlib.sha256(), 0

    def write(self, content: Any) -> int:
        given = memoryview(content)
        self._stream.write(given)
        self.sha256.update(given)
        self.size += given.nbytes
        return given.nbytes

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        self._stream.flush()

    def close(self) -> None:
        """The one who opened the stream closes it."""


def write_beside(out: Any, path: str, fill: Callable[[Hashed], T], *, receipted: bool = False) -> T:
    """Write under another name and rename: the file is complete or absent. A part gets a receipt before."""
    folder, name = posixpath.split(path)
    unfinished = f"{folder}/.{name}.{secrets.token_hex(4)}{_UNFINISHED}"
    try:
        with out.open_output_stream(unfinished) as stream:
            result = fill(hashed := Hashed(stream))
    except BaseException:
        with suppress(OSError):
            out.delete_file(unfinished)
        raise
    if receipted:  # what the part will hold
        receipt = json.dumps({"bytes": hashed.size, "sha256": hashed.sha256.hexdigest()})
        out.create_dir(f"{folder}/{_RECEIPTS}", recursive=True)
        write_beside(out, _receipt_of(path), lambda stream: stream.write(receipt.encode()))
    out.move(unfinished, path)
    return result


def is_done(out: Any, part: str) -> bool:
    """Whether a part is there as its receipt says."""
    try:
        with out.open_input_stream(_receipt_of(part)) as stream:
            receipt = parsed_json(bytes(stream.read(_MOST_RECEIPT)))
        info, sha256 = out.get_file_info(part), hashlib.sha256()
        if not isinstance(receipt, dict) or not info.is_file or info.size != receipt.get("bytes"):
            return False
        with out.open_input_stream(part) as stream:
            while piece := stream.read(1 << 20):
                sha256.update(piece)
        return sha256.hexdigest() == receipt.get("sha256")
    except (OSError, ValueError):  # Arrow's errors are of these kinds
        return False


def remove_unfinished(out: Any, folder: str) -> None:
    """Remove what killed processes left, once the folder is complete."""
    fs = needed("pyarrow.fs", "arrow")
    for place in (folder, f"{folder}/{_RECEIPTS}"):
        for info in out.get_file_info(fs.FileSelector(place, allow_not_found=True)):
            if posixpath.basename(info.path).startswith(".") and info.path.endswith(_UNFINISHED):
                out.delete_file(info.path)


def _receipt_of(part: str) -> str:
    folder, name = posixpath.split(part)
    return f"{folder}/{_RECEIPTS}/{name}.json"


def check_text_column(schema: Any, column: str, where: object) -> None:
    """Refuse a file that lacks the column, or has no texts in it."""
    try:
        kind = schema.field(known_column(column, schema.names)).type
    except DataError as error:
        raise DataError(error.what, expected=error.expected, got=error.got, where=where) from None
    if not is_text(kind):
        raise DataError(f"the column {column!r}", expected="strings", got=str(kind), where=where)


def write_tables(stream: Any, schema: Any, tables: Iterable[Any]) -> int:
    """Write tables or record batches as Parquet, in row groups of a useful size; returns the number of rows."""
    pa, parquet = needed("pyarrow", "arrow"), needed("pyarrow.parquet", "arrow")
    held: list[Any] = []
    rows = 0
    with parquet.ParquetWriter(stream, schema) as writer:
        for table in tables:
            held.append(table if isinstance(table, pa.Table) else pa.Table.from_batches([table]))
            rows += table.num_rows
            if sum(one.num_rows for one in held) >= ROWS_WRITTEN or sum(one.nbytes for one in held) >= BYTES_WRITTEN:
                writer.write_table(pa.concat_tables(held))
                held = []
        if held:
            writer.write_table(pa.concat_tables(held))
    return rows


# ------------------------------------------------------------------------------------------------ sources

ROWS = 1 << 12
"""Rows of a batch."""
CSV_BLOCK = 1 << 24
"""Bytes of a part of CSV. A line must be shorter."""

Batches: TypeAlias = Callable[[], Iterator[Any]]
"""The record batches of a part."""


@final
class ParquetSource:
    """A Parquet file, by default on this machine."""

    def __init__(self, path: str, encoding: str | None = None, system: Any = None) -> None:
        parquet = needed("pyarrow.parquet", "arrow")
        if encoding is not None:
            raise ConfigurationError("--encoding", expected="needs --from csv", got="parquet")
        self.path = path
        with _told(path, "Parquet", system is None):
            self._file = parquet.ParquetFile(path if system is None else system.open_input_file(path))
            self.schema, metadata = self._file.schema_arrow, self._file.metadata
            self.rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
            """The number of rows of each row group."""

    def parts(self) -> Iterator[tuple[int, Batches]]:
        """The number of each row group and its batches. A file without row groups is one part without batches."""
        for number in range(max(1, len(self.rows))):
            yield number, partial(self.batches, number, min(number + 1, len(self.rows)))

    def batches(self, first: int, end: int) -> Iterator[Any]:
        """The record batches of some row groups."""
        with _told(self.path, "Parquet", False):
            yield from self._file.iter_batches(ROWS, row_groups=range(first, end), use_threads=False)


@final
class CSVSource:
    """A CSV file with a line of names; tabs separate the cells of a file whose name ends in .tsv.

    All columns are text, so that nothing is lost: a number keeps its zeros, an empty cell is an empty text.
    """

    def __init__(self, path: str, encoding: str | None = None) -> None:
        self.path, self._encoding = path, encoding or "utf8"
        pa = needed("pyarrow", "arrow")
        with _told(path, "CSV"), self._reader([]) as reader:
            names = reader.schema.names
        self.schema = pa.schema([(name, pa.string()) for name in names])

    def parts(self) -> Iterator[tuple[int, Batches]]:
        """The number of each block and its batches."""
        number = -1
        with _told(self.path, "CSV"), self._reader(self.schema.names) as reader:
            for number, block in enumerate(reader):
                yield number, partial(self._batches, block)
        if number < 0:
            yield 0, lambda: iter(())

    def _batches(self, block: Any) -> Iterator[Any]:
        return (block.slice(first, ROWS) for first in range(0, block.num_rows, ROWS))

    def _reader(self, names: list[str]) -> Any:
        pa, csv = needed("pyarrow", "arrow"), needed("pyarrow.csv", "arrow")
        delimiter = "\t" if self.path.endswith(".tsv") else ","
        return csv.open_csv(
            self.path,
            csv.ReadOptions(block_size=CSV_BLOCK, encoding=self._encoding, use_threads=False),
            csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False),
        )


@contextmanager
def _told(path: str, title: str, is_local: bool = True) -> Iterator[None]:
    """The errors of pyarrow in one line that names the file."""
    if is_local:
        open_regular(path).close()  # raises the system's own error if the file is missing or a pipe
    try:
        yield
    except (ValueError, OSError, NotImplementedError, LookupError) as error:  # pyarrow's errors are of these kinds
        if isinstance(error, DataError | ConfigurationError):
            raise
        raise DataError(f"cannot read the {title} file", got=str(error).partition("\n")[0], where=path) from None


# ------------------------------------------------------------------------------------------------ jobs

Progress = Callable[[int], None]
"""Called with the number of rows tagged since the last call."""


@final
@dataclass(frozen=True)
class TaggedFiles:
    """The result of a call that tags files."""

    rows: int
    """Rows tagged by this call."""
    parts: int
    """Parts written by this call."""
    done_before: int = 0
    """Parts that an earlier call had written."""
    redone: int = 0
    """Of the parts: those that were there, but were not what this job had written: cut, changed, or without a receipt.
    Ray does not count them."""


def hash_of(path: str | os.PathLike[str]) -> str:
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def tag_files(
    files: Iterable[str],
    model: Any,
    job: TableJob,
    target: str | os.PathLike[str],
    *,
    threads: int = 1,
    progress: Progress | None = None,
) -> TaggedFiles:
    """Tag files into one Parquet file, if the name of the target ends so, or else into a folder of parts.

    The file appears when all is done; the columns of its inputs must be the same. In a folder, parts that are there
    already, as they were written, are kept.
    """
    check_threads(threads)
    files, target = list(files), Path(target)
    schemas = [source_of(path, job).schema for path in files]  # mistakes are told before any work
    answers = partial(_answers, model=model, job=job, threads=threads, progress=progress)
    if target.suffix == ".parquet":
        for path, schema in zip(files, schemas, strict=True):
            if not schema.equals(schemas[0]):
                expected = f"those of {files[0]}, or -o FOLDER"
                raise DataError("the columns of the files differ", expected=expected, where=path)
        sources = (source_of(path, job) for path in files)
        tables = (table for source in sources for _, batches in source.parts() for table in answers(source, batches()))
        with replaced(target) as stream, one_blas_thread():
            return TaggedFiles(write_tables(stream, job.tag(schemas[0].empty_table(), model).schema, tables), 1)
    stamps = {path: [Path(path).stat().st_size, Path(path).stat().st_mtime_ns] for path in files}
    if len(stamps) < len(files):
        raise ConfigurationError("files", expected="must be different", got="one of them twice")
    out, folder = needed("pyarrow.fs", "arrow").LocalFileSystem(), target.absolute().as_posix()
    job.claim(out, folder, stamps)
    rows = parts = kept = redone = 0
    for source in (source_of(path, job) for path in files):
        schema = job.tag(source.schema.empty_table(), model).schema
        for number, batches in source.parts():
            path = f"{folder}/{part_name(source.path, number)}"
            if is_done(out, path):
                kept += 1
                continue
            redone += os.path.lexists(path)
            fill = partial(write_tables, schema=schema, tables=answers(source, batches()))
            with one_blas_thread():
                rows += write_beside(out, path, fill, receipted=True)
            parts += 1
    remove_unfinished(out, folder)
    return TaggedFiles(rows, parts, kept, redone)


def _answers(
    source: ParquetSource | CSVSource,
    batches: Iterable[Any],
    model: Any,
    job: TableJob,
    threads: int,
    progress: Progress | None,
) -> Iterator[Any]:
    """Batches of a file with the answers added. A mistake names the file."""
    tagged = partial(job.tag, model=model)
    try:
        for batch in in_order(tagged, batches, threads) if threads > 1 else map(tagged, batches):
            if progress is not None:
                progress(batch.num_rows)
            yield batch
    except DataError as error:
        where = error.where or source.path
        raise DataError(error.what, expected=error.expected, got=error.got, where=where) from None


SOURCES: dict[str, type[ParquetSource] | type[CSVSource]] = {"parquet": ParquetSource, "csv": CSVSource}


def source_of(path: str, job: TableJob) -> ParquetSource | CSVSource:
    """A file that has the column of texts."""
    source = SOURCES[job.input](path, job.encoding)
    check_text_column(source.schema, job.column, path)
    return source


def part_name(path: str, number: int) -> str:
    """The file of a part: named by the input, with a checksum of its path, and the row group."""
    stem = Path(path).name.partition(".")[0]
    return f"{stem}-{zlib.crc32(os.fsencode(path)):08x}-{number:05d}.parquet"
