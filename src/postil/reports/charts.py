"""Charts as inline SVG, each from plain numbers; the page also has a table with the same numbers."""

from collections.abc import Mapping, Sequence
from itertools import chain

from postil.html import Markup, element
from postil.html.svg import SHARES, Plot, Point, circle, drawing, line, polyline, rectangle, round_numbers, text, title
from postil.metrics import Calibration


def line_chart(
    name: str,
    points: Sequence[Point],
    *,
    x_name: str,
    y_name: str,
    dots: Sequence[Point] | None = None,
    ranges: Sequence[tuple[Point, Point, Point]] = (),
    marked: Point | None = None,
    mark: str = "",
) -> Markup:
    """One line with dots, by default its points, and ranges from low to high with a ring at what is expected.

    One of the points may be marked with a few words.
    """
    dots = points if dots is None else dots
    xs, ys = [x for x, _ in points], [y for _, y in [*points, *dots, *chain.from_iterable(ranges)]]
    room = 0.08 * (max(ys) - min(ys)) or abs(max(ys)) * 0.1 or 1.0
    low = 0.0 if 0 <= min(ys) < 0.3 * max(ys) else min(ys) - room
    plot = Plot(xs=(min(xs), max(xs)), ys=(low, max(ys) + room), top=26)
    whole = sorted({float(round(tick)) for tick in round_numbers(*plot.xs, 8)})
    parts = [plot.axes(x_name, y_name, whole, round_numbers(*plot.ys))]
    parts.append(polyline(map(plot.point, points), class_="line"))
    for from_, middle, to in ranges:
        parts.append(line(plot.point(from_), plot.point(to), class_="line"))
        parts.append(circle(plot.point(middle), 5, title(f"expected {middle[1]:.4g}"), class_="ring"))
    for point in dots[:: -(-len(dots) // 60)]:
        tip = title(f"{x_name} {point[0]:g}: {point[1]:.4g}")
        parts.append(circle(plot.point(point), 3, tip, class_="dot"))
    if marked is not None:
        x, y = plot.point(marked)
        anchor = "end" if x > plot.width / 2 else "start"
        parts.append(circle((x, y), 6, title(mark), class_="ring"))
        parts.append(text((x, y - 12), mark, anchor=anchor, class_="marked"))
    return drawing(plot.width, plot.height, name, *parts)


def reliability_chart(name: str, tables: Mapping[str, Calibration]) -> Markup:
    """Predicted probabilities against the share that is right, a line per table, with a histogram of answers below."""
    plot = Plot(width=460, height=430, bottom=112)
    parts = [
        plot.axes("probability", "share that is right", SHARES, SHARES),
        line(plot.point((0, 0)), plot.point((1, 1)), class_="ideal"),
    ]
    for (series, table), style in zip(tables.items(), _styles(len(tables)), strict=True):
        most, points, dots = max(1, int(table.counts.max(initial=0))), [], []
        for count, promised, kept in zip(table.counts, table.confidence, table.accuracy, strict=True):
            if count:
                points.append(plot.point((float(promised), float(kept))))
                tooltip = title(f"{series}: {count:,} answers, predicted {promised:.3f}, observed {kept:.3f}")
                radius = 3 + 5 * float(count / most) ** 0.5
                dots.append(circle(points[-1], radius, tooltip, class_=style.replace("line", "dot")))
        parts += [polyline(points, class_=style), *dots]
    last = list(tables.values())[-1]  # its histogram is between the numbers of the axis and its name
    most, base, tallest = max(1, int(last.counts.max(initial=0))), plot.height - 26, 44.0
    for low, high, count in zip(last.edges, last.edges[1:], map(int, last.counts), strict=False):
        left, right = plot.x(float(low)) + 1, plot.x(float(high)) - 1
        height = tallest * count / most
        parts.append(rectangle((left, base - height), right - left, height, title(f"{count:,} answers"), class_="bar"))
        if count:
            parts.append(text(((left + right) / 2, base - height - 4), short(count), class_="count"))
    return drawing(plot.width, plot.height, name, *parts)


def reliability_legend(names: Sequence[str]) -> Markup:
    """How the lines of a reliability chart are drawn."""
    styles = {**dict(zip(names, _styles(len(names)), strict=True)), "perfect calibration": "ideal"}
    entries = []
    for name, style in styles.items():
        sample = line((0, 5), (28, 5), class_=style)
        drawn = element("svg", sample, viewBox="0 0 28 10", class_="sample", aria_hidden="true")
        entries.append(element("li", drawn, name))
    return element("ul", *entries, class_="legend")


def _styles(count: int) -> list[str]:
    """The last of the lines is the one that counts."""
    return ["line other"] * (count - 1) + ["line"] * bool(count)


def short(count: int) -> str:
    """12,345 as 12k: for narrow places."""
    if count >= 1_000_000:
        return f"{count / 1_000_000:.3g}M"
    return f"{count / 1000:.3g}k" if count >= 10_000 else str(count)
