"""``Tagger`` of python-crfsuite: open a model file, label sequences of items, ask for probabilities."""

import contextlib
import math
import os
import sys
import threading
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from postil.errors import ConfigurationError, DataError, IndexRangeError, ModelFileError
from postil.integrations.crfsuite.model import Model
from postil.objectives import Posterior, path_scores


class ClosedError(ConfigurationError, RuntimeError):
    """A tagger is asked without a model or a sequence."""


@dataclass
class ParsedDump:
    """The content of a model; numbers are strings, as in python-crfsuite."""

    header: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    transitions: dict[tuple[str, str], float] = field(default_factory=dict)
    state_features: dict[tuple[str, str], float] = field(default_factory=dict)


class _Sequence:
    """A sequence under a model. Forward-backward runs once, however much is asked about it."""

    def __init__(self, model: Model, xseq: Any) -> None:
        self.model, self.lattice = model, model.lattice([xseq])

    @cached_property
    def posterior(self) -> Posterior:
        return Posterior.of(self.lattice)

    @cached_property
    def marginals(self) -> list[list[float]]:
        """For every position the probability of every label."""
        rows: list[list[float]] = self.posterior.marginals().tolist() if len(self.lattice.unary) else []
        return rows

    def probability(self, labels: list[str]) -> float:
        T = len(self.lattice.unary)
        if len(labels) != T:
            raise DataError("items and labels differ in length", expected=f"{T} labels", got=len(labels))
        if not T:
            return 1.0
        path = np.array([self.model.label_id(label) for label in labels], np.int64)
        log_probability = float((path_scores(self.lattice, path) - self.posterior.log_partition)[0])
        return math.exp(min(0.0, log_probability))  # the difference of huge scores may round to more than nothing


class _Opened:
    """An open model, and the sequence that is set: the last one of this thread, or of any if this thread set none."""

    def __init__(self, model: Model, size: int) -> None:
        self.model, self.size = model, size
        self._last: _Sequence | None = None
        self._of_thread = threading.local()

    def set(self, xseq: Any) -> _Sequence:
        sequence = self._last = self._of_thread.last = _Sequence(self.model, xseq)
        return sequence

    @property
    def current(self) -> _Sequence:
        sequence: _Sequence | None = getattr(self._of_thread, "last", self._last)
        if sequence is None:
            raise ClosedError("tagger", expected="needs a sequence: call set or tag with one")
        return sequence


class Tagger:
    """Labels sequences with a model.

    Threads may share a tagger: ``probability`` and ``marginal`` are about the sequence that their own thread set last.
    """

    _state: _Opened | None = None

    def open(self, name: str | bytes | os.PathLike[str]) -> "contextlib.closing[Self]":
        """Open a model file; ``with tagger.open(name):`` closes it again."""
        path = Path(os.fsdecode(name))
        if path.exists() and not path.is_file():  # reading a pipe would wait for ever
            raise ModelFileError("not a model file", expected="a regular file", where=path)
        return self.open_inmemory(path.read_bytes(), path)

    def open_inmemory(self, value: bytes, where: object = "model") -> "contextlib.closing[Self]":
        """Open the content of a model file."""
        self._state = _Opened(Model.from_bytes(value, where), len(value))
        return contextlib.closing(self)

    def close(self) -> None:
        """Forget the model."""
        self._state = None

    @property
    def _opened(self) -> _Opened:
        state = self._state
        if state is None:
            raise ClosedError("tagger", expected="needs an open model")
        return state

    @property
    def model(self) -> Model:
        return self._opened.model

    @property
    def size(self) -> int:
        """The size of the model's file in bytes."""
        return self._opened.size

    def labels(self) -> list[str]:
        """The labels of the model."""
        return [*self.model.labels]

    def set(self, xseq: Any) -> None:
        """Set the sequence that ``tag``, ``probability`` and ``marginal`` are about."""
        self._opened.set(xseq)

    def tag(self, xseq: Any = None) -> list[str]:
        """The most probable labels of a sequence, or of the one that is set."""
        opened = self._opened
        sequence = opened.current if xseq is None else opened.set(xseq)
        return sequence.model.best_paths(sequence.lattice)[0]

    def probability(self, yseq: Any) -> float:
        """The probability of a labelling of the sequence that is set."""
        return self._opened.current.probability(list(yseq))

    def marginal(self, y: str, pos: int) -> float:
        """The probability of a label at a position of the sequence that is set."""
        sequence = self._opened.current
        T = len(sequence.lattice.unary)
        if not 0 <= pos < T:
            raise IndexRangeError("pos", expected=f"from 0 to {T - 1}", got=pos)
        return sequence.marginals[pos][sequence.model.label_id(y)]

    def marginals(self) -> list[dict[str, float]]:
        """For every position of the sequence that is set the probability of every label."""
        sequence = self._opened.current
        return [dict(zip(sequence.model.labels, row, strict=True)) for row in sequence.marginals]

    def info(self) -> ParsedDump:
        """The labels, attributes and weights of the model."""
        opened = self._opened
        model = opened.model
        state, transitions = model.state_features(), model.transition_features()
        header = {"magic": "postil", "size": str(opened.size), "type": "FOMC", "version": "100"}
        counts = {"num_features": len(state) + len(transitions), "num_labels": len(model.labels)}
        counts["num_attrs"] = len(model.attributes)
        return ParsedDump(
            header={**header, **{name: str(count) for name, count in counts.items()}},
            labels={label: str(number) for number, label in enumerate(model.labels)},
            attributes={name: str(number) for number, name in enumerate(model.attributes)},
            transitions=transitions,
            state_features=state,
        )

    def dump(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write the model as text to a file, or to standard output."""
        info = self.info()
        text = "".join(
            [
                _section("FILEHEADER", (f"{name}: {value}" for name, value in info.header.items())),
                _section("LABELS", (f"{number:>5}: {name}" for name, number in info.labels.items())),
                _section("ATTRIBUTES", (f"{number:>5}: {name}" for name, number in info.attributes.items())),
                _section("TRANSITIONS", (f"(1) {a} --> {b}: {w:f}" for (a, b), w in info.transitions.items())),
                _section("STATE_FEATURES", (f"(0) {a} --> {b}: {w:f}" for (a, b), w in info.state_features.items())),
            ]
        )
        if filename is None:
            sys.stdout.write(text)
        else:
            Path(filename).write_text(text, encoding="utf8", errors="surrogateescape")


def _section(name: str, lines: Any) -> str:
    return f"{name} = {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n\n"
