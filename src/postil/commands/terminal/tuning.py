"""What ``postil tune`` shows: the chosen setting, the table of settings, precision against recall."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from postil.commands.terminal.display import make_console, show_table
from postil.metrics.tables import Table
from postil.models.answers.tuning import Point, Tuned, standard_errors

PLOT_WIDTH, PLOT_HEIGHT = 51, 13


def show(tuned: Tuned, model: str, target: str | None) -> None:
    """``target``: where the model was written; None for a dry run."""
    console, chosen = make_console(), tuned.chosen
    margin = f"with a margin of {standard_errors(tuned.margin)}"
    console.print(Text(f"{model}: target {tuned.target}, {margin}"), soft_wrap=True)
    setting = f"threshold {chosen.threshold:.3f}" if chosen.threshold else f"bias {chosen.bias:+.3f}"
    setting = f"the target is already met, nothing changes: {setting}" if tuned.is_met else setting
    headline = f"{setting}: precision {100 * chosen.precision:.2f}, recall {100 * chosen.recall:.2f}"
    console.print(Text.assemble((headline, "bold green"), f", F1 {100 * chosen.f1:.2f} expected"))
    before = f"untuned: precision {100 * tuned.before.precision:.2f}, recall {100 * tuned.before.recall:.2f}"
    console.print(Text(f"{before}, F1 {100 * tuned.before.f1:.2f}"))
    _show_curve(console, tuned, "chosen")
    written = f"{target} is unchanged" if tuned.is_met and target == model else f"written to {target}"
    console.print(Text(written if target else "dry run: nothing was written"), soft_wrap=True)


def show_reachable(tuned: Tuned) -> None:
    """The curve, where no point of it is enough."""
    console = make_console()
    target = f"target {tuned.target}, with a margin of {standard_errors(tuned.margin)}"
    console.print(Text(f"{target}: not reached. What can be reached:"), soft_wrap=True)
    _show_curve(console, tuned, "best")


def _show_curve(console: Console, tuned: Tuned, name: str) -> None:
    """The table and the plot; ``name`` is that of the marked point."""
    show_table(console, _table(tuned, name))
    console.print()
    for line in plot(tuned.curve, tuned.before, tuned.chosen, name):
        console.print(Text(line))


def _table(tuned: Tuned, name: str) -> Table:
    rows: list[tuple[Any, ...]] = []
    points = [point for point in _worthwhile(tuned.curve) if point is not tuned.chosen]
    for point in sorted([*points, tuned.chosen], key=lambda point: point.setting.position):
        figures = (100 * point.precision, 100 * point.recall, 100 * point.f1)
        mark = name if point is tuned.chosen else "untuned" if point.setting.position == 0 else ""
        if rows and rows[-1][2:] == (*figures, mark):  # thresholds below all probabilities
            rows.pop()
        rows.append((f"{point.threshold:.2f}", f"{point.bias:+.2f}", *figures, mark))
    return Table("Settings", ("threshold", "bias", "precision", "recall", "F1", ""), rows)


def _worthwhile(curve: Sequence[Point]) -> list[Point]:
    """The curve up to its highest recall; beyond it, precision and recall both fall."""
    highest = max(range(len(curve)), key=lambda i: curve[i].recall)
    neutral = next(i for i, point in enumerate(curve) if point.setting.position == 0)
    return list(curve[: max(highest, neutral) + 1])


def plot(curve: Sequence[Point], before: Point, chosen: Point, name: str = "chosen") -> list[str]:
    """Precision against recall in characters, 0 to 100 on both axes."""
    cells = [[" "] * PLOT_WIDTH for _ in range(PLOT_HEIGHT)]
    for points, mark in ((_worthwhile(curve), "·"), ([before], "o"), ([chosen], "●")):
        for point in points:
            column, row = round(point.recall * (PLOT_WIDTH - 1)), round((1 - point.precision) * (PLOT_HEIGHT - 1))
            cells[row][column] = mark
    lines = [f"{name:>4} ┤{''.join(row).rstrip()}" for name, row in zip(_ticks(), cells, strict=True)]
    axis = "     └" + "─" * PLOT_WIDTH
    below = "      0" + "recall".center(PLOT_WIDTH - 3) + "100"
    return ["precision", *lines, axis, below, f"      o untuned   ● {name}   · other settings"]


def _ticks() -> list[str]:
    names = [""] * PLOT_HEIGHT
    names[0], names[PLOT_HEIGHT // 2], names[-1] = "100", "50", "0"
    return names
