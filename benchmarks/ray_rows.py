"""Tagging Parquet files with Ray on this machine: seconds by rows and workers, beside one process without Ray.

    python -m benchmarks.ray_rows MODEL TEXTS.parquet [--rows 50000 200000] [--workers 1 2] [--column text]

The rows of TEXTS are repeated up to each number. Seconds are by the clock, without the start of Ray, told apart;
they say little while others use the machine. CPU seconds are those of the workers, their start included, or of the one
process. The answers of every run are compared with those of one process.
"""

import argparse
import contextlib
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import postil
from benchmarks.measuring import Outcome, parser, report


def main() -> int:
    options = parser(__doc__)
    options.add_argument("model", type=Path)
    options.add_argument("texts", type=Path)
    options.add_argument("--rows", type=int, nargs="+", default=[50_000, 200_000])
    options.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    options.add_argument("--column", default="text")
    options.add_argument("--group", type=int, default=10_000, help="rows of a row group, and at least of a part")
    return report(outcome(options.parse_args()))


def outcome(arguments: argparse.Namespace) -> Outcome:
    import ray

    began = time.perf_counter()
    quiet = {"logging_level": "ERROR", "log_to_driver": False}
    ray.init(num_cpus=max(arguments.workers), include_dashboard=False, object_store_memory=200e6, **quiet)
    ray.data.DataContext.get_current().enable_progress_bars = False
    start = time.perf_counter() - began
    table, same = [], True
    with tempfile.TemporaryDirectory() as folder:
        for rows in arguments.rows:
            source = _repeated(arguments, rows, Path(folder) / f"{rows}.parquet")
            seconds, spent, expected = _alone(arguments, source)
            table.append(_row("one process", rows, seconds, spent))
            for workers in arguments.workers:
                target = Path(folder) / f"{rows}-{workers}"
                cpu: dict[int, float] = {}
                now = time.perf_counter()
                postil.ray.tag_files(
                    source,
                    arguments.model,
                    target,
                    arguments.column,
                    workers=workers,
                    part_rows=arguments.group,
                    progress=lambda *_, cpu=cpu: cpu.update(_workers()),
                )
                table.append(_row(f"Ray, workers: {workers}", rows, time.perf_counter() - now, sum(cpu.values())))
                same &= _entities(target).equals(expected)
    ray.shutdown()
    print(f"Ray started in {start:.1f} s")
    return Outcome(
        name="ray_rows",
        compared="tagging a column of Parquet with Ray, by rows and workers",
        rows=table,
        goal="the answers of one process",
        passed=same,
    )


def _row(what: str, rows: int, seconds: float, cpu: float) -> dict[str, Any]:
    return {"how": what, "rows": rows, "seconds": seconds, "CPU seconds": cpu, "rows per CPU second": rows / cpu}


def _workers() -> dict[int, float]:
    """The CPU seconds of every worker so far."""
    import psutil

    found = {}
    for process in psutil.process_iter(["cmdline"]):
        if "_TagParts" in " ".join(process.info["cmdline"] or ()):
            with contextlib.suppress(psutil.Error):
                times = process.cpu_times()
                found[process.pid] = times.user + times.system
    return found


def _repeated(arguments: argparse.Namespace, rows: int, path: Path) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    texts = parquet.read_table(arguments.texts, columns=[arguments.column])
    whole = pa.concat_tables([texts] * -(-rows // texts.num_rows)).slice(0, rows)
    parquet.write_table(whole, path, row_group_size=arguments.group)
    return path


def _alone(arguments: argparse.Namespace, source: Path) -> tuple[float, float, Any]:
    """Read, tag and write in this process."""
    import pyarrow.parquet as parquet

    now, spent = time.perf_counter(), time.process_time()
    tagged = postil.arrow.tag_table(parquet.read_table(source), arguments.model, arguments.column)
    parquet.write_table(tagged, source.with_suffix(".alone"))
    seconds, spent = time.perf_counter() - now, time.process_time() - spent
    return seconds, spent, parquet.read_table(source.with_suffix(".alone"))["entities"]


def _entities(folder: Path) -> Any:
    import pyarrow.parquet as parquet

    return parquet.read_table(folder)["entities"]


if __name__ == "__main__":
    sys.exit(main())
