"""What commands show: tables of scores, and commands as this shell takes them."""

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import final

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from postil.errors import printable
from postil.metrics.tables import Table, format_cell, is_words

WIDTH_OF_FILES = 120


@final
class _Console(Console):
    """Where the reader went away (``postil … | head``), the command's entry decides, not rich: that is no failure."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def make_console() -> Console:
    """A console for standard output; into a file or a pipe, lines are not cut at a terminal's width."""
    console = _Console(highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = max(console.width, WIDTH_OF_FILES)
    return console


def show_table(console: Console, table: Table) -> None:
    """Print one table with its title above and its note below, and a blank line before it.

    Labels come from files and models of any origin: control characters in them are shown, not sent to the terminal.
    """
    drawn = RichTable(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for place, name in enumerate(table.columns):
        left = is_words(table, place) or not table.rows
        drawn.add_column(
            Text(printable(name)), justify="left" if left else "right", no_wrap=place == 0, overflow="fold"
        )
    for number, row in enumerate(table.rows, start=1):
        is_total = table.has_total and number == len(table.rows)
        drawn.add_row(*(Text(printable(format_cell(cell))) for cell in row), style="bold" if is_total else "")
    console.print()
    console.print(Text(table.title, style="bold cyan"))
    console.print(drawn)
    if table.note:
        console.print(Text(table.note, style="dim"))


def command() -> str:
    """How this shell finds the command: ``make demo`` leaves it in an environment that is not on the path."""
    called = Path(sys.argv[0])
    is_elsewhere = called.name == "postil" and shutil.which("postil") is None
    return quote(os.path.relpath(called)) if is_elsewhere else "postil"


def quote(path: Path | str) -> str:
    """A path as the shell takes it."""
    return shlex.quote(str(path))
