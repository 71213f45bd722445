"""The log of a search: every training that was done, so that a search can go on or be repeated."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from postil.errors import DataError
from postil.files import append_line, replaced

_HEAD = "postil-search"


class Training(NamedTuple):
    """One training of a search."""

    trial: int
    """The number of the settings; 0 are those that the search began with."""
    epochs: int
    seed: int


class Outcome(NamedTuple):
    score: float
    """On the held-out sentences, 0 to 1."""
    seconds: float
    """CPU time."""


class TrialLog:
    """Trainings and their outcomes, in memory and, with a path, in a file of JSON Lines that is complete at any time.

    ``question`` is what the outcomes depend on: a log of another question is refused. ``plan`` is written for a replay.
    """

    def __init__(
        self, path: Path | None, question: Mapping[str, Any], plan: Mapping[str, int], *, resume: bool = False
    ) -> None:
        self.path, self.outcomes = path, dict[Training, Outcome]()
        if path is None:
            return
        if resume and path.exists() and path.stat().st_size:
            self.outcomes = read_log(path, question)[1]
            return
        with replaced(path) as file:
            file.write(f"{json.dumps({_HEAD: fingerprint(question), **plan})}\n".encode())

    def add(self, training: Training, settings: Mapping[str, Any], outcome: Outcome) -> None:
        self.outcomes[training] = outcome
        if self.path is not None:
            row = {**training._asdict(), "settings": dict(settings), **outcome._asdict()}
            append_line(self.path, json.dumps(row, ensure_ascii=False))


def read_log(path: Path, question: Mapping[str, Any]) -> tuple[dict[str, int], dict[Training, Outcome]]:
    """The plan and the outcomes of a log. A line that a killed process did not finish is left out."""
    lines = path.read_text(encoding="utf8", errors="replace").splitlines()
    head, *rows = [_parsed(line) for line in lines] or [None]
    if not isinstance(head, dict) or not isinstance(head.get(_HEAD), str):
        raise DataError("log", expected="must be one that `postil search` wrote", where=path)
    if head.pop(_HEAD) != fingerprint(question):
        raise DataError("log", expected="must be of the same data, settings and seed", where=path)
    outcomes = {}
    for row in filter(None, rows):
        try:
            training = Training(*(int(row[name]) for name in Training._fields))
            outcomes[training] = Outcome(*(float(row[name]) for name in Outcome._fields))
        except (KeyError, TypeError, ValueError, OverflowError):
            raise DataError("log", expected="must have a trial, epochs, seed and score per line", where=path) from None
    return head, outcomes


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def fingerprint(value: Any) -> str:
    """A short name of anything that JSON can write."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def fingerprint_of_data(X: Sequence[Sequence[Any]], y: Sequence[Sequence[str]]) -> str:
    """A short name of labelled sentences, in their order."""
    total = hashlib.sha256()
    for tokens, labels in zip(X, y, strict=True):
        total.update(repr((list(tokens), list(labels))).encode("utf8", "surrogatepass"))
    return total.hexdigest()[:32]
