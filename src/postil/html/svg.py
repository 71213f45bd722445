"""Drawing primitives: scales and axes, lines, points, rectangles, texts. Colours are those of the style sheet."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import NamedTuple, TypeAlias, final

from postil.html.elements import Markup, Value, element, joined

Point: TypeAlias = tuple[float, float]
Range: TypeAlias = tuple[float, float]


def drawing(width: float, height: float, title: str, *content: Markup, **attributes: Value) -> Markup:
    """A picture that a screen reader names by its title; no wider than the page."""
    named: dict[str, Value] = {"role": "img", "style": f"max-width:{width:g}px", "aria_label": title}
    box = f"0 0 {width:g} {height:g}"
    return element("svg", element("title", title), *content, viewBox=box, **named, **attributes)


def line(start: Point, end: Point, **attributes: Value) -> Markup:
    return element("line", x1=start[0], y1=start[1], x2=end[0], y2=end[1], **attributes)


def polyline(points: Iterable[Point], **attributes: Value) -> Markup:
    return element("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), fill="none", **attributes)


def circle(centre: Point, radius: float, *content: Markup, **attributes: Value) -> Markup:
    return element("circle", *content, cx=centre[0], cy=centre[1], r=radius, **attributes)


def rectangle(corner: Point, width: float, height: float, *content: Markup, **attributes: Value) -> Markup:
    return element("rect", *content, x=corner[0], y=corner[1], width=width, height=height, **attributes)


def text(
    place: Point, content: str, *, anchor: str = "middle", turned: float | None = None, **attributes: Value
) -> Markup:
    """``anchor``: which part of the text is at ``place``: start, middle or end; ``turned`` in degrees around it."""
    turn = None if turned is None else f"rotate({turned:g} {place[0]:g} {place[1]:g})"
    return element("text", content, x=place[0], y=place[1], text_anchor=anchor, transform=turn, **attributes)


def title(content: str) -> Markup:
    """The tooltip of the element around it."""
    return element("title", content)


def round_numbers(low: float, high: float, about: int = 5) -> list[float]:
    """About ``about`` round numbers between low and high: multiples of 1, 2 or 5 times a power of ten."""
    span = high - low
    if not span > 0:
        return [low]
    rough = span / about
    power = 10.0 ** floor(log10(rough))
    step = power * next((factor for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9)), 10)
    first = ceil(low / step - 1e-9)
    return [number * step for number in range(first, floor(high / step + 1e-9) + 1)]


@final
@dataclass(frozen=True, kw_only=True)
class Plot:
    """From values to places in a picture: ``x`` grows to the right, ``y`` upwards, inside the margins."""

    width: float = 460
    height: float = 260
    xs: Range = (0.0, 1.0)
    ys: Range = (0.0, 1.0)
    left: float = 58
    right: float = 14
    top: float = 14
    bottom: float = 42

    def x(self, value: float) -> float:
        return self.left + (self.width - self.left - self.right) * _share(value, self.xs)

    def y(self, value: float) -> float:
        return self.height - self.bottom - (self.height - self.top - self.bottom) * _share(value, self.ys)

    def point(self, value: Point) -> Point:
        return self.x(value[0]), self.y(value[1])

    def axes(self, x_name: str, y_name: str, x_ticks: Sequence[float], y_ticks: Sequence[float]) -> Markup:
        """A grid line and a number for every tick, and what the axes are."""
        floor_, left, right = self.height - self.bottom, self.left, self.width - self.right
        rows = []
        for tick in y_ticks:
            y = self.y(tick)
            rows.append(line((left, y), (right, y), class_="grid"))
            rows.append(text((left - 7, y + 4), f"{tick:g}", anchor="end", class_="tick"))
        columns = [text((self.x(tick), floor_ + 17), f"{tick:g}", class_="tick") for tick in x_ticks]
        bottom = line((left, floor_), (right, floor_), class_="axis")
        middle_x, middle_y = (left + right) / 2, (self.top + floor_) / 2
        names = [
            text((middle_x, self.height - 6), x_name, class_="name"),
            text((13, middle_y), y_name, turned=-90, class_="name"),
        ]
        return joined([*rows, *columns, bottom, *names])


def _share(value: float, between: Range) -> float:
    low, high = between
    return (value - low) / (high - low) if high > low else 0.5


SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


class Curve(NamedTuple):
    """A line with its name and colour; the name is that of its entry in the legend. ``mark``: a point next to it."""

    name: str
    points: Sequence[Point]
    colour: str
    mark: Point


def curve_chart(name: str, curves: Sequence[Curve], *, x_name: str, y_name: str) -> Markup:
    """Several curves between 0 and 1, or their upper part; each is named, so that the page can show some of them."""
    lowest = min((y for curve in curves for _, y in [*curve.points, curve.mark]), default=0.0)
    plot = Plot(width=460, height=380, ys=(max(low for low in (0.0, 0.5, 0.8, 0.9) if low <= lowest), 1.0))
    parts = [plot.axes(x_name, y_name, SHARES, round_numbers(*plot.ys))]
    for curve in curves:
        tooltip = title(curve.name)
        drawn = polyline(map(plot.point, curve.points), class_="curve", style=f"stroke:{curve.colour}")
        place = title(f"{curve.name}: {x_name} {curve.mark[0]:.3f}, {y_name} {curve.mark[1]:.3f}")
        ring = circle(plot.point(curve.mark), 5, place, class_="ring", style=f"stroke:{curve.colour}")
        parts.append(element("g", tooltip, drawn, ring, data_curve=curve.name))
    return drawing(plot.width, plot.height, name, *parts)
