"""The page of ``postil search``."""

from postil.curation.halving import SearchResult
from postil.markup import Markup, element, joined
from postil.markup.fragments import figure, note
from postil.markup.svg import Plot, circle, drawing, polyline, round_numbers, title
from postil.metrics.drawn_tables import drawn_table
from postil.metrics.tables import Cell, Table
from postil.reports.pages import Section, page

MOST = 200
"""Trials in the table."""


def search_page(result: SearchResult, name: str) -> str:
    """The whole page of ``postil search --report``."""
    header = joined([element("h1", "Settings for ", element("bdi", name)), note(f"{result.summary()}.")])
    drawn = figure("Score by number of epochs; each line is one choice of settings", rounds_chart(result))
    sections = [
        Section("rounds", "Fewer and fewer, for longer and longer", drawn),
        Section("trials", "Trials", drawn_table(trials_table(result, MOST))),
    ]
    return page(f"Settings for {name}", header, sections)


def trials_table(result: SearchResult, most: int) -> Table:
    """The best trials, a row each."""
    rows: list[tuple[Cell, ...]] = [
        (100 * one.mean, len(one.scores), one.epochs, one.words() if one.number else f"{result.preset}, as it was")
        for one in result.trials[:most]
    ]
    return Table(f"The best of {len(result.trials):,} settings", ("score", "seeds", "epochs", "settings"), rows)


def rounds_chart(result: SearchResult) -> Markup:
    """A line for each trial from round to round, the best one and the preset emphasised."""
    levels = [*result.rounds]
    scores = [100 * score for by_trial in result.rounds.values() for score in by_trial.values()]
    low, high = min(scores), max(scores)
    room = 0.08 * (high - low) or 1.0
    plot = Plot(xs=(0.0, 1.1 * max(levels)), ys=(low - room, high + room), top=26)
    parts = [plot.axes("epochs", "score", round_numbers(*plot.xs, 6), round_numbers(*plot.ys))]
    settings = {one.number: one for one in result.trials}
    order = sorted(settings, key=lambda number: (number == result.best.number, number == 0))
    for number in order:
        points = [(level, 100 * by[number]) for level, by in result.rounds.items() if number in by]
        emphasised = number == result.best.number
        parts.append(polyline(map(plot.point, points), class_="line" if emphasised or number == 0 else "grid"))
        words = settings[number].words() if number else f"{result.preset}, as it was"
        parts += [
            circle(
                plot.point(point),
                4 if emphasised else 2.5,
                title(f"{point[1]:.2f}: {words}"),
                class_="ring" if number == 0 else "dot",
            )
            for point in points
        ]
    return drawing(plot.width, plot.height, "Scores of the trials in each round", *parts)
