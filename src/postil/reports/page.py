"""A page of sections: one file with its style and script, which loads nothing from any server."""

from collections.abc import Collection, Sequence
from importlib import resources
from typing import NamedTuple

from postil.markup import Content, Markup, element, joined, style
from postil.metrics.tables import Table, format_cell, is_words

# The browser itself refuses to load anything that is not in the page.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


class Section(NamedTuple):
    """A part of a page: its name in addresses, its heading, its content."""

    name: str
    title: str
    body: Markup


def page(title: str, header: Markup, sections: Sequence[Section]) -> str:
    """The whole file."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", joined([style(), _asset("page.css")])),
    )
    contents = [element("a", section.title, href=f"#{section.name}") for section in sections]
    body = element(
        "body",
        element("header", header),
        element("nav", *contents, aria_label="Sections"),
        element("main", *map(_drawn, sections)),
        element("script", _asset("page.js")),
    )
    return "<!DOCTYPE html>\n" + element("html", head, body, lang="en") + "\n"


def _drawn(section: Section) -> Markup:
    return element("section", element("h2", section.title), section.body, id=section.name)


def _asset(name: str) -> Markup:
    return Markup("\n" + resources.files("postil.reports").joinpath(name).read_text(encoding="utf8"))


# ------------------------------------------------------------------------------------------------ pieces of sections


def note(*content: Content) -> Markup:
    """A sentence that explains what is above or below it."""
    return element("p", *content, class_="note")


def columns(*parts: Content) -> Markup:
    """Parts next to each other if the page is wide enough."""
    return element("div", *parts, class_="columns")


def figure(caption: str, drawing: Markup) -> Markup:
    return element("figure", element("figcaption", caption), drawing)


def folded(summary: str, content: Markup) -> Markup:
    """Shown when the reader asks for it; printed always."""
    return element("details", element("summary", summary), content)


def table(content: Table, *, bars: Collection[str] = ()) -> Markup:
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


def _cell(cell: str | int | float | None, has_bar: bool, is_left: bool) -> Markup:
    shown = element("bdi", format_cell(cell)) if isinstance(cell, str) else format_cell(cell)
    if has_bar and isinstance(cell, float):
        return element("td", shown, class_="number bar", style=f"--share:{cell / 100:.4f}")
    return element("td", shown, class_=None if is_left else "number")
