"""From the words of ``postil tag`` to `TaggingOptions`: thresholds, constraints, formats."""

import argparse
from typing import Any

from postil.commands.options.reading import reading_options
from postil.errors import ConfigurationError
from postil.models.answers.constraints import Constraints
from postil.models.answers.decoding import check_probability
from postil.serving import TaggingOptions
from postil.text.options import ReadOptions

_SPAN = "START:END or START:END=CLASS"
_LABELLED_SPAN = "START:END=LABEL,…"


def add_answer_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("answers of taggers")
    group.add_argument(
        "--threshold",
        action="append",
        default=[],
        metavar="[CLASS=]P",
        help="drop entities whose probability is below P, for one class or for all (repeatable)",
    )
    group.add_argument(
        "--all-above",
        type=float,
        metavar="P",
        help="jsonl: add every span with a probability of at least P as spans_above, best labelling or not",
    )
    meanings = {
        "force": ("START:END[=CLASS]", "these characters of --text are an entity (of this class)"),
        "forbid": ("START:END[=CLASS]", "exactly these characters of --text are not an entity (of this class)"),
        "allow": ("START:END=LABEL,…", "the words in these characters of --text have one of these labels or classes"),
    }
    for name, (shape, meaning) in meanings.items():
        group.add_argument(f"--{name}", action="append", default=[], metavar=shape, help=f"{meaning} (repeatable)")
    group.add_argument(
        "--gazetteer-constraint",
        action="append",
        default=[],
        metavar="CLASS=FILE",
        help="every name in FILE (one per line) is an entity of CLASS wherever it occurs (repeatable)",
    )


def tagging_options(arguments: argparse.Namespace) -> TaggingOptions:
    """The options that the command line asks for."""
    for_all, by_class = _thresholds(arguments.threshold)
    files = arguments.files
    return TaggingOptions(
        output=arguments.output,
        reading=ReadOptions(**tag_reading_options(arguments)),
        threshold=for_all,
        class_thresholds=by_class,
        constraints=_constraints(arguments),
        gazetteer_constraints=[_class_and_file(word) for word in arguments.gazetteer_constraint],
        tasks=arguments.task,
        source=files[0] if len(files) == 1 and files[0] != "-" else "",
        **_same_names(arguments, "probabilities", "scores", "keep_gold", "nbest", "all_above", "tree", "offsets"),
    )


def tag_reading_options(arguments: argparse.Namespace, by_characters: bool = False) -> dict[str, Any]:
    """How inputs are read: every record of JSON Lines is answered. ``by_characters``: so the model cuts raw text."""
    return {**reading_options(arguments, by_characters), "every_record": True}


def _same_names(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    return {name: getattr(arguments, name) for name in names}


def _thresholds(words: list[str]) -> tuple[float | None, dict[str, float]]:
    """``0.8`` for all classes, ``LOC=0.8`` for one; the one of a class takes precedence."""
    for_all: float | None = None
    by_class: dict[str, float] = {}
    for word in words:
        name, equals, number = word.rpartition("=")
        try:
            lowest = float(number)
        except ValueError:
            raise ConfigurationError("--threshold", expected="P or CLASS=P", got=repr(word)) from None
        check_probability(lowest, f"--threshold {word}")
        if equals:
            by_class[name] = lowest
        else:
            for_all = lowest
    return for_all, by_class


def _constraints(arguments: argparse.Namespace) -> Constraints:
    given = [name for name in ("force", "forbid", "allow") if getattr(arguments, name)]
    if not given:
        return Constraints()
    if arguments.text is None or "\n" in arguments.text.strip("\n"):
        expected = "needs --text with a single line (the records of a JSON Lines file carry their own constraints)"
        got = "no --text" if not arguments.text else "several lines"
        raise ConfigurationError(f"--{given[0]}", expected=expected, got=got)
    return Constraints(
        force=[_span("force", word, _SPAN) for word in arguments.force],
        forbid=[_span("forbid", word, _SPAN) for word in arguments.forbid],
        allow=[_allowed(word) for word in arguments.allow],
        where="--text",
    )


def _allowed(word: str) -> tuple[int, int, list[str]]:
    start, end, labels = _span("allow", word, _LABELLED_SPAN)
    if not labels:
        raise ConfigurationError("--allow", expected=_LABELLED_SPAN, got=repr(word))
    return start, end, labels.split(",")


def _span(option: str, word: str, expected: str) -> tuple[int, int, str | None]:
    place, _, label = word.partition("=")
    start, _, end = place.partition(":")
    if not (start.isdecimal() and end.isdecimal()) or word.endswith("="):
        raise ConfigurationError(f"--{option}", expected=expected, got=repr(word))
    return int(start), int(end), label or None


def _class_and_file(word: str) -> tuple[str, str]:
    label, equals, path = word.partition("=")
    if not equals or not path:
        raise ConfigurationError("--gazetteer-constraint", expected="CLASS=FILE", got=repr(word))
    return label, path
