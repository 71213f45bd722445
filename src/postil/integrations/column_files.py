"""Files of columns, larger than memory: Parquet and CSV in, Parquet with the answers added out.

A job writes a folder of parts, one for each row group of Parquet or block of CSV. A part is written beside its place
and renamed, and a job that was interrupted continues with the parts that are missing or damaged (``part_folders``).
``_job.json`` says what the job was.
"""

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, final

from postil.errors import ConfigurationError, DataError
from postil.files import replaced
from postil.integrations.arrow import tag_table
from postil.integrations.column_answers import Threshold
from postil.integrations.column_sources import CSVSource, ParquetSource, checked_schema
from postil.integrations.extras import needed
from postil.integrations.part_folders import (
    Hashed,
    as_stored,
    check_same_job,
    gathered,
    give_receipt,
    is_done,
    remove_unfinished,
)
from postil.reading import MOST_JSON_BYTES, open_regular, parsed_json, read_bytes
from postil.serving.bulk import check_threads, in_order
from postil.threads import one_blas_thread

JOB = "_job.json"

Progress = Callable[[int], None]
"""Called with the number of rows tagged since the last call."""


@final
@dataclass(frozen=True, kw_only=True)
class ColumnJob:
    """What is asked about the texts of files. Two jobs that are equal write the same."""

    column: str = "text"
    tasks: tuple[str, ...] = ()
    """Of a model of several: those that are answered. One is answered as by a model that has no other; none: all."""
    parts: tuple[str, ...] = ("entities",)
    """None: of each task the usual one."""
    offsets: str = "characters"
    threshold: Threshold = None
    input: str = "parquet"
    encoding: str | None = None
    """CSV: of the files; None for UTF-8."""
    model: str = ""
    """SHA-256 of the model file."""

    def tagged(self, batch: tuple[str, Any], model: Any) -> Any:
        """A batch, which comes with the name of its file, with the answers added."""
        path, rows = batch
        try:
            return tag_table(
                rows,
                model,
                self.column,
                tasks=self.tasks if len(self.tasks) > 1 else None,
                parts=self.parts or None,
                offsets=self.offsets,
                threshold=self.threshold,
            )
        except DataError as error:
            raise DataError(error.what, expected=error.expected, got=error.got, where=path) from None


@final
@dataclass(slots=True)
class Written:
    """What a job has done."""

    rows: int = 0
    parts: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    """Parts that were there already."""
    redone: list[str] = field(default_factory=list)
    """Parts that were there, but were not what this job wrote: cut, changed, or without a receipt."""


def hash_of(path: str | os.PathLike[str]) -> str:
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ------------------------------------------------------------------------------------------------ jobs


def write_folder(
    files: Iterable[str],
    model: Any,
    job: ColumnJob,
    folder: str | os.PathLike[str],
    *,
    threads: int = 1,
    progress: Progress | None = None,
) -> Written:
    """Tag the files into a folder of parts; those that are there already, as they were written, are kept."""
    check_threads(threads)
    folder, files, written = Path(folder), list(files), Written()
    for path in files:  # mistakes are told before any work
        check_source(path, job)
    _begin(folder, files, job)
    out = needed("pyarrow.fs", "arrow").LocalFileSystem()
    for path in files:
        source = source_of(path, job)
        for number, batches in source.parts():
            part = folder / part_name(path, number)
            target = part.absolute().as_posix()
            if is_done(out, target):
                written.kept.append(part.name)
                continue
            if part.is_symlink() or part.exists():
                part.unlink()
                written.redone.append(part.name)
            with replaced(part) as stream:
                hashed = Hashed(stream)
                written.rows += _write(hashed, batches(), source.schema, model, job, threads, progress)
                give_receipt(out, target, hashed)
            written.parts.append(part.name)
    remove_unfinished(out, folder.absolute().as_posix())
    return written


def write_file(
    files: Iterable[str],
    model: Any,
    job: ColumnJob,
    target: str | os.PathLike[str],
    *,
    threads: int = 1,
    progress: Progress | None = None,
) -> Written:
    """Tag the files into one Parquet file, which appears when all is done. Their columns must be the same."""
    check_threads(threads)
    files, written = list(files), Written()
    schemas = {path: check_source(path, job) for path in files}
    first = schemas[files[0]]
    for path, schema in schemas.items():
        if not schema.equals(first):
            expected = f"those of {files[0]}, or -o FOLDER"
            raise DataError("the columns of the files differ", expected=expected, where=path)
    every_part = (batches for path in files for _, batches in source_of(path, job).parts())
    with replaced(target) as stream:
        rows = (batch for batches in every_part for batch in batches())
        written.rows = _write(stream, rows, first, model, job, threads, progress)
    written.parts.append(Path(target).name)
    return written


SOURCES: dict[str, type[ParquetSource] | type[CSVSource]] = {"parquet": ParquetSource, "csv": CSVSource}


def source_of(path: str, job: ColumnJob) -> ParquetSource | CSVSource:
    return SOURCES[job.input](path, job.encoding)


def check_source(path: str, job: ColumnJob) -> Any:
    """The schema of a file that has the column of texts."""
    return checked_schema(source_of(path, job), job.column)


def part_name(path: str, number: int) -> str:
    """The file of a part: named by the input, with a checksum of its path, and the row group."""
    stem = Path(path).name.partition(".")[0]
    return f"{stem}-{zlib.crc32(os.fsencode(path)):08x}-{number:05d}.parquet"


def _begin(folder: Path, files: list[str], job: ColumnJob) -> None:
    """Make the folder, or find out that it holds parts of the same job, of files that have not changed since."""
    asked = as_stored(job)
    stamps = {path: [Path(path).stat().st_size, Path(path).stat().st_mtime_ns] for path in files}
    if len(stamps) < len(files):
        raise ConfigurationError("files", expected="must be different", got="one of them twice")
    known: dict[str, Any] = {"job": asked, "files": {}}
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError(
            "output", expected="must be a folder, or a file .parquet", got="another file", where=folder
        )
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / JOB).exists():
        known = _known_job(folder)
        check_same_job(known["job"], asked, folder)
        for path, stamp in stamps.items():
            if known["files"].get(path, stamp) != stamp:
                what = "the folder holds parts of a file that has changed since"
                raise ConfigurationError(what, expected="a new folder", got=path, where=folder)
    elif any(folder.iterdir()):
        raise ConfigurationError("output", expected="must be a new folder or one of the same job", where=folder)
    with replaced(folder / JOB) as stream:
        stream.write(json.dumps({"job": asked, "files": known["files"] | stamps}, indent=1).encode())


def _known_job(folder: Path) -> dict[str, Any]:
    try:
        known = parsed_json(read_bytes(folder / JOB, "the description of a job", MOST_JSON_BYTES, unpack=False))
        if isinstance(known, dict) and isinstance(known["job"], dict) and isinstance(known["files"], dict):
            return known
    except (ValueError, KeyError):
        pass
    raise DataError("not the description of a job", expected="what postil tag wrote", where=folder / JOB)


def _write(
    stream: Any,
    batches: Iterable[tuple[str, Any]],
    schema: Any,
    model: Any,
    job: ColumnJob,
    threads: int,
    progress: Progress | None,
) -> int:
    """Tag batches of this schema and write them; returns the number of rows."""
    parquet = needed("pyarrow.parquet", "arrow")
    rows = 0
    tagged = partial(job.tagged, model=model)

    def counted(batch: Any) -> Any:
        nonlocal rows
        rows += batch.num_rows
        if progress is not None:
            progress(batch.num_rows)
        return batch

    empty = job.tagged(("", schema.empty_table()), model)
    with one_blas_thread(), parquet.ParquetWriter(stream, empty.schema) as writer:
        answered = in_order(tagged, batches, threads) if threads > 1 else map(tagged, batches)
        for table in gathered(map(counted, answered), "arrow"):
            writer.write_table(table)
    return rows
