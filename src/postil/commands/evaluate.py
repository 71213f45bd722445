"""``postil evaluate``: how good a model is on labelled data, and where it fails."""

import argparse
import json

from postil.commands.kinds import kind_of
from postil.commands.labelled import load, settle_partial_labels, widen
from postil.commands.models import check_columns, open_model, tell_long_sentences
from postil.commands.reading import add_partial_argument, add_reading_arguments, reading_options

DESCRIPTION = """\
Score a model on labelled data.

Spans (names, chunks) are scored by conlleval's rules; labels without a scheme token by token. A model that detects one
label is scored by the average precision of its scores, and by precision, recall and F1 of the tokens it detects.

  postil evaluate ner.postil test.txt
  postil evaluate ner.postil test.txt --json
  postil evaluate loc.postil test.txt               a model of one label: train --preset margin --label LOC
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="model file")
    parser.add_argument("data", metavar="DATA", help="labelled file of any format")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    add_partial_argument(add_reading_arguments(parser))


def run(arguments: argparse.Namespace) -> int:
    model = open_model(arguments.model)
    kind = kind_of(model)
    check_columns(model, arguments.feature_columns)
    file = load(arguments.data, **reading_options(arguments))
    labelling = model.fitted_parts().labelling
    settle_partial_labels([file], arguments.partial, known=labelling.answers)
    widen(file, labelling)
    tell_long_sentences(model, map(len, file.tokens))
    report = kind.report(model, arguments.model, file)
    if arguments.json:
        print(json.dumps(report.as_dict(), indent=2, ensure_ascii=False))
    else:
        kind.show(report)
    return 0
