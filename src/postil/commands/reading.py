"""The options by which commands read files of tokens and labels."""

import argparse
from typing import Any

from postil.commands.labelled import column_argument
from postil.text.options import CHOICES


def add_reading_arguments(parser: argparse.ArgumentParser) -> None:
    """What a reader cannot find out by itself."""
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
        default=(),
        metavar="C,C",
        help="extra columns to use as features, say the part of speech (default: none)",
    )
    for name, meaning in (("misaligned", "spans that do not fit token boundaries"), ("overlaps", "overlapping spans")):
        reading.add_argument(f"--{name}", choices=CHOICES[name], default="error", help=f"JSON Lines: {meaning} (error)")


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
    columns = (column_argument(part) for part in text.split(","))
    return tuple(column for column in columns if column not in (None, ""))
