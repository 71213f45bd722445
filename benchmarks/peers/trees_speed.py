"""Training and prediction of tree networks, ours and PyTorch's in turn; runs in PyTorch's environment."""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from benchmarks.measuring import Outcome, report
from benchmarks.peers.tree_networks import Levels, TreeNetwork, first_table, learn, levels_in_python
from postil.models import TreeClassifier
from postil.models.networks.tree_network import TreeInputs
from postil.network import COMPOSITIONS
from postil.optimisation.loop import Step
from postil.text import Tree, balanced, read_trees, right_branching

BATCH, D = 32, 50
GOALS = {("training", "by level"): 5.0, ("training", "node by node"): 25.0, ("prediction", "by level"): 8.0}


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("train")
    options.add_argument("--turns", type=int, default=5)
    options.add_argument("--compositions", nargs="+", default=list(COMPOSITIONS))
    arguments = options.parse_args()
    torch.set_num_threads(1)
    trees = list(read_trees(arguments.train))
    speeds = [_beside_pytorch(name, trees, arguments.turns) for name in arguments.compositions]
    met = [report(_speed_outcome(row for pair in speeds for row in pair)), report(_growth(trees))]
    return max(met)


# ------------------------------------------------------------------------------------------------ beside PyTorch


class _Case:
    """One composition: our training and the same network in PyTorch over the same arrays."""

    def __init__(self, composition: str, trees: list[Tree]) -> None:
        settings = {"hidden": D, "word_dim": D, "batch_trees": BATCH, "word_dropout": 0.0, "epochs": 10_000}
        noiseless = {"input_dropout": 0.0, "hidden_dropout": 0.0, "l2": 0.0, "optimiser": "adam", "rate": 0.001}
        self.classifier = TreeClassifier(composition=composition, **settings, **noiseless)
        self.trees = trees
        self.fitting = self.classifier.fitting(trees)
        self.inputs: TreeInputs = self.fitting._inputs
        self.gold = self.fitting._gold
        self.steps = (event for event in self.fitting if isinstance(event, Step))
        self.classifier._model = self.fitting.model
        V, L = len(self.fitting.model.features.words.counts), len(self.fitting.model.codec.labels)
        self.theirs = TreeNetwork(composition, first_table(V, D), D, L)
        self.optimiser = torch.optim.Adam(self.theirs.parameters(), 0.001)
        self.fused = torch.optim.Adam(self.theirs.parameters(), 0.001, fused=True)
        forms = sorted({token for tree in trees for token in tree.tokens})
        self.word_ids = dict(zip(forms, self.fitting.model.features.words.rows(forms)[:, 0].tolist(), strict=True))
        self.label_ids = {label: i for i, label in enumerate(self.fitting.model.codec.labels)}
        self.order = self._endless()

    def _endless(self) -> Iterator[np.ndarray]:
        rng = np.random.default_rng(0)
        while True:
            order = rng.permutation(len(self.trees))
            yield from (order[i : i + BATCH] for i in range(0, len(order) - BATCH + 1, BATCH))

    def ours(self, batches: int) -> None:
        for _ in range(batches):
            next(self.steps)

    def by_level(self, batches: int) -> None:
        for _ in range(batches):
            levels = self._own_levels([self.trees[i] for i in next(self.order)])
            learn(self.theirs, self.optimiser, lambda b=levels: self.theirs.by_level(b), levels.gold)

    def tuned(self, batches: int) -> None:
        for _ in range(batches):
            batch = self.inputs.selected(next(self.order))
            levels = Levels.given(batch.plan, batch.words, self.gold)
            learn(self.theirs, self.fused, lambda b=levels: self.theirs.by_level(b), levels.gold)

    def _own_levels(self, trees: list[Tree]) -> Levels:
        return levels_in_python(trees, self.word_ids, self.label_ids)

    def node_by_node(self, batches: int) -> None:
        for _ in range(batches):
            children, words, gold = self._post_order(next(self.order), self.inputs)
            learn(self.theirs, self.optimiser, lambda c=children, w=words: self.theirs.node_by_node(c, w), gold)

    def _post_order(self, which: np.ndarray, inputs: TreeInputs) -> tuple[list[Any], torch.Tensor, torch.Tensor]:
        offsets = inputs.forest.offsets
        nodes = np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in which])
        leaves = nodes[inputs.forest.heights[nodes] == 0]
        words, gold = torch.from_numpy(inputs.words[leaves]), torch.from_numpy(self.gold[nodes])
        return [self.trees[i].children for i in which], words, gold

    def predict_ours(self, batches: int) -> None:
        self.classifier.predict(self.trees[: batches * BATCH])

    @torch.inference_mode()
    def predict_by_level(self, batches: int) -> None:
        for i in range(batches):
            levels = self._own_levels(self.trees[i * BATCH : (i + 1) * BATCH])
            self.theirs.by_level(levels)[levels.roots].argmax(1)

    @torch.inference_mode()
    def predict_tuned(self, batches: int) -> None:
        inputs = TreeInputs.of(self.trees[: batches * BATCH], self.fitting.model.features.words)
        for i in range(batches):
            batch = inputs.selected(np.arange(i * BATCH, (i + 1) * BATCH))
            levels = Levels.given(batch.plan, batch.words, self.gold)
            self.theirs.by_level(levels)[levels.roots].argmax(1)

    @torch.inference_mode()
    def predict_node_by_node(self, batches: int) -> None:
        inputs = TreeInputs.of(self.trees[: batches * BATCH], self.fitting.model.features.words)
        for i in range(batches):
            children, words, _ = self._post_order(np.arange(i * BATCH, (i + 1) * BATCH), inputs)
            self.theirs.node_by_node(children, words).argmax(1)


def _beside_pytorch(composition: str, trees: list[Tree], turns: int) -> list[dict[str, Any]]:
    case = _Case(composition, trees)
    training = {
        "ours": (case.ours, 40),
        "by level": (case.by_level, 15),
        "tuned": (case.tuned, 15),
        "node by node": (case.node_by_node, 3),
    }
    prediction = {
        "ours": (case.predict_ours, 80),
        "by level": (case.predict_by_level, 40),
        "tuned": (case.predict_tuned, 40),
        "node by node": (case.predict_node_by_node, 6),
    }
    found = []
    for task, functions in (("training", training), ("prediction", prediction)):
        speed = _trees_per_second(functions, turns)
        ratios = {f"x {name}": speed["ours"] / speed[name] for name in functions if name != "ours"}
        found.append({"composition": composition, "task": task, **{k: round(v) for k, v in speed.items()}, **ratios})
    return found


def _trees_per_second(functions: dict[str, tuple[Callable[[int], None], int]], turns: int) -> dict[str, float]:
    """Best of several turns, in CPU seconds; the functions take turns."""
    best = dict.fromkeys(functions, 0.0)
    for turn in range(turns + 1):
        for name, (function, batches) in functions.items():
            began = time.process_time()
            function(batches)
            if turn:
                best[name] = max(best[name], batches * BATCH / (time.process_time() - began))
    return best


def _speed_outcome(rows: Any) -> Outcome:
    rows = list(rows)
    missed = [
        f"{row['composition']} {task}"
        for row in rows
        for (task, how), goal in GOALS.items()
        if row["task"] == task and row[f"x {how}"] < goal
    ]
    goals = ", ".join(f"{task} {goal:.0f} x PyTorch {how}" for (task, how), goal in GOALS.items())
    return Outcome(
        name="trees_speed",
        compared=f"trees a second on one core, {D} dimensions, batches of {BATCH}, loss at every node; x is the ratio",
        rows=rows,
        goal=goals + (f"; missed: {', '.join(missed)}" if missed else ""),
        passed=not missed,
    )


# ------------------------------------------------------------------------------------------------ growth


def _growth(trees: list[Tree]) -> Outcome:
    rng = np.random.default_rng(0)
    words = [word for tree in trees[:1000] for word in tree.tokens]
    rows = []
    for number in (1_000, 10_000, 100_000):
        chosen = [trees[i] for i in rng.integers(0, len(trees), number)]
        rows.append({"trees": f"{number:,} of the corpus", **_cost(chosen)})
    for make, leaves in (
        (balanced, 32),
        (balanced, 501),
        (right_branching, 6),
        (right_branching, 51),
        (right_branching, 501),
    ):
        made = [make([str(w) for w in rng.choice(words, leaves)]) for _ in range(320)]
        shape = f"{make.__name__}, depth {max(made[0].heights)}"
        rows.append({"trees": shape, **_cost([tree.with_labels(["1"] * len(tree)) for tree in made], two_labels=True)})
    costs = {row["trees"]: row["training us/node"] for row in rows}
    flat = costs["100,000 of the corpus"] / costs["1,000 of the corpus"]
    deep = costs["right_branching, depth 500"] / costs["balanced, depth 5"]
    return Outcome(
        name="trees_growth",
        compared="our cost of a node, sum composition, batches of 32 trees",
        rows=rows,
        goal=f"flat within a factor of 2: from 1,000 to 100,000 trees ({flat:.2f}), from depth 5 to 500 ({deep:.2f})",
        passed=bool(flat < 2 and deep < 2),
    )


def _cost(trees: list[Tree], *, two_labels: bool = False) -> dict[str, float]:
    if two_labels:
        trees = [tree.with_labels([str(i % 2) for i in range(len(tree))]) for tree in trees]
    case = _Case("sum", trees)
    nodes = float(np.mean([len(tree) for tree in trees]))
    batches = min(len(trees) // BATCH, 60)
    functions = {"training": (case.ours, batches), "prediction": (case.predict_ours, batches)}
    speed = _trees_per_second(functions, 4)
    return {f"{task} us/node": 1e6 / (speed[task] * nodes) for task in functions}


if __name__ == "__main__":
    sys.exit(main())
