"""The pages of ``postil doctor`` and ``postil crossval --curve``."""

from collections.abc import Mapping, Sequence

from postil.evaluation import LearningCurve
from postil.evaluation.comparison import Difference, ModelComparison, Spans
from postil.html import Markup, element, joined
from postil.html.fragments import figure, note
from postil.html.highlight import Mark, excerpt, lasting_colours, whole
from postil.html.svg import Plot, circle, drawing, line, polyline, round_numbers, title
from postil.metrics.drawn_tables import drawn_table
from postil.quality import CHECKS, Diagnosis, Finding, Suspicion
from postil.reports.sections import Section, page
from postil.reports.spans import key
from postil.text import Span
from postil.text.labelled import LabelledFile

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
    sections = [Section("data", "Data", drawn_table(diagnosis.table()))]
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
    """The whole page of ``postil crossval --curve --report``."""
    header = joined([element("h1", "Learning curve of ", element("bdi", name)), note(curve.summary())])
    return page(f"Learning curve of {name}", header, [_curve(curve)])


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
    drawn = figure("Score by number of training sentences", curve_chart(curve))
    return Section(
        "curve", "More data", joined([note(f"{curve.summary().capitalize()}."), drawn, drawn_table(curve.table())])
    )


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


# ------------------------------------------------------------------------------------------------ explanations


LONGEST_TITLE = 60


def explanation_page(model: str, explanations: Sequence[tuple[str, Markup]]) -> str:
    """The whole page, from titles and explanations that are drawn already."""
    sections = [
        Section(f"explanation-{number}", shortened_title(title), drawn)
        for number, (title, drawn) in enumerate(explanations, start=1)
    ]
    header = joined(
        [
            element("h1", "Explanations by ", element("bdi", model)),
            note("Contributions of words, phrases and features to an answer of the model.")
            if sections
            else note("Nothing was found that could be explained."),
        ]
    )
    return page(f"Explanations by {model}", header, sections)


def shortened_title(title: str) -> str:
    return title if len(title) <= LONGEST_TITLE else title[: LONGEST_TITLE - 1] + "…"


# ------------------------------------------------------------------------------------------------ comparisons


MOST_DIFFERENCES = 300
"""Sentences on the page."""


def comparison_page(result: ModelComparison, names: Sequence[str], file: LabelledFile) -> str:
    """The whole page: scores, then every sentence that the models label differently, one answer below the other."""
    header = joined(
        [
            element("h1", element("bdi", names[0]), " and ", element("bdi", names[1])),
            element("p", "compared on ", element("bdi", file.path), class_="subtitle"),
            element("p", result.summary(), class_="facts-of-model"),
        ]
    )
    labels = {span[0] for one in result.differences for spans in (one.gold, one.first, one.second) for span in spans}
    colours = lasting_colours(labels)
    shown = [_difference(one, names, file, colours) for one in result.differences[:MOST_DIFFERENCES]]
    more = f" The first {MOST_DIFFERENCES:,} are shown." if len(result.differences) > MOST_DIFFERENCES else ""
    about = note(f"{len(result.differences):,} sentences, those with the largest difference in mistakes first.{more}")
    listed = element("ol", *shown, class_="sentences")
    sections = [
        Section("scores", "Scores", drawn_table(result.table(names), bars=tuple(names))),
        Section("differences", "Differences", joined([about, key("✓ marks spans that are right."), listed])),
    ]
    return page(f"{names[0]} and {names[1]}", header, sections)


def _difference(one: Difference, names: Sequence[str], file: LabelledFile, colours: Mapping[str, str]) -> Markup:
    winner = {"first": f"better by {names[0]}", "second": f"better by {names[1]}", "": "neither is better"}[one.winner]
    facts = element("p", element("b", winner), element("span", file.where(one.sentence, 0)), class_="facts")
    rows = [
        joined(
            [element("p", element("small", name), class_="facts"), whole(one.tokens, _marks(one.gold, spans), colours)]
        )
        for name, spans in zip(names, (one.first, one.second), strict=True)
    ]
    return element("li", facts, *rows)


def _marks(gold: Spans, predicted: Spans) -> list[Mark]:
    right, answered = set(gold), set(predicted)
    if len(gold) == len(predicted) and all(end == start + 1 for _, start, end in gold):  # labels of single tokens
        right, answered = right - answered, answered - right
    ordered = sorted(right | answered, key=lambda span: (span[1], span[2], span[0]))
    return [Mark(Span(*span), span in right, span in answered) for span in ordered]
