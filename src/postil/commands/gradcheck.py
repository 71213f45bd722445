"""``postil gradcheck``: every gradient of the package, or of one model, against central differences."""

import argparse
import sys
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

from postil import archive
from postil.commands.console import show_table
from postil.commands.output import present
from postil.commands.parser import JSON, option
from postil.gradcheck import TOLERANCE, Entry, Report
from postil.metrics.tables import Cell, Table
from postil.models.gradients import gradient_checks

DESCRIPTION = """\
Compare every gradient in Postil with central differences in float64.

Each row is one layer, objective or network: the number of values compared, the number skipped because the interval
crosses a kink, and the largest relative error. The exit code is 1 if any error exceeds the tolerance.
With a MODEL, its checksums are verified and the gradient of its loss is checked at each of its parameters, on generated
sentences or trees with random labels.

  postil gradcheck
  postil gradcheck --json > gradients.json
  postil gradcheck ner.postil
"""
OPTIONS = {"": [option("MODEL", "model file (default: everything in the package)", nargs="?"), JSON]}


def run(arguments: argparse.Namespace) -> int:
    if arguments.model is not None:
        return _check_model(arguments)
    checks: Any = gradient_checks()
    if not arguments.json:
        checks = track(checks, description="checking gradients", console=Console(stderr=True), transient=True)
    reports = [(check, check.run()) for check in checks]
    rows = [
        {"name": check.name, "equations": list(check.equations), **_figures(report), "passed": report.passed}
        for check, report in reports
    ]
    failures = [failure for _, report in reports for failure in report.failures]

    def show() -> None:
        lines: list[tuple[Cell, ...]] = [
            (
                *(check.name, " ".join(check.equations), report.checked, report.left_out),
                *(f"{report.worst_error:.1e}", "ok" if report.passed else "WRONG"),
            )
            for check, report in reports
        ]
        show_table(Table("Gradients", ("gradient", "equations", "values checked", "skipped", "worst error", ""), lines))
        worst = f"{max(report.worst_error for _, report in reports):.1e} (at most {TOLERANCE:.0e})"
        print(f"\n{len(reports)} checks, {len(failures)} failures, worst error {worst}")
        for failure in failures:
            print(f"postil gradcheck: {failure}", file=sys.stderr)

    passed = all(report.passed for _, report in reports)
    present(arguments, {"checks": rows, "passed": passed}, show)
    return 0 if passed else 1


def _check_model(arguments: argparse.Namespace) -> int:
    from postil.commands.models import open_model
    from postil.models.laboratory import examine_parts

    model = open_model(arguments.model, for_training=True)
    archive.check(arguments.model)  # the whole file: loading skips large arrays
    report = examine_parts(model.model, np.random.default_rng(7))
    entries = [
        {
            "name": entry.name,
            "shape": list(entry.shape),
            **_figures(entry),
            "passed": entry.failure(report.tolerance) is None,
        }
        for entry in report.entries
    ]

    def show() -> None:
        print(report)
        for failure in report.failures:
            print(f"postil gradcheck: {failure}", file=sys.stderr)

    present(arguments, {"model": arguments.model, "checks": entries, "passed": report.passed}, show)
    return 0 if report.passed else 1


def _figures(report: Report | Entry) -> dict[str, Any]:
    return {"values_checked": report.checked, "left_out": report.left_out, "worst_error": report.worst_error}
