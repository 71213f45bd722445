"""``Tagger`` of python-crfsuite: open a model file, label sequences of items, ask for probabilities."""

import contextlib
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from postil.errors import ConfigurationError, IndexRangeError
from postil.integrations.crfsuite.model import Model
from postil.objectives import Lattice


class ClosedError(ConfigurationError, RuntimeError):
    """A tagger is asked without a model or a sequence."""


@dataclass
class ParsedDump:
    """What a model consists of; numbers are texts, as in python-crfsuite."""

    header: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    transitions: dict[tuple[str, str], float] = field(default_factory=dict)
    state_features: dict[tuple[str, str], float] = field(default_factory=dict)


class Tagger:
    """Labels sequences with a model."""

    _model: Model | None = None
    _size = 0
    _lattice: Lattice | None = None

    def open(self, name: str | os.PathLike[str]) -> "contextlib.closing[Self]":
        """Open a model file; ``with tagger.open(name):`` closes it again."""
        return self.open_inmemory(Path(name).read_bytes(), name)

    def open_inmemory(self, value: bytes, where: object = "model") -> "contextlib.closing[Self]":
        """Open the content of a model file."""
        self._model, self._size, self._lattice = Model.from_bytes(value, where), len(value), None
        return contextlib.closing(self)

    def close(self) -> None:
        """Forget the model."""
        self._model = self._lattice = None

    @property
    def model(self) -> Model:
        if self._model is None:
            raise ClosedError("tagger", expected="needs an open model")
        return self._model

    def labels(self) -> list[str]:
        """The labels of the model."""
        return [*self.model.labels]

    def set(self, xseq: Any) -> None:
        """Set the sequence that ``tag``, ``probability`` and ``marginal`` are about."""
        self._lattice = self.model.lattice([xseq])

    def tag(self, xseq: Any = None) -> list[str]:
        """The most probable labels of a sequence, or of the one that is set."""
        if xseq is not None:
            self.set(xseq)
        return self.model.best_paths(self._current())[0]

    def probability(self, yseq: Any) -> float:
        """The probability of a labelling of the sequence that is set."""
        return self.model.probability(self._current(), list(yseq))

    def marginal(self, y: str, pos: int) -> float:
        """The probability of a label at a position of the sequence that is set."""
        lattice = self._current()
        if not 0 <= pos < len(lattice.unary):
            raise IndexRangeError("pos", expected=f"from 0 to {len(lattice.unary) - 1}", got=pos)
        return float(self.marginals()[pos][y])

    def marginals(self) -> list[dict[str, float]]:
        """For every position of the sequence that is set the probability of every label."""
        labels = self.model.labels
        return [dict(zip(labels, row, strict=True)) for row in self.model.marginals(self._current()).tolist()]

    def _current(self) -> Lattice:
        if self._lattice is None:
            raise ClosedError("tagger", expected="needs a sequence: call set or tag with one")
        return self._lattice

    def info(self) -> ParsedDump:
        """The labels, attributes and weights of the model."""
        model = self.model
        state, transitions = model.state_features(), model.transition_features()
        header = {"magic": "postil", "size": str(self._size), "type": "FOMC", "version": "100"}
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
