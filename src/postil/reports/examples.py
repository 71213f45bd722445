"""Mistakes to look at, with filters. Counts are of all mistakes; of the mistakes themselves a fair part is shown."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from postil.html import Markup, element, joined
from postil.html.fragments import folded, note
from postil.metrics import Table
from postil.metrics.drawn_tables import drawn_table
from postil.metrics.tables import show_class

MOST = 500
"""Mistakes shown on a page."""
MOST_OPTIONS = 200
"""Labels to choose from."""

Thing = TypeVar("Thing")


class Example(NamedTuple):
    """One mistake as the page shows it. ``figure``: how sure the model was, where it said anything."""

    kind: str
    gold: str | None
    predicted: str | None
    figure: float | None
    place: str
    text: Markup


class Shown(NamedTuple):
    """How many mistakes of a kind there are and how many of them are shown."""

    all: int
    shown: int


def spread(things: Sequence[Thing], most: int) -> list[Thing]:
    """So many of them at most, evenly spread from the first to the last."""
    if len(things) <= most:
        return list(things)
    return [things[i * len(things) // most] for i in range(most)]


def fair_part(groups: Mapping[str, Sequence[Thing]], most: int = MOST) -> dict[str, list[Thing]]:
    """At most ``most`` items, as evenly from the groups as their sizes allow."""
    limit = _limit([len(group) for group in groups.values()], most)
    return {name: spread(group, limit) for name, group in groups.items()}


def _limit(sizes: Sequence[int], most: int) -> int:
    """The largest size to which all groups can be cut so that at most ``most`` remain, but at least 1."""
    low, high = 1, max(sizes, default=1) or 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if sum(min(size, middle) for size in sizes) <= most else (low, middle - 1)
    return low


def browser(examples: Sequence[Example], counts: Mapping[str, Shown], labels: Counter[str], *, figure: str) -> Markup:
    """Filters and the list of mistakes; the most confident ones first. ``figure`` is a probability or a score."""
    ranked = sorted(examples, key=lambda example: -(example.figure if example.figure is not None else -1e9))
    total, shown = sum(count.all for count in counts.values()), len(examples)
    if not total:
        return note("There are no mistakes.")
    status = element("p", f"{shown:,} examples", id="status", role="status", aria_live="polite")
    items = [_item(example) for example in ranked]
    filters = _filters(counts, labels, examples, figure)
    return joined([_left_out(shown, total, counts), filters, status, element("ol", *items, id="examples")])


def _left_out(shown: int, total: int, counts: Mapping[str, Shown]) -> Markup | None:
    """Which part of the mistakes is on the page, if not all of them are."""
    if shown == total:
        return None
    meaning = (
        f"This page lists {shown:,} of {total:,} mistakes, evenly spread over the file. The counts cover all of them."
    )
    rows = [(kind, count.all, count.shown) for kind, count in counts.items() if count.all]
    rows = sorted(rows, key=lambda row: -row[1])[:MOST_OPTIONS]
    return joined(
        [note(meaning), folded("How many are shown", drawn_table(Table("", ("kind", "mistakes", "shown"), rows)))]
    )


def _filters(counts: Mapping[str, Shown], labels: Counter[str], examples: Sequence[Example], figure: str) -> Markup:
    """A form that works in the browser alone; hidden if there is no script to work it."""
    present = sorted((kind for kind in counts if counts[kind].all), key=lambda kind: -counts[kind].all)[:MOST_OPTIONS]
    kinds = [(f"{kind} ({counts[kind].all:,})", kind) for kind in present]
    names = [(f"{label} ({count:,})", label) for label, count in labels.most_common(MOST_OPTIONS)]
    gold, predicted = (_present(getattr(example, side) for example in examples) for side in ("gold", "predicted"))
    fields = [
        _field("Kind", _select("kind", kinds)) if len(kinds) > 1 else None,
        _field("Label", _select("label", names)),
        _field("Gold", _select("gold", gold)),
        _field("Predicted", _select("predicted", predicted)),
        _field("Words", element("input", type="search", name="text", placeholder="any")),
        _field(f"{figure.capitalize()} from", _number("min", figure)),
        _field("to", _number("max", figure)),
        element("button", "Clear", type="reset"),
    ]
    return element("form", *fields, id="filters", hidden=True)


def _field(name: str, control: Markup) -> Markup:
    return element("label", element("span", name), control)


def _present(labels: Iterable[str | None]) -> list[tuple[str, str]]:
    """The labels that occur, the most frequent first."""
    counts = Counter(show_class(label) for label in labels if label is not None)
    return [(label, label) for label, _ in counts.most_common(MOST_OPTIONS)]


def _select(name: str, options: Iterable[tuple[str, str]]) -> Markup:
    choices = [element("option", shown, value=value) for shown, value in (("any", ""), *options)]
    return element("select", *choices, name=name)


def _number(name: str, figure: str) -> Markup:
    limits: dict[str, int] = {"min": 0, "max": 1} if figure == "probability" else {}
    return element("input", type="number", name=name, step="any" if not limits else 0.05, placeholder="any", **limits)


def _item(example: Example) -> Markup:
    sides = {
        f"data_{side}": show_class(label)
        for side, label in (("gold", example.gold), ("predicted", example.predicted))
        if label is not None
    }
    facts = element("p", element("b", example.kind), element("span", example.place), class_="facts")
    figure = None if example.figure is None else f"{example.figure:.4f}"
    return element("li", facts, example.text, data_kind=example.kind, data_figure=figure, **sides)
