"""``postil gradcheck``: every gradient of the package, or of one model, against central differences."""

import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

from postil import archive
from postil.commands.console import show_table
from postil.commands.output import present
from postil.commands.parser import JSON, option
from postil.gradcheck import TOLERANCE, Entry, GradientReport
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


def run(arguments: Namespace) -> int:
    if arguments.model is not None:
        return _check_model(arguments)
    checks: Any = gradient_checks()
    if not arguments.json:
        checks = track(checks, description="checking gradients", console=Console(stderr=True), transient=True)
    reports = [(check, check.run()) for check in checks]
    passed = all(report.passed for _, report in reports)
    failures = [failure for _, report in reports for failure in report.failures]
    rows: list[dict[str, Any]] = []
    lines: list[tuple[Cell, ...]] = []
    for check, report in reports:
        rows.append({"name": check.name, "equations": list(check.equations), **_figures(report, report.passed)})
        figures = report.checked, report.left_out, f"{report.worst_error:.1e}", "ok" if report.passed else "WRONG"
        lines.append((check.name, " ".join(check.equations), *figures))

    def show() -> None:
        show_table(Table("Gradients", ("gradient", "equations", "values checked", "skipped", "worst error", ""), lines))
        worst = f"{max(report.worst_error for _, report in reports):.1e} (at most {TOLERANCE:.0e})"
        print(f"\n{len(reports)} checks, {len(failures)} failures, worst error {worst}")

    return _told(arguments, {"checks": rows, "passed": passed}, show, failures)


def _check_model(arguments: Namespace) -> int:
    from postil.commands.models import open_model
    from postil.models.laboratory import examine_parts

    model = open_model(arguments.model, for_training=True)
    archive.check(arguments.model)  # the whole file: loading skips large arrays
    report = examine_parts(model.model, np.random.default_rng(7))
    entries = [
        {"name": entry.name, "shape": list(entry.shape), **_figures(entry, entry.failure(report.tolerance) is None)}
        for entry in report.entries
    ]
    content = {"model": arguments.model, "checks": entries, "passed": report.passed}
    return _told(arguments, content, lambda: print(report), report.failures)


def _told(arguments: Namespace, content: dict[str, Any], show: Callable[[], None], failures: Sequence[str]) -> int:
    def show_all() -> None:
        show()
        for failure in failures:
            print(f"postil gradcheck: {failure}", file=sys.stderr)

    present(arguments, content, show_all)
    return 0 if content["passed"] else 1


def _figures(report: GradientReport | Entry, passed: bool) -> dict[str, Any]:
    checked = {"values_checked": report.checked, "left_out": report.left_out, "worst_error": report.worst_error}
    return {**checked, "passed": passed}
