"""``postil bench``: how fast this machine trains and tags, and how near to the limit that comes."""

import argparse
import json
import platform
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from postil import kernels
from postil.commands.terminal.display import make_console, show_table
from postil.machine.limits import (
    Limit,
    bandwidth,
    product_seconds,
    tagger_training_limit,
    tagging_limit,
    tree_training_limit,
)
from postil.metrics.tables import Table
from postil.models.tagger import Tagger
from postil.models.tree_classifier import TreeClassifier
from postil.samples.zipf import ZipfCorpus
from postil.text.tree import Tree
from postil.training.loop import Epoch

DESCRIPTION = """\
Measure training and tagging on sentences that Postil makes up, in less than a minute,
beside the physical limit: the matrix products that are needed, at the speed of this
machine's BLAS, and the bytes that must move, at the bandwidth of its memory.

example:
  postil bench --threads 2
"""

SENTENCES, TREES, REPEATS = 1500, 400, 5
PRESETS = ("fast", "accurate")


class Measured(NamedTuple):
    """One row: how many units a second, and what share of the limit that is; None where there is no limit."""

    what: str
    unit: str
    per_second: float
    share: float | None
    microseconds: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", type=int, default=1, help="threads of training (default: 1)")
    parser.add_argument("--seed", type=int, default=0, help="of the made-up sentences (default: 0)")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def run(arguments: argparse.Namespace) -> int:
    console = make_console()
    if not arguments.json:
        console.print(
            " · ".join(f"{name} {value}" for name, value in machine(arguments.threads).items()), soft_wrap=True
        )
    rows = list(measurements(arguments.threads, arguments.seed))
    if arguments.json:
        print(json.dumps({"machine": machine(arguments.threads), "rows": [row._asdict() for row in rows]}, indent=2))
        return 0
    show_table(console, _table(rows, arguments.threads))
    return 0


def machine(threads: int) -> dict[str, Any]:
    """What the figures depend on."""
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
    rng = np.random.default_rng(seed)
    X, y = ZipfCorpus().sentences(SENTENCES, rng)
    for preset in PRESETS:
        tagger = Tagger(preset=preset, threads=threads, epochs=2)
        yield _training(tagger, X, y)
        yield from _tagging(tagger, X)
    yield _trees(made_up_trees(TREES, rng), threads)


def _training(tagger: Tagger, X: list[list[str]], y: list[list[str]]) -> Measured:
    """One epoch, the second: the first one meets every page of memory for the first time."""
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
    """Lists of tokens in, lists of labels out, on one core."""
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


def made_up_trees(count: int, rng: np.random.Generator) -> list[Tree]:
    """Binary trees of about 20 words with one of five labels at every node."""
    sentences, _ = ZipfCorpus(words=5000).sentences(count, rng)
    return [Tree.of(_tree(tokens, rng)) for tokens in sentences]


def _tree(tokens: list[str], rng: np.random.Generator) -> Any:
    label = str(rng.integers(5))
    if len(tokens) == 1:
        return label, tokens[0]
    cut = int(rng.integers(1, len(tokens)))
    return label, _tree(tokens[:cut], rng), _tree(tokens[cut:], rng)


# ------------------------------------------------------------------------------------------------ clocks and tables


def _clock(threads: int) -> Callable[[], float]:
    """CPU time on one thread: what other programs take is not counted. With several the wall clock is what matters."""
    return time.process_time if threads == 1 else time.perf_counter


def _best(function: Callable[[], object]) -> float:
    function()  # words are met for the first time
    seconds = []
    for _ in range(REPEATS):
        began = time.process_time()
        function()
        seconds.append(time.process_time() - began)
    return min(seconds)


def _typical(function: Callable[[], object]) -> float:
    """The median of many calls, by the wall clock: what somebody waits."""
    seconds = []
    for _ in range(200):
        began = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - began)
    return median(seconds)


def _measured(what: str, unit: str, count: int, seconds: float, limit: Limit | None, threads: int) -> Measured:
    share = None if limit is None else limit.seconds / threads / seconds
    return Measured(what, unit, count / seconds, share, 1e6 * seconds / count)


def _table(rows: list[Measured], threads: int) -> Table:
    cells = [
        (row.what, f"{row.per_second:,.0f} {row.unit}/s", f"{row.microseconds:,.1f}", _percent(row.share))
        for row in rows
    ]
    clock = "CPU time" if threads == 1 else "wall time in training, CPU time in tagging"
    return Table(
        title="Speed on made-up sentences",
        columns=("what", "speed", "µs each", "of the limit"),
        rows=cells,
        note=f"{clock}; the limit: needed matrix products and bytes alone (docs/speed.md)",
    )


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"
