"""Texts with marked spans (gold ones underlined, predicted ones shaded), and effects of words by sign and colour."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from typing import NamedTuple, Protocol

from postil.html.elements import Markup, element, joined

CONTEXT = 14
"""Tokens shown on either side of what is marked."""
LONGEST = 500
"""Approximate maximum of characters in an excerpt."""
LONGEST_TOKEN = 60
COLOURS = 12
"""Number of labels with distinct colours in the style sheet."""


class LabelledSpan(Protocol):
    """Tokens ``start`` to ``end`` (exclusive) with a label."""

    @property
    def label(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


class Mark(NamedTuple):
    """A marked span: gold, predicted, or both if they agree. ``figure`` is a probability or a score."""

    span: LabelledSpan
    is_gold: bool
    is_predicted: bool
    figure: float | None = None


OTHER = "var(--label-other)"
USUAL = {"LOC": 0, "ORG": 1, "MISC": 2, "PER": 3}
"""Labels whose colours are fixed."""


def lasting_colours(labels: Collection[str]) -> Mapping[str, str]:
    """Map each label to a colour of the style sheet, chosen by its name; ``colour`` of dom.js chooses the same.

    So a label has one colour on every page and in the terminal. Of two labels that would share one, the second gets the
    next free colour; when all are taken, labels share.
    """
    colours: dict[str, str] = {}
    free = list(range(COLOURS))
    for label in sorted(set(labels), key=lambda label: (label not in USUAL, label)):
        wanted = USUAL.get(label, reduce(lambda code, letter: (31 * code + ord(letter)) % 2**32, label, 7) % COLOURS)
        number = min(free or [wanted], key=lambda place: (place - wanted) % COLOURS)
        colours[label] = f"var(--label-{number})"
        free = [place for place in free if place != number]
    return colours


def marked_text(text: str, marks: Sequence[Mark], colours: Mapping[str, str]) -> Markup:
    """A whole text with spans of its characters marked. Spans may overlap; what is outside the text is not marked."""
    inside = [mark for mark in marks if 0 <= mark.span.start < mark.span.end <= len(text)]
    ahead = sorted(inside, key=lambda mark: -mark.span.start)  # the next one is last
    edges = sorted({0, len(text), *(edge for mark in inside for edge in (mark.span.start, mark.span.end))})
    parts: list[Markup] = []
    active: list[Mark] = []
    for start, end in pairwise(edges):
        while ahead and ahead[-1].span.start == start:
            active.append(ahead.pop())
        parts.append(_piece(text[start:end], active, colours))
        ends = [mark for mark in active if mark.span.end == end]
        parts += [
            _chip(mark, colours) for mark in sorted(ends, key=lambda mark: -mark.span.start)
        ]  # the innermost first
        active = [mark for mark in active if mark.span.end > end]
    return element("p", *parts, class_="excerpt text", dir="auto")


def excerpt(tokens: Sequence[str], marks: Sequence[Mark], colours: Mapping[str, str]) -> Markup:
    """The marked spans with some words around them."""
    start = first = min((mark.span.start for mark in marks), default=0)
    size = 0  # fewer words where they are long
    while first and start - first < CONTEXT and size < LONGEST // 3:
        first -= 1
        size += min(len(tokens[first]), LONGEST_TOKEN) + 1
    last = min(len(tokens), max((mark.span.end for mark in marks), default=len(tokens)) + CONTEXT)
    return _cut(tokens, first, last, marks, colours)


def whole(tokens: Sequence[str], marks: Sequence[Mark], colours: Mapping[str, str]) -> Markup:
    """The sentence from its beginning, cut off where it is very long."""
    return _cut(tokens, 0, len(tokens), marks, colours)


def _cut(tokens: Sequence[str], first: int, last: int, marks: Sequence[Mark], colours: Mapping[str, str]) -> Markup:
    size = 0
    for place in range(first, last):
        size += min(len(tokens[place]), LONGEST_TOKEN) + 1
        if size > LONGEST and place > first:
            last = place
            break
    edges = {first, last, *(edge for mark in marks for edge in (mark.span.start, mark.span.end) if first < edge < last)}
    parts: list[Markup] = []
    for start, end in pairwise(sorted(edges)):
        cut = (t if len(t) <= LONGEST_TOKEN else t[: LONGEST_TOKEN - 1] + "…" for t in tokens[start:end])
        parts.append(_piece(" ".join(cut), [m for m in marks if m.span.start <= start < m.span.end], colours))
        parts += [_chip(mark, colours) for mark in marks if mark.span.end == end or end == last < mark.span.end]
        parts.append(Markup(" "))
    before, after = "… " if first else None, "…" if last < len(tokens) else None
    return element("p", before, *parts, after, class_="excerpt", dir="auto")


def _piece(shown: str, marks: Sequence[Mark], colours: Mapping[str, str]) -> Markup:
    classes, style = ["t"], ""
    for mark in marks:
        colour = colours.get(mark.span.label, OTHER)
        classes += ["gold"] * mark.is_gold + ["predicted"] * mark.is_predicted
        style += f"--gold:{colour};" * mark.is_gold + f"--predicted:{colour};" * mark.is_predicted
    layers = sorted((mark.span for mark in marks if mark.is_predicted), key=lambda span: span.start - span.end)
    if len(layers) > 1:  # the innermost span shades the words, the others underline them
        *others, inner = (colours.get(span.label, OTHER) for span in layers)
        lines = ",".join(f"0 {3 * depth}px {colour}" for depth, colour in enumerate(reversed(others), 1))
        style += f"--predicted:{inner};box-shadow:{lines};"
    return element("span", shown, class_=" ".join(classes), style=style or None)


def _chip(mark: Mark, colours: Mapping[str, str]) -> Markup:
    """The label after a span, with its probability: filled if it was predicted, outlined if it is gold."""
    figure = None if mark.figure is None else f" {mark.figure:.2f}"
    side = "✓ " if mark.is_gold and mark.is_predicted else "gold " if mark.is_gold else None
    class_ = "chip filled" if mark.is_predicted else "chip"
    label = element("bdi", mark.span.label or "(unnamed)")
    style = f"--label:{colours.get(mark.span.label, OTHER)}"
    return joined([" ", element("small", side, label, figure, class_=class_, style=style)])


# -------------------------------------------------------------------------------- effects of words and features


MATTERS = 0.1
"""Of the largest effect in a text: smaller ones are not marked."""


class Effect(NamedTuple):
    """The effects of one word, phrase or feature, one for each column of a table; None: not measured."""

    name: str
    values: Sequence[float | None]
    is_explained: bool = False


def signed(value: float | None, digits: int = 2) -> str:
    """A figure with its sign, and no sign if it rounds to 0."""
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
        classes, share, figure = ["effect"] + ["explained"] * word.is_explained, None, None
        shown = element("span", word.name, class_="word")  # a bdi would not count for the direction of the text
        if largest and abs(value) >= MATTERS * largest:
            classes.append("support" if value > 0 else "oppose")
            share, figure = f"--share:{abs(value) / largest:.2f}", element("small", signed(value, digits))
        if len(classes) > 1:
            shown = element("span", shown, figure, class_=" ".join(classes), style=share)
        parts += [shown, Markup(" ")]
        if i == last and chip is not None:
            parts += [chip, Markup(" ")]
    return element("p", *parts, class_="effects", dir="auto")


def effects_table(title: str, columns: Sequence[str], effects: Iterable[Effect], digits: int = 2) -> Markup:
    """A row for each name: the figure of every column, and its bar to the right (for) or to the left (against)."""
    rows = list(effects)
    largest = max((abs(value) for row in rows for value in row.values if value is not None), default=0.0)
    names = [part for name in columns for part in (element("th", name, scope="col", class_="number"), element("td"))]
    head = element("thead", element("tr", element("th", title, scope="col"), *names))
    drawn = []
    for row in rows:
        name = element("bdi", row.name)
        cells = [element("td", element("strong", "▸ ", name) if row.is_explained else name)]
        for value in row.values:
            bar = None
            if value and largest:
                share = f"--share:{abs(value) / largest:.3f}"
                bar = element("span", class_="support" if value > 0 else "oppose", style=share)
            cells += [element("td", signed(value, digits), class_="number"), element("td", bar, class_="diverging")]
        drawn.append(element("tr", *cells))
    return element("div", element("table", head, element("tbody", *drawn)), class_="scroll")


def key(label: str) -> Markup:
    """A legend for the signs."""
    return element("p", joined(["+ supports ", element("bdi", label), ", \u2212 opposes it."]), class_="note")
