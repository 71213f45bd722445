"""Results as HTML: a fragment for a notebook, or a page of its own."""

from postil.markup.elements import Content, Markup, element, joined
from postil.markup.styles import SCOPE, fragment_style, style

# The browser itself refuses to load anything, and to run any script.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_PAGE = """
body { margin: 0 auto; padding: 1.5rem clamp(0.8rem, 3vw, 2rem) 4rem; max-width: 62rem; background: var(--ground); }
h1 { margin: 0 0 0.6rem; padding: 0 0.7rem; color: var(--ink); font: 650 1.4rem/1.25 system-ui, sans-serif; }
"""


def fragment(*content: Content) -> Markup:
    """The content with its style, which applies to nothing else on the page around it."""
    return element("div", element("style", fragment_style()), *content, class_=SCOPE)


def page_of(title: str | None, *content: Content) -> str:
    """A complete page with one fragment and no script."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title or "Postil"),
        element("style", joined([style(), Markup(_PAGE)])),
    )
    heading = element("h1", title) if title else None
    return "<!DOCTYPE html>\n" + element("html", head, element("body", heading, fragment(*content)), lang="en") + "\n"


def titled(title: str, *content: Content) -> Markup:
    """Content below a small heading."""
    return element("div", element("p", title, class_="title"), *content)


def note(*content: Content) -> Markup:
    """A sentence that explains what is above or below it."""
    return element("p", *content, class_="note")


def columns(*parts: Content) -> Markup:
    """Parts next to each other if there is room."""
    return element("div", *parts, class_="columns")


def figure(caption: str, drawing: Markup) -> Markup:
    return element("figure", element("figcaption", caption), drawing)


def folded(summary: str, *content: Content) -> Markup:
    """Shown when the reader asks for it; printed always."""
    return element("details", element("summary", summary), joined(content))
