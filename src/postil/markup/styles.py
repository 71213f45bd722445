"""Style sheets of pages and of fragments: one palette, light and dark, and the rules that both share."""

import functools
import re

from postil.markup.elements import Markup

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


def scoped(sheet: str) -> str:
    """The rules of a sheet, one a line, each only for what is inside a fragment; without a selector: the fragment."""
    return re.sub(r"^([^{\n]*)\{", _in_scope, sheet, flags=re.MULTILINE)


def _in_scope(found: re.Match[str]) -> str:
    return ", ".join(f"{_STRONG} {selector.strip()}".strip() for selector in found[1].split(",")) + " {"


def _sheet(name: str) -> str:
    from importlib import resources  # only for what is shown

    return resources.files("postil.markup").joinpath(name).read_text(encoding="utf8")
