"""The options by which commands read files of tokens and labels."""

import argparse
from typing import Any

from postil.commands.labelled import column_argument
from postil.text.options import CHOICES


def add_reading_arguments(
    parser: argparse.ArgumentParser, features: tuple[int | str, ...] | None = (), kept: str = "none"
) -> argparse._ArgumentGroup:
    """What a reader cannot find out by itself. ``features`` are the extra columns by default, ``kept`` says so.

    Gives the group, for options that only one command has.
    """
    reading = parser.add_argument_group("reading")
    reading.add_argument("--encoding", metavar="NAME", help="encoding of the files (default: UTF-8)")
    reading.add_argument("--token-column", type=int, default=0, metavar="N", help="CoNLL: column of the token, from 0")
    reading.add_argument(
        "--label-column",
        type=column_argument,
        default="auto",
        metavar="C",
        help="column of the label: a number (negative: from the right), in CoNLL-U a name; none (default: last; upos)",
    )
    reading.add_argument(
        "--feature-columns",
        type=_columns,
        default=features,
        metavar="C,C",
        help=f"extra columns to read, say the part of speech as a feature (default: {kept})",
    )
    meanings = {
        "misaligned": "spans that do not fit token boundaries: list them and stop, move them there, or drop them",
        "overlaps": "overlapping spans: list them and stop, keep the longest, or keep the first",
    }
    for name, meaning in meanings.items():
        reading.add_argument(f"--{name}", choices=CHOICES[name], default="error", help=f"JSON Lines: {meaning} (error)")
    return reading


def add_partial_argument(reading: argparse._ArgumentGroup) -> None:
    reading.add_argument(
        "--partial",
        type=_yes_or_no,
        default=None,
        metavar="yes|no",
        help="labels ? and A|B mean unknown and one of these, or are labels of their own (default: by the data)",
    )


def _yes_or_no(text: str) -> bool | None:
    if text not in ("yes", "no", "auto"):
        raise argparse.ArgumentTypeError(f"expected yes, no or auto, got {text!r}")
    return {"yes": True, "no": False, "auto": None}[text]


def reading_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """As `postil.text.formats.read` takes them."""
    return {
        "encoding": arguments.encoding,
        "token": arguments.token_column,
        "label": arguments.label_column,
        "features": arguments.feature_columns,
        "misaligned": arguments.misaligned,
        "overlaps": arguments.overlaps,
    }


def _columns(text: str) -> tuple[int | str, ...]:
    columns = (column_argument(part.strip()) for part in text.split(","))
    return tuple(column for column in columns if column not in (None, ""))
