"""File to file: `postil tag MODEL FILE` with one and with two threads, start and loading included.

    python -m benchmarks.bulk MODEL FILE [--repeat 3] [--pipe-gigabytes 1]

Wall and CPU seconds of the best of several runs (they take turns), the most memory of any process, and whether all
outputs are the same to the last byte. The file is of any format; millions of tokens show the speed, less the start.
With --pipe-gigabytes the file is also repeated through a pipe, once with two threads: memory must stay flat, that of
the process and its workers together, looked at twice a second (Linux only).
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measuring import Outcome, parser, report
from postil.text.formats import read

GOAL = 1_000_000  # tokens/s on two cores
FLAT = 1.1  # most memory of a long pipe, beside what it was at most in the first fifth
LOOK = 0.5  # seconds
THREADS = (1, 2)


class Run(NamedTuple):
    wall: float
    cpu: float
    """Of the process and its workers."""
    megabytes: float
    """Most memory of one process."""
    digest: str = ""
    """Of the output."""


def main() -> int:
    options = parser(__doc__)
    options.add_argument("model", type=Path)
    options.add_argument("data", type=Path, help="a file of sentences")
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--pipe-gigabytes", type=float, default=0.0, metavar="G")
    arguments = options.parse_args()
    return report(outcome(arguments.model, arguments.data, arguments.repeat, arguments.pipe_gigabytes))


def outcome(model: Path, data: Path, repeats: int, gigabytes: float) -> Outcome:
    tokens = sum(map(len, read(data)))
    runs: dict[int, list[Run]] = {threads: [] for threads in THREADS}
    for _ in range(repeats):
        for threads in THREADS:
            runs[threads].append(tagging(model, threads, data))
    rows = [_row(f"{threads} threads", _best(found), tokens) for threads, found in runs.items()]
    same = len({run.digest for found in runs.values() for run in found}) == 1
    flat, told = True, ""
    if gigabytes:
        times = max(1, round(gigabytes * 1e9 / data.stat().st_size))
        piped, memory = piping(model, 2, data.read_bytes(), times)
        rows.append(_row(f"{gigabytes:g} GB through a pipe, 2 threads", piped, tokens * times))
        told = f"; MB of all processes in each tenth of the pipe: {', '.join(map(str, memory))}"
        flat = max(memory) <= FLAT * max(memory[:2])
    speed = tokens / _best(runs[2]).wall
    return Outcome(
        name="bulk",
        compared=f"{tokens:,} tokens; outputs are {'equal' if same else 'NOT EQUAL'}{told}",
        rows=rows,
        goal=f"{GOAL:,} tokens/s with 2 threads, equal outputs, flat memory",
        passed=same and flat and speed >= GOAL,
    )


def tagging(model: Path, threads: int, data: Path) -> Run:
    """One run of the command from file to file."""
    with tempfile.TemporaryFile() as target:
        began = time.perf_counter()
        process = subprocess.Popen([*_command(model, threads), str(data)], stdout=target)
        run = _finished(process, began)
        target.seek(0)
        return run._replace(digest=hashlib.file_digest(target, "blake2b").hexdigest())


def piping(model: Path, threads: int, content: bytes, times: int) -> tuple[Run, list[int]]:
    """One run of the command from a pipe, fed by this process, to nowhere; and its memory in tenths of the time, MB."""
    began = time.perf_counter()
    process = subprocess.Popen(_command(model, threads), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert process.stdin is not None
    ended, seen = threading.Event(), list[int]()
    watching = threading.Thread(target=_watch, args=(process.pid, ended, seen))
    watching.start()
    for _ in range(times):
        process.stdin.write(content)
    process.stdin.close()
    run = _finished(process, began)
    ended.set()
    watching.join()
    tenth = max(1, len(seen) // 10)
    return run, [max(seen[first : first + tenth]) for first in range(0, len(seen), tenth)][:10] or [0]


def _watch(process: int, ended: threading.Event, seen: list[int]) -> None:
    """Add the resident megabytes of a process and its children to ``seen``, again and again."""
    while not ended.wait(LOOK):
        try:
            children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
            seen.append(sum(map(_resident, [str(process), *children])))
        except OSError:  # one of them has just ended
            continue


def _resident(process: str) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0] if "VmRSS:" in status else 0) // 1024


def _command(model: Path, threads: int) -> list[str]:
    return [sys.executable, "-m", "postil", "tag", "--threads", str(threads), str(model)]


def _finished(process: subprocess.Popen[bytes], began: float) -> Run:
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"exit code {process.returncode}: {process.args!r}")
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def _best(runs: list[Run]) -> Run:
    return min(runs, key=lambda run: run.wall)


def _row(what: str, run: Run, tokens: int) -> dict[str, Any]:
    return {
        "what": what,
        "tokens/s": round(tokens / run.wall),
        "wall s": run.wall,
        "CPU s": run.cpu,
        "CPU us a token": run.cpu / tokens * 1e6,
        "MB, largest process": round(run.megabytes),
    }


if __name__ == "__main__":
    sys.exit(main())
