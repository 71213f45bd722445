"""The options for reading files of tokens and labels."""

import argparse
import contextlib
import re
import warnings
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from postil.commands.notices import note
from postil.commands.parser import CommandOption, option
from postil.errors import DataError, PostilError, RepairWarning
from postil.models.model import FittedModel
from postil.reading import read_json
from postil.text.annotations.annotated import Record
from postil.text.document import Sentence
from postil.text.formats import FORMATS, Reading, read
from postil.text.labels.schemes import IO
from postil.text.languages import looks_english, rules_for_texts, script_of
from postil.text.options import CHOICES
from postil.text.splitting.segmenter import CHARACTERS as SINGLE
from postil.text.splitting.segmenter import ENGLISH, Segmenter, is_unspaced

CHARACTERS = "characters"
"""Value of --from: plain text in which every character is a token."""
_SAMPLE = 500
"""Sentences that show the language of a file."""
_ENOUGH = 40
"""Words of a text without which nothing is said about its language."""


def format_option(
    flag: str, what: str, names: Sequence[str], otherwise: str, *, dest: str, default: str | None = None
) -> CommandOption:
    """The names are in the help: they would fill the usage line."""
    meaning = f"format of {what}: {', '.join(names)} (default: {default or otherwise})"
    return option(f"{flag} FORMAT", meaning, dest=dest, choices=names, default=default)


def warn_of_unspaced(reading: Reading, segmenter: Segmenter = ENGLISH) -> bool:
    """Warn of raw text in which the tokeniser of words finds no borders; whether that was the case."""
    found = segmenter.has_rules and is_unspaced(reading.head_text())
    if found:
        long = "text without spaces, such as Chinese, Japanese or Thai: a whole run of it is one token"
        note(f"{reading.name}: {long}; --from characters makes every character a token")
    return found


def model_script(model: FittedModel) -> str | None:
    """The script of the words that a model has learned; None if it has none."""
    words = model.features.words.vocabularies.get("word")
    return None if words is None else script_of(words)


def warn_of_text(reading: Reading, segmenter: Segmenter, script: str | None) -> bool:
    """Warn of raw text that the model is not made for; whether that was the case.

    It has no spaces, is not in the ``script`` of the model's words, or is not English, by whose rules it is split.
    """
    if warn_of_unspaced(reading, segmenter):
        return True
    text, what = reading.head_text(), None
    if None not in (script, written := script_of(text)) and written != script:
        what = f"is in {written} script, the model was trained on {script}: do not expect good labels"
    elif segmenter == ENGLISH:
        words = re.findall(r"\w+", text)
        if len(words) >= _ENOUGH and not looks_english(Counter(words)):
            what = "does not look English, but the model splits text by English rules"
    if what is not None:
        note(("" if reading.name == "stream" else f"{reading.name}: ") + f"the text {what}")
    return what is not None


def reading_arguments(
    *others: CommandOption,
    what: str = "the input",
    formats: Sequence[str] = (*FORMATS, CHARACTERS),
    default: str | None = None,
    features: tuple[int | str, ...] | None = (),
    kept: str = "none",
    misaligned: str = "error",
    overlaps: str = "error",
    schemes: Sequence[str] = (IO,),
) -> list[CommandOption]:
    """Options for what a reader cannot detect, and ``others`` of a single command.

    ``what`` is read in one of the ``formats``. ``features`` are the default extra columns, described by ``kept``.
    """
    misaligned_spans = (
        "JSON Lines: spans that do not match token boundaries: list them and stop, snap them, or drop them"
    )
    misaligned_spans += f" (default: {misaligned})"
    overlapping_spans = "JSON Lines: overlapping spans: list them and stop, keep the longest, or keep the first"
    overlapping_spans += f" (default: {overlaps})"
    io = "io: classes without prefixes, a run of one class is a span" if schemes == (IO,) else f"{IO} is never detected"
    return [
        format_option("--from", what, formats, "detected", dest="source_format", default=default),
        option("--encoding NAME", "encoding of the files (default: UTF-8)"),
        option("--token-column N=0", "CoNLL: column of the token"),
        option(
            "--label-column C",
            "column of the label: a number, negative from the right, a CoNLL-U name, chunks (of trees), or none "
            "(default: last; upos)",
            type=column_argument,
            default="auto",
        ),
        option(
            "--feature-columns C,C",
            f"extra columns to read as features, such as the part of speech (default: {kept})",
            type=_columns,
            default=features,
        ),
        option("--misaligned", misaligned_spans, choices=CHOICES["misaligned"], default=misaligned),
        option("--overlaps", overlapping_spans, choices=("error", "longest", "first"), default=overlaps),
        option(
            "--label-names A,B|FILE",
            "names of labels that are numbers: a list from 0, or a JSON file of names (old doccano, datasets)",
            type=_label_names,
        ),
        option("--from-scheme", f"labelling scheme of {what}; {io} (default: detected)", choices=schemes),
        *others,
    ]


def _label_names(text: str) -> dict[int, str]:
    """``O,B-PER,I-PER``, or a file: ["O", …], {"0": "O", …}, or doccano's [{"id": 3, "text": "PER"}, …]."""
    if not text.endswith(".json"):
        return dict(enumerate(part.strip() for part in text.split(",")))
    try:
        value = read_json(text, "the names of labels")
        if isinstance(value, dict):
            return {int(number): str(name) for number, name in value.items()}
        if all(isinstance(name, str) for name in value):
            return dict(enumerate(value))
        return {int(one["id"]): str(one.get("text", one.get("name"))) for one in value}
    except DataError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text} must be a JSON list of names, or of ids with names") from None


def _yes_or_no(text: str) -> bool | None:
    if text not in ("yes", "no", "auto"):
        raise argparse.ArgumentTypeError(f"must be yes, no or auto (got {text!r})")
    return {"yes": True, "no": False, "auto": None}[text]


PARTIAL = option(
    "--partial yes|no",
    "whether ? and A|B mean an unknown label and alternative labels (default: depends on the data)",
    type=_yes_or_no,
)
MAP = option(
    "--map [FILE=]OLD:NEW,… …",
    "rename classes on reading: politician:PER,band:ORG; NEW may be O or ? (unknown), OLD * (all others)",
)


def rules_for_file(path: str | Path | None, **options: Any) -> Segmenter:
    """Rules that split the raw texts of a file: those of English, or neutral ones. A stream is taken for English."""
    if path is None or not Path(path).is_file():
        return ENGLISH
    options |= {"misaligned": "drop", "overlaps": "longest"}
    # Mistakes and repairs are told when all of it is read.
    with warnings.catch_warnings(), contextlib.suppress(PostilError), read(path, **options) as reading:
        warnings.simplefilter("ignore", RepairWarning)
        sample = list(islice(reading, _SAMPLE))
        if reading.format != "text":
            sample = list(takewhile(is_raw_text, sample))
        return rules_for_texts(dict.fromkeys(str(one.text) for one in sample))
    return ENGLISH


def is_raw_text(sentence: Sentence) -> bool:
    """Whether a sentence comes from a raw text with spans, whose tokens the source does not list."""
    return isinstance(sentence.rest, Record) and sentence.rest.tokens is None


def reading_options(arguments: Namespace, segmenter: Segmenter = ENGLISH, *, groups: bool = False) -> dict[str, Any]:
    """The keyword arguments of ``read``; with ``groups`` of classes, spans of different classes may overlap."""
    format = arguments.source_format
    return {
        "format": "text" if format == CHARACTERS else format,
        "segmenter": SINGLE if format == CHARACTERS else segmenter,
        "encoding": arguments.encoding,
        "token": arguments.token_column,
        "label": arguments.label_column,
        "features": arguments.feature_columns,
        "misaligned": arguments.misaligned,
        "overlaps": "group" if groups and arguments.overlaps == "error" else arguments.overlaps,
        "label_names": getattr(arguments, "label_names", None),
        "from_scheme": IO if getattr(arguments, "from_scheme", None) == IO else None,
    }


def options_for_file(arguments: Namespace, path: str | Path | None, *, groups: bool = False) -> dict[str, Any]:
    """``reading_options`` with the rules for the language of a file."""
    segmenter = rules_for_file(path, **reading_options(arguments))
    return reading_options(arguments, segmenter, groups=groups)


def _columns(text: str) -> tuple[int | str, ...]:
    columns = (column_argument(part.strip()) for part in text.split(","))
    return tuple(column for column in columns if column not in (None, ""))


def column_argument(text: str) -> int | str | None:
    """A column on the command line: a number, a name of CoNLL-U, or none."""
    if text.lower() == "none":
        return None
    return int(text) if text.removeprefix("-").isdecimal() else text
