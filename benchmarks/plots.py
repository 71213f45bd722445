"""Plots of the benchmarks as SVG files that stand on their own: logarithmic axes, names beside what they name.

write(path, scatter("…", points, x_name="tokens/s", y_name="F1"))
write(path, curves("…", series, x_name="seconds", y_name="F1"))
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from pathlib import Path

from postil.html import Markup, element, joined
from postil.html.svg import Plot, Point, circle, line, polyline, rectangle, round_numbers, text

OURS, THEIRS = "#0b62b8", "#6b7280"
SHADES_OF_OURS = (OURS, "#3b9cf5", "#0a3a6e")
COLOURS = ("#b45309", "#6d28d9", "#15803d", "#be123c", "#475569", "#0e7490", "#a16207", "#9d174d")
STYLE = """
text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2937 }
.tick { font-size: 12px; fill: #4b5563 } .title { font-size: 15px; font-weight: 600 }
.grid { stroke: #e5e7eb } .axis { stroke: #9ca3af } .lead { stroke: #cbd5e1 } .ours { font-weight: 700 }
"""
LETTER, LINE = 7.4, 17  # pixels of an average letter (bold ones too), and from line to line


@dataclass(frozen=True, kw_only=True)
class Series:
    """Points (one or more) with a name; ``ours`` are drawn to be seen first, a ``dashed`` line is no measure."""

    name: str
    points: Sequence[Point]
    ours: bool = False
    dashed: bool = False


def write(path: Path, picture: Markup) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(str(picture) + "\n", encoding="utf-8")


def scatter(title: str, series: Sequence[Series], *, x_name: str, y_name: str) -> Markup:
    """One point a name, x logarithmic; names stand where they cover neither a point nor another name."""
    points = [log_x(one.points[0]) for one in series]
    plot = _plot(points, width=760, right=40)
    taken = [_box_of_point(plot.point(point)) for point in points]
    parts = [_axes(plot, title, x_name, y_name)]
    for one, point in sorted(zip(series, points, strict=True), key=lambda pair: not pair[0].ours):
        place, anchor = _free_place(plot, plot.point(point), one.name, taken)
        colour, style = (OURS, "ours") if one.ours else (THEIRS, None)
        parts.append(circle(plot.point(point), 6 if one.ours else 5, fill=colour))
        parts.append(text(place, one.name, anchor=anchor, class_=style))
    return _picture(plot, title, parts)


def curves(title: str, series: Sequence[Series], *, x_name: str, y_name: str, log_y: bool = False) -> Markup:
    """A line a name, x logarithmic; the names stand to the right, in the order of the lines' ends."""
    drawn = [(one, [_log_xy(p) if log_y else log_x(p) for p in one.points]) for one in series if one.points]
    longest = max(len(one.name) for one, _ in drawn)
    plot = _plot([p for _, points in drawn for p in points], width=760, right=34 + LETTER * longest)
    parts = [_axes(plot, title, x_name, y_name, log_y=log_y)]
    drawn.sort(key=lambda pair: -pair[1][-1][1])
    heights = _spread([plot.point(points[-1])[1] for _, points in drawn], plot.top, plot.height - plot.bottom)
    ours, others = iter(SHADES_OF_OURS * len(drawn)), iter(COLOURS * len(drawn))
    for (one, points), height in zip(drawn, heights, strict=True):
        colour = next(ours if one.ours else others)
        parts.append(_curve(plot, one, points, colour, height))
    return _picture(plot, title, parts)


def _curve(plot: Plot, one: Series, points: Sequence[Point], colour: str, height: float) -> Markup:
    places = [plot.point(point) for point in points]
    dash = "6 4" if one.dashed else None
    lines = polyline(places, stroke=colour, stroke_width=3 if one.ours else 1.8, stroke_dasharray=dash)
    dots = [] if one.dashed else [circle(place, 5 if len(places) == 1 else 3, fill=colour) for place in places]
    edge = plot.width - plot.right
    lead = line((places[-1][0] + 5, places[-1][1]), (edge + 8, height), class_="lead")
    name = text((edge + 12, height + 4.5), one.name, anchor="start", style=f"fill:{colour}", class_="ours" * one.ours)
    return joined([lead, lines, *dots, name])


# ------------------------------------------------------------------------------------------------ axes


def log_x(point: Point) -> Point:
    return log10(max(point[0], 1e-12)), point[1]


def _log_xy(point: Point) -> Point:
    return log10(max(point[0], 1e-12)), log10(max(point[1], 1e-12))


def _plot(points: Sequence[Point], *, width: float, right: float) -> Plot:
    (x_low, x_high), (y_low, y_high) = ((min(p[axis] for p in points), max(p[axis] for p in points)) for axis in (0, 1))
    x_room, y_room = 0.06 * (x_high - x_low) or 0.5, 0.08 * (y_high - y_low) or 1.0
    sides = {"left": 66.0, "right": right, "top": 40.0, "bottom": 50.0}
    return Plot(
        width=width, height=430, xs=(x_low - x_room, x_high + x_room), ys=(y_low - y_room, y_high + y_room), **sides
    )


def _axes(plot: Plot, title: str, x_name: str, y_name: str, *, log_y: bool = False) -> Markup:
    bottom, left, right = plot.height - plot.bottom, plot.left, plot.width - plot.right
    parts = [text((left, 22), title, anchor="start", class_="title")]
    for value, told in _powers(plot.ys) if log_y else [(y, f"{y:g}") for y in round_numbers(*plot.ys, 6)]:
        y = plot.y(value)
        parts.append(line((left, y), (right, y), class_="grid"))
        parts.append(text((left - 8, y + 4), told, anchor="end", class_="tick"))
    for value, told in _powers(plot.xs):
        x = plot.x(value)
        parts.append(line((x, plot.top), (x, bottom), class_="grid"))
        parts.append(text((x, bottom + 18), told, class_="tick"))
    parts.append(line((left, bottom), (right, bottom), class_="axis"))
    parts.append(text(((left + right) / 2, plot.height - 10), x_name))
    parts.append(text((16, (plot.top + bottom) / 2), y_name, turned=-90))
    return joined(parts)


def _powers(between: tuple[float, float]) -> list[tuple[float, str]]:
    """Powers of ten between two logarithms, with 2 and 5 times of them where there is room."""
    low, high = between
    steps = (1.0, 2.0, 5.0) if high - low < 3 else (1.0,)
    found = [log10(step) + power for power in range(floor(low), ceil(high) + 1) for step in steps]
    inside = [value for value in found if low <= value <= high]
    return [(value, _short(10**value)) for value in inside[:: 1 + len(inside) // 12]]


def _short(value: float) -> str:
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= size * 0.999:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


# ------------------------------------------------------------------------------------------------ names

Box = tuple[float, float, float, float]  # left, top, right, bottom


def _box_of_point(place: Point) -> Box:
    x, y = place
    return x - 8, y - 8, x + 8, y + 8


def _free_place(plot: Plot, place: Point, name: str, taken: list[Box]) -> tuple[Point, str]:
    """Where the name can stand, and which end of it stands there; its box is taken from now on."""
    x, y = place
    choices = [
        ((x + dx, y + 4.5 + dy), anchor)
        for dy in (0, -16, 16, -30, 30, -46, 46)
        for dx, anchor in ((11, "start"), (-11, "end"), (0, "middle"))
        if (dx, dy) != (0, 0)
    ]
    boxes = [_box_of_name(at, anchor, name) for at, anchor in choices]
    costs = [sum(_covers(box, other) for other in taken) + 5 * (not _is_inside(plot, box)) for box in boxes]
    best = costs.index(min(costs))
    taken.append(boxes[best])
    return choices[best]


def _box_of_name(place: Point, anchor: str, name: str) -> Box:
    width = LETTER * len(name)
    left = place[0] - {"start": 0, "middle": width / 2, "end": width}[anchor]
    return left, place[1] - 13, left + width, place[1] + 4


def _covers(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _is_inside(plot: Plot, box: Box) -> bool:
    return box[0] >= plot.left and box[2] <= plot.width and box[1] >= plot.top and box[3] <= plot.height - plot.bottom


def _spread(heights: Sequence[float], top: float, bottom: float) -> list[float]:
    """The heights (rising) moved as little as needed, so that names below each other do not touch."""
    moved: list[float] = []
    for height in heights:
        moved.append(max(height, moved[-1] + LINE) if moved else max(height, top))
    over = moved[-1] - bottom if moved else 0.0
    for i in range(len(moved) - 1, -1, -1):
        moved[i] = min(moved[i], (moved[i + 1] - LINE) if i + 1 < len(moved) else moved[i] - max(over, 0.0))
    return moved


def _picture(plot: Plot, title: str, parts: Sequence[Markup]) -> Markup:
    paper = rectangle((0, 0), plot.width, plot.height, fill="#ffffff")
    style = element("style", Markup(STYLE))
    content = [element("title", title), style, paper, *parts]
    size = {"width": plot.width, "height": plot.height, "viewBox": f"0 0 {plot.width:g} {plot.height:g}"}
    return element("svg", *content, xmlns="http://www.w3.org/2000/svg", role="img", **size)
