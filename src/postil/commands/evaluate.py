"""``postil evaluate``: how good a model is on labelled data, and where it fails."""

import argparse
import json
from pathlib import Path
from typing import Any

from postil.commands.kinds import multi_tasking
from postil.commands.kinds.table import kind_of, refuse
from postil.commands.options.mapping import add_map_argument, label_maps, map_labels
from postil.commands.options.models import open_model, warn_of_long_sentences
from postil.commands.options.reading import add_partial_argument, add_reading_arguments, reading_options
from postil.commands.options.writing import add_force_argument, check_output
from postil.errors import ConfigurationError
from postil.metrics.files import FileScores
from postil.metrics.mistakes import mistakes_as_json
from postil.models.multi_task_tagger import MultiTaskTagger
from postil.models.sentences import takes_characters
from postil.serving.options import check_columns
from postil.text.labelled import LabelledFile
from postil.text.output import write_text

DESCRIPTION = """\
Score a model on labelled data.

Spans (names, chunks) are scored by conlleval's rules, labels without a scheme token by token. A model that detects one
label is scored by the average precision of its scores and by precision, recall and F1 of the tokens it detects.
A tree classifier is scored on the labels of the roots and on those of all nodes.

  postil evaluate ner.postil test.txt
  postil evaluate ner.postil test.txt --json
  postil evaluate ner.postil test.txt --report report.html      one HTML page with charts and all mistakes
  postil evaluate ner.postil test.txt --json --mistakes > report.json     to be opened in the page of postil serve
  postil evaluate both.postil --task names=ner.txt --task upos=pos.conllu      a model of several tasks
  postil evaluate loc.postil test.txt               a model of one label: train --preset margin --label LOC
  postil evaluate sentiment.postil test.trees       a tree classifier
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="model file")
    parser.add_argument("data", metavar="DATA", nargs="?", help="labelled file of any format")
    parser.set_defaults(usage_error=parser.error)
    parser.add_argument(
        "--task",
        metavar="NAME[=FILE][:COLUMN]",
        action="append",
        default=[],
        help="models of several tasks: score this one, on FILE or on DATA, with the labels of this column (repeatable)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--mistakes", action="store_true", help="--json: add every mistake with its sentence (taggers)")
    parser.add_argument(
        "--train", metavar="FILE", help="training data: score seen and unseen words and entities separately"
    )
    parser.add_argument("--report", metavar="FILE", type=Path, help="write an HTML page with charts and all mistakes")
    add_force_argument(parser)
    reading = add_reading_arguments(parser)
    add_partial_argument(reading)
    add_map_argument(reading)


def run(arguments: argparse.Namespace) -> int:
    if arguments.report is not None:
        inputs = [
            arguments.model,
            arguments.data,
            arguments.train,
            *(word.partition("=")[2] for word in arguments.task),
        ]
        check_output(arguments.report, "report", "report", inputs=inputs, force=arguments.force)
    if arguments.mistakes and not arguments.json:
        raise ConfigurationError("--mistakes needs --json: a report (--report FILE) shows them to people")
    model = open_model(arguments.model)
    check_columns(model, arguments.feature_columns)
    if isinstance(model, MultiTaskTagger):
        refuse(arguments, "mistakes", "the model has several tasks")
        return multi_tasking.evaluate(model, arguments)
    refuse(arguments, "task", "the model has one task")
    if arguments.data is None:
        arguments.usage_error("the following arguments are required: DATA")
    kind = kind_of(model)
    options = reading_options(arguments, takes_characters(model.fitted_parts()))
    file = kind.load(arguments.data, **options)
    if arguments.map:
        if not isinstance(file, LabelledFile):
            raise ConfigurationError("--map cannot be used here: it is for labels of words")
        map_labels(file, label_maps(arguments.map, [file.path])[file.path])
    kind.resolve_labels(model, file, arguments)
    warn_of_long_sentences(model, map(len, file.tokens))
    report = kind.report(model, arguments.model, file)
    if arguments.train is not None:
        train = kind.load(arguments.train, **options)
        kind.resolve_labels(model, train, arguments)
        report = kind.with_novelty(report, file, train)
    if arguments.report is not None:
        write_text(arguments.report, [kind.page(model, report, arguments.model, file)])
    if arguments.json:
        print(json.dumps(report.to_dict() | _mistakes(report, file, arguments), indent=2, ensure_ascii=False))
    else:
        kind.show(report)
        if arguments.report is not None:
            print(f"\nThe report is in {arguments.report}: open it in a browser.")
    return 0


def _mistakes(report: Any, file: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    """What --mistakes adds: the page of `postil serve` opens it."""
    if not arguments.mistakes:
        return {}
    if not isinstance(report, FileScores):
        raise ConfigurationError("--mistakes cannot be used here: it is for taggers")
    return {"mistakes": mistakes_as_json(report.compared, file.tokens)}
