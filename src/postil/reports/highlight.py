"""Sentences with marks: what the gold standard says is underlined, what was predicted has a coloured ground."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from postil.markup import Markup, element, joined
from postil.metrics.tables import show_class
from postil.text.schemes import Span

CONTEXT = 14
"""Tokens shown on either side of what is marked."""
LONGEST = 500
"""Characters of an excerpt, about."""
LONGEST_TOKEN = 60
COLOURS = 8
"""Labels with a colour of their own; the style knows as many."""


class Mark(NamedTuple):
    """A span that is marked; both sides where gold and prediction agree. ``figure`` is a probability or a score."""

    span: Span
    is_gold: bool
    is_predicted: bool
    figure: float | None = None


def colours_of(labels: Sequence[str]) -> Mapping[str, str]:
    """A colour per label, as the style names them; from the ninth on they share one."""
    return {label: f"var(--label-{number})" if number < COLOURS else OTHER for number, label in enumerate(labels)}


OTHER = "var(--label-other)"


def excerpt(tokens: Sequence[str], marks: Sequence[Mark], colours: Mapping[str, str]) -> Markup:
    """The marked spans with some words around them."""
    first = _before(tokens, min((mark.span.start for mark in marks), default=0))
    last = min(len(tokens), max((mark.span.end for mark in marks), default=len(tokens)) + CONTEXT)
    return _cut(tokens, first, last, marks, colours)


def whole(tokens: Sequence[str], marks: Sequence[Mark], colours: Mapping[str, str]) -> Markup:
    """The sentence from its beginning, cut off where it is very long."""
    return _cut(tokens, 0, len(tokens), marks, colours)


def _cut(tokens: Sequence[str], first: int, last: int, marks: Sequence[Mark], colours: Mapping[str, str]) -> Markup:
    last = _within_length(tokens, first, last)
    edges = {first, last, *(edge for mark in marks for edge in mark.span[1:] if first < edge < last)}
    parts: list[Markup] = []
    places = sorted(edges)
    for start, end in pairwise(places):
        parts.append(_segment(tokens[start:end], [m for m in marks if m.span.start <= start < m.span.end], colours))
        parts += [_chip(mark, colours) for mark in marks if mark.span.end == end or end == last < mark.span.end]
        parts.append(Markup(" "))
    before, after = "… " if first else None, "…" if last < len(tokens) else None
    return element("p", before, *parts, after, class_="excerpt", dir="auto")


def _before(tokens: Sequence[str], start: int) -> int:
    """Where the context of ``start`` begins: some words before it, fewer where they are long."""
    size, first = 0, start
    while first and start - first < CONTEXT and size < LONGEST // 3:
        first -= 1
        size += min(len(tokens[first]), LONGEST_TOKEN) + 1
    return first


def _within_length(tokens: Sequence[str], first: int, last: int) -> int:
    size = 0
    for place in range(first, last):
        size += min(len(tokens[place]), LONGEST_TOKEN) + 1
        if size > LONGEST and place > first:
            return place
    return last


def _segment(tokens: Sequence[str], marks: Sequence[Mark], colours: Mapping[str, str]) -> Markup:
    """Tokens between two edges of marks; each side has one mark here at most."""
    shown = " ".join(token if len(token) <= LONGEST_TOKEN else token[: LONGEST_TOKEN - 1] + "…" for token in tokens)
    classes, style = ["t"], ""
    for mark in marks:
        colour = colours.get(mark.span.label, OTHER)
        classes += ["gold"] * mark.is_gold + ["predicted"] * mark.is_predicted
        style += f"--gold:{colour};" * mark.is_gold + f"--predicted:{colour};" * mark.is_predicted
    return element("span", shown, class_=" ".join(classes), style=style or None)


def _chip(mark: Mark, colours: Mapping[str, str]) -> Markup:
    """The label behind a span, with its probability: filled where it was predicted, with a border where it is gold."""
    figure = None if mark.figure is None else f" {mark.figure:.2f}"
    side = "✓ " if mark.is_gold and mark.is_predicted else "gold " if mark.is_gold else None
    class_ = "chip filled" if mark.is_predicted else "chip"
    label = element("bdi", show_class(mark.span.label))
    style = f"--label:{colours.get(mark.span.label, OTHER)}"
    return joined([" ", element("small", side, label, figure, class_=class_, style=style)])
