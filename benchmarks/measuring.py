"""What the benchmarks share: fair timing, a table on the screen, the same figures in ``benchmarks/results/*.json``."""

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.environments import RESULTS, ROOT


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A benchmark's result: what is compared, one mapping of column -> value per row, and whether the goal is met."""

    name: str
    compared: str
    rows: Sequence[Mapping[str, Any]]
    goal: str
    passed: bool


def interleaved(
    functions: Mapping[str, Callable[[], object]], repeats: int, warm_up: int = 1
) -> dict[str, list[float]]:
    """CPU seconds of every run, over all threads: what other programs take of the machine is not counted.

    The functions take turns, so that a noisy moment of the machine hits all of them.
    """
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for turn in range(warm_up + repeats):
        for name, function in functions.items():
            begin = time.process_time()
            function()
            if turn >= warm_up:
                seconds[name].append(time.process_time() - begin)
    return seconds


def medians(seconds: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {name: median(values) for name, values in seconds.items()}


def parser(description: str | None) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)


def report(outcome: Outcome) -> int:
    """Print the table, write the JSON, and give the exit code: 1 where the goal is missed."""
    console = Console(width=None if sys.stdout.isatty() else 140)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in outcome.rows[0]:
        table.add_column(column, justify="left" if isinstance(outcome.rows[0][column], str) else "right")
    for row in outcome.rows:
        table.add_row(*map(_cell, row.values()))
    console.print(outcome.compared + "\n", highlight=False)
    console.print(table)
    verdict = "[green]reached[/]" if outcome.passed else "[bold red]MISSED[/]"
    console.print(f"\ngoal: {outcome.goal}: {verdict}", highlight=False)
    path = _write(outcome)
    console.print(f"written to {path.relative_to(ROOT)}", style="dim", highlight=False)
    return 0 if outcome.passed else 1


def _write(outcome: Outcome) -> Any:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{outcome.name}.json"
    machine = {"python": platform.python_version(), "numpy": np.__version__, "processor": platform.machine()}
    content = {**vars(outcome), "rows": [dict(row) for row in outcome.rows], "machine": machine}
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "ok" if value else "[bold red]WRONG[/]"
    return f"{value:.3g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
