"""What a training says on its way, as python-crfsuite's log: lines of text, and the same as numbers."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from postil.arrays import Array

_LINES = {
    "loss": "Loss: {:f}\n",
    "feature_norm": "Feature norm: {:f}\n",
    "error_norm": "Error norm: {:f}\n",
    "active_features": "Active features: {:d}\n",
    "linesearch_trials": "Line search trials: {:d}\n",
    "linesearch_step": "Line search step: {:f}\n",
    "time": "Seconds required for this iteration: {:.3f}\n",
}


class LabelScore(NamedTuple):
    """How a label fares on held-out data; the ratios are None where it does not occur at all."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


class TrainingLog:
    """The log of one training.

    ``iterations`` has one dict each: num, loss, feature_norm, time, with held-out data also scores and averages.
    """

    def __init__(self) -> None:
        self.log: list[str] = []
        self.events: list[tuple[str, int, int]] = []
        self.iterations: list[dict[str, Any]] = []
        self.last_iteration: dict[str, Any] | None = None
        self.featgen_percent = -2
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None

    @property
    def last_log(self) -> str:
        """The text of the last event."""
        _, start, end = self.events[-1]
        return "".join(self.log[start:end])

    def close(self, event: str) -> None:
        """The lines since the last event belong to this one."""
        start = self.events[-1][2] if self.events else 0
        self.events.append((event, start, len(self.log)))


def iteration_lines(number: int, info: dict[str, Any]) -> list[str]:
    """The lines of an iteration in the log."""
    lines = [f"***** Iteration #{number} *****\n"]
    lines += [line.format(info[name]) for name, line in _LINES.items() if name in info]
    return [*lines, *(_held_out_lines(info) if "avg_f1" in info else ()), "\n"]


def _held_out_lines(info: dict[str, Any]) -> Iterable[str]:
    yield "Performance by label (#match, #model, #ref) (precision, recall, F1):\n"
    for label, score in info["scores"].items():
        ratios = ", ".join("******" if part is None else f"{part:.4f}" for part in score[3:])
        yield f"    {label}: ({score.match}, {score.model}, {score.ref}) ({ratios})\n"
    averages = ", ".join(f"{info[name]:.6f}" for name in ("avg_precision", "avg_recall", "avg_f1"))
    yield f"Macro-average precision, recall, F1: ({averages})\n"
    for name, key in (("Item", "item_accuracy"), ("Instance", "instance_accuracy")):
        yield f"{name} accuracy: {info[key + '_counts'][0]} / {info[key + '_counts'][1]} ({info[key + '_float']:.4f})\n"


def held_out(labels: list[str], gold: Array, path: Array, offsets: Array) -> dict[str, Any]:
    """Scores of a labelling (N,) of held-out sentences (B + 1 offsets) against gold labels (N,)."""
    L = len(labels)
    match, model, ref = (np.bincount(ids, minlength=L) for ids in (gold[gold == path], path, gold))
    rows = zip(match.tolist(), model.tolist(), ref.tolist(), strict=True)
    scores = {label: _score(*row) for label, row in zip(labels, rows, strict=True)}
    wrong = np.concatenate([[0], np.cumsum(gold != path)])[offsets]
    items, instances = (len(gold) - int(wrong[-1]), len(gold)), (int((np.diff(wrong) == 0).sum()), len(offsets) - 1)
    return {
        "scores": scores,
        **{f"avg_{name}": _mean(scores, name) for name in ("precision", "recall", "f1")},
        **_accuracy("item_accuracy", items),
        **_accuracy("instance_accuracy", instances),
    }


def _mean(scores: dict[str, LabelScore], name: str) -> float:
    return sum(getattr(score, name) or 0.0 for score in scores.values()) / max(1, len(scores))


def _accuracy(name: str, counts: tuple[int, int]) -> dict[str, Any]:
    ratio = Fraction(counts[0], max(1, counts[1]))
    return {name: ratio, f"{name}_float": float(ratio), f"{name}_counts": counts}


def _score(match: int, model: int, ref: int) -> LabelScore:
    if not (match or model or ref):
        return LabelScore(0, 0, 0, None, None, None)
    precision, recall = match / model if model else 0.0, match / ref if ref else 0.0
    f1 = 2 * precision * recall / (precision + recall) if match else 0.0
    return LabelScore(match, model, ref, precision, recall, f1)
