"""Scores as tables: plain rows that `text` lays out, that pages and notebooks draw, and commands more finely."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from postil.errors import printable
from postil.html import Markup, element, joined
from postil.html.fragments import columns, folded, fragment, titled
from postil.html.fragments import note as remark
from postil.metrics.calibration import Calibration
from postil.metrics.counts import Counts, TokenScores
from postil.metrics.spans import MATCHINGS, SpanScores

Cell = str | int | float | None
WIDEST_MATRIX = 80
"""Characters; a confusion table that needs more becomes a list."""

MOST_SHOWN = 40
"""Labels in a table that is printed or shown in a notebook."""


class Scores(ABC):
    """Scores that show themselves: in one line, what they were measured on, and as tables, the first of them open."""

    __slots__ = ()
    details = "Mistakes"
    """The heading above the other tables in a notebook."""
    has_title = False
    """Whether a notebook shows the title of the first table."""

    @abstractmethod
    def summary(self) -> str:
        """The scores in one line, in percent; the main one ends with two spaces."""

    @abstractmethod
    def size(self) -> str:
        """How much they were measured on."""

    @abstractmethod
    def tables(self) -> list["Table"]:
        """Tables of labels, mistakes and parts."""

    def __str__(self) -> str:
        """The scores in one line, and the tables."""
        shown = [text(table) for table in self.tables() if table.rows]
        return "\n\n".join([f"{self.summary()}\n{printable(self.size())}", *shown])

    def _repr_html_(self) -> str:
        """HTML for notebooks."""
        main, _, more = self.summary().partition("  ")
        bars = ("precision", "recall", "F1", "accuracy", "percent")
        first, *others = self.tables()
        drawn = [titled(table.title, drawn_table(table, bars=bars)) for table in others if table.rows]
        top = drawn_table(first, bars=bars)
        top = titled(first.title, top) if self.has_title else top
        details = folded(self.details, columns(*drawn)) if drawn else None
        return fragment(headline(main, more, self.size()), top, details)


class Table(NamedTuple):
    """A title, column names, rows of cells, and a note. The last row may be a total."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]
    note: str = ""
    has_total: bool = False


def format_cell(cell: Cell) -> str:
    """Counts with thousands separated, ratios with two decimals, nothing for None."""
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:.2f}"
    return f"{cell:,}" if isinstance(cell, int) else cell


def is_words(table: Table, column: int) -> bool:
    """Is this a column of words (set to the left), not of numbers (set to the right)?"""
    return any(isinstance(row[column], str) for row in table.rows)


def text(table: Table) -> str:
    """The table in plain characters."""
    lines = [[printable(format_cell(cell)) for cell in row] for row in (table.columns, *table.rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    set_cell = [str.ljust if is_words(table, column) else str.rjust for column in range(len(widths))]
    laid_out = ["  ".join(f(c, w) for f, c, w in zip(set_cell, line, widths, strict=True)).rstrip() for line in lines]
    rule = "-" * max(map(len, laid_out))
    body = [laid_out[0], rule, *laid_out[1:]]
    if table.has_total:
        body.insert(-1, rule)
    return "\n".join(filter(None, [table.title, *body, table.note]))


def drawn_table(content: Table, *, bars: Collection[str] = ()) -> Markup:
    """A table; columns named in ``bars`` are percentages and get a bar in the background."""
    is_left = [is_words(content, place) or not content.rows for place in range(len(content.columns))]
    headings = list(zip(content.columns, is_left, strict=True))
    head = [element("th", name, scope="col", class_=None if left else "number") for name, left in headings]
    rows = []
    for number, row in enumerate(content.rows, start=1):
        cells = []
        for cell, (name, left) in zip(row, headings, strict=True):
            shown = element("bdi", format_cell(cell)) if isinstance(cell, str) else format_cell(cell)
            style = f"--share:{cell / 100:.4f}" if name in bars and isinstance(cell, float) else None
            kind = "number bar" if style else None if left else "number"
            cells.append(element("td", shown, class_=kind, style=style))
        is_total = content.has_total and number == len(content.rows)
        rows.append(element("tr", *cells, class_="total" if is_total else None))
    drawn = element("table", element("thead", element("tr", *head)), element("tbody", *rows))
    below = remark(content.note) if content.note else None
    return joined([element("div", drawn, class_="scroll"), below])


def headline(main: str, others: str, size: str) -> Markup:
    """The main score in large figures, others, and what they were measured on."""
    return element("p", element("strong", main), f" {others} ", element("span", size, class_="aside"), class_="answer")


def show_class(label: str | None, otherwise: str = "") -> str:
    """A class as a reader wants to see it; a bare ``B`` has the class ``""``."""
    return otherwise if label is None else label or "(unnamed)"


def label_table(
    by_label: Mapping[str, Counts],
    total: Counts | None = None,
    *,
    title: str = "Classes",
    column: str = "class",
    most: int | None = None,
) -> Table:
    """Precision, recall and F1 in percent per class (or any other name of a part), and over all of them.

    ``most``: of more classes than that, only the most frequent ones have a row.
    """
    kept = set(by_frequency(by_label)[:most])
    lines = [(show_class(label), counts) for label, counts in by_label.items() if label in kept]
    lines += [] if total is None else [("all", total)]
    rows = [(name, *one.percents, one.gold, one.predicted, one.correct) for name, one in lines]
    columns = (column, "precision", "recall", "F1", "gold", "predicted", "correct")
    left_out = len(by_label) - len(kept)
    note = f"{left_out:,} rarer labels are not shown" if left_out else ""
    return Table(title, columns, rows, note, has_total=total is not None)


def by_frequency(counts: Mapping[str, Counts]) -> list[str]:
    """The labels, those that the gold standard has most often first."""
    return sorted(counts, key=lambda label: (-counts[label].gold, label))


_MATCHING_MEANINGS = {
    "strict": "same boundaries, same class",
    "boundaries": "same boundaries, any class",
    "partial": "any class; an overlap counts half",
    "type": "any overlap, same class",
}


def matching_table(scores: SpanScores) -> Table:
    """Scores under the four rules for a correct span."""
    rows = [(name, *scores.matching(name).percents, _MATCHING_MEANINGS[name]) for name in MATCHINGS]
    return Table("Scores by matching rule", ("matching", "precision", "recall", "F1", "meaning"), rows)


_KIND_MEANINGS = {
    "boundary": "right class, wrong boundaries (overlaps)",
    "type": "right boundaries, wrong class",
    "boundary+type": "wrong boundaries and wrong class (overlaps)",
    "missed": "no predicted span matches this gold span",
    "spurious": "no gold span matches this predicted span",
}


def errors_table(scores: SpanScores, parts: Mapping[str, SpanScores] | None = None) -> Table:
    """Mistakes by kind, with their share and meaning; ``parts`` get a column each in place of the meaning."""
    errors, kinds = scores.errors(), list(_KIND_MEANINGS)
    wrong = sum(errors[kind] for kind in kinds)
    last_columns: dict[str, list[Cell]] = {"meaning": [_KIND_MEANINGS[kind] for kind in kinds]}
    if parts:
        last_columns = {name: [part.errors()[kind] for kind in kinds] for name, part in parts.items()}
    counts: list[Cell] = [errors[kind] for kind in kinds]
    shares: list[Cell] = [100 * errors[kind] / wrong if wrong else 0.0 for kind in kinds]
    rows = list(zip(kinds, counts, shares, *last_columns.values(), strict=True))
    return Table("Mistakes by kind", ("kind", "spans", "percent", *last_columns), rows)


def confusion_table(scores: SpanScores | TokenScores, title: str = "Confusion of overlapping spans") -> Table:
    """Gold classes down, predicted ones across, of spans also *missed* and *spurious*; a list if that is too wide."""
    of_spans, labels = isinstance(scores, SpanScores), list(scores.by_label())
    cells: Mapping[tuple[Any, Any], int] = scores.confusion() if isinstance(scores, SpanScores) else scores.confusion
    sides: list[str | None] = [*labels, *[None] * of_spans]
    columns = ("gold \\ predicted", *(show_class(label, "(missed)") for label in sides))
    if sum(len(name) + 2 for name in columns) > WIDEST_MATRIX:
        wrong = [
            (show_class(gold, "(spurious)"), show_class(predicted, "(missed)"), count)
            for (gold, predicted), count in cells.items()
            if gold != predicted
        ]
        return mistakes_table(wrong, "Confused most often" if of_spans else f"{title}: confused most often")
    rows = [(show_class(gold, "(spurious)"), *(cells.get((gold, label)) for label in sides)) for gold in sides]
    return Table(title, columns, rows)


def mistakes_table(mistakes: Sequence[tuple[str, str, int]], title: str, most: int = 10) -> Table:
    """The most frequent (gold, predicted, count)."""
    ranked = sorted(mistakes, key=lambda row: (-row[2], row[0], row[1]))
    note = f"and {len(ranked) - most:,} rarer ones" if len(ranked) > most else ""
    return Table(title, ("gold", "predicted", "count"), list(ranked[:most]), note)


def span_novelty_table(parts: Mapping[str, SpanScores]) -> Table:
    """Separate scores for what occurs in the training data and what does not."""
    by_novelty = {novelty: scores.overall for novelty, scores in parts.items()}
    return label_table(by_novelty, title="Seen and new entities", column="entities")


def token_novelty_table(parts: Mapping[str, TokenScores]) -> Table:
    """Separate token accuracy for words that occur in the training data and words that do not."""
    rows = [(novelty, 100 * scores.accuracy, scores.tokens, scores.correct) for novelty, scores in parts.items()]
    return Table("Seen and unseen words", ("tokens", "accuracy", "count", "correct"), rows)


def calibration_table(calibration: Calibration) -> Table:
    """Reliability per bin, in percent; empty bins are left out."""
    edges = calibration.edges * 100
    rows = [
        (f"{edges[i]:g}-{edges[i + 1]:g}", int(count), 100 * float(promised), 100 * float(kept))
        for i, (count, promised, kept) in enumerate(
            zip(calibration.counts, calibration.confidence, calibration.accuracy, strict=True)
        )
        if count
    ]
    chance = f"about {100 * calibration.error_by_chance:.2f} % would be expected by chance"
    note = f"expected calibration error {100 * calibration.expected_error:.2f} %; {chance}"
    return Table("Reliability", ("probability %", "answers", "predicted %", "observed %"), rows, note)
