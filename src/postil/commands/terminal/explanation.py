"""Explanations on the terminal: green supports the label, red opposes it, as do signs and bars."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from postil.commands.terminal.display import make_console
from postil.models.explaining.explanation import Explanation

FOR, AGAINST = "green", "red"
BAR = 16  # characters of the longest bar
MOST_WORDS = 8  # of longer sentences only the words that matter are listed
SMALL = 0.02  # of the largest contribution: does not matter


class Row(NamedTuple):
    name: str
    left_out: float | None
    gradient: float | None
    is_explained: bool = False


def show(explanations: Sequence[Explanation], console: Console | None = None) -> None:
    """Print explanations, one below the other."""
    console = console or make_console()
    for explanation in explanations:
        _show_one(console, explanation)


def show_nothing(tokens: Sequence[str], label: str | None) -> None:
    """Report that there is no entity in these tokens, and how to ask about any words."""
    console = make_console()
    console.print(Text(f"No {label or 'entity'} found in: {' '.join(tokens)}"), soft_wrap=True)
    console.print("Ask about any words: --entity TEXT or --span START:END, with --label L for one label.")


def _show_one(console: Console, explanation: Explanation) -> None:
    console.print()
    console.print(_sentence(explanation))
    console.print(_verdict(explanation))
    words, others = _rows_of_words(explanation)
    _show_rows(console, "word", words)
    if others:
        console.print(Text(f"  {others} other words contribute less than {_limit(explanation):.2f} each", style="dim"))
    _show_rows(console, "feature", [Row(name, c.left_out, c.gradient) for name, c in explanation.features.items()])
    if explanation.measure == "log-odds":
        parts = {"words": explanation.of_words, "transitions": explanation.of_transitions}
        _show_rows(console, "comes from", [Row(name, None, part) for name, part in parts.items()], ("log-odds",))
    unknown = f"With all words unknown, {explanation.measure} {_signed(explanation.unknown)}."
    console.print(Text(f"\n+ supports {explanation.label}, - opposes it. {unknown}", style="dim"))


def _sentence(explanation: Explanation) -> Text:
    """The tokens in the colour of their contributions, the explained ones in brackets."""
    line, limit = Text(), 5 * _limit(explanation)
    for i, word in enumerate(explanation.words):
        value = word.gradient if word.left_out is None else word.left_out
        style = _colour(value) if abs(value) >= limit and limit > 0 else ""
        inside = explanation.start <= i < explanation.end
        line.append(" " if i else "")
        line.append("[" if i == explanation.start else "", "bold")
        line.append(word.word, f"bold {style}" if inside else style)
        line.append(f"]{explanation.label}" if i == explanation.end - 1 else "", "bold")
    return line


def _verdict(explanation: Explanation) -> Text:
    if explanation.probability is None:
        text = f" scores {'above' if explanation.value > 0 else 'below'} the threshold of {explanation.label}: "
        return Text.assemble((explanation.text, "bold"), text, (_signed(explanation.value), "bold"))
    text = f": probability {_probability(explanation.probability)}, log-odds "
    return Text.assemble(
        (f"{explanation.text} as {explanation.label}", "bold"), text, (_signed(explanation.value), "bold")
    )


def _probability(probability: float) -> str:
    """Never rounded to certainty."""
    if 0.0001 <= probability <= 0.9999:
        return f"{100 * probability:.2f} %"
    return "above 99.99 %" if probability > 0.5 else "below 0.01 %"


def _signed(value: float) -> str:
    """Two digits; no sign where they are 0."""
    return f"{value:+.2f}" if abs(value) >= 0.005 else "0.00"


def _rows_of_words(explanation: Explanation) -> tuple[list[Row], int]:
    """The words in the order of the sentence, and the number of those that are not listed."""
    limit = _limit(explanation) if len(explanation.words) > MOST_WORDS else 0.0
    rows = [
        Row(word.word, word.left_out, word.gradient, explanation.start <= i < explanation.end)
        for i, word in enumerate(explanation.words)
    ]
    listed = [row for row in rows if row.is_explained or _largest([row]) >= limit]
    return listed, len(rows) - len(listed)


def _limit(explanation: Explanation) -> float:
    return SMALL * _largest([Row(word.word, word.left_out, word.gradient) for word in explanation.words])


def _largest(rows: Iterable[Row]) -> float:
    return max((abs(v) for row in rows for v in (row.left_out, row.gradient) if v is not None), default=0.0)


def _show_rows(
    console: Console, title: str, rows: Sequence[Row], columns: tuple[str, ...] = ("left out", "gradient")
) -> None:
    scale = _largest(rows)
    table = Table(box=None, pad_edge=False, header_style="bold cyan", padding=(0, 2, 0, 0))
    table.add_column(Text(f"  {title}"), min_width=20, overflow="fold")
    for column in columns:
        table.add_column(Text(column), justify="right")
        table.add_column("", min_width=BAR)
    for row in rows:
        values = (row.left_out, row.gradient)[-len(columns) :]
        name = Text(("▸ " if row.is_explained else "  ") + row.name, "bold" if row.is_explained else "")
        table.add_row(name, *(cell for value in values for cell in _cells(value, scale)))
    console.print()
    console.print(table)


def _cells(value: float | None, scale: float) -> tuple[Text, Text]:
    """The figure and its bar, solid for what speaks for the label and light for what speaks against it."""
    if value is None:
        return Text("too far", "dim"), Text("")
    length = round(BAR * abs(value) / scale) if scale else 0
    bar = ("█" if value > 0 else "░") * length
    return Text(_signed(value), _colour(value) if length else ""), Text(bar, _colour(value))


def _colour(value: float) -> str:
    return FOR if value > 0 else AGAINST
