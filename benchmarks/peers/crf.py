"""The comparison with pytorch-crf; runs in PyTorch's environment, where Postil is installed too."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torchcrf import CRF as TorchCRF

from benchmarks.measuring import Outcome, interleaved, medians, report
from postil.graph import Input, gradients
from postil.objectives import CRF, Posterior, k_best, viterbi

SENTENCES, TOKENS, LABELS = 32, 25, 17
CALLS = 5  # in a turn: with one call each, both would mostly measure how the other empties the caches


@dataclass(frozen=True)
class Case:
    """The same batch for both: sentences of one length, which is what pytorch-crf likes best (no padding)."""

    scores: np.ndarray  # (B, T, L) float32
    gold: np.ndarray  # (B, T)
    ours: CRF
    theirs: Any

    @classmethod
    def of(cls, B: int, T: int, L: int, *, peer: bool = True) -> "Case":
        rng = np.random.default_rng(0)
        ours, theirs = CRF(L), TorchCRF(L, batch_first=True) if peer else None
        for parameter in ours.parameters().values():
            parameter.value[...] = rng.normal(scale=0.5, size=parameter.shape)
        if theirs is not None:
            pairs = zip(ours.parameters().values(), _parameters(theirs), strict=True)
            for mine, other in pairs:
                other.data = torch.from_numpy(mine.value.copy())
        scores = rng.normal(scale=2, size=(B, T, L)).astype(np.float32)
        return cls(scores, rng.integers(0, L, (B, T)), ours, theirs)

    @property
    def offsets(self) -> np.ndarray:
        B, T, _ = self.scores.shape
        return np.arange(B + 1) * T

    @property
    def mask(self) -> Any:
        return torch.ones(self.gold.shape, dtype=torch.bool)

    def our_gradient(self) -> list[np.ndarray]:
        node = Input(self.scores.reshape(-1, self.scores.shape[2]), offsets=self.offsets)
        wanted = [node, *self.ours.parameters().values()]
        found = gradients(self.ours.loss(node, self.gold.ravel()), wanted)
        return [np.asarray(found[leaf]) for leaf in wanted]

    def their_gradient(self) -> list[np.ndarray]:
        scores = torch.from_numpy(self.scores).requires_grad_()
        self.theirs.zero_grad()
        (-self.theirs(scores, torch.from_numpy(self.gold), mask=self.mask, reduction="mean")).backward()
        flat = scores.grad.reshape(-1, self.scores.shape[2])
        return [grad.numpy() for grad in (flat, *(parameter.grad for parameter in _parameters(self.theirs)))]

    def our_labels(self) -> np.ndarray:
        return viterbi(self.ours.lattice(self.scores.reshape(-1, self.scores.shape[2]), self.offsets))

    def their_labels(self) -> np.ndarray:
        with torch.no_grad():
            return np.concatenate(self.theirs.decode(torch.from_numpy(self.scores), mask=self.mask))

    def marginals(self) -> np.ndarray:
        return Posterior.of(self.ours.lattice(self.scores.reshape(-1, self.scores.shape[2]), self.offsets)).marginals()

    def five_best(self) -> object:
        return k_best(self.ours.lattice(self.scores.reshape(-1, self.scores.shape[2]), self.offsets), 5)


def _parameters(crf: Any) -> list[Any]:
    return [crf.transitions, crf.start_transitions, crf.end_transitions]


def main() -> int:
    torch.set_num_threads(1)
    with threadpool_limits(1):
        return max(report(beside_pytorch_crf()), report(growth_with_labels()), report(growth_with_length()))


def beside_pytorch_crf() -> Outcome:
    case = Case.of(SENTENCES, TOKENS, LABELS)
    pairs = zip(case.our_gradient(), case.their_gradient(), strict=True)
    same_gradient = all(np.allclose(mine, other, atol=1e-5) for mine, other in pairs)
    same_labels = np.array_equal(case.our_labels(), case.their_labels())
    tasks: dict[str, tuple[Callable[[], object], Callable[[], object], bool]] = {
        "loss and gradient": (case.our_gradient, case.their_gradient, same_gradient),
        "Viterbi": (case.our_labels, case.their_labels, same_labels),
    }
    rows = []
    for name, (ours, theirs, same) in tasks.items():
        turns = {"ours": partial(_run, ours), "theirs": partial(_run, theirs)}
        seconds = interleaved(turns, repeats=60, warm_up=5)
        mine, other = (middle / CALLS for middle in medians(seconds).values())
        fastest = min(seconds["theirs"]) / min(seconds["ours"])
        row = {"task": name, "Postil ms": mine * 1e3, "pytorch-crf ms": other * 1e3, "times as fast": other / mine}
        rows.append({**row, "of the fastest runs": fastest, "agree": same})
    passed = all(row["agree"] and row["times as fast"] >= 5 for row in rows)
    batch = f"{SENTENCES} sentences of {TOKENS} tokens, {LABELS} labels, float32"
    compared = f"{batch}; one thread, medians of 60 turns of {CALLS} calls"
    return Outcome(name="crf", compared=compared, rows=rows, goal="at least 5 times as fast", passed=passed)


def _run(task: Callable[[], object]) -> None:
    for _ in range(CALLS):
        task()


def growth_with_labels() -> Outcome:
    rows = []
    for L in (2, 5, 9, 17, 50, 100, 200, 500):
        case = Case.of(SENTENCES, TOKENS, L, peer=False)
        rows.append({"labels": L, **_costs_per_token(case)})
    by_labels = {row["labels"]: row["loss and gradient"] / row["labels"] ** 2 for row in rows}
    return Outcome(
        name="crf_labels",
        compared=f"CPU microseconds a token, {SENTENCES} sentences of {TOKENS} tokens",
        rows=rows,
        goal="the cost grows no faster than the square of the labels, from 17 to 500",
        passed=by_labels[500] <= by_labels[17],
    )


def growth_with_length() -> Outcome:
    rows = []
    for T in (1, 10, 100, 1_000, 10_000, 100_000):
        rows.append({"tokens": T, **_costs_per_token(Case.of(1, T, LABELS, peer=False))})
    by_length = {row["tokens"]: row["loss and gradient"] for row in rows}
    return Outcome(
        name="crf_lengths",
        compared=f"CPU microseconds a token, one sentence, {LABELS} labels",
        rows=rows,
        goal="the cost of a token at 100,000 is at most twice that at 1,000",
        passed=by_length[100_000] <= 2 * by_length[1_000],
    )


def _costs_per_token(case: Case) -> dict[str, float]:
    tasks = {
        "loss and gradient": case.our_gradient,
        "marginals": case.marginals,
        "Viterbi": case.our_labels,
        "5 best": case.five_best,
    }
    tokens = case.gold.size
    return {name: _best(task) / tokens * 1e6 for name, task in tasks.items()}


def _best(task: Callable[[], object], seconds: float = 1.0) -> float:
    """CPU seconds of the fastest of the runs that fit into some seconds, at least two of them."""
    begin, runs = time.perf_counter(), []
    while len(runs) < 2 or (time.perf_counter() - begin < seconds and len(runs) < 200):
        start = time.process_time()
        task()
        runs.append(time.process_time() - start)
    return min(runs)


if __name__ == "__main__":
    sys.exit(main())
