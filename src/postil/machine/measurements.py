"""How fast this machine trains and tags generated sentences, next to the limit that its arithmetic and memory set."""

import platform
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from postil import kernels
from postil.machine.limits import (
    Limit,
    bandwidth,
    product_seconds,
    tagger_training_limit,
    tagging_limit,
    tree_training_limit,
)
from postil.models.tagger import Tagger
from postil.models.tree_classifier import TreeClassifier
from postil.samples.zipf import ZipfCorpus, zipf_trees
from postil.text.trees.tree import Tree
from postil.training.loop import Epoch

SENTENCES, TREES, REPEATS = 1500, 400, 5
PRESETS = ("fast", "accurate")


class Measured(NamedTuple):
    """One row: units per second and the share of the limit; None where no limit is computed."""

    what: str
    unit: str
    per_second: float
    share: float | None
    microseconds: float


def machine(threads: int) -> dict[str, Any]:
    """The versions and the hardware that the measurements depend on."""
    return {
        "postil": version("postil"),
        "kernels": kernels.IN_USE,
        "threads": threads,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "BLAS GFLOP/s": round(2e-9 * 512**3 / product_seconds(512, 512, 512), 1),
        "memory GB/s": round(bandwidth() / 1e9, 1),
    }


def measurements(threads: int, seed: int) -> Iterator[Measured]:
    """Training and tagging with the usual presets, and training of a tree classifier."""
    rng = np.random.default_rng(seed)
    X, y = ZipfCorpus().sentences(SENTENCES, rng)
    for preset in PRESETS:
        tagger = Tagger(preset=preset, threads=threads, epochs=2)
        yield _training(tagger, X, y)
        yield from _tagging(tagger, X)
    yield _trees(zipf_trees(TREES, rng), threads)


def _training(tagger: Tagger, X: list[list[str]], y: list[list[str]]) -> Measured:
    """The second epoch: the first one touches every page of memory for the first time."""
    fitting = tagger.fitting(X, y)
    seconds = _second_epoch(fitting, tagger.threads)
    limit = tagger_training_limit(fitting.parts.network, _batches(fitting))
    return _measured(f"train {tagger.preset}", "tokens", sum(map(len, X)), seconds, limit, tagger.threads)


def _second_epoch(fitting: Any, threads: int) -> float:
    clock = _clock(threads)
    marks = [clock() for event in fitting if isinstance(event, Epoch)]
    return marks[1] - marks[0]


def _batches(fitting: Any) -> Any:
    return fitting.training.batches(0, np.random.default_rng(0))


def _tagging(tagger: Tagger, X: list[list[str]]) -> Iterator[Measured]:
    """From lists of tokens to lists of labels, on one core."""
    N, name = sum(map(len, X)), tagger.preset
    sentence = min(X, key=lambda tokens: abs(len(tokens) - 20))
    limit = tagging_limit(tagger, X)
    yield _measured(f"tag {name}", "tokens", N, _best(lambda: tagger.predict(X)), limit, 1)
    seconds = _best(lambda: tagger.predict_with_probabilities(X))
    yield _measured(f"tag {name}, with probabilities", "tokens", N, seconds, None, 1)
    seconds = _typical(lambda: tagger.predict([sentence]))
    yield _measured(f"tag {name}, one sentence of {len(sentence)} words", "sentences", 1, seconds, None, 1)


def _trees(trees: list[Tree], threads: int) -> Measured:
    classifier = TreeClassifier(threads=threads, epochs=2)
    fitting = classifier.fitting(trees)
    seconds = _second_epoch(fitting, threads)
    limit = tree_training_limit(fitting.parts.network, _batches(fitting))
    return _measured("train trees (Tree-LSTM)", "trees", len(trees), seconds, limit, threads)


# ------------------------------------------------------------------------------------------------ clocks


def _clock(threads: int) -> Callable[[], float]:
    """CPU time for one thread, which excludes other programs; wall time for several."""
    return time.process_time if threads == 1 else time.perf_counter


def _best(function: Callable[[], object]) -> float:
    function()  # fills the caches
    seconds = []
    for _ in range(REPEATS):
        began = time.process_time()
        function()
        seconds.append(time.process_time() - began)
    return min(seconds)


def _typical(function: Callable[[], object]) -> float:
    """The median wall time of many calls: the latency that a caller sees."""
    seconds = []
    for _ in range(200):
        began = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - began)
    return median(seconds)


def _measured(what: str, unit: str, count: int, seconds: float, limit: Limit | None, threads: int) -> Measured:
    share = None if limit is None else limit.seconds / threads / seconds
    return Measured(what, unit, count / seconds, share, 1e6 * seconds / count)
