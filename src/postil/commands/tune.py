"""``postil tune``: the dial between precision and recall of a model that is trained already."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from postil.commands.labelled import load, settle_partial_labels, tell, widen
from postil.commands.models import check_columns, checked_scheme, open_model
from postil.commands.reading import add_reading_arguments, reading_options
from postil.errors import ConfigurationError
from postil.text.partial import is_partial

if TYPE_CHECKING:
    from postil.models.answers.tuning import Point, Tuned
    from postil.models.tagger import Tagger

DESCRIPTION = """\
Set how readily a tagger answers with entities: find more of them (recall), or be right more often (precision).

  postil tune ner.postil dev.txt --recall 0.9              changes the model in place
  postil tune ner.postil dev.txt --precision 0.9 -o careful.postil
  postil tune ner.postil dev.txt --recall 0.9 --dry-run    shows the curve, writes nothing
  postil tune ner.postil --reset                           as it was trained

For more recall the dial sets a decoding bias, which finds more entities; for more precision a threshold, which drops
the least probable ones. The other figure stays as high as possible. DATA must be held out from training. The figure
must be reached there with one standard error to spare (--margin): part of any figure on a few sentences is luck.

Nothing is learnt anew and probabilities stay what they were: only a number of the model file changes, which --reset
undoes. So the model is changed in place unless -o names another file.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="model file of a tagger")
    parser.add_argument("data", metavar="DATA", nargs="?", help="labelled file of any format, held out from training")
    parser.add_argument("--recall", type=float, metavar="R", help="share of entities to be found, 0 to 1")
    parser.add_argument("--precision", type=float, metavar="P", help="share of answers to be right, 0 to 1")
    parser.add_argument("--margin", type=float, default=1.0, metavar="Z", help="standard errors to spare (default: 1)")
    parser.add_argument("--reset", action="store_true", help="take bias and thresholds back")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the model there (default: in place)")
    parser.add_argument("--dry-run", action="store_true", help="write nothing")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    add_reading_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    model: Any = open_model(arguments.model)
    if model.KIND != "tagger":
        raise ConfigurationError("a model to tune", expected="a tagger", got=f"a {model.KIND}", where=arguments.model)
    if arguments.reset:
        return _reset(model, arguments)
    if arguments.data is None:
        raise ConfigurationError("nothing to tune on", expected="DATA, a labelled file, or --reset")
    tuned = _tuned(model, arguments)
    _write(model, arguments)
    if arguments.json:
        print(json.dumps({"model": _target(arguments), **tuned.as_dict()}, indent=2))
    else:
        _show(tuned, arguments)
    return 0


def _tuned(model: "Tagger", arguments: argparse.Namespace) -> "Tuned":
    from postil.models.answers.tuning import checked_wish
    from postil.models.sentences import tokens_of

    checked_wish(arguments.recall, arguments.precision, arguments.margin)  # before any file is read
    check_columns(model, arguments.feature_columns)
    file = load(arguments.data, **reading_options(arguments))
    settle_partial_labels([file], known=model.labelling.answers)
    widen(file, model.labelling)
    checked_scheme(file, model.labelling)
    unknown = sum(map(is_partial, file.labels))
    if unknown:
        tell(f"{file.path}: {unknown:,} sentences with unknown labels are left out")
    X = [tokens_of(sentence) for sentence in file.sentences]
    wish = {"recall": arguments.recall, "precision": arguments.precision, "margin": arguments.margin}
    return model.tune(X, file.labels, **wish)


def _reset(model: "Tagger", arguments: argparse.Namespace) -> int:
    given = [name for name in ("data", "recall", "precision") if getattr(arguments, name) is not None]
    if given:
        raise ConfigurationError("--reset", expected="the model alone", got=f"also {' and '.join(given)}")
    before = model.decoding
    model.decoding = replace(before, bias=0.0, thresholds={})
    _write(model, arguments)
    was = {"bias": before.bias, "thresholds": dict(before.thresholds)}
    if arguments.json:
        print(json.dumps({"model": _target(arguments), "bias": 0.0, "thresholds": {}, "before": was}, indent=2))
    else:
        thresholds = ", ".join(f"{name} {lowest:.3f}" for name, lowest in before.thresholds.items())
        taken = f"bias {before.bias:+.3f}, thresholds {thresholds or 'none'}"
        tell(f"{_target(arguments) or 'dry run'}: taken back: {taken}")
    return 0


def _target(arguments: argparse.Namespace) -> str | None:
    return None if arguments.dry_run else arguments.output or arguments.model


def _write(model: "Tagger", arguments: argparse.Namespace) -> None:
    target = _target(arguments)
    if target is not None:
        model.save(Path(target))


# ------------------------------------------------------------------------------------------------ on the terminal

PLOT_WIDTH, PLOT_HEIGHT = 51, 13


def _show(tuned: "Tuned", arguments: argparse.Namespace) -> None:
    from rich.text import Text

    from postil.commands.terminal.display import make_console, show_table
    from postil.models.answers.tuning import standard_errors

    console, chosen = make_console(), tuned.chosen
    wanted = f"{tuned.figure} {100 * tuned.wanted:g}, with {standard_errors(tuned.margin)} to spare"
    console.print(Text(f"{arguments.model}: wanted {wanted}"), soft_wrap=True)
    setting = f"threshold {chosen.threshold:.3f}" if chosen.threshold else f"bias {chosen.bias:+.3f}"
    headline = f"{setting}: precision {100 * chosen.precision:.2f}, recall {100 * chosen.recall:.2f}"
    console.print(Text.assemble((headline, "bold green"), f", F1 {100 * chosen.f1:.2f} to expect"))
    before = f"with neither: precision {100 * tuned.before.precision:.2f}, recall {100 * tuned.before.recall:.2f}"
    console.print(Text(f"{before}, F1 {100 * tuned.before.f1:.2f}"))
    show_table(console, _table(tuned))
    console.print()
    for line in plot(tuned.curve, tuned.before, chosen):
        console.print(Text(line))
    target = _target(arguments)
    console.print(Text(f"written to {target}" if target else "dry run: nothing was written"), soft_wrap=True)


def _table(tuned: "Tuned") -> Any:
    from postil.metrics.tables import Table

    rows: list[tuple[Any, ...]] = []
    for point in sorted([*_worthwhile(tuned.curve), tuned.chosen], key=lambda point: point.setting.position):
        figures = (100 * point.precision, 100 * point.recall, 100 * point.f1)
        mark = "chosen" if point is tuned.chosen else "neither" if point.setting.position == 0 else ""
        if rows and rows[-1][2:] == (*figures, mark):  # thresholds below all probabilities
            rows.pop()
        rows.append((f"{point.threshold:.2f}", f"{point.bias:+.2f}", *figures, mark))
    return Table("The dial", ("threshold", "bias", "precision", "recall", "F1", ""), rows)


def _worthwhile(curve: "Sequence[Point]") -> "list[Point]":
    """The curve without what lies beyond the highest recall: less of both."""
    highest = max(range(len(curve)), key=lambda i: curve[i].recall)
    neutral = next(i for i, point in enumerate(curve) if point.setting.position == 0)
    return list(curve[: max(highest, neutral) + 1])


def plot(curve: "Sequence[Point]", before: "Point", chosen: "Point") -> list[str]:
    """Precision against recall in characters, 0 to 100 on both axes."""
    cells = [[" "] * PLOT_WIDTH for _ in range(PLOT_HEIGHT)]
    for points, mark in ((_worthwhile(curve), "·"), ([before], "o"), ([chosen], "●")):
        for point in points:
            column, row = round(point.recall * (PLOT_WIDTH - 1)), round((1 - point.precision) * (PLOT_HEIGHT - 1))
            cells[row][column] = mark
    lines = [f"{name:>4} ┤{''.join(row).rstrip()}" for name, row in zip(_ticks(), cells, strict=True)]
    axis = "     └" + "─" * PLOT_WIDTH
    below = "      0" + "recall".center(PLOT_WIDTH - 3) + "100"
    return ["precision", *lines, axis, below, "      o neither   ● chosen   · other settings"]


def _ticks() -> list[str]:
    names = [""] * PLOT_HEIGHT
    names[0], names[PLOT_HEIGHT // 2], names[-1] = "100", "50", "0"
    return names
