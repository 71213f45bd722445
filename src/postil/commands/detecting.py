"""What the commands do with detectors."""

import argparse
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, final

from postil.commands.answering import OPTIONS
from postil.commands.kinds import Mark, unwanted
from postil.commands.labelled import LabelledFile
from postil.commands.labelled import load as load
from postil.commands.marking import add_column, add_to_spans, write_spans
from postil.commands.models import inputs_of
from postil.commands.models import settle as settle
from postil.errors import ConfigurationError
from postil.metrics import DetectionScores
from postil.models.detector import Detector
from postil.text import Sentence
from postil.text.output import Target


@final
@dataclass(frozen=True)
class DetectionReport:
    """A detector's scores on a file."""

    model: str
    data: str
    scores: DetectionScores

    def as_dict(self) -> dict[str, Any]:
        return self.scores.as_dict()


def make(arguments: argparse.Namespace, parameters: dict[str, Any]) -> Detector:
    if not arguments.label:
        raise ConfigurationError("the margin objective detects one label", expected="--label NAME, say --label LOC")
    return Detector(label=arguments.label, **parameters)


def evaluation(detector: Detector, file: LabelledFile) -> DetectionScores:
    return detector.evaluate(inputs_of(file), file.labels)


def headline(found: DetectionScores) -> str:
    counts = found.counts
    ratios = f"F1 {100 * counts.f1:.2f}, precision {100 * counts.precision:.2f}, recall {100 * counts.recall:.2f}"
    return f"average precision {100 * found.average_precision:.2f}  ({ratios})"


def report(detector: Detector, name: str, file: LabelledFile) -> DetectionReport:
    return DetectionReport(name, file.path, evaluation(detector, file))


def beside_training(found: DetectionReport, file: LabelledFile, train: LabelledFile) -> DetectionReport:
    raise ConfigurationError("--train: a model of one label has no scores of seen and new entities")


def show(found: DetectionReport) -> None:
    from rich.text import Text

    from postil.commands.terminal.display import make_console

    console, scores = make_console(), found.scores
    console.print(Text(f"{found.model} against {found.data}"), soft_wrap=True)
    console.print(f"{scores.sentences:,} sentences, {scores.tokens:,} tokens, {scores.counts.gold:,} of them", end=" ")
    console.print(Text(scores.label), end="\n\n")
    console.print(Text(headline(scores), style="bold green"))
    console.print(f"token accuracy {100 * scores.accuracy:.2f}; detected is what scores above {scores.threshold:.4f}")


def page(detector: Detector, found: DetectionReport, name: str, file: LabelledFile) -> str:
    from postil.reports import Heading, detector_page

    heading = Heading.of(detector, model_name=name, data_name=file.path)
    return detector_page(heading, detector, file.sentences, place=file.place)


def marker(detector: Detector, arguments: argparse.Namespace) -> Mark:
    unwanted(arguments, "tree", "only classifiers of trees have it")
    unwanted(arguments, "probabilities", "a margin model has scores, not probabilities", instead="--scores")
    for option in ("nbest", *OPTIONS):
        unwanted(arguments, option, "a margin model decides about each token alone")
    return partial(_marked, detector=detector, arguments=arguments)


def _marked(block: list[Sentence], detector: Detector, arguments: argparse.Namespace) -> list[Sentence]:
    for sentence, found in zip(block, detector.annotate_with_scores(block), strict=True):
        if arguments.scores and arguments.output == "jsonl":
            add_to_spans(sentence, found.entities, ({"score": round(score, 6)} for score in found.entity_scores))
        elif arguments.scores:
            add_column(sentence, found.token_scores)
    return block


def write(marked: Iterable[Sentence], detector: Detector, arguments: argparse.Namespace, target: Target) -> None:
    write_spans(marked, target, detector.fitted_parts().labelling.span_scheme, arguments)
