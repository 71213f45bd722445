"""Output of commands for people: lines, tables of scores, labelled text, and command lines quoted for this shell."""

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table as RichTable
from rich.text import Text

from postil.errors import printable
from postil.evaluation import Progress as Report
from postil.html.fragments import dark_palette
from postil.html.highlight import lasting_colours
from postil.metrics.tables import Table, format_cell, is_words
from postil.models.tagger import Tagger
from postil.text import Entity, Sentence


@final
class _Console(Console):
    """If the reader has gone (``postil … | head``), the command's entry decides, not rich: that is not a failure."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def make_console() -> Console:
    """A console for standard output; into a file or a pipe, lines are not cut at a terminal's width."""
    console = _Console(highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = max(console.width, 120)
    return console


def say(*parts: str | Text | tuple[str, str], style: str = "", wrap: bool = False) -> None:
    """Print a line of parts, each perhaps with a style. With ``wrap`` it is filled to the width of the terminal."""
    make_console().print(Text.assemble(*parts, style=style), soft_wrap=not wrap)


def show_table(table: Table, console: Console | None = None) -> None:
    """Print a table with its title and its note. Control characters of labels, whose origin is unknown, are escaped."""
    console = console or make_console()
    drawn = RichTable(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for place, name in enumerate(table.columns):
        justify = "left" if is_words(table, place) or not table.rows else "right"
        drawn.add_column(Text(printable(name)), justify=justify, no_wrap=place == 0, overflow="fold")  # type: ignore[arg-type]
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


# ------------------------------------------------------------------------------------------------ progress


def progress_bar(*columns: ProgressColumn) -> Progress:
    """A bar on standard error that vanishes; nothing if that is not a terminal."""
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


@contextmanager
def training_progress() -> Iterator[Callable[[str], Report]]:
    """A function that begins a bar, given what is done, and returns the function that moves it."""
    columns = (TextColumn("{task.description}"), BarColumn(30), MofNCompleteColumn(), TextColumn("training runs"))
    with progress_bar(*columns, TimeRemainingColumn()) as progress:

        def begin(what: str) -> Report:
            task = progress.add_task(what, total=None)
            return lambda done, total: progress.update(task, completed=done, total=total)

        yield begin


# ------------------------------------------------------------------------------------------------ tagged text


def styles_of(labels: Collection[str]) -> dict[str, str]:
    """The colours that the same labels have on pages, as styles of the terminal."""
    palette = dark_palette()
    return {label: f"#101418 on {palette[colour[4:-1]]}" for label, colour in lasting_colours(labels).items()}


def coloured(text: str, entities: Sequence[Entity]) -> Text:
    """The text with its entities in the colours of their labels, and their probabilities where they have any."""
    shown, done, styles = Text(), 0, styles_of({entity.label for entity in entities})
    for entity in entities:
        style = styles[entity.label]
        shown.append(printable(text[done : entity.start]))
        shown.append(f" {printable(entity.text)} ", style=style)
        figure = "" if entity.probability is None else f" {entity.probability:.2f}"
        shown.append(f"{printable(entity.label)}{figure} ", style=f"{style} bold")
        done = entity.end
    return shown.append(printable(text[done:]))


def show_tagged(console: Console, layers: Mapping[str, Tagger], sentences: Iterable[Sentence]) -> None:
    """Print each text with its entities in colour, for each layer; but the first only layers that have some."""
    width = max(len(name) + 2 for name in layers) if len(layers) > 1 else 0
    for text, of_text in by_text(sentences):
        for number, (name, tagger) in enumerate(layers.items()):
            entities = [entity for found in tagger.annotate(of_text) for entity in found]
            if entities or not number:
                shown = coloured(text.strip("\n"), entities)
                console.print(Text.assemble((name.ljust(width), "dim"), shown), soft_wrap=True)


def by_text(sentences: Iterable[Sentence], most: int | None = None) -> Iterator[tuple[str, list[Sentence]]]:
    """Each text with its sentences. Sentences without one, perhaps very many, come ``most`` at a time."""
    group: list[Sentence] = []
    for sentence in sentences:
        if group and (group[0].text is not sentence.text or (sentence.text is None and len(group) == most)):
            yield group[0].text or "", group
            group = []
        group.append(sentence)
    if group:
        yield group[0].text or "", group
