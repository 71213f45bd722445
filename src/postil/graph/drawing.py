"""Drawings of a flow graph: Mermaid text for Markdown pages, SVG text for everything else. No dependency needed.

draw(loss)                                  a Mermaid flow chart
draw(loss, "svg", values=True)              an SVG picture with the size of every value
draw(loss, gradients=graph.gradients(…))    with the norm of every gradient that is given
"""

import itertools
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

import numpy as np

from postil.errors import ConfigurationError
from postil.graph.node import Gradients, Input, Node, Parameter, Result, RowGradient, ancestors

LARGEST = 2_000
_KINDS: dict[type[Node], str] = {Input: "input", Parameter: "parameter", Result: "result"}
_STYLES = {
    "input": "fill:#e8f1fb,stroke:#4a7fb5,color:#1b2a3a",
    "parameter": "fill:#fdf3dc,stroke:#c39a3b,color:#3a2f14",
    "result": "fill:#eef6ec,stroke:#5d9a57,color:#1c301a",
}


class Box(NamedTuple):
    """A node as drawn: its lines of text, its kind (for the colour) and the boxes that point to it."""

    lines: list[str]
    kind: str
    sources: list[int]


def draw(output: Node, form: str = "mermaid", *, values: bool = False, gradients: Gradients | None = None) -> str:
    """Draw the graph that leads to ``output``, as text in the ``form`` "mermaid" or "svg".

    Boxes show name, shape and number of parameters; with ``values`` the root mean square of the value; with
    ``gradients`` (from ``graph.gradients``) the norm of each gradient given there.
    """
    if form not in _FORMS:
        raise ConfigurationError("form of a drawing", expected=" or ".join(_FORMS), got=repr(form))
    nodes = ancestors(output)
    if len(nodes) > LARGEST:
        raise ConfigurationError("drawing of a graph", expected=f"at most {LARGEST} nodes", got=f"{len(nodes)} nodes")
    # Parents before children. Parameters of a layer are shown inside the layer's box.
    layers = {node for node in nodes if isinstance(node, Result) and node.is_layer}
    sources = {node: [p for p in node.parents if not (node in layers and isinstance(p, Parameter))] for node in nodes}
    outside = {output, *itertools.chain.from_iterable(sources.values())}
    drawn = [node for node in nodes if not isinstance(node, Parameter) or node in outside]
    number = {node: i for i, node in enumerate(drawn)}
    boxes = [
        Box(_lines(node, values, gradients or {}), _KINDS[type(node)], [number[parent] for parent in sources[node]])
        for node in drawn
    ]
    return _FORMS[form](boxes)


def _lines(node: Node, values: bool, gradients: Gradients) -> list[str]:
    shape = " × ".join(map(str, node.shape)) if node.ndim else "number"
    lines = [f"{one_line(node.name) or _KINDS[type(node)]} {shape}"]
    inside = [p for p in node.parents if isinstance(p, Parameter)] if isinstance(node, Result) and node.is_layer else []
    counted = [node] if isinstance(node, Parameter) else inside
    if counted:
        lines.append(f"{sum(p.value.size for p in counted):,} parameters")
    if values and node.value.size == 1:
        lines.append(f"value {node.value.reshape(-1)[0]:.4g}")
    elif values:
        lines.append(f"rms {np.sqrt(np.mean(np.square(node.value))):.3g}" if node.value.size else "empty")
    for leaf, prefix in [(parameter, one_line(parameter.name)) for parameter in inside] + [(node, "")]:
        if leaf in gradients:
            gradient = gradients[leaf]
            array = gradient.values if isinstance(gradient, RowGradient) else gradient
            lines.append(f"{prefix} |gradient| {np.linalg.norm(array):.3g}".strip())
    return lines


def one_line(name: str) -> str:
    """A name without line breaks and without characters that XML does not allow."""
    return " ".join("".join(c if c.isprintable() else " " for c in name).split())


# Characters with a special meaning in Mermaid or in the HTML it makes, as Mermaid's entities.
_ENTITIES = str.maketrans({character: f"#{ord(character)};" for character in '"#&;<>`[](){}\\'})


def _mermaid(boxes: list[Box]) -> str:
    lines = ["flowchart TD"]
    for i, box in enumerate(boxes):
        text = "<br/>".join(line.translate(_ENTITIES) for line in box.lines)
        lines.append(f'    n{i}["{text}"]:::{box.kind}')
    lines += [f"    n{source} --> n{i}" for i, box in enumerate(boxes) for source in box.sources]
    lines += [f"    classDef {kind} {style}" for kind, style in _STYLES.items()]
    return "\n".join(lines) + "\n"


# ------------------------------------------------------------------------------------------------ SVG
# Boxes stand in rows by their longest distance from a leaf. An edge over several rows passes through an empty place in
# each row between, so that it goes around the boxes there.

_LINE, _PAD, _GAP_X, _GAP_Y, _CHARACTER, _BOLD_CHARACTER = 17, 9, 28, 44, 7.4, 8.6


@dataclass(kw_only=True, eq=False)
class _Place:
    """A box, or the bend of a long edge (``box`` is None), in one row of the picture."""

    row: int
    box: Box | None = None
    width: float = 8.0
    height: float = 0.0
    x: float = 0.0
    y: float = 0.0


def picture(boxes: list[Box], heading: Sequence[str] = ()) -> str:
    """The boxes as an SVG picture, each below those that point to it, under some lines of text."""
    places = []
    row_of = [0] * len(boxes)  # a leaf is drawn right above the first box that uses it
    users: dict[int, list[int]] = defaultdict(list)
    for i, box in enumerate(boxes):
        row_of[i] = max((row_of[number] + 1 for number in box.sources), default=0)
        for number in box.sources:
            users[number].append(row_of[i])
    row_of = [min(users[i]) - 1 if not box.sources and users[i] else row_of[i] for i, box in enumerate(boxes)]
    for box, row in zip(boxes, row_of, strict=True):
        first, *others = box.lines  # which is bold
        width = max(_width(first, _BOLD_CHARACTER), *map(_width, others), 0) + 2 * _PAD
        places.append(_Place(row=row, box=box, width=width, height=len(box.lines) * _LINE + 2 * _PAD - 4))
    edges = []  # the places that each passes: one in every row from source to target
    for box, target in zip(boxes, places, strict=True):
        for source in [places[number] for number in dict.fromkeys(box.sources)]:
            edges.append([source, *(_Place(row=row) for row in range(source.row + 1, target.row)), target])
    by_row: dict[int, list[_Place]] = defaultdict(list)
    for place in [*places, *(bend for edge in edges for bend in edge[1:-1])]:
        by_row[place.row].append(place)
    _arrange(by_row, edges, _PAD + _LINE * len(heading))
    ends = [place.x + place.width / 2 for row in by_row.values() for place in row]
    width = max(*ends, *map(_width, heading), 0) + _PAD
    height = max(p.y + p.height for p in places) + _PAD
    parts = [f"<title>{escape(': '.join(heading))}</title>\n"] if heading else []
    parts += [_text(_PAD, _LINE * number, line, number == 1, "start") for number, line in enumerate(heading, 1)]
    parts += [_curve(edge) for edge in edges] + [_rectangle(place) for place in places]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="13">\n'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#667"/></marker></defs>\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{"".join(parts)}</svg>\n'
    )


def _width(line: str, character: float = _CHARACTER) -> float:
    """About how wide a line is: capital letters are wider, those of East Asia twice as wide."""
    wide = sum(2 if c.isupper() else 6 for c in line if c.isupper() or unicodedata.east_asian_width(c) in "WF")
    return len(line) * character + wide


def _arrange(by_row: dict[int, list[_Place]], edges: list[list[_Place]], y: float) -> None:
    """Set x and y of every place; neighbours along edges pull a row into an order with few crossings."""
    neighbours: dict[_Place, list[_Place]] = defaultdict(list)
    for edge in edges:
        for a, b in itertools.pairwise(edge):
            neighbours[a].append(b)
            neighbours[b].append(a)
    for places in by_row.values():
        _spread(places)
    for sweep in range(8):
        for row in sorted(by_row, reverse=bool(sweep % 2)):
            wanted = {p: np.mean([n.x for n in neighbours[p]] or [p.x]) for p in by_row[row]}
            by_row[row].sort(key=lambda place: wanted[place])
            _spread(by_row[row], centre=float(np.mean(list(wanted.values()))))
    left = min(p.x - p.width / 2 for places in by_row.values() for p in places)
    for row in sorted(by_row):
        tallest = max(p.height for p in by_row[row])
        for place in by_row[row]:
            place.x += _PAD - left
            if place.box is None:  # an edge crosses the row straight, next to the tallest box
                place.height = tallest
            place.y = y + (tallest - place.height) / 2
        y += tallest + _GAP_Y


def _spread(places: list[_Place], centre: float = 0.0) -> None:
    """Side by side in the order given, around ``centre``."""
    x = centre - (sum(p.width for p in places) + _GAP_X * (len(places) - 1)) / 2
    for place in places:
        place.x = x + place.width / 2
        x += place.width + _GAP_X


def _curve(edge: list[_Place]) -> str:
    path = f"M{edge[0].x:.1f},{edge[0].y + edge[0].height:.1f}"
    for a, b in itertools.pairwise(edge):
        y0, y1 = a.y + a.height, b.y
        middle = (y0 + y1) / 2
        path += f" C{a.x:.1f},{middle:.1f} {b.x:.1f},{middle:.1f} {b.x:.1f},{y1:.1f}"
        path += f" V{y1 + b.height:.1f}" if b.box is None else ""
    return f'<path d="{path}" fill="none" stroke="#667" stroke-width="1.2" marker-end="url(#tip)"/>\n'


def _rectangle(place: _Place) -> str:
    assert place.box is not None
    style = dict(part.split(":") for part in _STYLES[place.box.kind].split(","))
    rows = "".join(
        _text(place.x, place.y + _PAD + 10 + i * _LINE, line, not i, "middle", style["color"])
        for i, line in enumerate(place.box.lines)
    )
    return (
        f'<rect x="{place.x - place.width / 2:.1f}" y="{place.y:.1f}" width="{place.width:.1f}" '
        f'height="{place.height:.1f}" rx="6" fill="{style["fill"]}" stroke="{style["stroke"]}"/>\n{rows}'
    )


def _text(x: float, y: float, line: str, is_bold: bool, anchor: str, colour: str = "#1c2127") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
        f'fill="{colour}" font-weight="{"bold" if is_bold else "normal"}">{escape(line)}</text>\n'
    )


_FORMS = {"mermaid": _mermaid, "svg": picture}
