"""Sections that reports on all kinds of models share."""

from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

from postil.html import Markup, element, joined
from postil.html.fragments import columns, document, figure, folded, note
from postil.metrics import Calibration, Counts, PrecisionRecall, Table
from postil.metrics.drawn_tables import drawn_table
from postil.metrics.significance import Interval
from postil.metrics.tables import Cell, by_frequency, calibration_table, label_table
from postil.reports import charts
from postil.reports.answers import Heading

# ------------------------------------------------------------------------------------------------ pages


class Section(NamedTuple):
    """A part of a page: its name in addresses, its heading, its content."""

    name: str
    title: str
    body: Markup


def page(title: str, header: Markup, sections: Sequence[Section]) -> str:
    """Return the whole file: a header, links to the sections, the sections."""
    links = [element("a", section.title, href=f"#{section.name}") for section in sections]
    return document(
        title,
        _asset("page.css"),
        element("header", header),
        element("nav", *links, aria_label="Sections"),
        element("main", *(element("section", element("h2", s.title), s.body, id=s.name) for s in sections)),
        script=_asset("page.js"),
    )


def _asset(name: str) -> Markup:
    return Markup("\n" + resources.files("postil.reports").joinpath(name).read_text(encoding="utf8"))


# -------------------------------------------------------------------------------- sections that pages share


MOST_LABELS = 200
"""Rows of a table of labels."""
MOST_POINTS = 200
"""Points of a curve."""
MOST_CURVES = 12


def header(
    heading: Heading, headline: str, percent: float, interval: Interval | None, others: Mapping[str, str]
) -> Markup:
    """The header of a report: model and data, the score in large figures with its interval, and further figures."""
    titles = [
        element("h1", "Report on ", element("bdi", heading.model)),
        element("p", "scored on ", element("bdi", heading.data), f", {heading.date}", class_="subtitle"),
    ]
    return joined([*titles, cards(headline, f"{percent:.2f}", interval, others), facts(heading)])


def cards(headline: str, score: str, interval: Interval | None, others: Mapping[str, str]) -> Markup:
    """The score in large figures with its interval, and further figures."""
    first = element(
        "div",
        element("span", headline, class_="what"),
        element("strong", score),
        element("span", _interval(interval), class_="more") if interval is not None else None,
        class_="card score",
    )
    more = [
        element("div", element("span", name, class_="what"), element("strong", value), class_="card")
        for name, value in others.items()
    ]
    return element("div", first, *more, class_="cards")


def _interval(interval: Interval) -> str:
    return f"{100 * interval.level:g} % interval {100 * interval.low:.2f} to {100 * interval.high:.2f}"


def facts(heading: Heading) -> Markup:
    """How the model came about, as far as its file tells."""
    about = heading.about
    data, training = about.get("data", {}), about.get("training", {})
    known = [f"{heading.parameters:,} parameters"]
    if about.get("preset"):
        known.insert(0, f"preset {about['preset']}")
    if data:
        known.append(f"trained on {data['sentences']:,} sentences, {data['tokens']:,} tokens")
    if training:
        known.append(f"{training['epochs']} epochs")
    if about.get("versions"):
        known.append(f"Postil {about['versions'].get('postil', '')}")
    return element("p", " · ".join(known), class_="facts-of-model")


def learning(heading: Heading) -> Section:
    """Loss and score of every epoch, from the model file."""
    history = [epoch for epoch in heading.about.get("training", {}).get("history", []) if epoch.get("loss") is not None]
    if not history:
        return Section("learning", "Learning curve", note("The model file has no history of its training."))
    rows: list[tuple[Cell, ...]] = [(e["epoch"], f"{e['loss']:.4f}", _percent(e.get("score"))) for e in history]
    names: tuple[str, ...] = ("epoch", "loss", "score")
    if all("seconds" in epoch for epoch in history):  # of a training run that has just ended; files have no times
        names = (*names, "seconds")
        rows = [(*row, f"{epoch['seconds']:.1f}") for row, epoch in zip(rows, history, strict=True)]
    numbers = drawn_table(Table("", names, rows))
    drawn = columns(_loss_chart(history), _dev_chart(history))
    return Section("learning", "Learning curve", joined([drawn, folded("As a table", numbers)]))


def _loss_chart(history: Sequence[Mapping[str, Any]]) -> Markup:
    losses = [(float(epoch["epoch"]), float(epoch["loss"])) for epoch in history]
    drawn = charts.line_chart("Loss per epoch", losses, x_name="epoch", y_name="loss")
    return figure("Loss on the training data", drawn)


def _dev_chart(history: Sequence[Mapping[str, Any]]) -> Markup:
    scores = [(float(e["epoch"]), 100 * float(e["score"])) for e in history if e.get("score") is not None]
    if not scores:
        return note("There was no dev file: the model has the parameters of the last epoch.")
    best = max(scores, key=lambda point: point[1])
    name, mark = "Score on dev per epoch", f"kept: {best[1]:.2f}"
    drawn = charts.line_chart(name, scores, x_name="epoch", y_name="score", marked=best, mark=mark)
    return figure("Score on the dev file", drawn)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def label_scores(by_label: Mapping[str, Counts], total: Counts | None, *, column: str) -> Section:
    """Precision, recall and F1 of each label; the most frequent ones if there are very many."""
    ordered = {label: by_label[label] for label in by_frequency(by_label)}
    content = label_table(ordered, total, title="", column=column, most=MOST_LABELS)
    return Section("labels", "Scores per label", drawn_table(content, bars=("precision", "recall", "F1")))


def reliability(calibration: Calibration, before: Calibration | None, *, answers: str) -> Section:
    """The calibration of the probabilities, before and after temperature scaling if both are known."""
    if not calibration.counts.sum():
        return Section("reliability", "Reliability", note(f"No {answers} to judge."))
    series = {"before calibration": before, "after calibration": calibration} if before else {answers: calibration}
    tables = {name: entry for name, entry in series.items() if entry is not None}
    errors = [f"{name}: {100 * entry.expected_error:.2f} %" for name, entry in tables.items()]
    meaning = note(
        f"Of all {answers} given with probability 0.8, eight in ten should be right: points on the dashed line are "
        "well calibrated, points below it are overconfident. The bars count the answers. Expected calibration error, "
        f"the mean distance from that line: {'; '.join(errors) if before else errors[0].split(': ')[1]}."
    )
    chart = charts.reliability_chart("Reliability diagram", tables)
    drawn = figure("Predicted and observed", joined([chart, charts.reliability_legend(list(tables))]))
    numbers = [drawn_table(calibration_table(calibration))]
    if before:
        numbers = [
            element("h3", "after calibration"),
            *numbers,
            folded("before calibration", drawn_table(calibration_table(before))),
        ]
    return Section("reliability", "Reliability", joined([meaning, columns(drawn, element("div", *numbers))]))


def precision_and_recall(
    curves: Mapping[str, PrecisionRecall], colours: Mapping[str, str], meaning: str, marks: Mapping[str, Counts]
) -> Section:
    """The curve of everything and of the most frequent labels, one of them chosen by the reader.

    ``marks`` are the answers that were given, a point next to each curve.
    """
    drawn = [
        charts.Curve(name, _thinned(curve), colours.get(name, "var(--strong)"), _point(marks[name]))
        for name, curve in curves.items()
        if len(curve.scores)
    ]
    if not drawn:
        return Section("curve", "Precision against recall", note("No span is probable enough."))
    chart = charts.curve_chart("Precision against recall", drawn, x_name="recall", y_name="precision")
    aside = element(
        "div",
        _chooser([curve.name for curve in drawn]) if len(drawn) > 1 else None,
        element("ul", *map(_legend, drawn), class_="legend"),
        _at_thresholds(next(iter(curves.values()))),
    )
    body = joined([note(meaning), columns(figure("Every point is a threshold", chart), aside)])
    return Section("curve", "Precision against recall", body)


def _chooser(names: Sequence[str]) -> Markup:
    """Hidden until the page's script, which does its work, shows it."""
    options = [_option("all curves", ""), *(_option(name, name) for name in names)]
    return element("label", "Show ", element("select", *options, id="curve-choice"), class_="choice", hidden=True)


def _option(shown: str, value: str) -> Markup:
    return element("option", shown, value=value)


def _legend(curve: charts.Curve) -> Markup:
    swatch = element("span", class_="swatch", style=f"background:{curve.colour}")
    return element("li", swatch, element("bdi", curve.name), data_curve=curve.name)


def _point(counts: Counts) -> tuple[float, float]:
    return float(counts.recall), float(counts.precision)


def _thinned(curve: PrecisionRecall) -> list[tuple[float, float]]:
    """At most `MOST_POINTS` points, evenly spread along the curve, including the first and the last."""
    way = np.abs(np.diff(curve.recall, prepend=0)) + np.abs(np.diff(curve.precision, prepend=1))
    walked = np.cumsum(way)
    kept = range(len(way))
    if len(way) > MOST_POINTS:
        kept = np.unique(np.searchsorted(walked, np.linspace(walked[0], walked[-1], MOST_POINTS))).tolist()
    return [(float(curve.recall[i]), float(curve.precision[i])) for i in kept]


def _at_thresholds(curve: PrecisionRecall) -> Markup:
    """Some points of the curve in numbers: from one tenth of its recall to the next."""
    wanted = np.linspace(0, 1, 11) * max(curve.recall, default=0.0)
    places = sorted({int(place) for place in np.searchsorted(curve.recall, wanted[1:])}) if len(curve.recall) else []
    rows = [(f"{curve.scores[i]:.3f}", 100 * float(curve.precision[i]), 100 * float(curve.recall[i])) for i in places]
    return drawn_table(Table("", ("at least", "precision", "recall"), rows))


def limited(labels: Sequence[str], weights: Mapping[str, int], most: int) -> list[str]:
    """The heaviest labels, in their order."""
    kept = {*sorted(labels, key=lambda label: (-weights.get(label, 0), label))[:most]}
    return [label for label in labels if label in kept]
