"""``postil bench``: how fast this machine trains and tags, and how close that is to the limit."""

import argparse
import json

from postil.commands.terminal.display import make_console, show_table
from postil.machine.measurements import Measured, machine, measurements
from postil.metrics.tables import Table

DESCRIPTION = """\
Measure training and tagging on generated sentences, in less than a minute, and compare with the physical limit: the
matrix products that are needed, at the speed of this machine's BLAS, and the bytes that must move, at the bandwidth of
its memory.

example:
  postil bench --threads 2
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="number of cores for training (default: 1)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the generated sentences (default: 0)")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def run(arguments: argparse.Namespace) -> int:
    console = make_console()
    if not arguments.json:
        console.print(
            " · ".join(f"{name} {value}" for name, value in machine(arguments.threads).items()), soft_wrap=True
        )
    rows = list(measurements(arguments.threads, arguments.seed))
    if arguments.json:
        print(json.dumps({"machine": machine(arguments.threads), "rows": [row._asdict() for row in rows]}, indent=2))
        return 0
    show_table(console, _table(rows, arguments.threads))
    return 0


def _table(rows: list[Measured], threads: int) -> Table:
    cells = [
        (row.what, f"{row.per_second:,.0f} {row.unit}/s", f"{row.microseconds:,.1f}", _percent(row.share))
        for row in rows
    ]
    clock = "CPU time" if threads == 1 else "wall time in training, CPU time in tagging"
    return Table(
        title="Speed on generated sentences",
        columns=("what", "speed", "µs each", "share of limit"),
        rows=cells,
        note=f"{clock}; the limit counts only the necessary matrix products and bytes (docs/internals/speed.md)",
    )


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"
