"""A column of texts by `postil.arrow.tag` beside `tagger.tag` in a loop and `predict` on ready tokens, in one run.

    python -m benchmarks.columns MODEL TEXT [--megabytes 4] [--repeats 3]
    python -m benchmarks.columns MODEL TEXT --rows 100000 300000 1000000 --threads 2   time and peak memory of a job

TEXT is plain text, a row per line. One core, CPU time; the ways take turns and the best run of each counts. With
--rows, `postil tag` runs on a Parquet file of each size in a process of its own: its memory must not grow with them.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

import postil
from benchmarks.measuring import Outcome, interleaved, parser, report
from benchmarks.text_path import sentences_of
from postil import kernels
from postil.models.tagger import Tagger

GOAL = 0.45  # of the rate of predict, as for JSON Lines with probabilities
MOST_GROWTH = 1.25
_PEAK = """
import json, resource, sys
from postil.commands.main import main
code = main(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([code, used.ru_maxrss / 1024, used.ru_utime + used.ru_stime]))
"""


def main() -> int:
    options = parser(__doc__)
    options.add_argument("model", type=Path)
    options.add_argument("text", type=Path, help="plain text, a row per line")
    options.add_argument("--megabytes", type=float, default=4.0)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--rows", type=int, nargs="+", help="measure jobs with these numbers of rows instead")
    options.add_argument("--threads", type=int, default=1, help="of the job")
    arguments = options.parse_args()
    with arguments.text.open("rb") as file:
        content = file.read(int(arguments.megabytes * 1e6)) + file.readline()
    lines = content.decode(errors="replace").split("\n")
    if arguments.rows:
        return report(memory(arguments.model, lines, arguments.rows, arguments.threads))
    return report(speed(arguments.model, lines, arguments.repeats))


def speed(model: Path, lines: list[str], repeats: int) -> Outcome:
    tagger: Tagger = postil.load(model)
    X, column = sentences_of("\n".join(lines).encode()), pa.array(lines)
    N = sum(map(len, X))
    ways: dict[str, Callable[[], object]] = {
        "predict, ready tokens": lambda: tagger.predict(X),
        "arrow.tag": lambda: postil.arrow.tag(column, tagger),
        "arrow.tag, tokens and sentences too": lambda: postil.arrow.tag(
            column, tagger, parts=["entities", "tokens", "sentences"]
        ),
        "arrow.tag, threads=2": lambda: postil.arrow.tag(column, tagger, threads=2),
        "tagger.tag in a loop": lambda: [tagger.tag(line).entities for line in lines],
    }
    best = {name: min(values) for name, values in interleaved(ways, repeats).items()}
    ready = best["predict, ready tokens"]
    rows = [
        {
            "what": name,
            "rows/s": round(len(lines) / value),
            "tokens/s": round(N / value),
            "rate beside predict": ready / value,
        }
        for name, value in best.items()
    ]
    return Outcome(
        name="columns",
        compared=f"{len(lines):,} rows, {N:,} tokens, kernels: {kernels.IN_USE}; CPU time over all threads",
        rows=rows,
        goal=f"arrow.tag at least {GOAL} of the rate of predict",
        passed=ready / best["arrow.tag"] >= GOAL,
    )


def memory(model: Path, lines: list[str], rows: list[int], threads: int) -> Outcome:
    """Time and peak memory of jobs of different sizes."""
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        for count in rows:
            source, target = Path(folder) / f"{count}.parquet", Path(folder) / f"{count}"
            _write_rows(source, lines, count)
            words = ["tag", str(model), str(source), "-o", str(target), "--threads", str(threads)]
            begin = time.perf_counter()
            ran = subprocess.run([sys.executable, "-c", _PEAK, *words], capture_output=True, text=True, check=True)
            seconds = time.perf_counter() - begin
            code, megabytes, cpu = json.loads(ran.stdout)
            assert code == 0, ran.stderr
            done = sum(parquet.read_metadata(part).num_rows for part in target.glob("*.parquet"))
            size = source.stat().st_size / 1e6
            measured.append(
                {"rows": count, "MB of Parquet": size, "rows tagged": done, "peak MB": megabytes}
                | {"CPU seconds": cpu, "seconds": seconds}
            )
    growth = measured[-1]["peak MB"] / measured[0]["peak MB"]
    return Outcome(
        name="columns_memory",
        compared=f"postil tag on Parquet, row groups of 100,000 rows, {threads} threads",
        rows=measured,
        goal=f"peak memory of the last at most {MOST_GROWTH} times that of the first",
        passed=growth <= MOST_GROWTH and all(row["rows"] == row["rows tagged"] for row in measured),
    )


def _write_rows(path: Path, lines: list[str], count: int) -> None:
    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])
    with parquet.ParquetWriter(path, schema) as writer:
        for first in range(0, count, 100_000):
            ids = range(first, min(first + 100_000, count))
            texts = [lines[i % len(lines)] for i in ids]
            writer.write_table(pa.table({"id": ids, "text": texts}, schema))


if __name__ == "__main__":
    sys.exit(main())
