"""``postil score``: predictions against a gold standard, two files of any format."""

import argparse
import json
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from postil.commands.labelled import LabelledFile, check_same_tokens, column_argument, load, settle_partial_labels
from postil.errors import ConfigurationError, DataError
from postil.metrics import novelty, significance
from postil.metrics.evaluation import Compared, Evaluation, evaluate_compared, prepare
from postil.metrics.spans import SpanScores
from postil.metrics.tokens import TokenScores
from postil.text import schemes
from postil.text.options import CHOICES

if TYPE_CHECKING:  # comparing two files needs no model
    from postil.models.answers.reliability import Reliability

DESCRIPTION = """\
Score predicted labels against gold labels: two files with the same tokens, of any format that Postil reads.

Spans (names, chunks) are scored by conlleval's rules: a span is right if its place and its class are. The
labelling schemes (BIO, IOB1, IOBES) are recognised and may differ. Labels without a scheme (parts of speech)
are scored token by token. docs/use/metrics.md explains every number.

  postil score gold.conll predicted.conll
  postil score gold.jsonl predicted.jsonl --json
  postil score gold.conll predicted.conll --train train.conll      seen and unseen words and entities apart
  postil score gold.conll predicted.conll --compare other.conll    is the other system really better?
  postil score both.txt both.txt --label-column -2 --predicted-column -1     both labels in one file
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("gold", metavar="GOLD", help="file with the right labels, plain or gzip; - for standard input")
    parser.add_argument("predicted", metavar="PREDICTED", help="file with the same tokens and the predicted labels")
    parser.add_argument(
        "--compare", metavar="OTHER", help="another system's predictions: paired test against PREDICTED"
    )
    parser.add_argument("--train", metavar="FILE", help="training data: tell seen and unseen words and entities apart")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--strict", action="store_true", help="refuse labels that break their scheme, and empty tokens")
    parser.add_argument("--scheme", choices=schemes.SCHEMES, default="", help="labelling scheme of GOLD (recognised)")
    parser.add_argument("--predicted-scheme", choices=schemes.SCHEMES, default="", help="the same for predictions")
    parser.add_argument("--resamples", type=_positive, default=2000, metavar="N", help="bootstrap resamples (2000)")
    parser.add_argument("--seed", type=_not_negative, default=0, metavar="N", help="seed of the resamples (0)")
    reading = parser.add_argument_group("reading")
    reading.add_argument(
        "--label-column",
        type=column_argument,
        default="auto",
        metavar="C",
        help="column of the label: a number from 0 (negative: from the right), in CoNLL-U a name (the last one; upos)",
    )
    reading.add_argument(
        "--predicted-column", type=column_argument, metavar="C", help="the same for predictions, if it differs"
    )
    for name, meaning in (("misaligned", "spans that do not fit token boundaries"), ("overlaps", "overlapping spans")):
        reading.add_argument(f"--{name}", choices=CHOICES[name], default="error", help=f"JSON Lines: {meaning} (error)")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, got {text!r}")
    return int(text)


def _not_negative(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number from 0, got {text!r}")
    return int(text)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scored:
    """Everything that is reported."""

    gold: str
    predicted: str
    compared: Compared
    evaluation: Evaluation
    interval: significance.Interval
    broken: dict[str, int]
    span_parts: dict[str, SpanScores] = field(default_factory=dict)
    word_parts: dict[str, TokenScores] = field(default_factory=dict)
    other: str = ""
    comparison: significance.Comparison | None = None
    reliability: "Reliability | None" = None

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        report = self.evaluation.as_dict() | {"interval": self.interval.as_dict(), "broken_labels": self.broken}
        if self.span_parts:
            report["novelty"] = {
                name: part.overall.as_dict() | {"errors": part.errors()} for name, part in self.span_parts.items()
            }
        if self.word_parts:
            report["word_novelty"] = {name: part.as_dict() for name, part in self.word_parts.items()}
        if self.comparison is not None:
            report["comparison"] = self.comparison.as_dict()
        if self.reliability is not None:
            report["calibration"] = self.reliability.as_dict()
        return report


def run(arguments: argparse.Namespace) -> int:
    """Read, compare, report."""
    scored = score(arguments)
    if arguments.json:
        print(json.dumps(scored.as_dict(), indent=2, ensure_ascii=False))
    else:
        from postil.commands.terminal.score import show

        show(scored)
    return 0


def score(arguments: argparse.Namespace) -> Scored:
    """Everything that the files have to say."""
    if [arguments.gold, arguments.predicted, arguments.train, arguments.compare].count("-") > 1:
        raise ConfigurationError("standard input can be read only once", expected="at most one file named -")
    gold = _load(arguments.gold, arguments)
    predicted = _load(arguments.predicted, arguments, predicted=True)
    compared = _compare(gold, predicted, arguments.scheme, arguments.predicted_scheme)
    broken = {
        "gold": _broken(gold, compared.scheme, arguments.strict),
        "predicted": _broken(predicted, compared.predicted_scheme, arguments.strict),
    }
    rng = np.random.default_rng(arguments.seed)
    counts, statistic = compared.sentence_counts()
    interval = significance.bootstrap_interval(counts, statistic, rng=rng, resamples=arguments.resamples)
    span_parts, word_parts = _novelty(gold, compared, arguments)
    return Scored(
        gold=gold.path,
        predicted=predicted.path,
        compared=compared,
        evaluation=evaluate_compared(compared),
        interval=interval,
        broken=broken,
        span_parts=span_parts,
        word_parts=word_parts,
        other=arguments.compare or "",
        comparison=_against_other(gold, compared, arguments, rng) if arguments.compare else None,
    )


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


def _compare(gold: LabelledFile, predicted: LabelledFile, scheme: str, predicted_scheme: str) -> Compared:
    check_same_tokens(gold, predicted)
    settle_partial_labels([gold], known={label for labels in predicted.labels for label in labels})
    try:
        compared = prepare(gold.labels, predicted.labels, scheme, predicted_scheme)
    except DataError as error:
        raise DataError(error.what, expected=error.expected, got=error.got, where=predicted.path) from error
    if compared.scheme == "none" and not scheme:
        _check_predicted_without_scheme(gold, predicted)
    return compared


def _check_predicted_without_scheme(gold: LabelledFile, predicted: LabelledFile) -> None:
    """Parts of speech beside names: the wrong column or the wrong file."""
    recognised = schemes.recognise(predicted.labels)
    if recognised != "none":
        raise DataError(
            f"predicted labels are {recognised.upper()}",
            expected=f"labels without a scheme as in {gold.path} (--scheme none compares any labels)",
            where=predicted.path,
        )


def _broken(file: LabelledFile, scheme: str, strict: bool) -> int:
    """How many labels break their scheme; told in one line, or refused."""
    report = schemes.inspect(file.labels, scheme)
    if report.first is not None:
        what = schemes.summarise(report, f"on {file.place(*report.first)}")
        if strict:
            raise DataError(what, expected=f"valid {scheme.upper()} labels", where=file.path)
        print(f"postil: {file.path}: {what}; read by conlleval's rules", file=sys.stderr)
    return report.broken


def _novelty(
    gold: LabelledFile, compared: Compared, arguments: argparse.Namespace
) -> tuple[dict[str, SpanScores], dict[str, TokenScores]]:
    return novelty_parts(gold, compared, _load(arguments.train, arguments)) if arguments.train else ({}, {})


def novelty_parts(
    gold: LabelledFile, compared: Compared, train: LabelledFile
) -> tuple[dict[str, SpanScores], dict[str, TokenScores]]:
    """Scores of spans and of tokens, apart for what ``train`` had and had not."""
    if compared.scheme == "none":
        known = novelty.known_from(train.tokens)
        return {}, novelty.tokens_by_novelty(gold.tokens, compared.gold, compared.predicted, known)
    known = novelty.known_from(train.tokens, _training_spans(train))
    words = novelty.tokens_by_novelty(gold.tokens, compared.gold, compared.predicted, known)
    return novelty.spans_by_novelty(gold.tokens, compared.gold_spans, compared.predicted_spans, known), words


def _training_spans(train: LabelledFile) -> list[list[schemes.Span]]:
    scheme = schemes.recognise(train.labels)
    if scheme == "none":
        raise DataError("training labels have no labelling scheme", expected="spans as in GOLD", where=train.path)
    return [schemes.spans_from_labels(labels, scheme) for labels in train.labels]


def _against_other(
    gold: LabelledFile, compared: Compared, arguments: argparse.Namespace, rng: np.random.Generator
) -> significance.Comparison:
    other = _load(arguments.compare, arguments, predicted=True)
    other_compared = _compare(gold, other, arguments.scheme, arguments.predicted_scheme)
    _broken(other, other_compared.predicted_scheme, arguments.strict)
    first, statistic = compared.sentence_counts()
    second, _ = other_compared.sentence_counts()
    return significance.compare_systems(first, second, statistic, rng=rng, resamples=arguments.resamples)
