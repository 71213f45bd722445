"""Tagging on many machines with Ray Data: every worker process holds one memory-mapped model.

The model travels as the path and SHA-256 of its file, or once through Ray's object store; it is never pickled.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from postil.errors import ConfigurationError, DataError, ModelFileError, PostilError
from postil.files import replaced
from postil.integrations import parquet_parts
from postil.integrations.arrow import asked_tasks, model_of, tag_table
from postil.integrations.column_answers import Threshold, asked_parts, checked_units
from postil.integrations.column_files import hash_of
from postil.integrations.extras import needed
from postil.integrations.parquet_parts import Job, Part
from postil.integrations.part_folders import remove_unfinished
from postil.models.storage import load, to_bytes
from postil.threads import one_blas_thread

__all__ = ["TaggedFiles", "tag_dataset", "tag_files"]

_BATCH_ROWS = 1024
_PART_ROWS = 1 << 16
_MOST_BLOCKS = 4096  # Ray keeps a record of each


@final
@dataclass(frozen=True)
class TaggedFiles:
    """What a call of `tag_files` did."""

    rows: int
    """Rows tagged by this call."""
    parts: int
    """Parts written by this call."""
    done_before: int
    """Parts that an earlier call had written."""


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
    """The Ray dataset with a column of entities: ``list<struct<start, end, label, probability>>``.

    They are those of `postil.arrow.tag`. A null text has null for its entities, an empty one an empty list.

    Args:
        ds: a ``ray.data.Dataset``.
        model: path of a model file that every machine can read, or a fitted estimator.
        column: the column of texts.
        tasks: models of several tasks: those to answer, each in a column of its name; by default all.
        parts: the answers to add, each as a column: entities, tokens, labels, sentences; see `postil.arrow.tag`.
        offsets: what offsets count: characters, utf16 or bytes.
        threshold: drop entities whose probability is lower, for all classes or by class.
        workers: the number of worker processes, or the least and the most; by default 1 to all cores but one, which
            reads and writes.
        batch_size: rows that are tagged at once.
        ship: send the content of the model file through Ray's object store, for machines that cannot read the path.
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

    Args:
        paths: files, folders or patterns such as ``data/*.parquet``; addresses as Arrow reads them (``s3://…``).
        model: path of a model file that every machine can read, or a fitted estimator.
        folder: where the parts go: a path that every machine can write, or an address.
        column: the column of texts.
        tasks: models of several tasks: those to answer, each in a column of its name; by default all.
        parts: the answers to add, each as a column: entities, tokens, labels, sentences; see `postil.arrow.tag`.
        offsets: what offsets count: characters, utf16 or bytes.
        threshold: drop entities whose probability is lower, for all classes or by class.
        workers: the number of worker processes, or the least and the most; by default 1 to all cores.
        part_rows: a part takes further row groups of its file until it has this many rows.
        ship: send the content of the model file through Ray's object store, for machines that cannot read the path.
        progress: called after each part with the number of parts that exist and of all parts.
    """
    if part_rows < 1:
        raise ConfigurationError("part_rows", expected="at least 1", got=part_rows)
    ray = _started_ray()
    listed = [paths] if isinstance(paths, str | os.PathLike) else paths
    system, files = parquet_parts.input_files([os.fspath(path) for path in listed])
    out, inside = parquet_parts.located(os.fspath(folder))
    inside = inside.rstrip("/")
    travelling, job = _job(ray, model, ship, column, tasks, parts, offsets, threshold, part_rows)
    missing, number = parquet_parts.missing_parts(job, system, files, out, inside)
    rows = _tag_parts(ray, missing, (travelling, job, system, out), workers, number, progress)
    remove_unfinished(out, inside)
    return TaggedFiles(rows, len(missing), number - len(missing))


def _tag_parts(
    ray: Any,
    parts: Sequence[Part],
    of_worker: tuple[Any, ...],
    workers: int | tuple[int, int] | None,
    number: int,
    progress: Callable[[int, int], object] | None,
) -> int:
    """Tag parts on a pool of workers and return the number of their rows."""
    least, most = _workers(workers, _cores(ray))
    if not parts:
        return 0
    most = min(most, len(parts))
    done = ray.data.from_items([asdict(part) for part in parts], override_num_blocks=min(len(parts), _MOST_BLOCKS))
    done = done.map_batches(
        _TagParts,
        fn_constructor_args=of_worker,
        batch_format="pyarrow",
        batch_size=1,
        compute=ray.data.ActorPoolStrategy(min_size=min(least, most), max_size=most, max_tasks_in_flight_per_actor=2),
        num_cpus=1,
    )
    rows = 0
    for count, answer in enumerate(done.iter_rows(), start=1):
        if answer["error"]:
            raise DataError(answer["error"])
        rows += answer["rows"]
        if progress is not None:
            progress(number - len(parts) + count, number)
    return rows


# ------------------------------------------------------------------------------------------------ in the workers


@final
class _TagBatches:
    """A worker of a dataset: opens the model once, then tags tables."""

    def __init__(self, model: "_TravellingModel", job: Job) -> None:
        self._model, self._job = model.opened(), job

    def __call__(self, table: Any) -> Any:
        job = self._job
        with one_blas_thread():
            return tag_table(
                table,
                self._model,
                job.column,
                tasks=job.tasks or None,
                parts=job.parts or None,
                offsets=job.offsets,
                threshold=job.threshold,
            )


@final
class _TagParts:
    """A worker of a folder: opens the model once, then reads, tags and writes parts."""

    def __init__(self, model: "_TravellingModel", job: Job, system: Any, out: Any) -> None:
        self._tagged, self._system, self._out = _TagBatches(model, job), system, out

    def __call__(self, batch: Any) -> Any:
        """Rows and errors of parts. An error travels as a text: Ray would wrap it in the story of its processes."""
        answers = [self._answer(Part(**row)) for row in batch.to_pylist()]
        pa = needed("pyarrow", "ray")
        schema = pa.schema([("rows", pa.int64()), ("error", pa.string())])
        return pa.Table.from_pylist(answers, schema=schema)

    def _answer(self, part: Part) -> dict[str, Any]:
        pa = needed("pyarrow", "ray")
        try:
            return {"rows": parquet_parts.write_part(part, self._system, self._out, self._tagged), "error": ""}
        except PostilError as error:
            return {"rows": 0, "error": f"{part.source}: {error}"}
        except (pa.ArrowException, OSError) as error:
            return {"rows": 0, "error": f"{part.source} could not be tagged into {part.target}: {error}"}


# ------------------------------------------------------------------------------------------------ how a model travels


@final
@dataclass(frozen=True)
class _TravellingModel:
    """Where a worker finds the model file, and the hash that it must have."""

    sha256: str
    path: str | None
    content: Any = None
    """Reference to the bytes in Ray's object store, where there is no path."""

    def opened(self) -> Any:
        """The model, memory-mapped: workers on one machine share its pages."""
        path = Path(self.path) if self.path is not None else self._local_copy()
        if not path.is_file():
            raise ModelFileError("this worker cannot read the model file; pass ship=True to send it", where=path)
        if (digest := hash_of(path)) != self.sha256:
            raise ModelFileError("another model file than the driver's", expected=self.sha256, got=digest, where=path)
        return load(path)

    def _local_copy(self) -> Path:
        """A file of this user on this machine, named by its hash; the first worker writes it."""
        ray = needed("ray", "ray")
        folder = Path(tempfile.gettempdir()) / f"postil-models-{getattr(os, 'getuid', int)()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        path = folder / f"{self.sha256}.postil"
        if not path.is_file() or hash_of(path) != self.sha256:
            with replaced(path) as stream:
                stream.write(memoryview(ray.get(self.content)))
        return path


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
) -> tuple[_TravellingModel, Job]:
    """The model and the questions. The model is opened here, too, so that mistakes are told before any work."""
    is_path = isinstance(model, str | os.PathLike)
    if is_path and not Path(model).is_file():
        raise ConfigurationError("no such model file", got=repr(os.fspath(model)))
    opened = model_of(model)
    if is_path and not ship:
        travelling = _TravellingModel(hash_of(model), str(Path(model).absolute()))
    else:
        travelling = _shipped(ray, Path(model).read_bytes() if is_path else to_bytes(opened))
    job = Job(
        model=travelling.sha256,
        column=column,
        tasks=asked_tasks(tasks, opened),
        parts=asked_parts(parts, opened),
        offsets=checked_units(offsets),
        threshold=dict(threshold) if isinstance(threshold, Mapping) else threshold,
        part_rows=part_rows,
    )
    return travelling, job


def _shipped(ray: Any, content: bytes) -> _TravellingModel:
    # An array is one buffer of the object store that all workers of a machine map; bytes would be copied for each.
    stored = ray.put(np.frombuffer(content, np.uint8))
    return _TravellingModel(hashlib.sha256(content).hexdigest(), None, stored)


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
