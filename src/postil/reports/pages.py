"""A page of sections: one file with its style and script, which loads nothing from any server."""

from collections.abc import Sequence
from importlib import resources
from typing import NamedTuple

from postil.markup import Markup, element, joined, style

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
