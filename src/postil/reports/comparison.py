"""The page of ``postil compare``."""

from collections.abc import Mapping, Sequence

from postil.curation.comparison import Difference, ModelComparison, Spans
from postil.markup import Markup, element, joined
from postil.markup.fragments import note
from postil.markup.highlight import Mark, lasting_colours, whole
from postil.metrics.counts import Counts
from postil.metrics.drawn_tables import drawn_table
from postil.metrics.evaluation import Evaluation
from postil.metrics.tables import Cell, Table, show_class
from postil.reports.pages import Section, page
from postil.reports.spans import key
from postil.text import Span
from postil.text.labelled import LabelledFile

MOST = 300
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
    shown = [_difference(one, names, file, colours) for one in result.differences[:MOST]]
    more = f" The first {MOST:,} are shown." if len(result.differences) > MOST else ""
    about = note(f"{len(result.differences):,} sentences, those with the largest difference in mistakes first.{more}")
    listed = element("ol", *shown, class_="sentences")
    sections = [
        Section("scores", "Scores", drawn_table(scores_table(result, names), bars=tuple(names))),
        Section("differences", "Differences", joined([about, key("✓ marks spans that are right."), listed])),
    ]
    return page(f"{names[0]} and {names[1]}", header, sections)


def scores_table(result: ModelComparison, names: Sequence[str]) -> Table:
    """F1 (or accuracy) of every label by both models, and of all together."""
    first, second = (_by_label(evaluation) for evaluation in (result.first, result.second))
    rows: list[tuple[Cell, ...]] = []
    for label in sorted({*first, *second}):
        one, two = (100 * side[label].f1 if label in side else None for side in (first, second))
        rows.append((show_class(label), one, two, None if one is None or two is None else two - one))
    test = result.test
    rows.append(("all", 100 * test.first, 100 * test.second, 100 * test.difference))
    interval = (
        f"95 % interval of the difference {100 * test.low:+.2f} to {100 * test.high:+.2f}, p = {test.p_value:.3g}"
    )
    interval = f"{interval}; {test.note}" if test.note else interval
    what = "accuracy" if result.first.spans is None else "F1"
    return Table(what, ("label", *names, "difference"), rows, interval, has_total=True)


def _by_label(evaluation: Evaluation) -> dict[str, Counts]:
    spans, tokens = evaluation.spans, evaluation.tokens
    found: dict[str, Counts] = (tokens if spans is None else spans).by_label()
    return found


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
