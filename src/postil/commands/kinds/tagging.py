"""Taggers in the commands: how they are made, scored and shown."""

import argparse
from dataclasses import replace
from typing import Any

import numpy as np

from postil.commands.kinds.table import refuse
from postil.commands.options.labelled import load as load
from postil.commands.options.models import checked_scheme, inputs_of, warn_of_unknown_classes
from postil.commands.options.models import resolve_labels as resolve_labels
from postil.metrics import Calibration, Evaluation
from postil.metrics.evaluation import prepare
from postil.metrics.files import FileScores, novelty_parts, score_compared
from postil.models.answers.reliability import reliability
from postil.models.tagger import Tagger
from postil.text.labelled import LabelledFile


def make(arguments: argparse.Namespace, parameters: dict[str, Any]) -> Tagger:
    refuse(arguments, "label", "a tagger learns all labels; --preset margin detects one")
    return Tagger(**parameters)


def evaluation(tagger: Tagger, file: LabelledFile) -> Evaluation:
    return tagger.evaluate(inputs_of(file), file.labels)


def headline(scores: Evaluation) -> str:
    from postil.commands.terminal import score as display

    return display.headline(scores)


def report(tagger: Tagger, name: str, file: LabelledFile) -> FileScores:
    """Scores of the predictions with a confidence interval and the calibration of their probabilities."""
    gold_scheme = checked_scheme(file, tagger.labelling)
    if tagger.labelling.has_spans:
        warn_of_unknown_classes(file, tagger.labelling.classes)
    X = inputs_of(file)
    compared = prepare(file.labels, tagger.predict(X), gold_scheme, tagger.labelling.scheme)
    calibration = reliability(tagger.fitted_parts(), X, file.labels)
    return score_compared(file.path, name, compared, np.random.default_rng(0), reliability=calibration)


def with_novelty(scores: FileScores, file: LabelledFile, train: LabelledFile) -> FileScores:
    span_parts, word_parts = novelty_parts(file, scores.compared, train)
    return replace(scores, span_parts=span_parts, word_parts=word_parts)


def show(scores: FileScores) -> None:
    from postil.commands.terminal import score as display

    display.show(scores)


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
