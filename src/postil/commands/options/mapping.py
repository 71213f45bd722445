"""``--map``: other names for the labels of a file, given while it is read."""

import argparse
from collections.abc import Iterable, Mapping, Sequence

from postil.errors import ConfigurationError
from postil.text.document import OUTSIDE
from postil.text.labelled import LabelledFile
from postil.text.labels.partial_label import UNKNOWN, looks_like_mark
from postil.text.labels.schemes import convert, recognise

OTHERS = "*"
"""Stands for every class that a map does not name."""
_EXPECTED = "[FILE=]OLD:NEW,OLD:NEW"


def add_map_argument(reading: argparse._ArgumentGroup) -> None:
    reading.add_argument(
        "--map",
        metavar="[FILE=]OLD:NEW,…",
        action="append",
        default=[],
        help="rename classes on reading: politician:PER,band:ORG; NEW may be O or ? (unknown), OLD * (all others)",
    )


def label_maps(words: Sequence[str], paths: Iterable[str]) -> dict[str, dict[str, str]]:
    """The new names of labels for each file."""
    maps: dict[str, dict[str, str]] = {path: {} for path in paths}
    for word in words:
        path, equals, pairs = word.rpartition("=")
        if equals and path not in maps:
            raise ConfigurationError("--map", expected="must name one of the labelled files", got=repr(path))
        for name in [path] if equals else maps:
            maps[name] |= dict(map(_pair, pairs.split(",")))
    return maps


def _pair(text: str) -> tuple[str, str]:
    old, colon, new = (part.strip() for part in text.partition(":"))
    if not (colon and old and new):
        raise ConfigurationError("--map", expected=_EXPECTED, got=repr(text))
    return old, new


def map_labels(file: LabelledFile, names: Mapping[str, str]) -> None:
    """Rename the classes of spans, or labels without a scheme, in place."""
    if not names:
        return
    scheme = recognise(file.labels)
    seen: set[str] = set()

    def renamed(label: str) -> str:
        letter, dash, name = label.partition("-") if scheme != "none" else ("", "", label)
        if label == OUTSIDE or looks_like_mark(label) or (scheme != "none" and not dash):
            return label
        seen.add(name)
        new = names.get(name, names.get(OTHERS, name))
        return new if new in (OUTSIDE, UNKNOWN) else f"{letter}{dash}{new}"

    for sentence in file.sentences:
        labels = sentence.labels or []
        # In IOB1 two neighbours of different classes are told apart by these alone.
        labels = convert(labels, "iob1", "bio") if scheme == "iob1" else labels
        sentence.labels = [renamed(label) for label in labels]
    unknown = sorted(set(names) - seen - {OTHERS})
    if unknown and not seen & set(names) and OTHERS not in names:
        expected = f"must name classes of {file.path}: {', '.join(sorted(seen)[:20])}"
        raise ConfigurationError("--map", expected=expected, got=", ".join(unknown))
