"""``Trainer`` of python-crfsuite: collect sentences, choose an algorithm, write a model file.

A trainer tells what it does through its ``on_…`` methods; unless ``verbose`` is False they print.
"""

import os
import sys
import time
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.errors import ConfigurationError
from postil.features.named import AttributeTable, ItemSequence
from postil.files import replaced
from postil.integrations.crfsuite import algorithms
from postil.integrations.crfsuite.algorithms import ALGORITHMS
from postil.integrations.crfsuite.model import Weights
from postil.integrations.crfsuite.problem import AttributeCorpus, TrainingProblem, check_lengths
from postil.threads import one_blas_thread

# ------------------------------------------------------------------------------------------------ the log

# Lines of text, as python-crfsuite writes them, and the same as numbers.

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
    """How a label fares on held-out data; the ratios are None if it does not occur at all."""

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


def iteration_lines(number: int, info: dict[str, Any]) -> Iterable[str]:
    """The lines of an iteration in the log."""
    yield f"***** Iteration #{number} *****\n"
    yield from (line.format(info[name]) for name, line in _LINES.items() if name in info)
    if "avg_f1" not in info:
        yield "\n"
        return
    yield "Performance by label (#match, #model, #ref) (precision, recall, F1):\n"
    for label, score in info["scores"].items():
        ratios = ", ".join("******" if part is None else f"{part:.4f}" for part in score[3:])
        yield f"    {label}: ({score.match}, {score.model}, {score.ref}) ({ratios})\n"
    averages = ", ".join(f"{info[name]:.6f}" for name in ("avg_precision", "avg_recall", "avg_f1"))
    yield f"Macro-average precision, recall, F1: ({averages})\n"
    for name, key in (("Item", "item_accuracy"), ("Instance", "instance_accuracy")):
        yield f"{name} accuracy: {info[key + '_counts'][0]} / {info[key + '_counts'][1]} ({info[key + '_float']:.4f})\n"
    yield "\n"


def held_out(labels: list[str], gold: Array, path: Array, offsets: Array) -> dict[str, Any]:
    """Scores of a labelling (N,) of held-out sentences (B + 1 offsets) against gold labels (N,)."""
    L = len(labels)
    match, model, ref = (np.bincount(ids, minlength=L).tolist() for ids in (gold[gold == path], path, gold))
    scores = {}
    for label, *counts in zip(labels, match, model, ref, strict=True):
        hits, answered, there = counts
        ratios: tuple[float | None, ...] = (None, None, None)
        if answered or there:
            precision, recall = hits / answered if answered else 0.0, hits / there if there else 0.0
            ratios = precision, recall, 2 * precision * recall / (precision + recall) if hits else 0.0
        scores[label] = LabelScore(hits, answered, there, *ratios)
    wrong = np.concatenate([[0], np.cumsum(gold != path)])[offsets]
    info: dict[str, Any] = {"scores": scores}
    for name in ("precision", "recall", "f1"):
        info[f"avg_{name}"] = sum(getattr(score, name) or 0.0 for score in scores.values()) / max(1, L)
    items, instances = (len(gold) - int(wrong[-1]), len(gold)), (int((np.diff(wrong) == 0).sum()), len(offsets) - 1)
    for name, (right, all_) in (("item_accuracy", items), ("instance_accuracy", instances)):
        ratio = Fraction(right, max(1, all_))
        info |= {name: ratio, f"{name}_float": float(ratio), f"{name}_counts": (right, all_)}
    return info


# ------------------------------------------------------------------------------------------------ trainers

FEATURES = {
    "feature.minfreq": "min_freq",
    "feature.possible_states": "all_possible_states",
    "feature.possible_transitions": "all_possible_transitions",
}
"""Parameters that say which features there are, and the names that sklearn-crfsuite has for them."""


class BaseTrainer:
    """Collects sentences and trains a model on them."""

    _algorithm = "lbfgs"
    verbose = True
    threads: int | None = None
    logparser: TrainingLog | None = None
    """The log of the last training run."""

    def __init__(
        self, algorithm: str | None = None, params: dict[str, Any] | None = None, verbose: bool = True
    ) -> None:
        if algorithm is not None:
            self.select(algorithm)
        if params is not None:
            self.set_params(params)
        self.verbose = verbose

    # Subclasses written for python-crfsuite need not call __init__: what it would make is made when first used.

    @cached_property
    def _instances(self) -> list[tuple[Any, list[str], int]]:
        return []

    @cached_property
    def _values(self) -> dict[str, Any]:
        return {}

    # -------------------------------------------------------------------------------------------- settings

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose ``lbfgs``, ``l2sgd``, ``ap``, ``pa`` or ``arow``; its parameters have their defaults again."""
        if type != "crf1d":
            raise ConfigurationError("type", expected="crf1d", got=repr(type))
        self._algorithm = algorithms.algorithm_named(algorithm)
        self._values.clear()

    def params(self) -> list[str]:
        """The names of the algorithm's parameters."""
        return [*ALGORITHMS[self._algorithm]]

    def set(self, name: str, value: Any) -> None:
        """Set one parameter."""
        self._values[name] = algorithms.cast(self._algorithm, name, value)

    def get(self, name: str) -> Any:
        """The value of one parameter."""
        return self._values.get(name, algorithms.parameter_named(self._algorithm, name).default)

    def set_params(self, params: dict[str, Any]) -> None:
        """Set parameters by name."""
        for name, value in params.items():
            self.set(name, value)

    def get_params(self) -> dict[str, Any]:
        """All parameters by name."""
        return {name: self.get(name) for name in self.params()}

    def help(self, name: str) -> str:
        """The description of a parameter."""
        return algorithms.parameter_named(self._algorithm, name).help

    def append(self, xseq: Any, yseq: Iterable[str], group: int = 0) -> None:
        """Add a sentence: its items (feature dicts, lists or an ItemSequence) and one label for each."""
        items = xseq if isinstance(xseq, ItemSequence) else list(xseq)
        labels = list(yseq)
        check_lengths([len(items)], [len(labels)])
        self._instances.append((items, labels, group))

    def clear(self) -> None:
        """Forget all sentences."""
        self._instances.clear()

    # -------------------------------------------------------------------------------------------- training

    def train(self, model: str | bytes | os.PathLike[str], holdout: int = -1) -> None:
        """Train and write the model file; no file where its name is empty.

        Sentences of the group ``holdout`` are not trained on; every iteration is evaluated on them.
        """
        log = self.logparser = TrainingLog()
        trained = self._trained(holdout, log)
        self._tell(["Storing the model\n"], "optimization_end")
        begin = time.perf_counter()
        content = trained.to_bytes()
        if path := os.fsdecode(model):
            with replaced(Path(path)) as file:
                file.write(content)
        seconds = time.perf_counter() - begin
        log.storing_seconds = seconds
        self._tell([f"Seconds required: {seconds:.3f}\n", "\n"], "end")

    def _trained(self, holdout: int, log: TrainingLog) -> Weights:
        told = [f"{name}: {value}\n" for name, value in self.get_params().items()]
        self._tell(["Feature generation\n", "type: CRF1d\n", *told[:3]], "start")
        begin = time.perf_counter()
        training = [(x, y) for x, y, group in self._instances if group != holdout or holdout < 0]
        apart = [(x, y) for x, y, group in self._instances if group == holdout and holdout >= 0]
        corpus = AttributeCorpus.of([x for x, _ in training], [y for _, y in training], also=(y for _, y in apart))
        settings = {ours: self.get(name) for name, ours in FEATURES.items()}
        problem = TrainingProblem(corpus, self.threads, **settings)
        seconds = time.perf_counter() - begin
        log.featgen_num_features, log.featgen_seconds = problem.features, seconds
        self._tell([f"Number of features: {problem.features}\n", f"Seconds required: {seconds:.3f}\n"], "featgen_end")
        self._tell(["\n", f"{self._algorithm}\n", *told[3:], "\n"], "prepared")
        scored = _scorer(problem, apart) if apart else None
        begin = before = time.perf_counter()
        weights = np.zeros(problem.features)
        with one_blas_thread():
            for number, step in enumerate(algorithms.RUN[self._algorithm](problem, self.get_params()), start=1):
                weights = step.weights
                info = {"num": number, "scores": {}, **step.info, "time": time.perf_counter() - before}
                info |= {} if scored is None else scored(weights)
                log.iterations.append(info)
                log.last_iteration = info
                self._tell(iteration_lines(number, info), "iteration")
                if step.ending is not None:
                    self.message(f"{step.ending}\n")
                before = time.perf_counter()
        seconds = time.perf_counter() - begin
        log.training_seconds = seconds
        self.message(f"Total seconds required for training: {seconds:.3f}\n")
        return problem.named(weights)

    def message(self, message: str) -> None:
        """One line of the log; prints it where the trainer is verbose. Override to receive the lines."""
        if self.verbose:
            sys.stdout.write(message)

    def _tell(self, lines: Iterable[str], event: str) -> None:
        for line in lines:
            self.message(line)


def _scorer(problem: TrainingProblem, sentences: list[tuple[Any, list[str]]]) -> Callable[[Array], dict[str, Any]]:
    """Weights -> their scores on held-out sentences."""
    attributes, offsets = AttributeTable(problem.corpus.names, grows=False).encoded([x for x, _ in sentences])
    ids = {label: number for number, label in enumerate(problem.corpus.labels)}
    gold = np.array([ids[label] for _, labels in sentences for label in labels], np.int64)

    def scored(weights: Array) -> dict[str, Any]:
        chain, states = problem.chain(weights), np.ascontiguousarray(problem.states(weights))
        unary = kernels.attribute_scores(attributes, problem.pairs, states, problem.L)
        path, _ = kernels.viterbi(unary, offsets, chain.transitions, chain.start, chain.end)
        return held_out(problem.corpus.labels, gold, path, offsets)

    return scored


class Trainer(BaseTrainer):
    """A trainer with a method for every event of a training run; ``logparser`` holds the log of the last one."""

    def message(self, message: str) -> None:
        if self.logparser is not None:
            self.logparser.log.append(message)

    def _tell(self, lines: Iterable[str], event: str) -> None:
        super()._tell(lines, event)
        if self.logparser is None:
            return
        start = self.logparser.events[-1][2] if self.logparser.events else 0
        self.logparser.events.append((event, start, len(self.logparser.log)))  # the lines since the last event
        if not self.verbose:
            return
        log = self.logparser.last_log
        if event == "iteration":
            self.on_iteration(log, self.logparser.last_iteration or {})
        else:
            getattr(self, f"on_{event}")(log)

    def on_start(self, log: str) -> None:
        sys.stdout.write(log)

    on_featgen_end = on_prepared = on_prepare_error = on_optimization_end = on_end = on_start

    def on_featgen_progress(self, log: str, percent: int) -> None:
        sys.stdout.write(log)

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        sys.stdout.write(log)


class LinePerIterationTrainer(Trainer):
    """Prints one line for every iteration."""

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        parts = [f"Iter {info['num']:<3}", f"time={info['time']:<5.2f}", f"loss={info['loss']:<8.2f}"]
        if "active_features" in info:
            parts.append(f"active={info['active_features']:<5}")
        if "avg_f1" in info:
            parts.append(f"precision={info['avg_precision']:0.3f}  recall={info['avg_recall']:0.3f}")
            parts.append(f"F1={info['avg_f1']:0.3f}")
            parts.append(f"Acc(item/seq)={info['item_accuracy_float']:0.3f} {info['instance_accuracy_float']:0.3f}")
        parts.append(f"feature_norm={info['feature_norm']:<8.2f}")
        sys.stdout.write("  ".join(parts).strip() + "\n")

    def on_optimization_end(self, log: str) -> None:
        last = (self.logparser.last_iteration if self.logparser is not None else None) or {}
        if scores := last.get("scores"):
            width = max(map(len, [*scores, "Label"]))
            sys.stdout.write(f"{'Label':<{width}}  Precision  Recall     F1  Support\n")
            for label, score in sorted(scores.items()):
                ratios = f"{score.precision or 0:9.3f} {score.recall or 0:7.3f} {score.f1 or 0:6.3f}"
                sys.stdout.write(f"{label:<{width}}  {ratios} {score.ref:8d}\n")
        super().on_optimization_end(log)
