"""Trees as pictures: labels on discs of their colour, words below the leaves."""

from collections.abc import Mapping, Sequence

from postil.html import Markup, Value, element
from postil.html.highlight import OTHER, lasting_colours
from postil.html.svg import Point, drawing, line, rectangle, text, title
from postil.text.trees.tree import Tree

LONGEST_DRAWN = 60  # words; a wider drawing is of no use on a page
LONGEST_LABEL = 8
_LETTER, _GAP, _LEVEL, _RADIUS = 7.4, 14.0, 34.0, 10.0
_DEGREES = {str(degree): f"var(--degree-{degree})" for degree in range(5)}


def colours_of_trees(trees: Sequence[Tree]) -> Mapping[str, str]:
    """From red to blue if labels are degrees from 0 to 4, else a colour for each of the first labels."""
    labels = sorted({label for tree in trees for label in tree.labels if label is not None})
    return _DEGREES if set(labels) <= set(_DEGREES) else lasting_colours(labels)


def drawn_tree(
    tree: Tree, gold: Sequence[str | None], colours: Mapping[str, str], notes: Sequence[str] | None = None
) -> Markup:
    """The tree as a picture. A ring marks a node whose ``gold`` label is another; ``notes`` are shown in tooltips."""
    points, width = _points(tree)
    height = max(y for _, y in points) + _RADIUS + 26
    edges = [
        line(points[node], points[child], stroke="var(--soft)")
        for node, children in enumerate(tree.children)
        for child in children
    ]
    tokens = tree.tokens
    phrases = [" ".join(tokens[start:end]) for start, end in tree.spans]
    tooltips = [
        f"{label or ''}{note and f' {note}'}{f', gold {other}' if _differs(label, other) else ''}: {phrase}"
        for label, note, other, phrase in zip(tree.labels, notes or [""] * len(tree), gold, phrases, strict=True)
    ]
    inside = []
    for label, (x, y), tooltip, other in zip(tree.labels, points, tooltips, gold, strict=True):
        colour = colours.get(label or "", OTHER)
        ring: dict[str, Value] = {"stroke": "var(--wrong)", "stroke_width": 3} if _differs(label, other) else {}
        look: dict[str, Value] = {"rx": _RADIUS, "style": f"fill:{colour}", **ring}
        corner = (x - _width(label) / 2, y - _RADIUS)
        disc = rectangle(corner, _width(label), 2 * _RADIUS, title(tooltip), **look)  # as wide as its label
        ink = "var(--on-degree)" if colour.startswith("var(--degree") else "var(--on-label)"
        name = text((x, y + 4), _shortened(label), style=f"fill:{ink}", pointer_events="none")
        inside.append(element("g", disc, name))
    below = [
        text((x, y + _RADIUS + 14), word) for word, (x, y) in zip(tree.words, points, strict=True) if word is not None
    ]
    return drawing(width, height, " ".join(tokens), *edges, *inside, *below)


def _differs(label: str | None, gold: str | None) -> bool:
    return gold is not None and gold != label


def _points(tree: Tree) -> tuple[list[Point], float]:
    """Leaves in a row, each as wide as its word; a node is centred over its children."""
    xs: list[float] = []
    right = _GAP
    for label, word, children in tree:
        if word is None:
            xs.append((xs[children[0]] + xs[children[-1]]) / 2)
        else:
            width = max(len(word) * _LETTER, _width(label))
            xs.append(right + width / 2)
            right += width + _GAP
    levels = [0] * len(tree)
    for node in reversed(range(len(tree))):  # parents before their children
        for child in tree.children[node]:
            levels[child] = levels[node] + 1
    return [(x, _RADIUS + 4 + level * _LEVEL) for x, level in zip(xs, levels, strict=True)], right


def _shortened(label: str | None) -> str:
    label = label or ""
    return label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"


def _width(label: str | None) -> float:
    return max(2 * _RADIUS, len(_shortened(label)) * _LETTER + 8)
