"""``postil score``: predicted labels against gold labels, two files of any format."""

import argparse
import json
from dataclasses import replace
from typing import Any

import numpy as np

from postil.commands.options.labelled import load, resolve_partial_labels
from postil.commands.options.reading import column_argument
from postil.commands.terminal.notices import warn
from postil.errors import ConfigurationError, DataError
from postil.metrics.evaluation import Compared
from postil.metrics.files import FileScores, compare_files, compare_predictions, novelty_parts, score_compared
from postil.text.labelled import LabelledFile, check_same_tokens
from postil.text.labels import scheme_checks, schemes
from postil.text.options import CHOICES

DESCRIPTION = """\
Score predicted labels against gold labels: two files with the same tokens, in any format that Postil reads.

Spans (names, chunks) are scored by conlleval's rules: a span is correct if its boundaries and its class are. The
labelling schemes (BIO, IOB1, IOBES) are detected and may differ. Labels without a scheme (parts of speech) are scored
token by token. docs/use/metrics.md explains every number.

  postil score gold.conll predicted.conll
  postil score gold.jsonl predicted.jsonl --json
  postil score gold.conll predicted.conll --train train.conll      seen and unseen entities separately
  postil score gold.conll predicted.conll --compare other.conll    is the other system really better?
  postil score both.txt both.txt --label-column -2 --predicted-column -1     both labels in one file
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("gold", metavar="GOLD", help="file with the gold labels, plain or gzip; - for standard input")
    parser.add_argument("predicted", metavar="PREDICTED", help="file with the same tokens and the predicted labels")
    parser.add_argument(
        "--compare", metavar="OTHER", help="predictions of another system, for a paired test against PREDICTED"
    )
    parser.add_argument("--train", metavar="FILE", help="training data: score seen and unseen entities separately")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument(
        "--strict", action="store_true", help="refuse labels that violate their scheme, and empty tokens"
    )
    parser.add_argument(
        "--scheme", choices=schemes.SCHEMES, default="", help="labelling scheme of GOLD (default: detected)"
    )
    parser.add_argument(
        "--predicted-scheme",
        choices=schemes.SCHEMES,
        default="",
        help="labelling scheme of the predictions (default: detected)",
    )
    parser.add_argument(
        "--resamples", type=_positive, default=2000, metavar="N", help="bootstrap resamples (default: 2000)"
    )
    parser.add_argument(
        "--seed", type=_not_negative, default=0, metavar="N", help="seed of the resampling (default: 0)"
    )
    reading = parser.add_argument_group("reading")
    reading.add_argument(
        "--label-column",
        type=column_argument,
        default="auto",
        metavar="C",
        help="column of the label: a number from 0, negative from the right, or a CoNLL-U name (default: last; upos)",
    )
    reading.add_argument(
        "--predicted-column", type=column_argument, metavar="C", help="column of the predicted label, if it differs"
    )
    for name, meaning in (
        ("misaligned", "spans that do not match token boundaries"),
        ("overlaps", "overlapping spans"),
    ):
        reading.add_argument(
            f"--{name}", choices=CHOICES[name], default="error", help=f"JSON Lines: {meaning} (default: error)"
        )


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1 (got {text!r})")
    return int(text)


def _not_negative(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be 0 or more (got {text!r})")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Read, compare, report."""
    scores = score(arguments)
    if arguments.json:
        print(json.dumps(scores.to_dict(), indent=2, ensure_ascii=False))
    else:
        from postil.commands.terminal.score import show

        show(scores)
    return 0


def score(arguments: argparse.Namespace) -> FileScores:
    """Read the files and score the predictions."""
    if [arguments.gold, arguments.predicted, arguments.train, arguments.compare].count("-") > 1:
        raise ConfigurationError("standard input can be read only once", expected="at most one file named -")
    gold = _load(arguments.gold, arguments)
    predicted = _load(arguments.predicted, arguments, predicted=True)
    compared = _compare(gold, predicted, arguments)
    broken = {
        "gold": _broken(gold, compared.scheme, arguments.strict),
        "predicted": _broken(predicted, compared.predicted_scheme, arguments.strict),
    }
    rng = np.random.default_rng(arguments.seed)
    train = _load(arguments.train, arguments) if arguments.train else None
    span_parts, word_parts = novelty_parts(gold, compared, train) if train is not None else ({}, {})
    scores = score_compared(
        gold.path,
        predicted.path,
        compared,
        rng,
        arguments.resamples,
        broken=broken,
        span_parts=span_parts,
        word_parts=word_parts,
    )
    return replace(scores, **_comparison(gold, compared, arguments, rng)) if arguments.compare else scores


def _load(path: str, arguments: argparse.Namespace, *, predicted: bool = False) -> LabelledFile:
    column = arguments.label_column
    if predicted and arguments.predicted_column is not None:
        column = arguments.predicted_column
    return load(
        path,
        label=column,
        strict=arguments.strict,
        misaligned=arguments.misaligned,
        overlaps=arguments.overlaps,
    )


def _compare(gold: LabelledFile, predicted: LabelledFile, arguments: argparse.Namespace) -> Compared:
    check_same_tokens(gold, predicted)
    resolve_partial_labels([gold], known={label for labels in predicted.labels for label in labels})
    return compare_files(gold, predicted, arguments.scheme, arguments.predicted_scheme)


def _broken(file: LabelledFile, scheme: str, strict: bool) -> int:
    """How many labels violate their scheme; reported in one line, or refused."""
    report = scheme_checks.inspect(file.labels, scheme)
    if report.first is not None:
        what = scheme_checks.summarise(report, f"on {file.place(*report.first)}")
        if strict:
            raise DataError(what, expected=f"valid {scheme.upper()} labels", where=file.path)
        warn(f"{file.path}: {what}; read by conlleval's rules")
    return report.broken


def _comparison(
    gold: LabelledFile, compared: Compared, arguments: argparse.Namespace, rng: np.random.Generator
) -> dict[str, Any]:
    other = _load(arguments.compare, arguments, predicted=True)
    other_compared = _compare(gold, other, arguments)
    _broken(other, other_compared.predicted_scheme, arguments.strict)
    comparison = compare_predictions(compared, other_compared, rng, arguments.resamples)
    return {"other": arguments.compare, "comparison": comparison}
