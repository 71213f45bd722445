"""``postil evaluate``: how good a model is on labelled data, and where it fails."""

import argparse
import json

import numpy as np

from postil.commands.labelled import LabelledFile, load
from postil.commands.models import open_model
from postil.commands.reading import add_reading_arguments, reading_options
from postil.commands.score import Scored
from postil.metrics import significance
from postil.metrics.evaluation import evaluate_compared, prepare
from postil.models.tagger import tokens_of

DESCRIPTION = """\
Score a model on labelled data.

Spans (names, chunks) are scored by conlleval's rules; labels without a scheme token by token.

  postil evaluate ner.postil test.txt
  postil evaluate ner.postil test.txt --json
"""

RESAMPLES = 1000  # of the bootstrap


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="model file")
    parser.add_argument("data", metavar="DATA", help="labelled file of any format")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    add_reading_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    tagger = open_model(arguments.model)
    file = load(arguments.data, **reading_options(arguments))
    predicted = tagger.predict([tokens_of(sentence) for sentence in file.sentences])
    scored = scored_labels(file, arguments.model, predicted, tagger.labelling.scheme)
    if arguments.json:
        print(json.dumps(scored.as_dict(), indent=2, ensure_ascii=False))
    else:
        from postil.commands.score_display import show

        show(scored)
    return 0


def scored_labels(file: LabelledFile, name: str, predicted: list[list[str]], scheme: str) -> Scored:
    """Predictions beside a file's own labels, with a confidence interval."""
    compared = prepare(file.labels, predicted, predicted_scheme=scheme)
    counts, statistic = compared.sentence_counts()
    rng = np.random.default_rng(0)
    return Scored(
        gold=file.path,
        predicted=name,
        compared=compared,
        evaluation=evaluate_compared(compared),
        interval=significance.bootstrap_interval(counts, statistic, rng=rng, resamples=RESAMPLES),
        broken={},
    )
