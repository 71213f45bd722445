"""What words and features contribute to an answer: for it or against it, by sign, side and colour."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from postil.markup.elements import Markup, element, joined

MATTERS = 0.1
"""Of the largest effect in a text: smaller ones are not marked."""


class Effect(NamedTuple):
    """The effects of one word, phrase or feature, one for each column of a table; None: not measured."""

    name: str
    values: Sequence[float | None]
    is_explained: bool = False


def signed(value: float | None, digits: int = 2) -> str:
    """A figure with its sign, and no sign where it rounds to 0."""
    if value is None:
        return "too far"
    return f"{value:+.{digits}f}".replace("-", "\u2212") if abs(value) >= 0.5 * 10**-digits else f"{0:.{digits}f}"


def effects_text(words: Sequence[Effect], digits: int = 2, chip: Markup | None = None) -> Markup:
    """Words in the order of the text, shaded by their first known value; ``chip`` follows the explained ones."""
    values = [next((value for value in word.values if value is not None), 0.0) for word in words]
    largest = max(map(abs, values), default=0.0)
    last = max((i for i, word in enumerate(words) if word.is_explained), default=-1)
    parts: list[Markup] = []
    for i, (word, value) in enumerate(zip(words, values, strict=True)):
        parts += [_word(word, value, largest, digits), Markup(" ")]
        if i == last and chip is not None:
            parts += [chip, Markup(" ")]
    return element("p", *parts, class_="effects", dir="auto")


def _word(word: Effect, value: float, largest: float, digits: int) -> Markup:
    classes = ["effect"] + ["explained"] * word.is_explained
    name = element("bdi", word.name)
    if not largest or abs(value) < MATTERS * largest:
        return element("span", name, class_=" ".join(classes)) if word.is_explained else name
    classes.append("support" if value > 0 else "oppose")
    share = f"--share:{abs(value) / largest:.2f}"
    return element("span", name, element("small", signed(value, digits)), class_=" ".join(classes), style=share)


def effects_table(title: str, columns: Sequence[str], effects: Iterable[Effect], digits: int = 2) -> Markup:
    """A row for each name: the figure of every column, and its bar to the right (for) or to the left (against)."""
    rows = list(effects)
    largest = max((abs(value) for row in rows for value in row.values if value is not None), default=0.0)
    names = [part for name in columns for part in (element("th", name, scope="col", class_="number"), element("th"))]
    head = element("thead", element("tr", element("th", title, scope="col"), *names))
    body = element("tbody", *(_row(row, largest, digits) for row in rows))
    return element("div", element("table", head, body), class_="scroll")


def _row(row: Effect, largest: float, digits: int) -> Markup:
    name = element("bdi", row.name)
    first = element("td", element("strong", "▸ ", name) if row.is_explained else name)
    cells = [cell for value in row.values for cell in _cells(value, largest, digits)]
    return element("tr", first, *cells)


def _cells(value: float | None, largest: float, digits: int) -> tuple[Markup, Markup]:
    number = element("td", signed(value, digits), class_="number")
    if not value or not largest:
        return number, element("td", class_="diverging")
    bar = element("span", class_="support" if value > 0 else "oppose", style=f"--share:{abs(value) / largest:.3f}")
    return number, element("td", bar, class_="diverging")


def key(label: str) -> Markup:
    """What the signs and sides mean."""
    return element("p", joined(["+ supports ", element("bdi", label), ", \u2212 opposes it."]), class_="note")
