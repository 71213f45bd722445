"""The page of ``postil simulate``."""

from postil.curation.simulation import CLOSE, Simulation
from postil.markup import Markup, element, joined
from postil.markup.fragments import figure, note
from postil.markup.highlight import lasting_colours
from postil.markup.svg import Plot, circle, drawing, line, polyline, round_numbers, text, title
from postil.metrics.drawn_tables import drawn_table
from postil.metrics.tables import Cell, Table
from postil.reports.pages import Section, page


def simulation_page(simulation: Simulation, name: str) -> str:
    """The whole page of ``postil simulate --report``."""
    header = joined(
        [
            element("h1", "Simulated labelling of ", element("bdi", name)),
            *(note(f"{sentence.capitalize()}.") for sentence in simulation.summary().split("\n")),
        ]
    )
    seeds = max(sum(run.way == way for run in simulation.runs) for way in simulation.ways)
    about = note(
        f"Each point is the mean of {seeds} runs that began with different random sentences. The upper dashed line is "
        "the score of models that learnt from all data, the lower one is one point below it."
    )
    drawn = figure("Score by labelled tokens", joined([curves_chart(simulation), _legend(simulation)]))
    curves = Section("curves", "Curves", joined([about, drawn, drawn_table(curves_table(simulation))]))
    return page(f"Simulated labelling of {name}", header, [curves])


def curves_table(simulation: Simulation) -> Table:
    """A row for each round with the mean score of every way, and one for all data."""
    ways = simulation.ways
    curves = [simulation.curve(way) for way in ways]
    rows: list[tuple[Cell, ...]] = []
    for number in range(max(map(len, curves), default=0)):
        points = [curve[number] if number < len(curve) else None for curve in curves]
        tokens = next(point[0] for point in points if point is not None)
        scores = [None if point is None else f"{100 * point[1]:.2f} ± {100 * point[2]:.2f}" for point in points]
        rows.append((round(tokens), f"{100 * tokens / simulation.tokens:.0f} %", *scores))
    rows.append((simulation.tokens, "100 %", *(f"{100 * simulation.full:.2f}" for _ in ways)))
    return Table("Score by labelled tokens", ("tokens", "share", *ways), rows, has_total=True)


def curves_chart(simulation: Simulation) -> Markup:
    """A line for each way; dashed ones at the score of all data, and one point below."""
    points = {way: [(tokens, 100 * score) for tokens, score, _ in simulation.curve(way)] for way in simulation.ways}
    full = 100 * simulation.full
    scores = [score for curve in points.values() for _, score in curve] + [full, full - 100 * CLOSE]
    room = 0.08 * (max(scores) - min(scores)) or 1.0
    most = max(tokens for curve in points.values() for tokens, _ in curve)
    plot = Plot(height=320, xs=(0.0, most), ys=(max(0.0, min(scores) - room), max(scores) + room), top=26)
    parts = [plot.axes("labelled tokens", "score", round_numbers(*plot.xs, 6), round_numbers(*plot.ys))]
    for level, name in ((full, f"all data: {full:.2f}"), (full - 100 * CLOSE, "")):
        ends = plot.point((0.0, level)), plot.point((most, level))
        parts.append(line(*ends, class_="line other"))
        parts.append(text((ends[0][0] + 6, ends[0][1] - 6), name, anchor="start", class_="marked"))
    colours = _colours(simulation)
    for way, curve in points.items():
        drawn = polyline(map(plot.point, curve), class_="curve", style=f"stroke:{colours[way]}")
        dots = [
            circle(
                plot.point(one), 3, title(f"{way}, {one[0]:,.0f} tokens: {one[1]:.2f}"), style=f"fill:{colours[way]}"
            )
            for one in curve
        ]
        parts.append(element("g", title(way), drawn, *dots))
    return drawing(plot.width, plot.height, "Score by labelled tokens", *parts)


def _colours(simulation: Simulation) -> dict[str, str]:
    return {**lasting_colours(set(simulation.ways))}


def _legend(simulation: Simulation) -> Markup:
    colours = _colours(simulation)
    items = [
        element("li", element("span", class_="swatch", style=f"background:{colours[way]}"), way)
        for way in simulation.ways
    ]
    return element("ul", *items, class_="legend")
