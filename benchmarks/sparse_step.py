"""A training step on a table of 1,000,000 rows beside the same step on 10,000 rows.

    python -m benchmarks.sparse_step [--steps 200]

Both steps do the same: look 200 rows up, take the gradient of a loss on them, let the optimiser change them. A step
that costs what the touched rows cost takes the same time on both tables, apart from caches: the rows of the large table
come from main memory. Work proportional to the table would show as a ratio near 100.

Rows are drawn from all of the table; both tables use the same draws. All pages of the tables and of the optimisers'
memory are written once before the clock runs. Steps take turns between the tables; medians are compared.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.measuring import Outcome, interleaved, medians, parser, report
from postil.graph import RowGradient, gradients
from postil.network import LookupTable
from postil.optimisation import SGD, AdaGrad, Adam, Averaged

LARGE, SMALL, WIDTH, TOUCHED = 1_000_000, 10_000, 50, 200
LARGEST_RATIO = 3.0

OPTIMISERS: dict[str, Callable[[Any], Any]] = {
    "SGD": SGD,
    "AdaGrad": AdaGrad,
    "Adam": Adam,
    "averaged SGD": lambda parameters: Averaged(SGD(parameters)),
    "averaged Adam": lambda parameters: Averaged(Adam(parameters)),
}


def training_step(V: int, optimiser_of: Callable[[Any], Any], draws: np.ndarray[Any, Any]) -> Callable[[], None]:
    """One step per call: lookup, loss, gradient, optimiser. ``draws`` (S, 200) in [0, 1) choose the rows."""
    table = LookupTable(V, WIDTH, rng=np.random.default_rng(0))
    optimiser = optimiser_of(table.parameters())
    for first in range(0, V, 10_000):  # write every page of the table and of the memory
        rows = np.arange(first, min(first + 10_000, V))
        nothing = RowGradient(rows, np.zeros((len(rows), WIDTH), np.float32), (V, WIDTH))
        optimiser.step({table.table: nothing}, rate=0.01)
    batches: Iterator[np.ndarray[Any, Any]] = iter((draws * V).astype(np.int64))

    def step() -> None:
        rows = table(next(batches))
        loss = (rows * rows).mean()
        optimiser.step(gradients(loss), rate=0.01)

    return step


def measured(name: str, steps: int) -> dict[str, Any]:
    draws = np.random.default_rng(1).random((steps + 20, TOUCHED))
    optimiser_of = OPTIMISERS[name]
    tables = {"large": training_step(LARGE, optimiser_of, draws), "small": training_step(SMALL, optimiser_of, draws)}
    seconds = medians(interleaved(tables, steps, warm_up=20))
    return {
        "optimiser": name,
        f"µs a step, {LARGE:,} rows": 1e6 * seconds["large"],
        f"µs a step, {SMALL:,} rows": 1e6 * seconds["small"],
        "ratio": seconds["large"] / seconds["small"],
    }


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--steps", type=int, default=200, help="timed steps on each table; the median counts")
    steps = options.parse_args().steps
    with threadpool_limits(1):
        rows = [measured(name, steps) for name in OPTIMISERS]
    worst = max(row["ratio"] for row in rows)
    return report(
        Outcome(
            name="sparse_step",
            compared=(
                f"a training step that touches {TOUCHED} rows of {WIDTH} float32 numbers: lookup, gradient and "
                f"optimiser,\non a table of {LARGE:,} rows and on one of {SMALL:,}; medians of {steps} steps in turns"
            ),
            rows=rows,
            goal=f"ratio at most {LARGEST_RATIO:g}; largest {worst:.2f}",
            passed=worst <= LARGEST_RATIO,
        )
    )


if __name__ == "__main__":
    sys.exit(main())
