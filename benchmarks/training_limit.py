"""Where the time of an epoch goes, beside the physical limit, for `fast`, `accurate`, `window-sll` and trees.

    python -m benchmarks.training_limit TRAIN [--presets fast accurate] [--epochs 3]
    python -m benchmarks.training_limit --trees TREES

CPU time of one thread. Functions that do the work of a step are timed from outside; a function's time is without that
of the timed functions it calls, and "rest" is what no timed function did: Python between them, mostly. What the limit
counts is said in ``postil/machine/limits.py``.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.accuracy import load_part
from benchmarks.limits import Limit, tagger_training_limit, tree_training_limit
from benchmarks.measuring import Outcome, parser, report
from postil import kernels
from postil.features.inputs import Inputs
from postil.graph import RowGradient
from postil.models import PRESETS, Tagger, TreeClassifier
from postil.models.networks.fused import FusedNetwork, FusedStep
from postil.network import layer, lookup, tree, window
from postil.network import window as shared_windows
from postil.objectives import crf as crf_objective
from postil.optimisation import optimisers
from postil.optimisation.loop import Epoch
from postil.text import read_trees

# Row of the table -> the functions whose time it is. Those that give a pullback have its time in the second row.
STEPS: dict[str, list[tuple[Any, str]]] = {
    "products": [(layer, "linear"), (shared_windows, "linear_of_windows")],
    "lookups": [(lookup, "lookup")],
    "windows": [(window.Window, "forward")],
    "normalisation": [(layer, "layer_norm")],
    "dropout": [(layer, "dropout")],
    "levels of trees": [(tree.TreeLSTM, "upward")],
}
SIMPLE: dict[str, list[tuple[Any, str]]] = {
    "fused gradients": [(FusedStep, "finish")],
    "entering the fused step": [(FusedNetwork, "enter")],
    "preparing the fused step": [(FusedNetwork, "prepare")],
    "sums of windows": [(kernels, "sum_windows"), (kernels, "spread_windows")],
    "CRF": [(crf_objective, "loss_and_gradient")],
    "sparse sums": [(RowGradient, "from_occurrences")],
    "clipping": [(optimisers, "clipping_factor")],
    "batches": [(Inputs, "selected")],
}


class Clock:
    """CPU seconds by name; a name's time stands still while a name inside it is timed."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._inside: list[float] = []

    def timed(self, name: str, function: Callable[..., Any], *, with_pullback: bool = False) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self._inside.append(0.0)
            began = time.process_time()
            try:
                result = function(*arguments, **named)
            finally:
                whole = time.process_time() - began
                own = whole - self._inside.pop()
                if self._inside:
                    self._inside[-1] += whole
                title = f"{name}, forward" if with_pullback else name
                self.seconds[title] = self.seconds.get(title, 0.0) + own
            if with_pullback:
                Y, back = result
                return Y, self.timed(f"{name}, backward", back)
            return result

        return call


@contextmanager
def clocked(optimiser: Any) -> Iterator[Clock]:
    """Everything of STEPS and SIMPLE, the activations and the optimiser, timed inside the block."""
    clock = Clock()
    kept: list[tuple[Any, str, Any]] = []
    functions = dict(layer.ACTIVATIONS)
    try:
        for table, with_pullback in ((STEPS, True), (SIMPLE, False)):
            for name, places in table.items():
                for owner, attribute in places:
                    function = getattr(owner, attribute)  # names of a package are there once they are asked for
                    kept.append((owner, attribute, vars(owner).get(attribute, function)))
                    timed = clock.timed(name, function, with_pullback=with_pullback)
                    is_bound = isinstance(kept[-1][2], classmethod)
                    setattr(owner, attribute, staticmethod(timed) if is_bound else timed)
        for name, function in functions.items():
            layer.ACTIVATIONS[name] = clock.timed("activations", function, with_pullback=True)
        optimiser.step = clock.timed("optimiser", optimiser.step)
        yield clock
    finally:
        layer.ACTIVATIONS.update(functions)
        for owner, attribute, value in kept:
            setattr(owner, attribute, value)


def main() -> int:
    arguments = _arguments()
    rows: list[dict[str, Any]] = []
    said = []
    for name, fitting, limit_of in _fittings(arguments):
        seconds, parts = measured(fitting)
        limit: Limit = limit_of(fitting.model.network, fitting.training.batches(np.random.default_rng(0)))
        said.append(f"{name} {limit.seconds / seconds:.0%}")
        rows += _rows(name, seconds, parts, limit)
    return report(
        Outcome(
            name="training_limit",
            compared="CPU time of an epoch by what it goes to, and of the limit, one thread",
            rows=rows,
            goal="to know; of the limit: " + ", ".join(said),
            passed=True,
        )
    )


def _arguments() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("train", nargs="?", help="a labelled file")
    options.add_argument("--trees", help="a file of trees with labels")
    options.add_argument("--presets", nargs="+", choices=list(PRESETS), default=["fast", "accurate", "window-sll"])
    options.add_argument("--epochs", type=int, default=3, help="the best of so many counts, after a first one (3)")
    arguments = options.parse_args()
    if not (arguments.train or arguments.trees):
        options.error("expected a labelled file, or --trees with one of trees")
    return arguments


def _fittings(arguments: argparse.Namespace) -> Iterator[tuple[str, Any, Callable[..., Limit]]]:
    epochs = arguments.epochs + 1
    if arguments.train:
        X, y = load_part(arguments.train)
        for preset in arguments.presets:
            yield preset, Tagger(preset=preset, epochs=epochs).fitting(X, y), tagger_training_limit
    if arguments.trees:
        trees = list(read_trees(arguments.trees))
        yield "trees", TreeClassifier(epochs=epochs).fitting(trees), tree_training_limit


def measured(fitting: Any) -> tuple[float, dict[str, float]]:
    """Seconds of the best epoch but the first, and its parts."""
    best, parts = float("inf"), {}
    with clocked(fitting.training.optimiser.optimiser) as clock:
        began = time.process_time()
        for event in fitting:
            if isinstance(event, Epoch):
                seconds = time.process_time() - began
                if event.epoch > 1 and seconds < best:
                    best, parts = seconds, dict(clock.seconds)
                clock.seconds.clear()
                began = time.process_time()
    return best, parts


def _rows(name: str, seconds: float, parts: dict[str, float], limit: Limit) -> list[dict[str, Any]]:
    needed = {"needed products": limit.products, "needed bytes": limit.bytes, "needed recursion": limit.recursion}
    ordered = sorted(parts.items(), key=lambda part: -part[1])
    found = [*ordered, ("rest", seconds - sum(parts.values())), ("an epoch", seconds), *needed.items()]
    found.append(("limit", limit.seconds))
    return [
        {"model": name, "what": what, "CPU ms an epoch": 1e3 * value, "share": f"{value / seconds:.1%}"}
        for what, value in found
        if value
    ]


if __name__ == "__main__":
    sys.exit(main())
