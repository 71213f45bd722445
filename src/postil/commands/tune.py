"""``postil tune``: trade precision for recall, or recall for precision, in a trained model."""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from postil.commands.options.labelled import load, resolve_partial_labels, widen
from postil.commands.options.models import checked_scheme, open_model
from postil.commands.options.reading import add_reading_arguments, reading_options
from postil.commands.options.tasks import add_task_argument, one_task
from postil.commands.options.writing import add_force_argument, check_output
from postil.commands.terminal.notices import warn
from postil.errors import ConfigurationError
from postil.models.answers.tuning import Unreachable
from postil.models.estimator import Estimator
from postil.serving.options import check_columns
from postil.text.labels.partial import is_partial

if TYPE_CHECKING:
    from postil.models.answers.tuning import Tuned
    from postil.models.tagger import Tagger

DESCRIPTION = """\
Tune a trained tagger to find more entities (higher recall) or to be right more often (higher precision).

  postil tune ner.postil dev.txt --recall 0.9              changes the model in place
  postil tune ner.postil dev.txt --precision 0.9 -o careful.postil
  postil tune ner.postil dev.txt --recall 0.9 --dry-run    shows the curve, writes nothing
  postil tune ner.postil dev.txt --f1                      undo: as train does it with --dev
  postil tune ner.postil --reset                           answers are simply the most probable labels

For higher recall, a decoding bias is set, which finds more entities. For higher precision, a threshold is set, which
drops the least probable ones. The other figure stays as high as possible. A model that reaches the target already is
not changed; among settings with equal figures, the smallest change is chosen. DATA must be held out from training. The
target must be reached there with a margin of one standard error (--margin), because part of any score on few sentences
is luck. For the best F1, the smallest bias is chosen that is not worse than the best by more than this margin.

The model is not trained again and its probabilities do not change: only one number in the model file does, which
--reset undoes. Therefore the model is changed in place unless -o names another file.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="model file of a tagger")
    parser.add_argument("data", metavar="DATA", nargs="?", help="labelled file of any format, held out from training")
    parser.add_argument("--recall", type=float, metavar="R", help="share of entities to find, 0 to 1")
    parser.add_argument("--precision", type=float, metavar="P", help="share of answers that must be right, 0 to 1")
    parser.add_argument("--f1", action="store_true", help="the best F1: as many entities as pay")
    parser.add_argument("--margin", type=float, default=1.0, metavar="Z", help="margin in standard errors (default: 1)")
    add_task_argument(parser, "models of several tasks: tune this one")
    parser.add_argument("--reset", action="store_true", help="remove the bias and the thresholds")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the model there (default: in place)")
    parser.add_argument("--dry-run", action="store_true", help="write nothing")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    add_force_argument(parser)
    add_reading_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    target = _target(arguments)
    if target is not None:  # the model itself may be changed in place
        check_output(target, "model file", "model", inputs=[arguments.data], force=arguments.force)
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
            from postil.commands.terminal.tuning import show_reachable

            show_reachable(error.tuned)
        raise
    if not (tuned.is_met and _target(arguments) == arguments.model):
        _write(whole, arguments)
    if arguments.json:
        print(json.dumps({"model": _target(arguments), **tuned.to_dict()}, indent=2))
    else:
        from postil.commands.terminal.tuning import show

        show(tuned, arguments.model, _target(arguments))
    return 0


def _tuned(model: "Tagger", arguments: argparse.Namespace) -> "Tuned":
    from postil.models.answers.tuning import checked_wish
    from postil.models.sentences import takes_characters, tokens_of

    checked_wish(arguments.recall, arguments.precision, arguments.margin, f1=arguments.f1)  # before any file is read
    check_columns(model, arguments.feature_columns)
    file = load(arguments.data, **reading_options(arguments, takes_characters(model.fitted_parts())))
    resolve_partial_labels([file], known=model.labelling.answers)
    widen(file, model.labelling)
    checked_scheme(file, model.labelling)
    unknown = sum(map(is_partial, file.labels))
    if unknown:
        warn(f"{file.path}: {unknown:,} sentences with unknown labels are ignored")
    X = [tokens_of(sentence) for sentence in file.sentences]
    wish = {name: getattr(arguments, name) for name in ("recall", "precision", "f1", "margin")}
    return model.tune(X, file.labels, **wish)


def _reset(model: "Tagger", whole: Estimator[Any, Any], arguments: argparse.Namespace) -> int:
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
    return None if arguments.dry_run else arguments.output or arguments.model


def _write(model: Estimator[Any, Any], arguments: argparse.Namespace) -> None:
    target = _target(arguments)
    if target is not None:
        model.save(Path(target))
