"""Tables of scores as HTML, for pages and notebooks."""

from collections.abc import Collection

from postil.html import Markup, element, joined
from postil.html.fragments import note
from postil.metrics.tables import Cell, Table, format_cell, is_words


def drawn_table(content: Table, *, bars: Collection[str] = ()) -> Markup:
    """A table; columns named in ``bars`` are percentages and get a bar in the background."""
    is_left = [is_words(content, place) or not content.rows for place in range(len(content.columns))]
    headings = list(zip(content.columns, is_left, strict=True))
    head = [element("th", name, scope="col", class_=None if left else "number") for name, left in headings]
    rows = []
    for number, row in enumerate(content.rows, start=1):
        cells = [_cell(cell, name in bars, left) for cell, (name, left) in zip(row, headings, strict=True)]
        is_total = content.has_total and number == len(content.rows)
        rows.append(element("tr", *cells, class_="total" if is_total else None))
    drawn = element("table", element("thead", element("tr", *head)), element("tbody", *rows))
    below = note(content.note) if content.note else None
    return joined([element("div", drawn, class_="scroll"), below])


def headline(main: str, others: str, size: str) -> Markup:
    """The main score in large figures, others, and what they were measured on."""
    return element("p", element("strong", main), f" {others} ", element("span", size, class_="aside"), class_="answer")


def _cell(cell: Cell, has_bar: bool, is_left: bool) -> Markup:
    shown = element("bdi", format_cell(cell)) if isinstance(cell, str) else format_cell(cell)
    if has_bar and isinstance(cell, float):
        return element("td", shown, class_="number bar", style=f"--share:{cell / 100:.4f}")
    return element("td", shown, class_=None if is_left else "number")
