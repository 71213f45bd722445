"""The pages of ``train``, ``doctor``, ``crossval --curve``, ``explain``, ``compare``, ``evaluate`` for two files."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, final

from postil.drawing import architecture_of
from postil.evaluation import LearningCurve, ModelComparison
from postil.html import Markup, element, joined
from postil.html.fragments import figure, folded, note
from postil.html.highlight import Mark, excerpt, lasting_colours, whole
from postil.metrics import DetectionScores, Evaluation, Table, TreeScores
from postil.metrics.calibration import ReliabilityCurve
from postil.metrics.evaluation import FileScores
from postil.metrics.tables import drawn_table
from postil.models.config import TreeConfig, configured
from postil.models.estimator import Estimator
from postil.quality import CHECKS, Diagnosis
from postil.reports import charts, sections
from postil.reports.sections import Heading, Section, card, entry, heading_of, key, marks_of, page
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
    parts = [Section("data", "Data", drawn_table(diagnosis.table()))]
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
            [
                about,
                key("Numbers are the probabilities that the models give to these very spans."),
                sections.sentences(items),
            ]
        )
        parts.append(Section("suspected", "Suspected errors", shown))
    elif diagnosis.left_out:
        parts.append(Section("suspected", "Suspected errors", note(diagnosis.left_out)))
    for kind, number in diagnosis.counts.items():
        findings = [finding for finding in diagnosis.findings if finding.kind == kind][:MOST]
        more = f" The first {len(findings):,} are shown." if number > len(findings) else ""
        about = note(f"{number:,}. {CHECKS[kind].advice.capitalize()}.{more}")
        items = []
        for finding in findings:
            words = element("p", finding.excerpt, class_="excerpt", dir="auto") if finding.excerpt else None
            items.append(entry(element("bdi", finding.what), finding.where, words))
        parts.append(Section(kind, CHECKS[kind].title.capitalize(), joined([about, sections.sentences(items)])))
    if diagnosis.curve is not None:
        parts.append(_curve(diagnosis.curve))
    return page(f"Health of {name}", header, parts)


# ------------------------------------------------------------------------------------------------ learning curves


def curve_page(curve: LearningCurve, name: str) -> str:
    """The whole page of ``postil crossval --curve --report``."""
    header = joined([heading_of("Learning curve of ", name), note(curve.summary())])
    return page(f"Learning curve of {name}", header, [_curve(curve)])


def _curve(curve: LearningCurve) -> Section:
    """Single scores as dots, the law as a line, the range of its forecasts."""
    first, last = curve.points[0].sentences, curve.forecasts[-1].sentences
    steps = [first + (last - first) * step / 60 for step in range(61)]
    drawn = charts.line_chart(
        "Learning curve",
        [(n, 100 * curve.law(n)) for n in steps],
        x_name="sentences",
        y_name="score",
        dots=[(point.sentences, 100 * score) for point in curve.points for score in point.scores],
        ranges=[((n, 100 * low), (n, 100 * score), (n, 100 * high)) for n, score, low, high in curve.forecasts],
    )
    about = note(f"{curve.summary().capitalize()}.")
    shown = figure("Score by number of training sentences", drawn)
    return Section("curve", "More data", joined([about, shown, drawn_table(curve.table())]))


def explanation_page(model: str, explanations: Sequence[tuple[str, Markup]]) -> str:
    """The whole page, from titles and explanations that are drawn already."""
    parts = []
    for number, (name, drawn) in enumerate(explanations, start=1):
        short = name if len(name) <= LONGEST_TITLE else name[: LONGEST_TITLE - 1] + "…"
        parts.append(Section(f"explanation-{number}", short, drawn))
    about = "Contributions of words, phrases and features to an answer of the model."
    about = about if parts else "Nothing was found that could be explained."
    return page(f"Explanations by {model}", joined([heading_of("Explanations by ", model), note(about)]), parts)


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
    shown = joined([about, key("✓ marks spans that are right."), sections.sentences(items)])
    parts = [
        Section("scores", "Scores", drawn_table(result.table(names), bars=tuple(names))),
        Section("differences", "Differences", shown),
    ]
    return page(f"{names[0]} and {names[1]}", header, parts)


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
    shown = joined([element("p", f"{len(items):,} sentences"), sections.sentences(items[:MOST_DIFFERENCES])])
    figures = joined([drawn_table(table) for table in scores.evaluation.tables()])
    parts = [Section("scores", "Scores", figures), Section("mistakes", "Mistakes", shown)]
    header = joined([heading_of("Report on ", scores.predicted), subtitle, summary])
    return page(f"{scores.predicted} on {scores.gold}", header, parts)


# ------------------------------------------------------------------------------------------------ training runs


Scores = Evaluation | DetectionScores | TreeScores


@final
@dataclass(frozen=True, kw_only=True)
class RunReport:
    """Facts about a training run that the model does not contain.

    ``scores`` and ``reliability`` of held-out files by their names ("dev", "test", "dev, names"); ``history`` with the
    seconds of every epoch.
    """

    history: Sequence[Mapping[str, Any]]
    seconds: float
    scores: Mapping[str, Scores] = field(default_factory=dict)
    reliability: Mapping[str, ReliabilityCurve] = field(default_factory=dict)


def training_page(heading: Heading, model: Estimator, run: RunReport) -> str:
    """The whole page. ``heading.data`` names the training data."""
    training = {**heading.about.get("training", {}), "history": run.history}
    heading = replace(heading, about={**heading.about, "training": training})
    parts = [sections.learning(heading)]
    for name, scores in run.scores.items():
        parts += _of_file(name, scores, run.reliability.get(name))
    parts += [Section("network", "Network", drawn_table(architecture_of(model).table()))]
    data, versions = heading.about.get("data", {}), heading.about.get("versions", {})
    rows = [(name, f"{value:,}" if isinstance(value, int) else str(value)) for name, value in data.items()]
    rows += [(f"version of {part}", str(number)) for part, number in versions.items()]
    parts += [_settings(model), Section("data", "Data and versions", drawn_table(Table("", ("what", "value"), rows)))]
    scored = {f"{what} on {name}": value for name, scores in run.scores.items() for what, value in [_headline(scores)]}
    (main, value), *others = scored.items() or [("loss of the last epoch", f"{run.history[-1]['loss']:.4f}")]
    epochs = len(run.history)
    cards = dict(others) | {
        "epochs": f"{training.get('epochs', epochs)}, kept {training.get('best_epoch', epochs)}",
        "time": duration(run.seconds),
        "parameters": f"{heading.parameters:,}",
    }
    subtitle = element("p", "on ", element("bdi", heading.data), f", {heading.date}", class_="subtitle")
    figures = sections.cards(main, value, None, cards)
    header = joined([sections.heading_of("Training of ", heading.model), subtitle, figures, sections.facts(heading)])
    return page(f"Training of {heading.model}", header, parts)


def _headline(scores: Scores) -> tuple[str, str]:
    """The name of the main score, and its value."""
    if isinstance(scores, DetectionScores):
        return "average precision", f"{100 * scores.average_precision:.2f}"
    if isinstance(scores, TreeScores):
        return ("root accuracy" if scores.roots.tokens else "node accuracy"), f"{100 * scores.main_score:.2f}"
    return ("token accuracy" if scores.spans is None else "F1"), f"{100 * scores.main_score:.2f}"


def duration(seconds: float) -> str:
    """Seconds, or minutes and seconds, or hours and minutes."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _of_file(name: str, scores: Scores, reliability: ReliabilityCurve | None) -> list[Section]:
    """Scores per label and the calibration on one held-out file, before temperature scaling too if that differs."""
    total = calibration = before = None
    if isinstance(scores, DetectionScores):
        by_label, answers = {scores.label: scores.counts}, "tokens"
    elif isinstance(scores, TreeScores):
        by_label, answers = (scores.roots if scores.roots.tokens else scores.nodes).by_label(), "roots"
        calibration = scores.root_calibration
    elif scores.spans is None:
        by_label, answers = scores.tokens.by_label(), "labels"
    else:
        by_label, answers, total = scores.spans.by_label(), "spans", scores.spans.overall
    if reliability is not None:
        calibration, before = reliability.after, reliability.before if reliability.is_calibrated else None
    shown = [sections.label_scores(by_label, total, column="label")]
    if calibration is not None:
        shown.append(sections.reliability(calibration, before, answers=answers))
    return [one._replace(name=f"{name}-{one.name}", title=f"{one.title}: {name}") for one in shown]


# ------------------------------------------------------------------------------------------------ what it was made with


def _settings(model: Estimator) -> Section:
    """The settings that differ from the preset or were resolved for the data; the others on demand."""
    given = asdict(model.model.config)
    preset = model.get_params().get("preset")
    usual = asdict(TreeConfig() if preset is None else configured(preset, {}))
    what = "default" if preset is None else f"preset {preset}"
    changed = [
        (name, _shown(value), "adapts to the data" if usual[name] is None else _shown(usual[name]))
        for name, value in given.items()
        if value != usual[name]
    ]
    same = [(name, _shown(value)) for name, value in given.items() if value == usual[name]]
    first = drawn_table(Table("", ("setting", "value", what), changed)) if changed else note(f"All are as in {what}.")
    rest = folded(f"{len(same)} settings as in {what}", drawn_table(Table("", ("setting", "value"), same)))
    return Section("settings", "Settings", joined([first, rest]))


def _shown(value: Any) -> str:
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else "none" if value is None else str(value)
