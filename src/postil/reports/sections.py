"""Pages of sections, and the sections that reports on all kinds of models share."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from typing import Any, NamedTuple, Self, TypeVar, final

import numpy as np

from postil.html import Content, Markup, element, joined
from postil.html.fragments import columns, document, figure, folded, note
from postil.html.highlight import Mark, excerpt
from postil.html.svg import Curve, curve_chart
from postil.metrics import Calibration, Counts, Interval, PrecisionRecall, Table
from postil.metrics.tables import Cell, by_frequency, calibration_table, drawn_table, label_table, show_class
from postil.models.estimator import Estimator
from postil.reports import charts
from postil.text import Span

MOST_LABELS = 200
"""Rows of a table of labels, and options of a menu."""
MOST_POINTS = 200
"""Points of a curve."""
MOST_CURVES = 12
MOST_MISTAKES = 500
"""Mistakes shown on a page."""

Thing = TypeVar("Thing")


# ------------------------------------------------------------------------------------------------ pages and their parts


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
        script=Markup(f"{_asset('page.js')}open();\n"),
    )


def _asset(name: str) -> Markup:
    return Markup("\n" + resources.files("postil.reports").joinpath(name).read_text(encoding="utf8"))


def heading_of(before: str, name: str) -> Markup:
    """The heading of a page about a file or a model."""
    return element("h1", before, element("bdi", name))


def card(what: str, value: str, more: str | None = None, class_: str = "card") -> Markup:
    """One figure in large type."""
    below = None if more is None else element("span", more, class_="more")
    return element("div", element("span", what, class_="what"), element("strong", value), below, class_=class_)


def entry(what: Content, place: str, *content: Content, **attributes: Any) -> Markup:
    """A sentence in a list: what there is to see, where it is, and the sentence."""
    facts = element("p", element("b", what), element("span", place), class_="facts")
    return element("li", facts, *content, **attributes)


def sentences(entries: Iterable[Markup]) -> Markup:
    return element("ol", *entries, class_="sentences")


def menu(options: Iterable[tuple[str, str]], **attributes: str) -> Markup:
    """A menu of (shown, value)."""
    return element("select", *(element("option", shown, value=value) for shown, value in options), **attributes)


def key(figures: str) -> Markup:
    """A legend for the marks."""
    style = "--label:var(--label-other);--gold:var(--label-other);--predicted:var(--label-other)"
    entries = [("underlined", "t gold", "chip", "gold"), ("shaded", "t predicted", "chip filled", "predicted")]
    shown = []
    for word, mark, chip, meaning in entries:
        example = element("span", word, class_=mark, style=style)
        shown.append(element("span", example, " ", element("small", meaning, class_=chip, style=style)))
    return element("p", *shown, element("span", figures), class_="key")


def marks_of(
    gold: Iterable[Span],
    predicted: Iterable[Span],
    figures: Mapping[Span, float] | None = None,
    *,
    of_tokens: bool = False,
) -> list[Mark]:
    """All spans of a sentence, from left to right; one mark for both if they agree, or none for labels of tokens."""
    wanted, answered = set(gold), set(predicted)
    if of_tokens:
        wanted, answered = wanted - answered, answered - wanted
    spans = sorted(wanted | answered, key=lambda span: (span.start, span.end, span.label))
    return [Mark(span, span in wanted, span in answered, (figures or {}).get(span)) for span in spans]


# ------------------------------------------------------------------------------------------------ headers


@final
@dataclass(frozen=True, kw_only=True)
class Heading:
    """Which model on which data, and when; ``about`` is what the model file says about its training."""

    model: str
    data: str
    date: str
    about: Mapping[str, Any]
    parameters: int

    @classmethod
    def of(cls, model: Estimator, *, model_name: str, data_name: str, date: str = "") -> Self:
        parts = model.model
        return cls(
            model=model_name,
            data=data_name,
            date=date or datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
            about=parts.about,
            parameters=sum(parameter.value.size for parameter in parts.network.parameters().values()),
        )


def header(
    heading: Heading, headline: str, percent: float, interval: Interval | None, others: Mapping[str, str]
) -> Markup:
    """The header of a report: model and data, the score in large figures with its interval, and further figures."""
    subtitle = element("p", "scored on ", element("bdi", heading.data), f", {heading.date}", class_="subtitle")
    shown = cards(headline, f"{percent:.2f}", interval, others)
    return joined([heading_of("Report on ", heading.model), subtitle, shown, facts(heading)])


def cards(headline: str, score: str, interval: Interval | None, others: Mapping[str, str]) -> Markup:
    """The score in large figures with its interval, and further figures."""
    score_card = card(headline, score, None if interval is None else str(interval), "card score")
    return element("div", score_card, *map(card, others, others.values()), class_="cards")


def facts(heading: Heading) -> Markup:
    """How the model came about, as far as its file tells."""
    about = heading.about
    data, training = about.get("data", {}), about.get("training", {})
    known = [f"preset {about['preset']}"] if about.get("preset") else []
    known.append(f"{heading.parameters:,} parameters")
    if data:
        known.append(f"trained on {data['sentences']:,} sentences, {data['tokens']:,} tokens")
    if training:
        known.append(f"{training['epochs']} epochs")
    if about.get("versions"):
        known.append(f"Postil {about['versions'].get('postil', '')}")
    return element("p", " · ".join(known), class_="facts-of-model")


# ------------------------------------------------------------------------------------------------ shared sections


def learning(heading: Heading) -> Section:
    """Loss and score of every epoch, from the model file."""
    history = [epoch for epoch in heading.about.get("training", {}).get("history", []) if epoch.get("loss") is not None]
    if not history:
        return Section("learning", "Learning curve", note("The model file has no history of its training."))
    losses = [(float(epoch["epoch"]), float(epoch["loss"])) for epoch in history]
    scores = [(float(e["epoch"]), 100 * float(e["score"])) for e in history if e.get("score") is not None]
    of_loss = charts.line_chart("Loss per epoch", losses, x_name="epoch", y_name="loss")
    of_dev = note("There was no dev file: the model has the parameters of the last epoch.")
    if scores:
        best = max(scores, key=lambda point: point[1])
        options: dict[str, Any] = {"x_name": "epoch", "y_name": "score", "marked": best, "mark": f"kept: {best[1]:.2f}"}
        of_dev = figure("Score on the dev file", charts.line_chart("Score on dev per epoch", scores, **options))
    names: tuple[str, ...] = ("epoch", "loss", "score")
    rows: list[tuple[Cell, ...]] = [
        (e["epoch"], f"{e['loss']:.4f}", None if e.get("score") is None else 100 * e["score"]) for e in history
    ]
    if all("seconds" in epoch for epoch in history):  # of a training run that has just ended; files have no times
        names = (*names, "seconds")
        rows = [(*row, f"{epoch['seconds']:.1f}") for row, epoch in zip(rows, history, strict=True)]
    drawn = columns(figure("Loss on the training data", of_loss), of_dev)
    numbers = folded("As a table", drawn_table(Table("", names, rows)))
    return Section("learning", "Learning curve", joined([drawn, numbers]))


def label_scores(by_label: Mapping[str, Counts], total: Counts | None, *, column: str) -> Section:
    """Precision, recall and F1 of each label; the most frequent ones if there are very many."""
    ordered = {label: by_label[label] for label in by_frequency(by_label)}
    content = label_table(ordered, total, title="", column=column, most=MOST_LABELS)
    return Section("labels", "Scores per label", drawn_table(content, bars=("precision", "recall", "F1")))


def reliability(calibration: Calibration, before: Calibration | None, *, answers: str) -> Section:
    """The calibration of the probabilities, before and after temperature scaling if both are known."""
    if not calibration.counts.sum():
        return Section("reliability", "Reliability", note(f"No {answers} to judge."))
    tables = {answers: calibration}
    errors = f"{100 * calibration.expected_error:.2f} %"
    numbers = [drawn_table(calibration_table(calibration))]
    if before is not None:
        tables = {"before calibration": before, "after calibration": calibration}
        errors = "; ".join(f"{name}: {100 * entry.expected_error:.2f} %" for name, entry in tables.items())
        earlier = folded("before calibration", drawn_table(calibration_table(before)))
        numbers = [element("h3", "after calibration"), *numbers, earlier]
    meaning = note(
        f"Of all {answers} given with probability 0.8, eight in ten should be right: points on the dashed line are "
        "well calibrated, points below it are overconfident. The bars count the answers. Expected calibration error, "
        f"the mean distance from that line: {errors}."
    )
    chart = charts.reliability_chart("Reliability diagram", tables)
    drawn = figure("Predicted and observed", joined([chart, charts.reliability_legend(list(tables))]))
    return Section("reliability", "Reliability", joined([meaning, columns(drawn, element("div", *numbers))]))


def precision_and_recall(
    curves: Mapping[str, PrecisionRecall], colours: Mapping[str, str], meaning: str, marks: Mapping[str, Counts]
) -> Section:
    """The curve of everything and of the most frequent labels, one of them chosen by the reader.

    ``marks`` are the answers that were given, a point next to each curve.
    """
    drawn = []
    for name, curve in curves.items():
        if len(curve.scores):  # at most `MOST_POINTS`, evenly spread along the curve, the first and the last among them
            walked = np.cumsum(np.abs(np.diff(curve.recall, prepend=0)) + np.abs(np.diff(curve.precision, prepend=1)))
            kept: Iterable[int] = range(len(walked))
            if len(walked) > MOST_POINTS:
                kept = np.unique(np.searchsorted(walked, np.linspace(walked[0], walked[-1], MOST_POINTS))).tolist()
            points = [(float(curve.recall[i]), float(curve.precision[i])) for i in kept]
            mark = marks[name].recall, marks[name].precision
            drawn.append(Curve(name, points, colours.get(name, "var(--strong)"), mark))
    if not drawn:
        return Section("curve", "Precision against recall", note("No span is probable enough."))
    chart = curve_chart("Precision against recall", drawn, x_name="recall", y_name="precision")
    legend = []
    for one in drawn:
        swatch = element("span", class_="swatch", style=f"background:{one.colour}")
        legend.append(element("li", swatch, element("bdi", one.name), data_curve=one.name))
    chooser = None
    if len(drawn) > 1:  # hidden until the page's script, which does its work, shows it
        options = [("all curves", ""), *((one.name, one.name) for one in drawn)]
        chooser = element("label", "Show ", menu(options, id="curve-choice"), class_="choice", hidden=True)
    first = next(iter(curves.values()))  # some of its points in numbers: from one tenth of its recall to the next
    wanted = np.linspace(0, 1, 11) * max(first.recall, default=0.0)
    places = sorted({int(place) for place in np.searchsorted(first.recall, wanted[1:])}) if len(first.recall) else []
    rows = [(f"{first.scores[i]:.3f}", 100 * float(first.precision[i]), 100 * float(first.recall[i])) for i in places]
    thresholds = drawn_table(Table("", ("at least", "precision", "recall"), rows))
    aside = element("div", chooser, element("ul", *legend, class_="legend"), thresholds)
    body = joined([note(meaning), columns(figure("Every point is a threshold", chart), aside)])
    return Section("curve", "Precision against recall", body)


# ------------------------------------------------------------------------------------------------ mistakes


class Mistake(NamedTuple):
    """A gold and a predicted span that differ, how they differ, and how probable (or how high) the model found each."""

    sentence: int
    kind: str
    gold: Span | None
    predicted: Span | None
    gold_figure: float | None = None
    figure: float | None = None

    def marks(self) -> list[Mark]:
        """Predicted span first."""
        marks = [] if self.predicted is None else [Mark(self.predicted, False, True, self.figure)]
        return marks if self.gold is None else [*marks, Mark(self.gold, True, False, self.gold_figure)]


def mistake_browser(
    wrong: Sequence[Mistake],
    tokens: Sequence[Sequence[str]],
    place: Callable[[int, int], str],
    colours: Mapping[str, str],
    *,
    kinds: Sequence[str] = (),
    figure: str = "probability",
) -> Markup:
    """Filters and a fair part of the mistakes. Without ``kinds`` the most frequent ones, gold marks first."""
    if not wrong:
        return note("The predictions contain no mistakes.")
    groups: dict[str, list[Mistake]] = {kind: [] for kind in kinds}
    for one in wrong:
        groups.setdefault(one.kind, []).append(one)
    listed = list(kinds) or sorted(groups, key=lambda name: (-len(groups[name]), name))[:MOST_MISTAKES]
    shown = fair_part({name: groups[name] for name in listed}, MOST_MISTAKES)
    examples = [one for name in listed for one in shown[name]]
    items: list[tuple[float, Markup]] = []  # the most confident ones first
    for one in examples:
        marks = one.marks() if kinds else one.marks()[::-1]
        sides = {"data_gold": one.gold, "data_predicted": one.predicted}
        named = {side: show_class(span.label) for side, span in sides.items() if span is not None}
        sure = one.gold_figure if one.predicted is None else one.figure
        where = place(one.sentence, min(mark.span.start for mark in marks))
        text, shown_figure = excerpt(tokens[one.sentence], marks, colours), None if sure is None else f"{sure:.4f}"
        item = entry(one.kind, where, text, data_kind=one.kind, data_figure=shown_figure, **named)
        items.append((-1e9 if sure is None else sure, item))
    present = sorted((kind for kind in groups if groups[kind]), key=lambda kind: -len(groups[kind]))[:MOST_LABELS]
    left_out = None
    if len(examples) != len(wrong):
        counts = f"{len(examples):,} of {len(wrong):,} mistakes"
        meaning = f"This page lists {counts}, evenly spread over the file. The counts cover all of them."
        rows = [(kind, len(groups[kind]), len(shown.get(kind, []))) for kind in present]
        table = drawn_table(Table("", ("kind", "mistakes", "shown"), rows))
        left_out = joined([note(meaning), folded("How many are shown", table)])
    labels = ({show_class(span.label) for span in (one.gold, one.predicted) if span is not None} for one in wrong)
    options = [(f"{kind} ({len(groups[kind]):,})", kind) for kind in present]
    return joined(
        [
            left_out,
            _filters(options, Counter(label for both in labels for label in both), examples, figure),
            element("p", f"{len(examples):,} examples", id="status", role="status", aria_live="polite"),
            element("ol", *(item for _, item in sorted(items, key=lambda pair: -pair[0])), id="examples"),
        ]
    )


def fair_part(groups: Mapping[str, Sequence[Thing]], most: int) -> dict[str, list[Thing]]:
    """At most ``most`` items, as evenly from the groups as their sizes allow, each group spread from first to last."""
    sizes = [len(group) for group in groups.values()]
    low, high = 1, max(sizes, default=1) or 1  # the largest size to which all groups can be cut is between them
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if sum(min(size, middle) for size in sizes) <= most else (low, middle - 1)
    return {name: spread(group, low) for name, group in groups.items()}


def spread(things: Sequence[Thing], most: int) -> list[Thing]:
    """At most ``most`` of them, evenly spread from the first to the last."""
    if len(things) <= most:
        return list(things)
    return [things[i * len(things) // most] for i in range(most)]


def _filters(
    kinds: Sequence[tuple[str, str]], labels: Counter[str], examples: Sequence[Mistake], figure: str
) -> Markup:
    """A form that works in the browser alone; hidden if scripts are disabled."""
    limits: dict[str, Any] = {"step": 0.05, "placeholder": "any", "min": 0, "max": 1}
    if figure != "probability":
        limits = {"step": "any", "placeholder": "any"}
    names = [(f"{label} ({count:,})", label) for label, count in labels.most_common(MOST_LABELS)]
    menus = {"Kind": kinds, "Label": names} if len(kinds) > 1 else {"Label": names}
    for side in ("gold", "predicted"):
        spans: list[Span | None] = [getattr(one, side) for one in examples]
        present = Counter(show_class(span.label) for span in spans if span is not None)
        menus[side.capitalize()] = [(label, label) for label, _ in present.most_common(MOST_LABELS)]
    controls = {name: menu([("any", ""), *options], name=name.lower()) for name, options in menus.items()}
    controls["Words"] = element("input", type="search", name="text", placeholder="any")
    controls[f"{figure.capitalize()} from"] = element("input", type="number", name="min", **limits)
    controls["to"] = element("input", type="number", name="max", **limits)
    fields = [element("label", element("span", name), control) for name, control in controls.items()]
    return element("form", *fields, element("button", "Clear", type="reset"), id="filters", hidden=True)
