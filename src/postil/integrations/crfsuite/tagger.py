"""``Tagger`` of python-crfsuite: open a model file, label sequences of items, ask for probabilities."""

import contextlib
import os
import stat
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from postil.errors import ConfigurationError, IndexRangeError, ModelFileError
from postil.integrations.crfsuite.model import LabelledSequence, Model


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


class Tagger:
    """Labels sequences with a model.

    Threads may share a tagger: ``probability`` and ``marginal`` are about the sequence that their own thread set last.
    """

    _model: Model | None = None
    _last: LabelledSequence | None = None  # of the sequence that any thread set last
    _own = threading.local()  # the same of each thread; every tagger gets another one when it opens a model

    def open(self, name: str | bytes | os.PathLike[str]) -> "contextlib.closing[Self]":
        """Open a model file; ``with tagger.open(name):`` closes it again."""
        path = os.fsdecode(name)
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - reading a pipe would wait for ever
            raise ModelFileError("not a model file", expected="a regular file", where=path)
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - quicker than a Path
            return self.open_inmemory(file.read(), path)

    def open_inmemory(self, value: bytes, where: object = "model") -> "contextlib.closing[Self]":
        """Open the content of a model file."""
        model = Model(bytes(value), where)
        self.close()
        self._model = model
        return contextlib.closing(self)

    def close(self) -> None:
        """Forget the model."""
        self._model, self._last, self._own = None, None, threading.local()

    @property
    def model(self) -> Model:
        if self._model is None:
            raise ClosedError("tagger", expected="needs an open model")
        return self._model

    @property
    def _current(self) -> LabelledSequence:
        """About the sequence that this thread set last, or any if this one set none."""
        answer: LabelledSequence | None = getattr(self._own, "last", self._last)
        if answer is None:
            _ = self.model  # an error if there is none
            raise ClosedError("tagger", expected="needs a sequence: call set or tag with one")
        return answer

    @property
    def size(self) -> int:
        """The size of the model's file in bytes."""
        return len(self.model.content)

    def labels(self) -> list[str]:
        """The labels of the model."""
        return [*self.model.labels]

    def set(self, xseq: Any) -> None:
        """Set the sequence that ``tag``, ``probability`` and ``marginal`` are about."""
        self._answer(xseq)

    def _answer(self, xseq: Any) -> LabelledSequence:
        answer = self._last = self._own.last = self.model.answer(xseq)
        return answer

    def tag(self, xseq: Any = None) -> list[str]:
        """The most probable labels of a sequence, or of the one that is set."""
        return (self._current if xseq is None else self._answer(xseq)).labels

    def probability(self, yseq: Any) -> float:
        """The probability of a labelling of the sequence that is set."""
        return self._current.probability(list(yseq))

    def marginal(self, y: str, pos: int) -> float:
        """The probability of a label at a position of the sequence that is set."""
        try:  # most clients ask for every position and label: no more than this line may run for each
            answer = self._own.last
            return answer.marginal(pos if pos >= 0 else len(answer.path), answer.model.label_ids[y])  # type: ignore[no-any-return]
        except (AttributeError, IndexError, KeyError):
            answer = self._current
        T = len(answer.path)
        if not 0 <= pos < T:
            raise IndexRangeError("pos", expected=f"from 0 to {T - 1}", got=pos)
        return answer.marginal(pos, answer.model.label_id(y))

    def marginals(self) -> list[dict[str, float]]:
        """For every position of the sequence that is set the probability of every label."""
        return self._current.marginals()

    def info(self) -> ParsedDump:
        """The labels, attributes and weights of the model."""
        model = self.model.weights
        state, transitions = model.state_features(), model.transition_features()
        header = {"magic": "postil", "size": str(self.size), "type": "FOMC", "version": "100"}
        counts = {"num_features": len(state) + len(transitions), "num_labels": len(model.labels)}
        counts["num_attrs"] = len(model.attributes)
        return ParsedDump(
            header={**header, **{name: str(count) for name, count in counts.items()}},
            labels={label: str(number) for number, label in enumerate(model.labels)},
            attributes={name: str(number) for number, name in enumerate(model.attributes)},
            transitions=transitions,
            state_features=state,
        )

    def dump(self, filename: str | bytes | os.PathLike[str] | None = None) -> None:
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
            Path(os.fsdecode(filename)).write_text(text, encoding="utf8", errors="surrogateescape")


def _section(name: str, lines: Any) -> str:
    return f"{name} = {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n\n"
