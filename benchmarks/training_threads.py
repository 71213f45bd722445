"""Training on several threads beside one: time of an epoch, and whether the bits are the same.

    python -m benchmarks.training_threads TRAIN [--presets fast accurate] [--threads 2] [--rounds 3]

The two take turns, each in a training of its own; the fastest epoch of all rounds counts, by the clock. CPU time is
shown beside it: threads that wait for each other use some. On a busy machine the ratio says little.

"side by side" is the limit of this machine: independent trainings of one thread each, as many as there are threads, at
the same time. They share nothing but cores, caches and memory, so what they lose, no division of work can regain.
"""

import argparse
import sys
import time
from multiprocessing import get_context
from typing import Any

from benchmarks.accuracy import load_part
from benchmarks.measuring import Outcome, parser, report
from postil.models import PRESETS, Tagger
from postil.training.loop import Epoch

GOAL = 1.7


def main() -> int:
    arguments = _arguments()
    X, y = load_part(arguments.train)
    rows: list[dict[str, Any]] = []
    ratios = []
    for preset in arguments.presets:
        best = {threads: (float("inf"), float("inf")) for threads in (1, arguments.threads)}
        bits, alone_together = set(), float("inf")
        for _ in range(arguments.rounds):
            for threads in best:
                found, parameters = epoch(Tagger(preset=preset, epochs=2, threads=threads), X, y)
                best[threads] = tuple(map(min, best[threads], found))
                bits.add(parameters)
            alone_together = min(alone_together, side_by_side(arguments.train, preset, arguments.threads))
        (wall, _), (wall_of_many, _) = best.values()
        ratios.append(wall / wall_of_many)
        for threads, (seconds, cpu) in best.items():
            same = "yes" if len(bits) == 1 else "no"
            row = {"preset": preset, "threads": str(threads), "seconds": seconds, "CPU seconds": cpu, "same bits": same}
            rows.append(row | {"times as fast": wall / seconds})
        rows.append(
            {
                "preset": preset,
                "threads": "side by side",
                "seconds": alone_together / arguments.threads,
                "CPU seconds": "",
                "same bits": "",
                "times as fast": wall * arguments.threads / alone_together,
            }
        )
    return report(
        Outcome(
            name="training_threads",
            compared=f"an epoch on {arguments.threads} threads beside one",
            rows=rows,
            goal=f"at least {GOAL} times as fast, with the same bits",
            passed=min(ratios) >= GOAL and all(row["same bits"] == "yes" for row in rows),
        )
    )


def epoch(tagger: Tagger, X: Any, y: Any) -> tuple[tuple[float, float], bytes]:
    """Wall and CPU seconds of the faster of two epochs, and the parameters after them."""
    fitting = tagger.fitting(X, y)
    walls, cpus = [], []
    wall, cpu = time.perf_counter(), time.process_time()
    for event in fitting:
        if isinstance(event, Epoch):
            walls.append(time.perf_counter() - wall)
            cpus.append(time.process_time() - cpu)
            wall, cpu = time.perf_counter(), time.process_time()
    parameters = fitting.parts.network.parameters().values()
    return (min(walls), min(cpus)), b"".join(parameter.value.tobytes() for parameter in parameters)


def side_by_side(train: str, preset: str, count: int) -> float:
    """Wall seconds of an epoch of ``count`` trainings with one thread each, at the same time: of the slowest of them."""
    context = get_context("spawn")
    barrier = context.Barrier(count)
    with context.Pool(count, _meet_at, (barrier,)) as pool:
        return max(pool.starmap(_epoch_in_company, [(train, preset)] * count, chunksize=1))


_barrier: Any = None


def _meet_at(barrier: Any) -> None:
    global _barrier
    _barrier = barrier


def _epoch_in_company(train: str, preset: str) -> float:
    X, y = load_part(train)
    _barrier.wait()
    (wall, _), _ = epoch(Tagger(preset=preset, epochs=2, threads=1), X, y)
    return wall


def _arguments() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("train", help="a labelled file")
    options.add_argument("--presets", nargs="+", choices=list(PRESETS), default=["fast", "accurate"])
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--rounds", type=int, default=3)
    return options.parse_args()


if __name__ == "__main__":
    sys.exit(main())
