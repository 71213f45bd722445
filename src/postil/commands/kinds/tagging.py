"""Taggers in the commands: how they are made, scored and shown."""

import argparse
from dataclasses import replace
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from postil.commands.console import make_console, show_table
from postil.commands.kinds.table import refuse
from postil.commands.labelled import load as load
from postil.commands.labelled import resolve_labels as resolve_labels
from postil.commands.models import checked_scheme, inputs_of, warn_of_unknown_classes
from postil.metrics import Calibration, Evaluation, tables
from postil.metrics.evaluation import LeftOut, prepare
from postil.metrics.files import FileScores, novelty_parts, score_compared
from postil.metrics.reliability import Reliability
from postil.metrics.significance import Interval
from postil.models.decoding.calibration import reliability
from postil.models.tagger import Tagger
from postil.text.labelled import LabelledFile
from postil.text.report import counted


def make(arguments: argparse.Namespace, parameters: dict[str, Any]) -> Tagger:
    refuse(arguments, "label", "a tagger learns all labels; --preset margin detects one")
    return Tagger(**parameters)


def evaluation(tagger: Tagger, file: LabelledFile) -> Evaluation:
    return tagger.evaluate(inputs_of(file), file.labels)


def report(tagger: Tagger, name: str, file: LabelledFile) -> FileScores:
    """Scores of the predictions with a confidence interval and the calibration of their probabilities."""
    gold_scheme = checked_scheme(file, tagger.model.codec)
    if tagger.model.codec.has_spans:
        warn_of_unknown_classes(file, tagger.model.codec.classes)
    X = inputs_of(file)
    compared = prepare(file.labels, tagger.predict(X), gold_scheme, tagger.model.codec.scheme)
    calibration = reliability(tagger.model, X, file.labels)
    return score_compared(file.path, name, compared, np.random.default_rng(0), reliability=calibration)


def with_novelty(scores: FileScores, file: LabelledFile, train: LabelledFile) -> FileScores:
    span_parts, word_parts = novelty_parts(file, scores.compared, train)
    return replace(scores, span_parts=span_parts, word_parts=word_parts)


def page(tagger: Tagger, scores: FileScores, name: str, file: LabelledFile) -> str:
    from postil.reports import Answers, Heading, tagger_page

    return tagger_page(
        Heading.of(tagger, model_name=name, data_name=file.path),
        Answers.of(tagger, file.sentences, scores.compared, file.place),
        interval=scores.interval,
        before=_before_calibration(scores),
        span_novelty=scores.span_parts,
        word_novelty=scores.word_parts,
    )


def _before_calibration(scores: FileScores) -> Calibration | None:
    measured = scores.reliability
    return measured.before if measured is not None and measured.is_calibrated else None


# ------------------------------------------------------------------------------------------------ on a terminal


def headline(evaluation: Evaluation) -> str:
    """The scores in one line."""
    return evaluation.summary()


def show(scores: FileScores) -> None:
    """The score first, then its details, then its uncertainty."""
    console = make_console()
    _show_headline(console, scores)
    if scores.evaluation.spans is not None:
        _show_spans(console, scores)
    else:
        _show_tokens(console, scores)
    if scores.word_parts:
        show_table(console, tables.token_novelty_table(scores.word_parts))
    if scores.reliability is not None:
        _show_reliability(console, scores.reliability, "entities" if scores.evaluation.spans is not None else "labels")


def _show_headline(console: Console, scores: FileScores) -> None:
    evaluation = scores.evaluation
    size = f"{counted(evaluation.sentences, 'sentence')}, {counted(evaluation.tokens.tokens, 'token')}"
    console.print(Text(f"{scores.predicted} against {scores.gold}"), soft_wrap=True)
    console.print(Text(f"{size}, {_schemes(evaluation.scheme, scores.compared.predicted_scheme)}"))
    if any(evaluation.left_out):
        console.print(Text(_left_out(evaluation.left_out)))
    console.print()
    accuracy = f"token accuracy {100 * evaluation.tokens.accuracy:.2f}"
    if evaluation.spans is None:
        console.print(Text.assemble((accuracy, "bold green"), _interval(scores.interval)))
        return
    counts = evaluation.spans.overall
    others = f"precision {100 * counts.precision:.2f}   recall {100 * counts.recall:.2f}   {accuracy}"
    console.print(Text.assemble((f"F1 {100 * counts.f1:.2f}", "bold green"), _interval(scores.interval)))
    console.print(Text(others))


def _left_out(left_out: LeftOut) -> str:
    tokens = f"not scored: {left_out.tokens:,} tokens whose gold label is unknown"
    spans = (
        f"{left_out.gold_entities:,} gold and {left_out.predicted_entities:,} predicted entities that depend on them"
    )
    return f"{tokens}, {spans}" if any(left_out[1:]) else tokens


def _schemes(gold: str, predicted: str) -> str:
    if gold == "none":
        return "labels without a scheme"
    return f"{gold.upper()} labels" + (f" (predictions: {predicted.upper()})" if predicted != gold else "")


def _interval(interval: Interval) -> str:
    return f"   {100 * interval.level:g} % interval {100 * interval.low:.2f} to {100 * interval.high:.2f}"


def _show_spans(console: Console, scores: FileScores) -> None:
    spans = scores.evaluation.spans
    assert spans is not None
    show_table(console, tables.label_table(spans.by_label(), spans.overall))
    if scores.span_parts:
        show_table(console, tables.span_novelty_table(scores.span_parts))
    show_table(console, tables.errors_table(spans, scores.span_parts))
    show_table(console, tables.confusion_table(spans))
    show_table(console, tables.matching_table(spans))


def _show_tokens(console: Console, scores: FileScores) -> None:
    tokens = scores.evaluation.tokens
    show_table(console, tables.label_table(tokens.by_label(), title="Labels", column="label"))
    if tokens.mistakes():
        show_table(console, tables.mistakes_table(tokens.mistakes(), "Confused most often"))


def _show_reliability(console: Console, reliability: Reliability, things: str) -> None:
    """Predicted probabilities against observed frequencies."""
    title = f"Reliability of the probabilities of {things}"
    before, after = tables.calibration_table(reliability.before), tables.calibration_table(reliability.after)
    if not reliability.is_calibrated:
        show_table(console, after._replace(title=f"{title} (not calibrated: trained without --dev)"))
        return
    fitted = f"temperature {reliability.temperature:.3f}, shift {reliability.shift:+.3f}"
    show_table(console, before._replace(title=f"{title}, before calibration"))
    show_table(console, after._replace(title=f"{title}, after calibration on dev ({fitted})"))
