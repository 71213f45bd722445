"""The report on a training run: how it went, what came out, what it was made with."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, final

from postil.drawing import architecture_of
from postil.html import element, joined
from postil.html.fragments import folded, note
from postil.metrics import DetectionScores, Evaluation, Table, TreeScores
from postil.metrics.calibration import Reliability
from postil.metrics.tables import drawn_table
from postil.models.config import TreeConfig, configured
from postil.models.estimator import Estimator
from postil.reports import sections
from postil.reports.sections import Heading, Section, page

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
    reliability: Mapping[str, Reliability] = field(default_factory=dict)


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


def _of_file(name: str, scores: Scores, reliability: Reliability | None) -> list[Section]:
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
