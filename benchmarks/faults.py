"""The campaign of faults: kills, signals, full disks, forged, damaged and mutated files, lost workers; with counts.

    python -m benchmarks.faults [--minutes 3] [--seed 0] [--only NAME] [--trial N] [--forgeries N]

Trials of all kinds take turns until the time is over, or with --forgeries until so many files of each kind were forged.
What a trial does follows from the seed, its kind and its number; only the moments at which processes are disturbed
depend on the machine. Exit code 1 if any promise was broken: then the seed and the number repeat the trial (--only NAME
--trial N). SECURITY.md lists the promises.
"""

import argparse
import contextlib
import importlib.util
import io
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import forging
from oracles import faults

if importlib.util.find_spec("uvicorn") is not None:  # the extra serve
    from oracles import server_faults  # noqa: F401 - adds its trials


def campaign(
    names: list[str], minutes: float, seed: int, trial: int | None, folder: Path, wanted: int | None = None
) -> tuple[dict, list[str]]:
    """Counts of every kind of trial, and the violations. The kind that has used the least time is next.

    With ``wanted``, so many forgeries of each kind are tried, however long that takes.
    """
    lab, counts, violations = (
        faults.Laboratory(folder, models=forging.makers()),
        {name: Counter() for name in names},
        [],
    )
    used, numbers = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0 if trial is None else trial)
    ends = time.monotonic() + 60 * minutes
    with display(60 * minutes) as show:
        while True:
            if wanted is not None:
                names = [name for name in names if forgeries_of(counts[name]) < wanted]
                if not names:
                    break
            elif all(used.values()) and (time.monotonic() >= ends or trial is not None):
                break
            name = min(names, key=used.get)
            show(name, numbers[name], len(violations), max(0.0, ends - time.monotonic()))
            began = time.monotonic()
            try:
                with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                    counts[name] += faults.run(lab, name, seed, numbers[name])
            except faults.Violation as violation:
                violations.append(str(violation))
                counts[name]["forgeries of trials that failed"] += lab.forgeries * (name in faults.FORGING)
            counts[name]["trials"] += 1
            numbers[name] += 1
            used[name] += time.monotonic() - began
    return counts, violations


def forgeries_of(counts: Counter) -> int:
    return sum(number for what, number in counts.items() if what.startswith("forgeries "))


@contextlib.contextmanager
def display(seconds: float):
    """A bar on standard error while it runs."""
    columns = (TextColumn("{task.description}"), BarColumn(30), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=seconds)

        def show(name: str, number: int, violations: int, left: float) -> None:
            text = f"{name}, trial {number}" + (f", [red]{violations} violations[/]" if violations else "")
            progress.update(task, description=f"{text:<45}", completed=seconds - left)

        yield show


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--minutes", type=float, default=3.0, help="how long (default: 3); every kind runs at least once"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", metavar="NAME", choices=list(faults.TRIALS), help="only this kind of trial")
    parser.add_argument("--trial", type=int, metavar="N", help="only this trial of each kind")
    parser.add_argument(
        "--forgeries", type=int, metavar="N", help="try so many forgeries of each kind, and nothing else"
    )
    arguments = parser.parse_args()
    names = (
        [arguments.only] if arguments.only else list(faults.TRIALS if arguments.forgeries is None else faults.FORGING)
    )
    if arguments.forgeries is not None and arguments.only not in (None, *faults.FORGING):
        parser.error(f"--forgeries needs one of: {', '.join(faults.FORGING)}")
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        counts, violations = campaign(
            names, arguments.minutes, arguments.seed, arguments.trial, Path(folder), arguments.forgeries
        )
    for name, of_kind in counts.items():
        others = ", ".join(
            f"{number:,} {what}" for what, number in sorted(of_kind.items()) if what != "trials" and number
        )
        print(f"{name}: {of_kind['trials']} trials; {others}")
    for line in violations:
        print(f"VIOLATION {line}")
    print(f"{sum(of_kind['trials'] for of_kind in counts.values()):,} trials, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
