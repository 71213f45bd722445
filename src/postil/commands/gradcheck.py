"""``postil gradcheck``: every gradient of the package, or of one model, against central differences."""

import argparse
import json
import sys
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from postil import archive
from postil.gradcheck import TOLERANCE, Entry, Report
from postil.gradcheck.checks import GradientCheck
from postil.models.gradients import gradient_checks

DESCRIPTION = """\
Compare every gradient in Postil with central differences in float64.

Each row is one layer, objective or network: the number of values compared, the number skipped because the interval
crosses a kink, and the largest relative error. The exit code is 1 if any error exceeds the tolerance.
With a MODEL, its checksums are verified and the gradient of its loss is checked at each of its parameters, on generated
sentences or trees with random labels.

examples:
  postil gradcheck
  postil gradcheck --json > gradients.json
  postil gradcheck ner.postil
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", nargs="?", help="model file (default: everything in the package)")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def run(arguments: argparse.Namespace) -> int:
    if arguments.model is not None:
        return _check_model(arguments)
    outcomes = list(_outcomes(quiet=arguments.json))
    passed = all(report.passed for _, report in outcomes)
    if arguments.json:
        print(json.dumps({"checks": [_as_json(*outcome) for outcome in outcomes], "passed": passed}, indent=2))
    else:
        print_table(outcomes)
    return 0 if passed else 1


def _check_model(arguments: argparse.Namespace) -> int:
    from postil.commands.models import open_model
    from postil.models.laboratory import examine_parts

    model = open_model(arguments.model, for_training=True)
    archive.check(arguments.model)  # the whole file: loading skips large arrays
    report = examine_parts(model.model, np.random.default_rng(7))
    if arguments.json:
        entries = [_entry_as_json(entry, report.tolerance) for entry in report.entries]
        print(json.dumps({"model": arguments.model, "checks": entries, "passed": report.passed}, indent=2))
    else:
        print(report.table())
        for failure in report.failures:
            print(f"postil gradcheck: {failure}", file=sys.stderr)
    return 0 if report.passed else 1


def _entry_as_json(entry: Entry, tolerance: float) -> dict[str, Any]:
    return {
        "name": entry.name,
        "shape": list(entry.shape),
        "values_checked": entry.checked,
        "left_out": entry.left_out,
        "worst_error": entry.worst_error,
        "passed": entry.failure(tolerance) is None,
    }


def _outcomes(quiet: bool) -> list[tuple[GradientCheck, Report]]:
    if quiet:
        return [(check, check.run()) for check in gradient_checks()]
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    checks = track(gradient_checks(), description="checking gradients", console=console, transient=True)
    return [(check, check.run()) for check in checks]


def _as_json(check: GradientCheck, report: Report) -> dict[str, Any]:
    return {
        "name": check.name,
        "equations": list(check.equations),
        "values_checked": report.checked,
        "left_out": report.left_out,
        "worst_error": report.worst_error,
        "passed": report.passed,
    }


# ------------------------------------------------------------------------------------------------ on a terminal


def print_table(outcomes: list[tuple[GradientCheck, Report]]) -> None:
    """Print a row per check, and the failures on standard error."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("gradient")
    table.add_column("equations", style="dim")
    for title in ("values checked", "left out", "worst error"):
        table.add_column(title, justify="right")
    table.add_column("")
    for check, report in outcomes:
        verdict = "[green]ok[/]" if report.passed else "[bold red]WRONG[/]"
        counts = (f"{report.checked:,}", str(report.left_out), f"{report.worst_error:.1e}")
        table.add_row(check.name, " ".join(check.equations), *counts, verdict)
    console = Console()
    console.print(table)
    failures = [failure for _, report in outcomes for failure in report.failures]
    worst = max(report.worst_error for _, report in outcomes)
    console.print(
        f"\n{len(outcomes)} checks, {len(failures)} failures, worst error {worst:.1e} (at most {TOLERANCE:.0e})"
    )
    for failure in failures:
        print(f"postil gradcheck: {failure}", file=sys.stderr)
