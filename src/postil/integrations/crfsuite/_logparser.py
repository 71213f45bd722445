"""``pycrfsuite._logparser`` under its name: pickles of sklearn-crfsuite's estimators refer to it."""

import re
from fractions import Fraction
from typing import Any, final

from postil.integrations.crfsuite.trainer import LabelScore as LabelScore
from postil.integrations.crfsuite.trainer import TrainingLog

_HEAD = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}\n")
_SECONDS = re.compile(r"Seconds required: (\d+\.\d+)")
_FIGURES = {
    "loss": (r"Loss: (\d+\.\d+)", float),
    "feature_norm": (r"Feature norm: (\d+\.\d+)", float),
    "error_norm": (r"Error norm: (\d+\.\d+)", float),
    "active_features": (r"Active features: (\d+)", int),
    "linesearch_trials": (r"Line search trials: (\d+)", int),
    "linesearch_step": (r"Line search step: (\d+\.\d+)", float),
    "time": (r"Seconds required for this iteration: (\d+\.\d+)", float),
}
_MEANS = re.compile(r"Macro-average precision, recall, F1: \((\d\.\d+), (\d\.\d+), (\d\.\d+)\)")
_ACCURACY = re.compile(r"(Item|Instance) accuracy: (\d+) / (\d+)")
_LABEL = re.compile(r"\s{4}(.+): \((\d+), (\d+), (\d+)\) \((\d\.\d+|\*{6}), (\d\.\d+|\*{6}), (\d\.\d+|\*{6})\)")


@final
class TrainLogParser(TrainingLog):
    """Parses CRFsuite's log of a training run; ``feed`` returns the event that a line ends, or None."""

    def __init__(self) -> None:
        super().__init__()
        self.state: str | None = None

    def feed(self, line: str) -> str | None:
        self.log.append(line)
        if self.state is None:
            event: str | None = "start"
            self.state = "FEATGEN" if line.startswith("Feature generation") else "STARTING"
        else:
            event = getattr(self, f"_{self.state.lower()}")(line)
        if event is not None:
            last = self.events[-1][2] if self.events else 0
            self.events.append((event, last, len(self.log) - (event in ("prepared", "optimization_end"))))
        return event

    def _starting(self, line: str) -> None:
        if line.startswith("Feature generation"):
            self.state = "FEATGEN"

    def _featgen(self, line: str) -> str | None:
        if line in "0123456789.10":
            self.featgen_percent += 2
            return "featgen_progress"
        if found := re.match(r"Number of features: (\d+)", line):
            self.featgen_num_features = int(found[1])
        elif found := _SECONDS.match(line):
            self.featgen_seconds, self.state = float(found[1]), "AFTER_FEATGEN"
            return "featgen_end"
        return None

    def _after_featgen(self, line: str) -> str | None:
        if _HEAD.match(line):
            self.state = "ITERATION"
            self._iteration(line)
            return "prepared"
        if "terminated with error" in line:
            self.state = "AFTER_ITERATION"
            return "prepare_error"
        return None

    def _iteration(self, line: str) -> str | None:
        if found := _HEAD.match(line):
            self.last_iteration = {"num": int(found[1]), "scores": {}}
            self.iterations.append(self.last_iteration)
        elif line == "\n":
            self.state = "AFTER_ITERATION"
            return "iteration"
        self._read_figures(line, self.last_iteration or {})
        return None

    def _read_figures(self, line: str, info: dict[str, Any]) -> None:
        for name, (pattern, kind) in _FIGURES.items():
            if found := re.match(pattern, line):
                info[name] = kind(found[1])
        if found := _MEANS.match(line):
            info |= zip(("avg_precision", "avg_recall", "avg_f1"), map(float, found.groups()), strict=True)
        if found := _ACCURACY.match(line):
            share, name = Fraction(int(found[2]), int(found[3])), f"{found[1].lower()}_accuracy"
            info |= {name: share, f"{name}_float": float(share)}
        if found := _LABEL.match(line):
            ratios = [None if figure.startswith("*") else float(figure) for figure in found.groups()[4:]]
            info["scores"][found[1]] = LabelScore(*map(int, found.groups()[1:4]), *ratios)

    def _after_iteration(self, line: str) -> str | None:
        if _HEAD.match(line):
            self.state = "ITERATION"
            return self._iteration(line)
        if found := re.match(r"Total seconds required for training: (\d+\.\d+)", line):
            self.training_seconds = float(found[1])
        if line.startswith("Storing the model"):
            self.state = "STORING"
            return "optimization_end"
        return None

    def _storing(self, line: str) -> str | None:
        if line == "\n":
            return "end"
        if found := _SECONDS.match(line):
            self.storing_seconds = float(found[1])
        return None
