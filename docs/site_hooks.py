"""Hooks of the site: MathML, pictures in light and dark, links from numbers of equations, and the live essay."""

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import essay
from mathml import mathml

BLOCK = re.compile(r"^```math\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"\$`([^`]+)`\$")
PICTURE = re.compile(r"!\[([^\]]*)\]\(((?:\.\./)?images/([\w-]+))\.png\)")
NUMBER = re.compile(r"(?<![\w#&;./-])([A-E]\d{1,2})(?=[\s,.;:)]|$)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    if page.file.src_uri == "essay.md":
        numbers = essay.numbers()
        markdown = re.sub(r"\{\{([\w ]+)\}\}", lambda found: numbers[found[1]], markdown)
    markdown = BLOCK.sub(_formula, markdown)
    markdown = PICTURE.sub(_picture, markdown)
    return INLINE.sub(lambda found: mathml(found[1]), markdown)


def on_post_build(*, config: Any, **_: Any) -> None:
    essay.write(Path(config.site_dir))


def _formula(found: re.Match[str]) -> str:
    """A displayed formula; on a narrow screen, the parts between its wide gaps go below each other."""
    parts = [found[1]] if r"\begin{aligned}" in found[1] else re.split(r"\\qquad", found[1])
    formulas = "".join(mathml(part, display=True) for part in parts)
    return f'<div class="formula" tabindex="0" role="group" aria-label="Formula">{formulas}</div>'


def _picture(found: re.Match[str]) -> str:
    """A picture NAME.png that has a NAME-dark.png: the site shows the one of its theme."""
    text, path, name = found.groups()
    if not (Path(__file__).parent / "images" / f"{name}-dark.png").exists():
        return found[0]
    return f"![{text}]({path}.png#only-light)![{text}]({path}-dark.png#only-dark)"


def on_page_content(html: str, *, page: Any, **_: Any) -> str:
    """Link the numbers of equations in docstrings, such as (A3), to formulas, and names at formulas to docstrings."""
    if page.file.src_uri == "machinery/equations.md":
        return re.sub(r"<code>(\w+)</code>", _entry, html)
    if not page.file.src_uri.startswith("reference/"):
        return html
    pieces = re.split(r"(<pre.*?</pre>|<code.*?</code>|<h\d.*?</h\d>|<a .*?</a>|<[^>]+>)", html, flags=re.DOTALL)
    return "".join(piece if piece.startswith("<") else NUMBER.sub(_link, piece) for piece in pieces)


def _link(found: re.Match[str]) -> str:
    return f'<a href="../machinery/equations.html#{found[1].lower()}">{found[1]}</a>'


def _entry(found: re.Match[str]) -> str:
    place = ENTRIES.get(found[1])
    return f'<a href="../reference/{place}">{found[0]}</a>' if place else found[0]


ENTRIES = {
    name.rpartition(".")[2]: f"{path.stem}.html#{name}"
    for path in sorted((Path(__file__).parent / "reference").glob("*.md"))
    for name in re.findall(r"^::: ([\w.]+)$", path.read_text("utf-8"), re.MULTILINE)
}
"""Public name -> its entry in the reference."""
