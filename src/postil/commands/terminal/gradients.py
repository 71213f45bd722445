"""What ``postil check`` shows."""

import sys

from rich.console import Console
from rich.table import Table

from postil.gradcheck import TOLERANCE, Report
from postil.gradients.checks import GradientCheck


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
        print(f"postil check: {failure}", file=sys.stderr)
