"""Compiled kernels beside their NumPy twins: nanoseconds per token, and the ratio.

    python -m benchmarks kernels
    python -m benchmarks.kernels --labels 17 --tokens 20000

Both run in one process, on one thread, in turn, on the same arrays. Exit code 1 where a kernel does not pay.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measuring import Outcome, interleaved, parser, report
from postil.arrays import Array, offsets_from_lengths
from postil.kernels import compiled, plain
from postil.threads import one_blas_thread

REPEATS = 7
SENTENCE = 15  # tokens, on average


class Case(NamedTuple):
    """One kernel on one size: how to call it out of a module, and how many tokens (or rows) it goes through."""

    kernel: str
    size: str
    call: Callable[[Any], object]
    units: int


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--labels", type=int, nargs="*", default=[5, 17, 25, 64, 200], help="numbers of labels")
    options.add_argument("--tokens", type=int, default=6000, help="tokens of a batch")
    arguments = options.parse_args()
    with one_blas_thread():
        rows = [measured(case) for case in cases(arguments.labels, arguments.tokens)]
    compared = f"the compiled kernels ({compiled.instruction_set()}) and NumPy, best of {REPEATS} turns each"
    passed = all(row["times as fast"] > 1 for row in rows)
    outcome = Outcome(name="kernels", compared=compared, rows=rows, goal="every kernel pays", passed=passed)
    return report(outcome)


def cases(labels: list[int], tokens: int) -> Iterator[Case]:
    rng = np.random.default_rng(0)
    for L in labels:
        yield from chain_cases(rng, L, max(300, min(tokens, 10**7 // L**2)))


def chain_cases(rng: np.random.Generator, L: int, tokens: int) -> Iterator[Case]:
    batch = chain(rng, L, tokens)
    one = chain(rng, L, SENTENCE, sentences=1)
    for name in ("viterbi", "chain_moments", "chain_messages"):
        yield Case(name, f"{L} labels", lambda module, name=name: getattr(module, name)(*batch), len(batch[0]))
        if L == 17:
            call = lambda module, name=name: [getattr(module, name)(*one) for _ in range(50)]  # noqa: E731
            yield Case(name, f"{L} labels, one sentence", call, 50 * SENTENCE)


def chain(rng: np.random.Generator, L: int, tokens: int, sentences: int | None = None) -> tuple[Array, ...]:
    """A batch of float32 scores as a network gives them, on a random chain."""
    cuts = np.sort(rng.integers(0, tokens, (sentences or max(1, tokens // SENTENCE)) - 1))
    offsets = offsets_from_lengths(np.diff(cuts, prepend=0, append=tokens))
    unary = rng.normal(size=(tokens, L)).astype(np.float32)
    return unary, offsets, rng.normal(size=(L, L)), rng.normal(size=L), rng.normal(size=L)


def measured(case: Case) -> dict[str, Any]:
    functions = {"plain": lambda: case.call(plain), "compiled": lambda: case.call(compiled)}
    best = {name: min(seconds) / case.units * 1e9 for name, seconds in interleaved(functions, REPEATS).items()}
    return {
        "kernel": case.kernel,
        "size": case.size,
        "plain ns": best["plain"],
        "compiled ns": best["compiled"],
        "times as fast": best["plain"] / best["compiled"],
    }


if __name__ == "__main__":
    sys.exit(main())
