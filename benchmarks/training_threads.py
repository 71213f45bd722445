"""Training on several threads beside one: time of an epoch, and whether the bits are the same.

    python -m benchmarks.training_threads TRAIN [--presets fast accurate] [--threads 2] [--rounds 5]

The two take turns, each in a training of its own with the same batches. Of every batch the fastest of all rounds
counts, by the clock; an epoch is the sum. What else runs on the machine then spoils single batches, not the figure. CPU
time of the cheapest epoch is shown beside it: threads that wait for each other use some.

"side by side" is the limit of this machine: independent trainings of one thread each, as many as there are threads, at
the same time. They share nothing but cores, caches and memory, so what they lose, no division of work can regain.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np

from benchmarks.accuracy import load_part
from benchmarks.measuring import Outcome, parser, report
from postil.arrays import Array
from postil.models import PRESETS, Tagger
from postil.optimisation.loop import Epoch

GOAL = 1.7


class Epochs(NamedTuple):
    """What a training took."""

    batches: Array  # (epochs, batches) wall seconds
    cpu: float  # seconds of the cheaper epoch
    bits: bytes  # parameters after the last one


def main() -> int:
    arguments = _arguments()
    X, y = load_part(arguments.train)
    rows: list[dict[str, Any]] = []
    ratios = []
    for preset in arguments.presets:
        runs: dict[int, list[Epochs]] = {1: [], arguments.threads: []}
        beside = []
        for _ in range(arguments.rounds):
            for threads, found in runs.items():
                found.append(epochs(Tagger(preset=preset, epochs=2, threads=threads), X, y))
            beside += side_by_side(arguments.train, preset, arguments.threads)
        is_same = len({run.bits for found in runs.values() for run in found}) == 1
        alone, limit = seconds(runs[1]), seconds(beside) / arguments.threads
        ratios.append(alone / seconds(runs[arguments.threads]))
        for threads, found in runs.items():
            took, cpu = seconds(found), min(run.cpu for run in found)
            rows.append(_row(preset, str(threads), took, f"{cpu:.3g}", "yes" if is_same else "no", alone))
        rows.append(_row(preset, "side by side", limit, "", "", alone))
    return report(
        Outcome(
            name="training_threads",
            compared=f"an epoch on {arguments.threads} threads beside one: {arguments.train}",
            rows=rows,
            goal=f"at least {GOAL} times as fast, with the same bits",
            passed=min(ratios) >= GOAL and all(row["same bits"] != "no" for row in rows),
        )
    )


def _row(preset: str, threads: str, took: float, cpu: str, same: str, alone: float) -> dict[str, Any]:
    named = {"preset": preset, "threads": threads, "seconds": took, "CPU seconds": cpu, "same bits": same}
    return named | {"times as fast": alone / took}


def seconds(runs: Sequence[Epochs]) -> float:
    """Of an epoch: of every batch the fastest run."""
    return float(np.min([run.batches for run in runs], axis=0).sum(axis=1).mean())


def epochs(tagger: Tagger, X: Any, y: Any) -> Epochs:
    """Train, and note what each batch took; the end of an epoch counts as one more."""
    fitting = tagger.fitting(X, y)
    walls: list[list[float]] = [[]]
    cpus = []
    wall, cpu = time.perf_counter(), time.process_time()
    for event in fitting:
        walls[-1].append(time.perf_counter() - wall)
        if isinstance(event, Epoch):
            cpus.append(time.process_time() - cpu)
            walls.append([])
            cpu = time.process_time()
        wall = time.perf_counter()
    parameters = fitting.model.network.parameters().values()
    bits = b"".join(parameter.value.tobytes() for parameter in parameters)
    return Epochs(np.array(walls[:-1]), min(cpus), bits)


def side_by_side(train: str, preset: str, count: int) -> list[Epochs]:
    """``count`` trainings with one thread each, which begin together."""
    context = get_context("spawn")
    barrier = context.Barrier(count)
    with context.Pool(count, _meet_at, (barrier,)) as pool:
        return pool.starmap(_epochs_in_company, [(train, preset)] * count, chunksize=1)


_barrier: Any = None


def _meet_at(barrier: Any) -> None:
    global _barrier
    _barrier = barrier


def _epochs_in_company(train: str, preset: str) -> Epochs:
    X, y = load_part(train)
    _barrier.wait()
    return epochs(Tagger(preset=preset, epochs=2, threads=1), X, y)


def _arguments() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("train", help="a labelled file")
    options.add_argument("--presets", nargs="+", choices=list(PRESETS), default=["fast", "accurate"])
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--rounds", type=int, default=5)
    return options.parse_args()


if __name__ == "__main__":
    sys.exit(main())
