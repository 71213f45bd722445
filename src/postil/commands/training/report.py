"""``postil train --report``: the page about a training that has just ended."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from postil.commands.kinds.table import kind_of
from postil.commands.options.models import inputs_of
from postil.metrics.reliability import Reliability
from postil.models.answers.reliability import reliability
from postil.models.estimator import Estimator
from postil.models.multi_task_tagger import MultiTaskTagger
from postil.models.tagger import Tagger
from postil.reports.answers import Heading
from postil.reports.training import Run, training_page
from postil.text.output import write_text


def write(
    arguments: argparse.Namespace,
    model: Estimator[Any, Any],
    fitting: Any,
    held_out: Mapping[str, Any],
    gains: Sequence[tuple[str, float]],
) -> None:
    """Score the model on its held-out files once more, with details, and write the page."""
    scores: dict[str, Any] = {}
    calibrations: dict[str, Reliability] = {}
    for name, part, file in _parts(model, held_out):
        scores[name] = kind_of(part).evaluation(part, file)
        if isinstance(part, Tagger):
            calibrations[name] = reliability(part.fitted_parts(), inputs_of(file), file.labels)
    progress = fitting.training.progress
    run = Run(history=progress.history, seconds=progress.seconds, scores=scores, reliability=calibrations, gains=gains)
    heading = Heading.of(model, model_name=str(arguments.output), data_name=_data(arguments))
    write_text(arguments.report, [training_page(heading, model, run)])
    print(f"\nThe report is in {arguments.report}: open it in a browser.")


def _parts(model: Any, held_out: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Name, model and file of everything that is scored: each task of several on its own."""
    if not isinstance(model, MultiTaskTagger):
        return [(name, model, file) for name, file in held_out.items()]
    return [(f"{name}, {task}", model[task], file) for name, files in held_out.items() for task, file in files.items()]


def _data(arguments: argparse.Namespace) -> str:
    return ", ".join(map(str, [*arguments.train, *arguments.task]))
