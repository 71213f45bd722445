"""Results as HTML: a fragment for a notebook, or a separate page."""

import functools
import re

from postil.html.elements import Content, Markup, element, joined

# ------------------------------------------------------------------------------------------------ style sheets


SCOPE = "postil-result"
"""Class of the element around a fragment."""

# The names under which JupyterLab, VS Code and Colab make known which theme they show; of other pages only the reader's
# preference is known.
_DARK = ('[data-jp-theme-light="false"]', ".vscode-dark", ".vscode-high-contrast", '[theme="dark"]')
_LIGHT = ('[data-jp-theme-light="true"]', ".vscode-light", ".vscode-high-contrast-light", '[theme="light"]')
# Notebooks style tables and paragraphs by several classes: an id that no element has outweighs them.
_STRONG = f":is(.{SCOPE}, #{SCOPE}-none)"


def style() -> Markup:
    """The content of a page's style sheet: the palette, marked spans, effects."""
    return Markup("\n" + _sheet("palette.css") + _sheet("style.css"))


@functools.cache
def fragment_style() -> Markup:
    """The content of a fragment's style sheet. Every rule is limited to what is inside an element of class `SCOPE`."""
    light, dark = re.findall(r":root \{(.*?)\}", _sheet("palette.css"), re.DOTALL)
    dark = "color-scheme: dark;" + dark
    light = light.replace("light dark", "light")
    known = ", ".join(_LIGHT)
    rules = [
        f"{_STRONG} {{{light}}}",
        f"@media (prefers-color-scheme: dark) {{ :root:not({known}):not(:has({known})) {_STRONG} {{{dark}}} }}",
        f":is({', '.join(_DARK)}) {_STRONG} {{{dark}}}",
    ]
    return Markup("\n".join(rules) + "\n" + scoped(_sheet("style.css") + _sheet("fragment.css")))


def dark_palette() -> dict[str, str]:
    """The colours for dark grounds by their names, such as --label-0."""
    return dict(re.findall(r"(--[\w-]+): (#\w+)", _sheet("palette.css").partition("@media")[2]))


def scoped(sheet: str) -> str:
    """The rules of a sheet, one a line, each only for what is inside a fragment; without a selector: the fragment."""

    def in_scope(found: re.Match[str]) -> str:
        return ", ".join(f"{_STRONG} {selector.strip()}".strip() for selector in found[1].split(",")) + " {"

    return re.sub(r"^([^{\n]*)\{", in_scope, sheet, flags=re.MULTILINE)


def _sheet(name: str) -> str:
    from importlib import resources  # only for what is shown

    return resources.files("postil.html").joinpath(name).read_text(encoding="utf8")


# ------------------------------------------------------------------------------------------------ fragments and pages


# The browser itself refuses to load anything, and to run any script.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_PAGE = """
body { margin: 0 auto; padding: 1.5rem clamp(0.8rem, 3vw, 2rem) 4rem; max-width: 62rem; background: var(--ground); }
h1 { margin: 0 0 0.6rem; padding: 0 0.7rem; color: var(--ink); font: 650 1.4rem/1.25 system-ui, sans-serif; }
"""


def fragment(*content: Content) -> Markup:
    """The content with its style, which applies to nothing else on the page around it."""
    return element("div", element("style", fragment_style()), *content, class_=SCOPE)


def document(title: str, sheet: Content, *body: Content, script: Content = None) -> str:
    """Return a complete HTML file that loads nothing: its style and ``script`` are in the page."""
    policy = POLICY if script is None else f"{POLICY}; script-src 'unsafe-inline'"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", joined([style(), sheet])),
    )
    last = None if script is None else element("script", script, type="module")
    return "<!DOCTYPE html>\n" + element("html", head, element("body", *body, last), lang="en") + "\n"


def page_of(title: str | None, *content: Content) -> str:
    """Return a complete page with one fragment and no script."""
    heading = element("h1", title) if title else None
    return document(title or "Postil", Markup(_PAGE), heading, fragment(*content))


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
