"""``postil tune``: trade precision for recall, or recall for precision, in a trained model."""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from postil.commands.labelled import add_task_argument, load, one_task, resolve_partial_labels, widen
from postil.commands.models import checked_scheme, open_model
from postil.commands.notices import warn
from postil.commands.output import add_overwrite_argument, check_output
from postil.commands.reading import add_reading_arguments, reading_options
from postil.errors import ConfigurationError
from postil.models.decoding.tuning import Unreachable
from postil.models.estimator import Estimator
from postil.models.storage import located
from postil.tagging.options import check_columns
from postil.text.labels.partial import is_partial

if TYPE_CHECKING:
    from postil.models.decoding.tuning import Tuned
    from postil.models.tagger import Tagger
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from postil.commands.console import make_console, show_table
from postil.metrics.tables import Table
from postil.models.decoding.tuning import Point, Tuned, standard_errors

DESCRIPTION = """\
Tune a trained tagger to find more entities (higher recall) or to be right more often (higher precision).

  postil tune ner.postil dev.txt --recall 0.9 -o eager.postil
  postil tune ner.postil dev.txt --precision 0.9 -o careful.postil
  postil tune ner.postil dev.txt --recall 0.9 --dry-run    show the curve, write nothing
  postil tune ner.postil dev.txt --f1 --in-place           maximise F1, as train does with --dev
  postil tune ner.postil --reset --in-place                simply predict the most probable labels

For higher recall, a decoding bias is set, which finds more entities. For higher precision, a threshold is set, which
drops the least probable ones. The other figure stays as high as possible. A model that reaches the target already is
not changed; among settings with equal figures, the smallest change is chosen. DATA must be held out from training. The
target must be reached there with a margin of one standard error (--margin), because part of any score on few sentences
is luck. For the best F1, the smallest bias is chosen that is not worse than the best by more than this margin.

The model is not trained again and its probabilities do not change: only one number in the model file does, which
--reset undoes.
"""
SHOWN = "--recall --precision --f1 --margin -o --in-place --dry-run --reset --task --json --overwrite --from".split()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="model file of a tagger")
    parser.add_argument("data", metavar="DATA", nargs="?", help="labelled file of any format, held out from training")
    parser.add_argument("--recall", type=float, metavar="R", help="share of entities to find, 0 to 1")
    parser.add_argument("--precision", type=float, metavar="P", help="share of answers that must be right, 0 to 1")
    parser.add_argument("--f1", action="store_true", help="maximise F1")
    parser.add_argument("--margin", type=float, default=1.0, metavar="Z", help="margin in standard errors (default: 1)")
    add_task_argument(parser, "multi-task models: tune this task")
    parser.add_argument("--reset", action="store_true", help="remove the bias and the thresholds")
    target = parser.add_mutually_exclusive_group()
    target.add_argument("-o", "--output", metavar="MODEL2", help="model file to write")
    target.add_argument("--in-place", action="store_true", help="change MODEL itself")
    target.add_argument("--dry-run", action="store_true", help="write nothing")
    parser.set_defaults(usage_error=parser.error)
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    add_overwrite_argument(parser)
    add_reading_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    if not (arguments.output or arguments.in_place or arguments.dry_run):
        arguments.usage_error("one of -o MODEL2, --in-place and --dry-run is required")
    target = _target(arguments)
    if target is not None:
        inputs = [arguments.data, *([] if arguments.in_place else [located(arguments.model)])]
        check_output(target, "model file", "model", inputs=inputs, overwrite=arguments.overwrite)
    whole = open_model(arguments.model)
    model: Any = one_task(whole, arguments.task)
    if model.KIND != "tagger":
        raise ConfigurationError("only a tagger can be tuned", got=f"this is a {model.KIND}", where=arguments.model)
    if arguments.reset:
        return _reset(model, whole, arguments)
    if arguments.data is None:
        raise ConfigurationError("nothing to tune on", expected="a labelled file as DATA, or --reset")
    try:
        tuned = _tuned(model, arguments)
    except Unreachable as error:
        if not arguments.json:
            show_reachable(error.tuned)
        raise
    if not (tuned.is_met and arguments.in_place):
        _write(whole, arguments)
    if arguments.json:
        print(json.dumps({"model": _target(arguments), **tuned.to_dict()}, indent=2))
    else:
        show(tuned, arguments.model, _target(arguments))
    return 0


def _tuned(model: "Tagger", arguments: argparse.Namespace) -> "Tuned":
    from postil.models.decoding.tuning import checked_wish
    from postil.models.sentences import tokens_of

    checked_wish(arguments.recall, arguments.precision, arguments.margin, f1=arguments.f1)  # before any file is read
    check_columns(model, arguments.feature_columns)
    file = load(arguments.data, **reading_options(arguments, model.model.segmenter))
    resolve_partial_labels([file], known=model.model.codec.answers)
    widen(file, model.model.codec)
    checked_scheme(file, model.model.codec)
    unknown = sum(map(is_partial, file.labels))
    if unknown:
        warn(f"{file.path}: {unknown:,} sentences with unknown labels are ignored")
    X = [tokens_of(sentence) for sentence in file.sentences]
    wish = {name: getattr(arguments, name) for name in ("recall", "precision", "f1", "margin")}
    return model.tune(X, file.labels, **wish)


def _reset(model: "Tagger", whole: Estimator, arguments: argparse.Namespace) -> int:
    given = [name for name in ("data", "recall", "precision", "f1") if getattr(arguments, name) not in (None, False)]
    if given:
        raise ConfigurationError(f"--reset cannot be combined with {' and '.join(given)}")
    before = model.decoding
    model.decoding = replace(before, bias=0.0, thresholds={})
    _write(whole, arguments)
    was = {"bias": before.bias, "thresholds": dict(before.thresholds)}
    if arguments.json:
        print(json.dumps({"model": _target(arguments), "bias": 0.0, "thresholds": {}, "before": was}, indent=2))
    else:
        thresholds = ", ".join(f"{name} {lowest:.3f}" for name, lowest in before.thresholds.items())
        removed = f"bias {before.bias:+.3f}, thresholds {thresholds or 'none'}"
        warn(f"{_target(arguments) or 'dry run'}: removed {removed}")
    return 0


def _target(arguments: argparse.Namespace) -> str | None:
    return None if arguments.dry_run else arguments.output or str(located(arguments.model))


def _write(model: Estimator, arguments: argparse.Namespace) -> None:
    target = _target(arguments)
    if target is not None:
        model.save(Path(target))


# ------------------------------------------------------------------------------------------------ on a terminal


PLOT_WIDTH, PLOT_HEIGHT = 51, 13


def show(tuned: Tuned, model: str, target: str | None) -> None:
    """``target``: where the model was written; None for a dry run."""
    console, chosen = make_console(), tuned.chosen
    margin = f"with a margin of {standard_errors(tuned.margin)}"
    console.print(Text(f"{model}: target {tuned.target}, {margin}"), soft_wrap=True)
    setting = f"threshold {chosen.threshold:.3f}" if chosen.threshold else f"bias {chosen.bias:+.3f}"
    setting = f"the target is already met, nothing changes: {setting}" if tuned.is_met else setting
    headline = f"{setting}: precision {100 * chosen.precision:.2f}, recall {100 * chosen.recall:.2f}"
    console.print(Text.assemble((headline, "bold green"), f", F1 {100 * chosen.f1:.2f} expected"))
    before = f"untuned: precision {100 * tuned.before.precision:.2f}, recall {100 * tuned.before.recall:.2f}"
    console.print(Text(f"{before}, F1 {100 * tuned.before.f1:.2f}"))
    _show_curve(console, tuned, "chosen")
    written = f"{target} is unchanged" if tuned.is_met and target == model else f"written to {target}"
    console.print(Text(written if target else "dry run: nothing was written"), soft_wrap=True)


def show_reachable(tuned: Tuned) -> None:
    """The curve, where no point of it is enough."""
    console = make_console()
    target = f"target {tuned.target}, with a margin of {standard_errors(tuned.margin)}"
    console.print(Text(f"{target}: not reached. What can be reached:"), soft_wrap=True)
    _show_curve(console, tuned, "best")


def _show_curve(console: Console, tuned: Tuned, name: str) -> None:
    """The table and the plot; ``name`` is that of the marked point."""
    show_table(console, _table(tuned, name))
    console.print()
    for line in plot(tuned.curve, tuned.before, tuned.chosen, name):
        console.print(Text(line))


def _table(tuned: Tuned, name: str) -> Table:
    rows: list[tuple[Any, ...]] = []
    points = [point for point in _worthwhile(tuned.curve) if point is not tuned.chosen]
    for point in sorted([*points, tuned.chosen], key=lambda point: point.setting.position):
        figures = (100 * point.precision, 100 * point.recall, 100 * point.f1)
        mark = name if point is tuned.chosen else "untuned" if point.setting.position == 0 else ""
        if rows and rows[-1][2:] == (*figures, mark):  # thresholds below all probabilities
            rows.pop()
        rows.append((f"{point.threshold:.2f}", f"{point.bias:+.2f}", *figures, mark))
    return Table("Settings", ("threshold", "bias", "precision", "recall", "F1", ""), rows)


def _worthwhile(curve: Sequence[Point]) -> list[Point]:
    """The curve up to its highest recall; beyond it, precision and recall both fall."""
    highest = max(range(len(curve)), key=lambda i: curve[i].recall)
    neutral = next(i for i, point in enumerate(curve) if point.setting.position == 0)
    return list(curve[: max(highest, neutral) + 1])


def plot(curve: Sequence[Point], before: Point, chosen: Point, name: str = "chosen") -> list[str]:
    """Precision against recall in characters, 0 to 100 on both axes."""
    cells = [[" "] * PLOT_WIDTH for _ in range(PLOT_HEIGHT)]
    for points, mark in ((_worthwhile(curve), "·"), ([before], "o"), ([chosen], "●")):
        for point in points:
            column, row = round(point.recall * (PLOT_WIDTH - 1)), round((1 - point.precision) * (PLOT_HEIGHT - 1))
            cells[row][column] = mark
    lines = [f"{name:>4} ┤{''.join(row).rstrip()}" for name, row in zip(_ticks(), cells, strict=True)]
    axis = "     └" + "─" * PLOT_WIDTH
    below = "      0" + "recall".center(PLOT_WIDTH - 3) + "100"
    return ["precision", *lines, axis, below, f"      o untuned   ● {name}   · other settings"]


def _ticks() -> list[str]:
    names = [""] * PLOT_HEIGHT
    names[0], names[PLOT_HEIGHT // 2], names[-1] = "100", "50", "0"
    return names
