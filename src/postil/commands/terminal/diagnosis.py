"""What ``postil doctor`` shows on a terminal."""

from rich.console import Console
from rich.text import Text

from postil.commands.terminal.display import make_console, show_table
from postil.curation.checks import CHECKS
from postil.curation.diagnosis import SHOWN, Diagnosis
from postil.errors import printable
from postil.reports.diagnosis import sizes_table


def show(diagnosis: Diagnosis) -> None:
    """Sizes, findings by kind, suspected errors, the forecast."""
    console = make_console()
    show_table(console, sizes_table(diagnosis))
    for kind, number in diagnosis.counts.items():
        _show_findings(console, diagnosis, kind, number)
    if not diagnosis.findings:
        console.print(Text("\nNothing odd was found by looking at the data.", style="green"))
    if diagnosis.suspicions:
        _show_suspicions(console, diagnosis)
    if diagnosis.curve is not None:
        console.print(Text("\nMore data", style="bold cyan"))
        console.print(Text(str(diagnosis.curve)))
    if diagnosis.left_out:
        console.print(Text(f"\n{diagnosis.left_out}", style="dim"))


def _show_findings(console: Console, diagnosis: Diagnosis, kind: str, number: int) -> None:
    check = CHECKS[kind]
    console.print()
    console.print(
        Text.assemble((f"{check.title}: {number:,}", "bold cyan"), (f"   {check.advice}", "dim")), soft_wrap=True
    )
    for finding in [finding for finding in diagnosis.findings if finding.kind == kind][:SHOWN]:
        _line(console, f"{finding.where}: {finding.what}", finding.excerpt)
    if number > SHOWN:
        console.print(Text(f"  … and {number - SHOWN:,} more: --report or --json has all of them", style="dim"))


def _show_suspicions(console: Console, diagnosis: Diagnosis) -> None:
    number = len(diagnosis.suspicions)
    console.print()
    title = f"labels that are probably wrong: {number:,}"
    console.print(Text.assemble((title, "bold cyan"), ("   the most suspicious first", "dim")))
    for one in diagnosis.suspicions[:SHOWN]:
        _line(console, f"{diagnosis.where(one)}: {diagnosis.described(one)}", diagnosis.excerpt(one))
    if number > SHOWN:
        console.print(Text(f"  … and {number - SHOWN:,} more: --review writes them to a file", style="dim"))


def _line(console: Console, line: str, excerpt: str) -> None:
    console.print(Text(f"  {printable(line)}"), soft_wrap=True)
    if excerpt:
        console.print(Text(f"      {printable(excerpt)}", style="dim"), soft_wrap=True)
