"""The pages of ``doctor``, ``crossval --curve``, ``explain``, ``compare``, and of ``evaluate`` for two files."""

from collections.abc import Sequence

from postil.evaluation import LearningCurve, ModelComparison
from postil.html import Markup, element, joined
from postil.html.fragments import figure, note
from postil.html.highlight import Mark, excerpt, lasting_colours, whole
from postil.html.svg import Plot, circle, drawing, line, polyline, round_numbers, title
from postil.metrics.evaluation import FileScores
from postil.metrics.tables import drawn_table
from postil.quality import CHECKS, Diagnosis
from postil.reports.sections import Section, card, entry, heading_of, key, marks_of, page, sentences
from postil.text.labelled import LabelledFile

MOST = 500
"""Findings of a kind, and suspected errors, on a page."""
MOST_DIFFERENCES = 300
"""Sentences on the page of a comparison, or of predictions in a file."""
LONGEST_TITLE = 60


def diagnosis_page(diagnosis: Diagnosis) -> str:
    """The whole page of ``postil doctor --report``."""
    name = diagnosis.splits[0].name
    cards = [
        card("findings", f"{len(diagnosis.findings):,}"),
        card("suspected errors", f"{len(diagnosis.suspicions):,}"),
    ]
    header = joined([heading_of("Health of ", name), element("div", *cards, class_="cards")])
    sections = [Section("data", "Data", drawn_table(diagnosis.table()))]
    if diagnosis.suspicions:
        split, items = diagnosis.splits[0], []
        colours = lasting_colours({*split.classes})
        for one in diagnosis.suspicions[:MOST]:
            marks = [Mark(span, False, True, one.suggestion_probability) for span in one.suggestion]
            marks += [Mark(span, True, False, one.gold_probability) for span in one.gold]
            text = excerpt(split.tokens[one.sentence], marks, colours)
            items.append(entry(diagnosis.described(one), diagnosis.where(one), text))
        about = note(
            f"{len(diagnosis.suspicions):,} stretches that models which have not seen them would label otherwise, the "
            "most suspicious first. Some of them are right: look at each."
        )
        shown = joined(
            [about, key("Numbers are the probabilities that the models give to these very spans."), sentences(items)]
        )
        sections.append(Section("suspected", "Suspected errors", shown))
    elif diagnosis.left_out:
        sections.append(Section("suspected", "Suspected errors", note(diagnosis.left_out)))
    for kind, number in diagnosis.counts.items():
        findings = [finding for finding in diagnosis.findings if finding.kind == kind][:MOST]
        more = f" The first {len(findings):,} are shown." if number > len(findings) else ""
        about = note(f"{number:,}. {CHECKS[kind].advice.capitalize()}.{more}")
        items = []
        for finding in findings:
            words = element("p", finding.excerpt, class_="excerpt", dir="auto") if finding.excerpt else None
            items.append(entry(element("bdi", finding.what), finding.where, words))
        sections.append(Section(kind, CHECKS[kind].title.capitalize(), joined([about, sentences(items)])))
    if diagnosis.curve is not None:
        sections.append(_curve(diagnosis.curve))
    return page(f"Health of {name}", header, sections)


# ------------------------------------------------------------------------------------------------ learning curves


def curve_page(curve: LearningCurve, name: str) -> str:
    """The whole page of ``postil crossval --curve --report``."""
    header = joined([heading_of("Learning curve of ", name), note(curve.summary())])
    return page(f"Learning curve of {name}", header, [_curve(curve)])


def _curve(curve: LearningCurve) -> Section:
    drawn = figure("Score by number of training sentences", curve_chart(curve))
    about = note(f"{curve.summary().capitalize()}.")
    return Section("curve", "More data", joined([about, drawn, drawn_table(curve.table())]))


def curve_chart(curve: LearningCurve) -> Markup:
    """Single scores as dots, the law as a line, the range of its forecasts as bars."""
    first, last = curve.points[0].sentences, curve.forecasts[-1].sentences
    scores = [100 * score for point in curve.points for score in point.scores]
    low = min(*scores, *(100 * one.low for one in curve.forecasts))
    high = max(*scores, *(100 * one.high for one in curve.forecasts))
    room = 0.08 * (high - low) or 1.0
    plot = Plot(xs=(0.0, float(last)), ys=(low - room, high + room), top=26)
    steps = [first + (last - first) * step / 60 for step in range(61)]
    parts = [
        plot.axes("sentences", "score", round_numbers(*plot.xs, 6), round_numbers(*plot.ys)),
        polyline([plot.point((n, 100 * curve.law(n))) for n in steps], class_="line"),
    ]
    for one in curve.forecasts:
        low_end, middle, high_end = (plot.point((one.sentences, 100 * s)) for s in (one.low, one.score, one.high))
        ring = circle(middle, 5, title(f"expected {100 * one.score:.2f}"), class_="ring")
        parts += [line(low_end, high_end, class_="line"), ring]
    for point in curve.points:
        for score in point.scores:
            tip = title(f"{point.sentences:,} sentences: {100 * score:.2f}")
            parts.append(circle(plot.point((point.sentences, 100 * score)), 3, tip, class_="dot"))
    return drawing(plot.width, plot.height, "Learning curve", *parts)


def explanation_page(model: str, explanations: Sequence[tuple[str, Markup]]) -> str:
    """The whole page, from titles and explanations that are drawn already."""
    sections = []
    for number, (name, drawn) in enumerate(explanations, start=1):
        short = name if len(name) <= LONGEST_TITLE else name[: LONGEST_TITLE - 1] + "…"
        sections.append(Section(f"explanation-{number}", short, drawn))
    about = "Contributions of words, phrases and features to an answer of the model."
    about = about if sections else "Nothing was found that could be explained."
    return page(f"Explanations by {model}", joined([heading_of("Explanations by ", model), note(about)]), sections)


# ------------------------------------------------------------------------------------------------ comparisons


def comparison_page(result: ModelComparison, names: Sequence[str], file: LabelledFile) -> str:
    """The whole page: scores, then every sentence that the models label differently, one answer below the other."""
    header = joined(
        [
            element("h1", element("bdi", names[0]), " and ", element("bdi", names[1])),
            element("p", "compared on ", element("bdi", file.path), class_="subtitle"),
            element("p", result.summary(), class_="facts-of-model"),
        ]
    )
    labels = {span.label for one in result.differences for spans in (one.gold, one.first, one.second) for span in spans}
    colours = lasting_colours(labels)
    better = {"first": f"better by {names[0]}", "second": f"better by {names[1]}", "": "neither is better"}
    items = []
    for one in result.differences[:MOST_DIFFERENCES]:
        rows = []
        for name, spans in zip(names, (one.first, one.second), strict=True):
            marks = marks_of(one.gold, spans, of_tokens=result.first.spans is None)
            rows += [element("p", element("small", name), class_="facts"), whole(one.tokens, marks, colours)]
        items.append(entry(better[one.winner], file.where(one.sentence, 0), *rows))
    more = f" The first {MOST_DIFFERENCES:,} are shown." if len(result.differences) > MOST_DIFFERENCES else ""
    about = note(f"{len(result.differences):,} sentences, those with the largest difference in mistakes first.{more}")
    shown = joined([about, key("✓ marks spans that are right."), sentences(items)])
    sections = [
        Section("scores", "Scores", drawn_table(result.table(names), bars=tuple(names))),
        Section("differences", "Differences", shown),
    ]
    return page(f"{names[0]} and {names[1]}", header, sections)


def predictions_page(scores: FileScores, gold: LabelledFile) -> str:
    """The page of predictions in a file: tables of the scores, and the sentences with mistakes."""
    compared, items = scores.compared, []
    for number, tokens in enumerate(gold.tokens):
        right, answered = compared.spans_of(number)
        if set(right) != set(answered):
            marks = marks_of(right, answered, of_tokens=compared.scheme == "none")
            colours = lasting_colours({mark.span.label for mark in marks})
            place = element("p", gold.where(number, 0), class_="facts")
            items.append(element("li", place, whole(tokens, marks, colours)))
    subtitle = element("p", "scored on ", element("bdi", scores.gold), class_="subtitle")
    summary = element("p", scores.evaluation.summary(), class_="facts-of-model")
    shown = joined([element("p", f"{len(items):,} sentences"), sentences(items[:MOST_DIFFERENCES])])
    figures = joined([drawn_table(table) for table in scores.evaluation.tables()])
    parts = [Section("scores", "Scores", figures), Section("mistakes", "Mistakes", shown)]
    header = joined([heading_of("Report on ", scores.predicted), subtitle, summary])
    return page(f"{scores.predicted} on {scores.gold}", header, parts)
