"""``postil evaluate``: how good a model or a file of predictions is on labelled data, and where it fails."""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from postil.commands.kinds import multi_tasking
from postil.commands.kinds.table import kind_of, refuse
from postil.commands.labelled import add_map_argument, label_maps, load, map_labels, resolve_partial_labels
from postil.commands.models import names_model, open_model, warn_of_long_sentences
from postil.commands.notices import warn
from postil.commands.output import add_overwrite_argument, check_output
from postil.commands.reading import (
    add_partial_argument,
    add_reading_arguments,
    column_argument,
    reading_options,
)
from postil.errors import ConfigurationError, DataError
from postil.metrics.evaluation import Compared
from postil.metrics.files import RESAMPLES, FileScores, compare_files, novelty_parts, score_compared
from postil.metrics.mistakes import mistakes_as_json
from postil.models.multi_task_tagger import MultiTaskTagger
from postil.tagging.options import check_columns
from postil.text.labelled import LabelledFile, check_same_tokens
from postil.text.labels import schemes
from postil.text.output import write_text

DESCRIPTION = """\
Score a model on labelled data, or a file of predicted labels against gold labels.

Spans (names, chunks) are scored by conlleval's rules: a span is correct if its boundaries and its class are. Labels
without a scheme (parts of speech) are scored token by token. A model that detects one label is scored by the average
precision of its scores and by precision, recall and F1 of the tokens it detects. A tree classifier is scored on the
labels of the roots and on those of all nodes. docs/how-to/metrics.md explains every number.

  postil evaluate ner.postil test.txt
  postil evaluate predicted.conll gold.conll                    two files with the same tokens, in any format
  postil evaluate ner.postil test.txt --json
  postil evaluate ner.postil test.txt --report report.html      one HTML page with charts and all mistakes
  postil evaluate ner.postil test.txt --train train.txt         seen and unseen entities separately
  postil evaluate ner.postil test.txt --json --mistakes > report.json     to be opened in the page of postil serve
  postil evaluate both.postil --task names=ner.txt --task upos=pos.conllu      a multi-task model
  postil evaluate both.txt both.txt --label-column -2 --predicted-column -1    both labels in one file
  postil evaluate sentiment.postil test.trees       a tree classifier
"""
SHOWN = "--json --report --overwrite --train --task --mistakes --map --label-column --from".split()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL|PREDICTIONS", help="model file or name, or a file of predicted labels")
    parser.add_argument("data", metavar="GOLD", nargs="?", help="labelled file of any format")
    parser.set_defaults(usage_error=parser.error)
    parser.add_argument(
        "--task",
        metavar="NAME[=FILE][:COLUMN]",
        action="append",
        default=[],
        help="multi-task models: score this task on FILE or GOLD, with the labels of this column (repeatable)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--mistakes", action="store_true", help="--json: add every mistake with its sentence (taggers)")
    parser.add_argument(
        "--train", metavar="FILE", help="training data: score seen and unseen words and entities separately"
    )
    parser.add_argument("--report", metavar="FILE", type=Path, help="write an HTML page with charts and all mistakes")
    add_overwrite_argument(parser)
    reading = add_reading_arguments(parser)
    add_partial_argument(reading)
    add_map_argument(reading)
    predictions = parser.add_argument_group("a file of predictions")
    predictions.add_argument(
        "--predicted-column", type=column_argument, metavar="C", help="column of the predicted label, if it differs"
    )
    predictions.add_argument("--scheme", choices=schemes.SCHEMES, help="labelling scheme of GOLD (default: detected)")
    predictions.add_argument(
        "--predicted-scheme",
        choices=schemes.SCHEMES,
        help="labelling scheme of the predictions (default: detected)",
    )
    predictions.add_argument(
        "--strict", action="store_true", help="reject labels that violate their scheme, and empty tokens"
    )
    predictions.add_argument(
        "--resamples", type=_positive, metavar="N", help=f"bootstrap resamples (default: {2 * RESAMPLES})"
    )
    predictions.add_argument("--seed", type=_not_negative, metavar="N", help="seed of the resampling (default: 0)")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1 (got {text!r})")
    return int(text)


def _not_negative(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be 0 or more (got {text!r})")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    if arguments.report is not None:
        inputs = [
            arguments.model,
            arguments.data,
            arguments.train,
            *(word.partition("=")[2] for word in arguments.task),
        ]
        check_output(arguments.report, "report", "report", inputs=inputs, overwrite=arguments.overwrite)
    if arguments.mistakes and not arguments.json:
        raise ConfigurationError("--mistakes needs --json: a report (--report FILE) shows them to people")
    if not names_model(arguments.model):
        return _evaluate_predictions(arguments)
    for option in ("predicted_column", "scheme", "predicted_scheme", "strict", "resamples", "seed"):
        if getattr(arguments, option) not in (None, False):
            raise ConfigurationError(
                f"--{option.replace('_', '-')} cannot be used here: it is for predictions in a file"
            )
    model = open_model(arguments.model)
    check_columns(model, arguments.feature_columns)
    if isinstance(model, MultiTaskTagger):
        refuse(arguments, "mistakes", "it is a multi-task model")
        return multi_tasking.evaluate(model, arguments)
    refuse(arguments, "task", "the model has one task")
    if arguments.data is None:
        arguments.usage_error("the following arguments are required: GOLD")
    kind = kind_of(model)
    options = reading_options(arguments, model.model.segmenter)
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
    """The data that --mistakes adds; the page of `postil serve` opens it."""
    if not arguments.mistakes:
        return {}
    if not isinstance(report, FileScores):
        raise ConfigurationError("--mistakes cannot be used here: it is for taggers")
    return {"mistakes": mistakes_as_json(report.compared, file.tokens)}


# ------------------------------------------------------------------------------------------------ predictions in a file


def _evaluate_predictions(arguments: argparse.Namespace) -> int:
    if arguments.data is None:
        arguments.usage_error("the following arguments are required: GOLD")
    refuse(arguments, "task", "it is for multi-task models")
    if [arguments.model, arguments.data, arguments.train].count("-") > 1:
        raise ConfigurationError("standard input can be read only once", expected="at most one file named -")
    gold, scores = score_predictions(arguments, arguments.model)
    if arguments.report is not None:
        write_text(arguments.report, [_page(scores, gold)])
    if arguments.json:
        print(json.dumps(scores.to_dict() | _mistakes(scores, gold, arguments), indent=2, ensure_ascii=False))
        return 0
    from postil.commands.kinds.tagging import show

    show(scores)
    if arguments.report is not None:
        print(f"\nThe report is in {arguments.report}: open it in a browser.")
    return 0


def score_predictions(arguments: argparse.Namespace, path: str) -> tuple[LabelledFile, FileScores]:
    """The gold labels, and the scores of the predictions at ``path``."""
    gold = load(arguments.data, **_options(arguments))
    predicted = load(path, **_options(arguments, arguments.predicted_column))
    if arguments.map:
        maps = label_maps(arguments.map, [gold.path, predicted.path])
        for file in (gold, predicted):
            map_labels(file, maps[file.path])
    compared = compared_predictions(gold, predicted, arguments)
    broken = {
        "gold": _broken(gold, compared.scheme, arguments.strict),
        "predicted": _broken(predicted, compared.predicted_scheme, arguments.strict),
    }
    train = load(arguments.train, **_options(arguments)) if arguments.train else None
    span_parts, word_parts = novelty_parts(gold, compared, train) if train is not None else ({}, {})
    scores = score_compared(
        gold.path,
        predicted.path,
        compared,
        np.random.default_rng(arguments.seed or 0),
        arguments.resamples or 2 * RESAMPLES,
        broken=broken,
        span_parts=span_parts,
        word_parts=word_parts,
    )
    return gold, scores


def compared_predictions(gold: LabelledFile, predicted: LabelledFile, arguments: argparse.Namespace) -> Compared:
    check_same_tokens(gold, predicted)
    answers = {label for labels in predicted.labels for label in labels}
    resolve_partial_labels([gold], arguments.partial, known=answers)
    return compare_files(gold, predicted, arguments.scheme or "", arguments.predicted_scheme or "")


def _options(arguments: argparse.Namespace, column: int | str | None = None) -> dict[str, Any]:
    options = {**reading_options(arguments), "strict": arguments.strict}
    return options if column is None else {**options, "label": column}


def _broken(file: LabelledFile, scheme: str, strict: bool) -> int:
    """How many labels violate their scheme; reported in one line, or an error."""
    report = schemes.inspect(file.labels, scheme)
    if report.first is not None:
        what = schemes.summarise(report, f"on {file.place(*report.first)}")
        if strict:
            raise DataError(what, expected=f"valid {scheme.upper()} labels", where=file.path)
        warn(f"{file.path}: {what}; read by conlleval's rules")
    return report.broken


def _page(scores: FileScores, gold: LabelledFile) -> str:
    """Tables of the scores, and the sentences with mistakes, gold and predicted spans together."""
    from postil.html import element, joined
    from postil.html.highlight import Mark, lasting_colours, whole
    from postil.metrics.drawn_tables import drawn_table
    from postil.reports import Section, page
    from postil.text import Span

    compared, items = scores.compared, []
    has_spans = compared.scheme != "none"
    for number, tokens in enumerate(gold.tokens):
        if has_spans:
            sides = [set(compared.gold_spans[number]), set(compared.predicted_spans[number])]
        else:
            both = (compared.gold[number], compared.predicted[number])
            sides = [{Span(str(label), i, i + 1) for i, label in enumerate(labels)} for labels in both]
        if sides[0] != sides[1]:
            wanted, answered = sides if has_spans else (sides[0] - sides[1], sides[1] - sides[0])
            ordered = sorted(wanted | answered, key=lambda span: (span.start, span.end, span.label))
            marks = [Mark(span, span in wanted, span in answered) for span in ordered]
            colours = lasting_colours({span.label for span in ordered})
            place = element("p", gold.where(number, 0), class_="facts")
            items.append(element("li", place, whole(tokens, marks, colours)))
    header = joined(
        [
            element("h1", "Report on ", element("bdi", scores.predicted)),
            element("p", "scored on ", element("bdi", scores.gold), class_="subtitle"),
            element("p", scores.evaluation.summary(), class_="facts-of-model"),
        ]
    )
    shown = joined(
        [element("p", f"{len(items):,} sentences"), element("ol", *items[:MOST_MISTAKES], class_="sentences")]
    )
    tables = joined([drawn_table(table) for table in scores.evaluation._tables()])
    sections = [Section("scores", "Scores", tables), Section("mistakes", "Mistakes", shown)]
    return page(f"{scores.predicted} on {scores.gold}", header, sections)


MOST_MISTAKES = 300
"""Sentences on a page."""
