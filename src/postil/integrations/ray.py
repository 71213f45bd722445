"""Tagging on many machines with Ray Data: every worker process holds one memory-mapped model.

The model travels as the path and SHA-256 of its file, or once through Ray's object store; it is never pickled.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, final

import numpy as np

from postil.errors import ConfigurationError, DataError, ModelFileError, PostilError
from postil.extras import needed
from postil.files import replaced
from postil.integrations.arrow import asked_parts, checked_units, model_of
from postil.integrations.column_files import (
    ParquetSource,
    TableJob,
    TaggedFiles,
    check_text_column,
    hash_of,
    is_done,
    remove_unfinished,
    write_beside,
    write_tables,
)
from postil.models.decoding.posteriors import Threshold
from postil.models.storage import load, to_bytes
from postil.threads import one_blas_thread

__all__ = ["TaggedFiles", "tag_dataset", "tag_files"]

_BATCH_ROWS = 1024

# ------------------------------------------------------------------------------------------------ parts of a job

_WAITING = 16  # footers that are fetched at the same time: on object stores each costs a round trip


@final
@dataclass(frozen=True, kw_only=True)
class TablePart:
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
    fs, found = needed("pyarrow.fs", "ray"), dict[str, None]()
    systems = [located(path) for path in paths]
    for path, (system, inside) in zip(paths, systems, strict=True):
        if not system.equals(systems[0][0]):
            raise ConfigurationError("files", expected="all on one file system", got=f"{paths[0]} and {path}")
        pieces, matching = inside.split("/"), []
        plain = next((i for i, piece in enumerate(pieces) if set("*?[") & set(piece)), len(pieces))
        top = "/".join(pieces[:plain]) or "/"
        kind = system.get_file_info(top).type
        if kind == fs.FileType.File and plain == len(pieces):
            matching.append(inside)
        elif kind == fs.FileType.Directory:
            every = system.get_file_info(fs.FileSelector(top, recursive=True))
            for one in sorted(one.path for one in every if one.type == fs.FileType.File):
                below = one.split("/")
                is_wanted = plain == len(pieces) and one.endswith(".parquet")
                is_wanted |= len(below) == len(pieces) and all(map(fnmatchcase, below, pieces))
                if is_wanted and not any(piece.startswith(("_", ".")) for piece in below[plain:]):
                    matching.append(one)
        if not matching:
            raise DataError("no such Parquet file", got=repr(path))
        found |= dict.fromkeys(matching)
    return systems[0][0], list(found)


def missing_parts(
    job: TableJob, system: Any, files: Sequence[str], out: Any, folder: str
) -> tuple[list[TablePart], int]:
    """The parts that the folder lacks, and the number of all parts; the folder is made and marked as this job's."""
    with ThreadPoolExecutor(_WAITING) as pool:
        groups = dict(zip(files, pool.map(lambda path: _row_groups(system, path, job), files), strict=True))
    known = job.claim(out, folder, groups)
    parts = [
        TablePart(source=path, first=first, end=end, target=f"{folder}/part-{known.index(path):05}-{first:05}.parquet")
        for path in files
        for first, end in _cuts(groups[path], job.part_rows)
    ]
    with ThreadPoolExecutor(_WAITING) as pool:
        done = list(pool.map(lambda part: is_done(out, part.target), parts))
    return [part for part, is_there in zip(parts, done, strict=True) if not is_there], len(parts)


def _row_groups(system: Any, path: str, job: TableJob) -> list[int]:
    """The number of rows of each row group, once the columns are known to be right."""
    source = ParquetSource(path, system=system)
    check_text_column(source.schema, job.column, path)
    return source.rows


def _cuts(rows: Sequence[int], least: int) -> Iterator[tuple[int, int]]:
    """Runs ``first:end`` of row groups with at least this many rows; the last may have fewer."""
    first, held = 0, 0
    for i, number in enumerate(rows):
        held += number
        if held >= least:
            yield first, i + 1
            first, held = i + 1, 0
    if held:
        yield first, len(rows)


def write_part(part: TablePart, system: Any, out: Any, tagged: Callable[[Any], Any]) -> int:
    """Read the row groups of a part, write them as ``tagged`` returns each table, and return the number of rows."""
    source = ParquetSource(part.source, system=system)
    schema = tagged(source.schema.empty_table()).schema
    tables = map(tagged, source.batches(part.first, part.end))
    return write_beside(out, part.target, lambda stream: write_tables(stream, schema, tables), receipted=True)


# ------------------------------------------------------------------------------------------------ jobs

_PART_ROWS = 1 << 16
_MOST_BLOCKS = 4096  # Ray keeps a record of each


def tag_dataset(
    ds: Any,
    model: Any,
    column: str = "text",
    *,
    tasks: Iterable[str] | None = None,
    parts: str | Iterable[str] | None = None,
    offsets: str = "characters",
    threshold: Threshold = None,
    workers: int | tuple[int, int] | None = None,
    batch_size: int = _BATCH_ROWS,
    ship: bool = False,
) -> Any:
    """Return the Ray dataset with a column of entities: ``list<struct<start, end, label, probability>>``.

    They are those of `postil.arrow.tag`. A null text has null for its entities, an empty one an empty list.

    Parameters
    ----------
    ds
        A ``ray.data.Dataset``.
    model, column, tasks, parts, offsets, threshold, ship
        As for `tag_files`.
    workers
        The number of worker processes, or the least and the most; by default 1 to all cores but one, which
        reads and writes.
    batch_size
        Rows that are tagged at once.
    """
    ray = _started_ray()
    travelling, job = _job(ray, model, ship, column, tasks, parts, offsets, threshold)
    least, most = _workers(workers, max(1, _cores(ray) - 1))
    return ds.map_batches(
        _TagBatches,
        fn_constructor_args=(travelling, job),
        batch_format="pyarrow",
        batch_size=batch_size,
        compute=ray.data.ActorPoolStrategy(min_size=least, max_size=most),
        num_cpus=1,
    )


def tag_files(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    model: Any,
    folder: str | os.PathLike[str],
    column: str = "text",
    *,
    tasks: Iterable[str] | None = None,
    parts: str | Iterable[str] | None = None,
    offsets: str = "characters",
    threshold: Threshold = None,
    workers: int | tuple[int, int] | None = None,
    part_rows: int = _PART_ROWS,
    ship: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> TaggedFiles:
    """Tag a column of Parquet files into a folder of Parquet parts; all other columns are kept.

    If a call is interrupted, the same call again writes only the parts that are missing. Files may be added then;
    another model or other options are an error. Sorted by name, the parts are in the order of the input.

    Parameters
    ----------
    paths
        Files, folders or patterns such as ``data/*.parquet``; addresses as Arrow reads them (``s3://…``).
    model
        Path of a model file that every machine can read, or a fitted estimator.
    folder
        Where the parts go: a path that every machine can write, or an address.
    column
        The column of texts.
    tasks
        Multi-task models: those to answer, each in a column of its name; by default all.
    parts
        The answers to add, each as a column: entities, tokens, labels, sentences; see `postil.arrow.tag`.
    offsets
        The unit of offsets: characters, utf16 or bytes.
    threshold
        Drop entities whose probability is lower, for all classes or by class.
    workers
        The number of worker processes, or the least and the most; by default 1 to all cores.
    part_rows
        A part takes further row groups of its file until it has this many rows.
    ship
        Send the content of the model file through Ray's object store, for machines that cannot read the path.
    progress
        Called after each part with the number of parts that exist and of all parts.
    """
    if part_rows < 1:
        raise ConfigurationError("part_rows", expected="at least 1", got=part_rows)
    ray = _started_ray()
    listed = [paths] if isinstance(paths, str | os.PathLike) else paths
    system, files = input_files([os.fspath(path) for path in listed])
    out, inside = located(os.fspath(folder))
    inside = inside.rstrip("/")
    travelling, job = _job(ray, model, ship, column, tasks, parts, offsets, threshold, part_rows)
    missing, number = missing_parts(job, system, files, out, inside)
    least, most = _workers(workers, _cores(ray))
    rows, done_before = 0, number - len(missing)
    if missing:
        most = min(most, len(missing))
        blocks = min(len(missing), _MOST_BLOCKS)
        least = min(least, most)
        done = ray.data.from_items([asdict(part) for part in missing], override_num_blocks=blocks).map_batches(
            _TagParts,
            fn_constructor_args=(travelling, job, system, out),
            batch_format="pyarrow",
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(min_size=least, max_size=most, max_tasks_in_flight_per_actor=2),
            num_cpus=1,
        )
        for count, answer in enumerate(done.iter_rows(), start=1):
            if answer["error"]:
                raise DataError(answer["error"])
            rows += answer["rows"]
            if progress is not None:
                progress(done_before + count, number)
    remove_unfinished(out, inside)
    return TaggedFiles(rows, len(missing), done_before)


# ------------------------------------------------------------------------------------------------ in the workers


@final
class _TagBatches:
    """A worker of a dataset: opens the model once, then tags tables."""

    def __init__(self, model: "_TravellingModel", job: TableJob) -> None:
        self._model, self._job = model.opened(), job

    def __call__(self, table: Any) -> Any:
        with one_blas_thread():
            return self._job.tag(table, self._model)


@final
class _TagParts:
    """A worker of a folder: opens the model once, then reads, tags and writes parts."""

    def __init__(self, model: "_TravellingModel", job: TableJob, system: Any, out: Any) -> None:
        self._tagged, self._system, self._out = _TagBatches(model, job), system, out

    def __call__(self, batch: Any) -> Any:
        """Rows and errors of parts. An error travels as a text: Ray would wrap it in the story of its processes."""
        pa, answers = needed("pyarrow", "ray"), []
        for part in (TablePart(**row) for row in batch.to_pylist()):
            rows, told = 0, ""
            try:
                rows = write_part(part, self._system, self._out, self._tagged)
            except PostilError as error:
                told = str(error) if error.where else f"{part.source}: {error}"
            except (pa.ArrowException, OSError) as error:
                told = f"{part.source} could not be tagged into {part.target}: {error}"
            answers.append({"rows": rows, "error": told})
        return pa.Table.from_pylist(answers, schema=pa.schema([("rows", pa.int64()), ("error", pa.string())]))


# ------------------------------------------------------------------------------------------------ how a model travels


@final
@dataclass(frozen=True)
class _TravellingModel:
    """Where a worker finds the model file, and the hash that it must have."""

    sha256: str
    path: str | None
    content: Any = None
    """Reference to the bytes in Ray's object store; needed if ``path`` is None."""

    def opened(self) -> Any:
        """The model, memory-mapped: workers on one machine share its pages.

        One that was sent is a file of this user on this machine, named by its hash; the first worker writes it.
        """
        if self.path is not None:
            path = Path(self.path)
        else:
            folder = Path(tempfile.gettempdir()) / f"postil-models-{getattr(os, 'getuid', int)()}"
            folder.mkdir(mode=0o700, exist_ok=True)
            path = folder / f"{self.sha256}.postil"
            if not path.is_file() or hash_of(path) != self.sha256:
                with replaced(path) as stream:
                    stream.write(memoryview(needed("ray", "ray").get(self.content)))
        if not path.is_file():
            raise ModelFileError("this worker cannot read the model file; pass ship=True to send it", where=path)
        if (digest := hash_of(path)) != self.sha256:
            raise ModelFileError("another model file than the driver's", expected=self.sha256, got=digest, where=path)
        return load(path)


def _job(
    ray: Any,
    model: Any,
    ship: bool,
    column: str,
    tasks: Iterable[str] | None,
    parts: str | Iterable[str] | None,
    offsets: str,
    threshold: Threshold,
    part_rows: int = _PART_ROWS,
) -> tuple[_TravellingModel, TableJob]:
    """The model and the questions. The model is also opened here, so that mistakes are reported before any work."""
    is_path = isinstance(model, str | os.PathLike)
    if is_path and not Path(model).is_file():
        raise ConfigurationError("no such model file", got=repr(os.fspath(model)))
    opened = model_of(model)
    if is_path and not ship:
        travelling = _TravellingModel(hash_of(model), str(Path(model).absolute()))
    else:
        content = Path(model).read_bytes() if is_path else to_bytes(opened)
        # An array is one buffer of the object store that all workers of a machine map; bytes would be copied for each.
        stored = ray.put(np.frombuffer(content, np.uint8))
        travelling = _TravellingModel(hashlib.sha256(content).hexdigest(), None, stored)
    job = TableJob(
        model=travelling.sha256,
        column=column,
        tasks=() if tasks is None else tuple(opened.by_task(tasks)),
        parts=asked_parts(parts, opened),
        offsets=checked_units(offsets),
        threshold=dict(threshold) if isinstance(threshold, Mapping) else threshold,
        part_rows=part_rows,
    )
    return travelling, job


# ------------------------------------------------------------------------------------------------ Ray itself


def _started_ray() -> Any:
    ray = needed("ray", "ray")
    needed("ray.data", "ray")
    if not ray.is_initialized():
        ray.init(include_dashboard=False, logging_level="ERROR")
    return ray


def _cores(ray: Any) -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def _workers(workers: int | tuple[int, int] | None, most: int) -> tuple[int, int]:
    least, most = (1, most) if workers is None else (workers, workers) if isinstance(workers, int) else workers
    if not 1 <= least <= most:
        raise ConfigurationError("workers", expected="at least 1, or (least, most)", got=workers)
    return least, most
