"""``postil train --gains``: what each kind of knowledge adds on dev, by training again without it."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from postil.commands.terminal.notices import note
from postil.commands.training.stopping import stop_on_request
from postil.errors import ConfigurationError
from postil.models.sentence_estimator import SentenceEstimator
from postil.models.tagger import Tagger

KINDS: dict[str, tuple[str, Any]] = {
    "vectors": ("word vectors", None),
    "clusters": ("word clusters", None),
    "gazetteers": ("lists of names", ()),
    "pretrained": ("a pretrained encoder", None),
}
"""Parameters of an estimator, what they are called, and their values without the knowledge."""
ALONE = "the labelled data alone"
ENCODER, TEACHER = "an encoder that has read raw text", "a teacher's labels of raw text"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--gains",
        action=argparse.BooleanOptionalAction,
        help="train again without vectors, clusters, names and raw text to show what each of them adds on dev "
        "(default: with --unlabelled and --dev)",
    )


def check_arguments(arguments: argparse.Namespace) -> None:
    if arguments.gains and not arguments.dev:
        raise ConfigurationError("--gains needs held-out data to compare on: add --dev FILE")
    if arguments.gains and arguments.warm_start:
        raise ConfigurationError("--gains cannot be used with --warm-start: the old model has its knowledge already")


def are_wanted(arguments: argparse.Namespace) -> bool:
    if arguments.gains is None:
        return bool(arguments.unlabelled and arguments.dev) and not (arguments.warm_start or arguments.minutes)
    return bool(arguments.gains)


class Poorer(NamedTuple):
    """A model to compare with."""

    label: str
    estimator: SentenceEstimator[Any, Any]
    start: Tagger | None = None


def show(
    arguments: argparse.Namespace, model: SentenceEstimator[Any, Any], data: Any, lesson: Mapping[str, Any]
) -> list[tuple[str, float]]:
    """Print and return the score on dev without any knowledge, and after each kind is added. The model is written.

    ``lesson`` is what it has learnt from raw text.
    """
    from rich.text import Text

    from postil.commands.terminal.display import make_console

    teachers, encoder = lesson.get("teachers", ()), lesson.get("warm_start")
    given = [name for name in KINDS if getattr(model, name)]
    poorer = list(_without_parts(model, given, is_taught=bool(teachers)))
    if encoder is not None:
        poorer.append(Poorer(f"+ {ENCODER}", type(model)(**model.get_params()), encoder))
    if not poorer:
        note("--gains: there is nothing to compare, the model was trained on the labelled data alone")
        return []
    note(f"the model is written; training {len(poorer)} more to see what helped (Ctrl-C skips this)")
    dev = data[2]
    rows: list[tuple[str, float]] = []
    with stop_on_request() as stop:
        for label, estimator, start in poorer:
            for _ in estimator.fitting(*data, partial=arguments.partial, warm_start=start):
                if stop.by is not None:
                    note("the comparison is skipped")
                    return []
            rows.append((label, 100 * estimator.score(*dev)))
    label = TEACHER if teachers else KINDS[given[-1]][0]
    rows.append((f"+ {label}", 100 * model.score(*dev)))
    notes = [_of_teacher(teacher, dev) for teacher in teachers]
    console = make_console()
    for line in (*table(rows), *notes):
        console.print(Text(line))
    return rows


def _without_parts(model: SentenceEstimator[Any, Any], given: Sequence[str], *, is_taught: bool) -> Iterator[Poorer]:
    """Estimators as ``model``, from one without any knowledge to the one that lacks only the last kind."""
    for count in range(len(given) + is_taught):
        missing = {name: KINDS[name][1] for name in given[count:]}
        label = f"+ {KINDS[given[count - 1]][0]}" if count else ALONE
        yield Poorer(label, type(model)(**{**model.get_params(), **missing}))


def table(rows: Sequence[tuple[str, float]]) -> list[str]:
    """Labels with scores, and how much each differs from the one before.

    >>> print(*table([("the labelled data alone", 61.2), ("+ word vectors", 70.0)]), sep="\\n")
    what helped, dev score
      the labelled data alone   61.20
      + word vectors            70.00  +8.80
    """
    width = max(len(label) for label, _ in rows)
    lines = ["what helped, dev score"]
    before: float | None = None
    for label, score in rows:
        gain = "" if before is None else f"  {score - before:+.2f}"
        lines.append(f"  {label:<{width}}  {score:6.2f}{gain}")
        before = score
    return lines


def _of_teacher(teacher: Tagger, dev: Any) -> str:
    networks = teacher.config.ensemble
    return f"  (the teacher, {networks} network{'s' * (networks > 1)}: {100 * teacher.score(*dev):.2f})"
