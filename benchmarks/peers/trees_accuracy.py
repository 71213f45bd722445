"""Trains a tree network in PyTorch on arrays that benchmarks/trees_accuracy.py has written; prints one JSON object."""

import json
import sys
import time
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_swa_multi_avg_fn

from benchmarks.peers.tree_networks import Levels, TreeNetwork
from postil.network.tree import Forest


def main() -> int:
    arrays = np.load(sys.argv[1])
    settings = json.loads(str(arrays["settings"]))
    torch.set_num_threads(1)
    torch.manual_seed(settings["seed"])
    began = time.process_time()
    epochs = _scores(arrays, settings)
    best = max(epochs, key=lambda scores: scores["held"])
    print(json.dumps({**best, "epochs": epochs, "seconds": time.process_time() - began}))
    return 0


def _scores(arrays: Any, settings: dict[str, Any]) -> list[dict[str, float]]:
    """After each epoch: roots right in the part that was kept out of training; roots and nodes right in dev."""
    network = TreeNetwork(
        settings["composition"],
        arrays["table"],
        settings["hidden"],
        settings["labels"],
        fixed=arrays.get("fixed"),
        word_noise=settings["input_dropout"],
        noise=settings["hidden_dropout"],
    )
    kinds = {"adam": torch.optim.Adam, "adagrad": torch.optim.Adagrad, "sgd": torch.optim.SGD}
    words = RowsInTheirOwnTime(network.words.weight) if settings["lazy_words"] else None
    others = [p for p in network.parameters() if words is None or p is not words.table]
    optimiser = kinds[settings["optimiser"]](_groups(others, settings["l2"]), settings["rate"], fused=True)
    train, held, dev = (_Part(arrays, name, settings["loss"]) for name in ("train", "held", "dev"))
    rng = np.random.default_rng(settings["seed"])
    found = []
    batches = -(-len(train.forest) // settings["batch_trees"])
    for epoch in range(settings["epochs"]):
        mean = AveragedModel(network, multi_avg_fn=get_swa_multi_avg_fn())
        for i, which in enumerate(np.array_split(rng.permutation(len(train.forest)), batches)):
            _set_rate(optimiser, settings, (epoch * batches + i) / (settings["epochs"] * batches))
            levels, fixed = train.batch(which)
            ids = levels.words.numpy()
            unknown = rng.random(len(ids)) < settings["word_dropout"] / (
                settings["word_dropout"] + arrays["counts"][ids] + 1e-9
            )
            levels = levels._replace(words=torch.from_numpy(np.where(unknown, 0, ids)))
            _learn(network, optimiser, network.by_level(levels, fixed), levels.gold, settings["clip"])
            if words is not None:
                words.step(levels.words.unique(), optimiser.param_groups[0]["lr"] * settings["word_rate"])
            mean.update_parameters(network)
        mean.eval()
        (of_held, _), (of_dev, nodes) = (_score(mean.module, part, settings["not_at_roots"]) for part in (held, dev))
        found.append({"held": of_held, "score": of_dev, "nodes": nodes})
    return found


def _groups(parameters: list[nn.Parameter], strength: float) -> list[dict[str, Any]]:
    """Postil's penalty is λ θ², PyTorch's ½ λ θ²; biases have none."""
    weights = [p for p in parameters if p.ndim > 1]
    others = [p for p in parameters if p.ndim == 1]
    return [{"params": weights, "weight_decay": 2 * strength}, {"params": others}]


class RowsInTheirOwnTime:
    """Postil's Adam for word vectors, in PyTorch: only the rows of a batch move, and each counts its own steps."""

    def __init__(self, table: nn.Parameter) -> None:
        self.table = table
        self.m, self.v = torch.zeros_like(table), torch.zeros_like(table)
        self.t = torch.zeros(len(table), 1)

    @torch.no_grad()
    def step(self, rows: torch.Tensor, rate: float) -> None:
        g = self.table.grad[rows]  # type: ignore[index]
        self.table.grad.zero_()  # type: ignore[union-attr]
        self.t[rows] += 1
        self.m[rows] = 0.9 * self.m[rows] + 0.1 * g
        self.v[rows] = 0.999 * self.v[rows] + 0.001 * g * g
        m, v = self.m[rows] / (1 - 0.9 ** self.t[rows]), self.v[rows] / (1 - 0.999 ** self.t[rows])
        self.table[rows] -= rate * m / (v.sqrt() + 1e-8)


class _Part:
    def __init__(self, arrays: Any, name: str, loss: str) -> None:
        back, heights, offsets = (arrays[f"{name}_{part}"] for part in ("back", "heights", "offsets"))
        self.forest = Forest(back=back, heights=heights, offsets=offsets)
        self.words, self.fixed, self.gold = (arrays[f"{name}_{part}"] for part in ("words", "vectors", "gold"))
        self.learnt = self.gold.copy()
        if loss == "root":
            self.learnt[np.setdiff1d(np.arange(len(self.gold)), self.forest.offsets[1:] - 1)] = -1

    def batch(self, which: np.ndarray) -> tuple[Levels, torch.Tensor]:
        plan = self.forest.schedule(which)
        leaves = plan.nodes[: plan.leaves]
        return Levels.given(plan, self.words[leaves], self.learnt), torch.from_numpy(self.fixed[leaves])


def _learn(network: TreeNetwork, optimiser: Any, scores: torch.Tensor, gold: torch.Tensor, clip: float) -> None:
    loss = nn.functional.cross_entropy(scores, gold, ignore_index=-1)
    optimiser.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(network.parameters(), clip)
    optimiser.step()


def _set_rate(optimiser: Any, settings: dict[str, Any], share: float) -> None:
    """Linear up, then linear down, as in postil."""
    if share < settings["warm_up"]:
        factor = max(share / settings["warm_up"], 0.01)
    else:
        factor = 1 - (share - settings["warm_up"]) / max(1 - settings["warm_up"], 1e-9) * (1 - settings["final_share"])
    for group in optimiser.param_groups:
        group["lr"] = settings["rate"] * factor


@torch.inference_mode()
def _score(network: TreeNetwork, part: _Part, not_at_roots: list[int]) -> tuple[float, float]:
    """The share of the roots that are right, and that of all labelled nodes."""
    roots, nodes = [], []
    for which in np.array_split(np.arange(len(part.forest)), max(len(part.forest) // 64, 1)):
        levels, fixed = part.batch(which)
        scores = network.by_level(levels, fixed)
        if not_at_roots:
            scores[levels.roots[:, None], torch.tensor(not_at_roots)] = -torch.inf
        gold = part.gold[part.forest.schedule(which).nodes]
        right = scores.argmax(1).numpy() == gold
        roots.append(right[levels.roots.numpy()])
        nodes.append(right[gold >= 0])
    return float(np.concatenate(roots).mean()), float(np.concatenate(nodes).mean())


if __name__ == "__main__":
    sys.exit(main())
