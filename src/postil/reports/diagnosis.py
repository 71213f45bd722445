"""The pages of ``postil doctor`` and ``postil curve``."""

from collections.abc import Mapping, Sequence

from postil.curation.checks import CHECKS, Finding
from postil.curation.diagnosis import Diagnosis
from postil.curation.learning_curve import LearningCurve
from postil.curation.suspicions import Suspicion
from postil.markup import Markup, element, joined
from postil.markup.fragments import figure, note
from postil.markup.highlight import Mark, excerpt, lasting_colours
from postil.markup.svg import Plot, circle, drawing, line, polyline, round_numbers, title
from postil.metrics.drawn_tables import drawn_table
from postil.metrics.tables import Cell, Table, show_class
from postil.reports.pages import Section, page
from postil.reports.spans import key

MOST = 500
"""Findings of a kind, and suspected errors, on a page."""


def diagnosis_page(diagnosis: Diagnosis) -> str:
    """The whole page of ``postil doctor --report``."""
    name = diagnosis.splits[0].name
    cards = [("findings", len(diagnosis.findings)), ("suspected errors", len(diagnosis.suspicions))]
    shown = [
        element("div", element("span", what, class_="what"), element("strong", f"{number:,}"), class_="card")
        for what, number in cards
    ]
    header = joined([element("h1", "Health of ", element("bdi", name)), element("div", *shown, class_="cards")])
    sections = [Section("data", "Data", drawn_table(sizes_table(diagnosis)))]
    if diagnosis.suspicions:
        sections.append(_suspicions(diagnosis))
    elif diagnosis.left_out:
        sections.append(Section("suspected", "Suspected errors", note(diagnosis.left_out)))
    sections += [
        _findings(kind, number, [finding for finding in diagnosis.findings if finding.kind == kind][:MOST])
        for kind, number in diagnosis.counts.items()
    ]
    if diagnosis.curve is not None:
        sections.append(_curve(diagnosis.curve))
    return page(f"Health of {name}", header, sections)


def curve_page(curve: LearningCurve, name: str) -> str:
    """The whole page of ``postil curve --report``."""
    header = joined([element("h1", "Learning curve of ", element("bdi", name)), note(curve.summary())])
    return page(f"Learning curve of {name}", header, [_curve(curve)])


def sizes_table(diagnosis: Diagnosis) -> Table:
    """A row per split: its size, the lengths of its sentences, and its most frequent classes."""
    sizes = diagnosis.sizes
    total = sizes[0].classes.copy()
    for size in sizes[1:]:
        total.update(size.classes)
    labels = [label for label, _ in total.most_common(8)]
    rows: list[tuple[Cell, ...]] = [
        (
            *(size.name, size.sentences, size.tokens, f"{size.lengths[1]} / {size.lengths[3]}"),
            *(size.classes[label] for label in labels),
        )
        for size in sizes
    ]
    return Table("Data", ("split", "sentences", "tokens", "median / longest", *map(show_class, labels)), rows)


def _suspicions(diagnosis: Diagnosis) -> Section:
    split = diagnosis.splits[0]
    colours = lasting_colours({*split.classes})
    items = [_suspicion(diagnosis, one, colours) for one in diagnosis.suspicions[:MOST]]
    about = note(
        f"{len(diagnosis.suspicions):,} stretches that models which have not seen them would label otherwise, the most "
        "suspicious first. Some of them are right: look at each."
    )
    marks = key("Numbers are the probabilities that the models give to these very spans.")
    return Section("suspected", "Suspected errors", joined([about, marks, element("ol", *items, class_="sentences")]))


def _suspicion(diagnosis: Diagnosis, one: Suspicion, colours: Mapping[str, str]) -> Markup:
    marks = [Mark(span, False, True, one.suggestion_probability) for span in one.suggestion]
    marks += [Mark(span, True, False, one.gold_probability) for span in one.gold]
    facts = element(
        "p",
        element("b", diagnosis.described(one)),
        element("span", diagnosis.where(one)),
        class_="facts",
    )
    shown = excerpt(diagnosis.splits[0].tokens[one.sentence], marks, colours)
    return element("li", facts, shown)


def _findings(kind: str, number: int, findings: Sequence[Finding]) -> Section:
    check = CHECKS[kind]
    items = [
        element(
            "li",
            element("p", element("b", element("bdi", one.what)), element("span", one.where), class_="facts"),
            element("p", one.excerpt, class_="excerpt", dir="auto") if one.excerpt else None,
        )
        for one in findings
    ]
    more = f" The first {len(findings):,} are shown." if number > len(findings) else ""
    about = note(f"{number:,}. {check.advice.capitalize()}.{more}")
    return Section(kind, check.title.capitalize(), joined([about, element("ol", *items, class_="sentences")]))


def _curve(curve: LearningCurve) -> Section:
    rows: list[tuple[Cell, ...]] = [
        (point.sentences, point.tokens, 100 * point.mean, "measured") for point in curve.points
    ]
    rows += [
        (one.sentences, None, 100 * one.score, f"expected, {100 * one.low:.2f} to {100 * one.high:.2f}")
        for one in curve.forecasts
    ]
    table = Table("Scores", ("sentences", "tokens", "score", ""), rows)
    drawn = figure("Score by number of training sentences", curve_chart(curve))
    return Section("curve", "More data", joined([note(f"{curve.summary().capitalize()}."), drawn, drawn_table(table)]))


def curve_chart(curve: LearningCurve) -> Markup:
    """Single scores as dots, the law as a line, the range of its forecasts as bars."""
    last = curve.forecasts[-1]
    first = curve.points[0].sentences
    scores = [100 * score for point in curve.points for score in point.scores]
    low = min(*scores, *(100 * one.low for one in curve.forecasts))
    high = max(*scores, *(100 * one.high for one in curve.forecasts))
    room = 0.08 * (high - low) or 1.0
    plot = Plot(xs=(0.0, float(last.sentences)), ys=(low - room, high + room), top=26)
    parts = [plot.axes("sentences", "score", round_numbers(*plot.xs, 6), round_numbers(*plot.ys))]
    steps = [first + (last.sentences - first) * step / 60 for step in range(61)]
    law = [(n, 100 * curve.law(n)) for n in steps]
    parts.append(polyline(map(plot.point, law), class_="line"))
    for one in curve.forecasts:
        ends = [plot.point((one.sentences, 100 * share)) for share in (one.low, one.high)]
        parts.append(line(*ends, class_="line"))
        parts.append(
            circle(
                plot.point((one.sentences, 100 * one.score)), 5, title(f"expected {100 * one.score:.2f}"), class_="ring"
            )
        )
    for point in curve.points:
        for score in point.scores:
            tip = f"{point.sentences:,} sentences: {100 * score:.2f}"
            parts.append(circle(plot.point((point.sentences, 100 * score)), 3, title(tip), class_="dot"))
    return drawing(plot.width, plot.height, "Learning curve", *parts)
