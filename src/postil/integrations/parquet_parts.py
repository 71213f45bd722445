"""Parquet files in, a folder of Parquet parts out: which parts of a job are missing, and how one is written.

A part holds whole row groups of one input file. Its name follows from the job, so doing one twice changes nothing, and
an interrupted job continues with the parts that are missing or damaged (``part_folders``). ``_postil.json`` in the
folder says which job its parts belong to. Nothing here knows Ray.
"""

import json
import posixpath
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, final

from postil.errors import ConfigurationError, DataError
from postil.integrations.column_answers import Threshold
from postil.integrations.extras import needed
from postil.integrations.part_folders import (
    as_stored,
    check_same_job,
    check_text_column,
    gathered,
    is_done,
    write_beside,
)
from postil.reading import MOST_JSON_BYTES, limit, parsed_json

JOB_FILE = "_postil.json"  # readers of folders skip names that begin with "_" or "."
_BATCH_ROWS = 1024
_WAITING = 16  # footers that are fetched at the same time: on object stores each costs a round trip


@final
@dataclass(frozen=True, kw_only=True)
class Job:
    """What all parts of a folder have in common."""

    model: str
    """SHA-256 of the model file."""
    column: str
    parts: tuple[str, ...]
    """The answers that are added, each as a column. None: of each task the usual one."""
    offsets: str
    threshold: Threshold
    part_rows: int
    """A part takes further row groups until it has this many rows."""
    tasks: tuple[str, ...] = ()
    """Of a model of several tasks: those that are answered, each in a column. None: all."""


@final
@dataclass(frozen=True, kw_only=True)
class Part:
    """Row groups ``first:end`` of a file, and the file that they are tagged into."""

    source: str
    first: int
    end: int
    target: str


def located(path: str) -> tuple[Any, str]:
    """The Arrow file system of a path or address, and the path in it."""
    fs = needed("pyarrow.fs", "ray")
    if "://" not in path:
        return fs.LocalFileSystem(), str(Path(path).absolute())
    try:
        system, inside = fs.FileSystem.from_uri(path)
    except (ValueError, OSError) as error:
        raise ConfigurationError("address of a file", expected="one that Arrow reads", got=f"{path}: {error}") from None
    return system, inside


def input_files(paths: Sequence[str]) -> tuple[Any, list[str]]:
    """The Parquet files that paths, folders and patterns stand for, and the one file system that holds them all."""
    if not paths:
        raise ConfigurationError("files", expected="at least one Parquet file, folder or pattern", got="none")
    found: dict[str, None] = {}
    systems = [located(path) for path in paths]
    for path, (system, inside) in zip(paths, systems, strict=True):
        if not system.equals(systems[0][0]):
            raise ConfigurationError("files", expected="all on one file system", got=f"{paths[0]} and {path}")
        matching = list(_matching(system, inside))
        if not matching:
            raise DataError("no such Parquet file", got=repr(path))
        found |= dict.fromkeys(matching)
    return systems[0][0], list(found)


def _matching(system: Any, path: str) -> Iterator[str]:
    fs = needed("pyarrow.fs", "ray")
    pieces = path.split("/")
    plain = next((i for i, piece in enumerate(pieces) if set("*?[") & set(piece)), len(pieces))
    top = "/".join(pieces[:plain]) or "/"
    kind = system.get_file_info(top).type
    if kind == fs.FileType.File and plain == len(pieces):
        yield path
    elif kind == fs.FileType.Directory:
        for info in sorted(system.get_file_info(fs.FileSelector(top, recursive=True)), key=lambda info: str(info.path)):
            below = info.path.split("/")
            if info.type != fs.FileType.File or any(piece.startswith(("_", ".")) for piece in below[plain:]):
                continue
            whole_folder = plain == len(pieces) and info.path.endswith(".parquet")
            if whole_folder or (len(below) == len(pieces) and all(map(fnmatchcase, below, pieces))):
                yield info.path


def missing_parts(job: Job, system: Any, files: Sequence[str], out: Any, folder: str) -> tuple[list[Part], int]:
    """The parts that the folder lacks, and the number of all parts; the folder is made and marked as this job's."""
    with ThreadPoolExecutor(_WAITING) as pool:
        groups = dict(zip(files, pool.map(lambda path: _row_groups(system, path, job), files), strict=True))
    out.create_dir(folder, recursive=True)
    known = _claimed(job, groups, out, folder)
    parts = [
        Part(source=path, first=first, end=end, target=f"{folder}/part-{known.index(path):05}-{first:05}.parquet")
        for path in files
        for first, end in _cuts(groups[path], job.part_rows)
    ]
    with ThreadPoolExecutor(_WAITING) as pool:
        done = list(pool.map(lambda part: is_done(out, part.target), parts))
    return [part for part, is_there in zip(parts, done, strict=True) if not is_there], len(parts)


def _row_groups(system: Any, path: str, job: Job) -> list[int]:
    """The number of rows of each row group, once the columns are known to be right."""
    pa, parquet = needed("pyarrow", "ray"), needed("pyarrow.parquet", "ray")
    try:
        with system.open_input_file(path) as stream:
            file = parquet.ParquetFile(stream)
            schema, metadata = file.schema_arrow, file.metadata
            rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    except (pa.ArrowException, OSError) as error:
        raise DataError("not a Parquet file that can be read", got=str(error), where=path) from None
    check_text_column(schema, job.column, path)
    return rows


def _cuts(rows: Sequence[int], least: int) -> Iterator[tuple[int, int]]:
    """Runs ``first:end`` of row groups with at least so many rows; the last may have fewer."""
    first, held = 0, 0
    for i, number in enumerate(rows):
        held += number
        if held >= least:
            yield first, i + 1
            first, held = i + 1, 0
    if held:
        yield first, len(rows)


def _claimed(job: Job, groups: dict[str, list[int]], out: Any, folder: str) -> list[str]:
    """Every input file of the folder so far, in the order of their numbers; files may join, but not change."""
    path = f"{folder}/{JOB_FILE}"
    told: dict[str, Any] = {**as_stored(job), "files": {}}
    if out.get_file_info(path).is_file:
        told = _told(out, path)
        check_same_job(told, as_stored(job), folder)
        changed = [name for name in groups if told["files"].get(name, groups[name]) != groups[name]]
        if changed:
            raise DataError("the file has changed since the folder was begun", where=changed[0])
    elif any(True for _ in _parquet_names(out, folder)):
        raise ConfigurationError("folder", expected="an empty one, or one that a job like this began", got=folder)
    if not set(groups) <= set(told["files"]):
        told["files"] = {**told["files"], **groups}
        write_beside(out, path, lambda stream: stream.write(json.dumps(told).encode()))
    return list(told["files"])


def _told(out: Any, path: str) -> dict[str, Any]:
    """The description of the job of a folder, checked."""
    with out.open_input_stream(path) as stream:
        content = bytes(stream.read(limit(MOST_JSON_BYTES)))
    try:
        told = parsed_json(content)
        files = told["files"]
        if all(isinstance(rows, list) and all(type(n) is int and n >= 0 for n in rows) for rows in files.values()):
            return dict(told)
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise DataError("not the description of a job", expected="what postil tag wrote", where=path)


def _parquet_names(out: Any, folder: str) -> Iterator[str]:
    fs = needed("pyarrow.fs", "ray")
    found = (posixpath.basename(info.path) for info in out.get_file_info(fs.FileSelector(folder)))
    return (name for name in found if name.endswith(".parquet"))


def write_part(part: Part, system: Any, out: Any, tagged: Callable[[Any], Any]) -> int:
    """Read the row groups of a part, write them as ``tagged`` returns each table, and return the number of rows."""
    pa, parquet = needed("pyarrow", "ray"), needed("pyarrow.parquet", "ray")
    rows = 0

    def fill(stream: Any) -> None:
        nonlocal rows
        with system.open_input_file(part.source) as source:
            writer = None
            groups = list(range(part.first, part.end))
            batches = parquet.ParquetFile(source).iter_batches(_BATCH_ROWS, row_groups=groups)
            for table in gathered((tagged(pa.Table.from_batches([batch])) for batch in batches), "ray"):
                writer = writer or parquet.ParquetWriter(stream, table.schema)
                writer.write_table(table)
                rows += table.num_rows
            if writer is not None:
                writer.close()

    write_beside(out, part.target, fill, receipted=True)
    return rows
