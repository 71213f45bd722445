"""Detectors in the commands: how they are made, scored and shown."""

import argparse
from typing import Any

from rich.text import Text

from postil.commands.console import make_console
from postil.commands.labelled import load as load
from postil.commands.labelled import resolve_labels as resolve_labels
from postil.commands.models import inputs_of
from postil.commands.notices import warn
from postil.errors import ConfigurationError
from postil.metrics import DetectionScores
from postil.metrics.files import DetectionFileScores
from postil.models.decoding.codec import LabelCodec
from postil.models.detector import Detector
from postil.text.labelled import LabelledFile
from postil.text.report import counted


def make(arguments: argparse.Namespace, parameters: dict[str, Any]) -> Detector:
    if not arguments.label:
        raise ConfigurationError("--preset margin", expected="needs the label to detect, such as --label LOC")
    return Detector(label=arguments.label, **parameters)


def evaluation(detector: Detector, file: LabelledFile) -> DetectionScores:
    return detector.evaluate(inputs_of(file), file.labels)


def report(detector: Detector, name: str, file: LabelledFile) -> DetectionFileScores:
    label, classes = detector.model.codec.label, LabelCodec.of(file.labels).classes
    if label not in classes:
        warn(f"{file.path}: the model detects {label}, which does not occur in this file: {', '.join(classes[:20])}")
    return DetectionFileScores(name, file.path, evaluation(detector, file))


def with_novelty(scores: DetectionFileScores, file: LabelledFile, train: LabelledFile) -> DetectionFileScores:
    raise ConfigurationError("--train cannot be used here: a detector has no separate scores for seen and new entities")


def page(detector: Detector, scores: DetectionFileScores, name: str, file: LabelledFile) -> str:
    from postil.reports import Heading, detector_page

    heading = Heading.of(detector, model_name=name, data_name=file.path)
    return detector_page(heading, detector, file.sentences, place=file.place)


# ------------------------------------------------------------------------------------------------ on a terminal


def headline(scores: DetectionScores) -> str:
    """The scores in one line."""
    return scores.summary()


def show(report: DetectionFileScores) -> None:
    """The size of the file, the scores, the threshold."""
    console, scores = make_console(), report.scores
    console.print(Text(f"{report.model} against {report.data}"), soft_wrap=True)
    size = f"{counted(scores.sentences, 'sentence')}, {counted(scores.tokens, 'token')}"
    size += f", {scores.counts.gold:,} of them {scores.label}"
    console.print(Text(size), end="\n\n")
    console.print(Text(headline(scores), style="bold green"))
    console.print(
        f"token accuracy {100 * scores.accuracy:.2f}; tokens with a score above {scores.threshold:.4f} are detected"
    )
