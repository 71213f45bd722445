"""HTML and SVG as text. Only here do strings become markup, so that nothing reaches a page unescaped.

    element("p", "a < b", class_="note")      <p class="note">a &lt; b</p>

The content of an element is escaped unless it is `Markup` already.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias, final

VOID = frozenset({"br", "input", "meta"})


@final
class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Value: TypeAlias = str | int | float | bool | None
Content: TypeAlias = str | int | None


# Characters that a page must not contain -> visible ones: ␀ for NUL …; directions would turn around what follows them.
_DIRECTIONS = [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_CHARACTERS: dict[int, str] = {
    **{code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n"},
    **dict.fromkeys([*range(128, 160), *_DIRECTIONS, 0xFFFE, 0xFFFF], "\ufffd"),
    0x7F: "\u2421",
}
_CHARACTERS |= {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"}
_QUOTED: Mapping[int, str] = {**_CHARACTERS, ord('"'): "&quot;", ord("\n"): "&#10;"}


def escaped(text: str) -> Markup:
    """Any text as the content of an element; control characters become visible, lone surrogates U+FFFD."""
    return Markup(_encodable(text).translate(_CHARACTERS))


def element(tag: str, /, *content: Content, **attributes: Value) -> Markup:
    """``<tag …>content</tag>``. ``class_`` means class, ``data_kind`` data-kind; None and False are left out."""
    opening = f"<{tag}"
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        opening += f" {name.removesuffix('_').replace('_', '-')}"
        if value is not True:
            shown = f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
            opening += f'="{_encodable(shown).translate(_QUOTED)}"'
    opening += ">"
    return Markup(opening if tag in VOID else f"{opening}{joined(content)}</{tag}>")


def joined(parts: Iterable[Content]) -> Markup:
    """The parts in order; what is not markup is escaped, None is skipped."""
    given = (part for part in parts if part is not None)
    return Markup("".join(part if isinstance(part, Markup) else escaped(str(part)) for part in given))


def _encodable(text: str) -> str:
    """The text with U+FFFD for lone surrogates."""
    if text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    return text.encode("utf-8", "replace").decode()
