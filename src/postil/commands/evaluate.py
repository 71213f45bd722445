"""``postil evaluate``: how good a model is on labelled data, and where it fails."""

import argparse
import json
from pathlib import Path

from postil.commands.kinds import kind_of
from postil.commands.models import open_model, warn_of_long_sentences
from postil.commands.reading import add_partial_argument, add_reading_arguments, reading_options
from postil.commands.writing import add_force_argument, check_output
from postil.models.sentences import takes_characters
from postil.serving.options import check_columns
from postil.text.output import write_text

DESCRIPTION = """\
Score a model on labelled data.

Spans (names, chunks) are scored by conlleval's rules, labels without a scheme token by token. A model that detects one
label is scored by the average precision of its scores and by precision, recall and F1 of the tokens it detects.
A tree classifier is scored on the labels of the roots and on those of all nodes.

  postil evaluate ner.postil test.txt
  postil evaluate ner.postil test.txt --json
  postil evaluate ner.postil test.txt --report report.html      one HTML page with charts and all mistakes
  postil evaluate loc.postil test.txt               a model of one label: train --preset margin --label LOC
  postil evaluate sentiment.postil test.trees       a tree classifier
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="model file")
    parser.add_argument("data", metavar="DATA", help="labelled file of any format")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument(
        "--train", metavar="FILE", help="training data: score seen and unseen words and entities separately"
    )
    parser.add_argument("--report", metavar="FILE", type=Path, help="write an HTML page with charts and all mistakes")
    add_force_argument(parser)
    add_partial_argument(add_reading_arguments(parser))


def run(arguments: argparse.Namespace) -> int:
    if arguments.report is not None:
        inputs = [arguments.model, arguments.data, arguments.train]
        check_output(arguments.report, "report", "report", inputs=inputs, force=arguments.force)
    model = open_model(arguments.model)
    kind = kind_of(model)
    check_columns(model, arguments.feature_columns)
    options = reading_options(arguments, takes_characters(model.fitted_parts()))
    file = kind.load(arguments.data, **options)
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
        print(json.dumps(report.as_dict(), indent=2, ensure_ascii=False))
    else:
        kind.show(report)
        if arguments.report is not None:
            print(f"\nThe report is in {arguments.report}: open it in a browser.")
    return 0
