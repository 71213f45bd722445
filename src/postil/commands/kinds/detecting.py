"""Detectors in the commands: how they are made, scored and shown."""

import argparse
from typing import Any

from postil.commands.options.labelled import load as load
from postil.commands.options.models import inputs_of
from postil.commands.options.models import resolve_labels as resolve_labels
from postil.commands.terminal.notices import warn
from postil.errors import ConfigurationError
from postil.metrics import DetectionScores
from postil.metrics.files import DetectionFileScores
from postil.models.answers.labelling import Labelling
from postil.models.detector import Detector
from postil.text.labelled import LabelledFile


def make(arguments: argparse.Namespace, parameters: dict[str, Any]) -> Detector:
    if not arguments.label:
        raise ConfigurationError("--preset margin", expected="needs the label to detect, such as --label LOC")
    return Detector(label=arguments.label, **parameters)


def evaluation(detector: Detector, file: LabelledFile) -> DetectionScores:
    return detector.evaluate(inputs_of(file), file.labels)


def headline(scores: DetectionScores) -> str:
    from postil.commands.terminal import detection as display

    return display.headline(scores)


def report(detector: Detector, name: str, file: LabelledFile) -> DetectionFileScores:
    label, classes = detector.fitted_parts().labelling.label, Labelling.of(file.labels).classes
    if label not in classes:
        warn(f"{file.path}: the model detects {label}, which does not occur in this file: {', '.join(classes[:20])}")
    return DetectionFileScores(name, file.path, evaluation(detector, file))


def with_novelty(scores: DetectionFileScores, file: LabelledFile, train: LabelledFile) -> DetectionFileScores:
    raise ConfigurationError("--train cannot be used here: a detector has no separate scores for seen and new entities")


def show(scores: DetectionFileScores) -> None:
    from postil.commands.terminal import detection as display

    display.show(scores)


def page(detector: Detector, scores: DetectionFileScores, name: str, file: LabelledFile) -> str:
    from postil.reports import Heading, detector_page

    heading = Heading.of(detector, model_name=name, data_name=file.path)
    return detector_page(heading, detector, file.sentences, place=file.place)
