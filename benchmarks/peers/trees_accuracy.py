"""Trains a tree network in PyTorch on arrays that benchmarks/trees_accuracy.py has written; prints one JSON object."""

import json
import sys
import time
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_swa_multi_avg_fn

from benchmarks.peers.tree_networks import TreeNetwork
from postil.features.trees import Forest, Schedule


def main() -> int:
    arrays = np.load(sys.argv[1])
    settings = json.loads(str(arrays["settings"]))
    torch.set_num_threads(1)
    torch.manual_seed(settings["seed"])
    began = time.process_time()
    score = _best_score(arrays, settings)
    print(json.dumps({"score": score, "seconds": time.process_time() - began}))
    return 0


def _best_score(arrays: Any, settings: dict[str, Any]) -> float:
    """Roots right in dev after the epoch that did best on the part that was kept out of training."""
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
    optimiser = kinds[settings["optimiser"]](_groups(network, settings["l2"]), settings["rate"], fused=True)
    train, held, dev = (_Part(arrays, name, settings["loss"]) for name in ("train", "held", "dev"))
    rng = np.random.default_rng(settings["seed"])
    best = (-1.0, 0.0)
    batches = -(-len(train.forest) // settings["batch_trees"])
    for epoch in range(settings["epochs"]):
        mean = AveragedModel(network, multi_avg_fn=get_swa_multi_avg_fn())
        for i, which in enumerate(np.array_split(rng.permutation(len(train.forest)), batches)):
            _set_rate(optimiser, settings, (epoch * batches + i) / (settings["epochs"] * batches))
            plan, words, fixed = train.batch(which)
            unknown = rng.random(len(words)) < settings["word_dropout"] / (
                settings["word_dropout"] + arrays["counts"][words] + 1e-9
            )
            words = np.where(unknown, 0, words)
            _learn(network, optimiser, network.by_level(plan, *_tensors(words, fixed)), train, plan, settings["clip"])
            mean.update_parameters(network)
        mean.eval()
        scores = (_score(mean.module, part, settings["not_at_roots"]) for part in (held, dev))
        best = max(best, tuple(scores), key=lambda pair: pair[0])
    return best[1]


def _groups(network: nn.Module, strength: float) -> list[dict[str, Any]]:
    """Postil's penalty is λ θ², PyTorch's ½ λ θ²; biases have none."""
    weights = [p for p in network.parameters() if p.ndim > 1]
    others = [p for p in network.parameters() if p.ndim == 1]
    return [{"params": weights, "weight_decay": 2 * strength}, {"params": others}]


class _Part:
    def __init__(self, arrays: Any, name: str, loss: str) -> None:
        back, heights, offsets = (arrays[f"{name}_{part}"] for part in ("back", "heights", "offsets"))
        self.forest = Forest(back=back, heights=heights, offsets=offsets)
        self.words, self.fixed, self.gold = (arrays[f"{name}_{part}"] for part in ("words", "vectors", "gold"))
        self.learnt = self.gold.copy()
        if loss == "root":
            self.learnt[np.setdiff1d(np.arange(len(self.gold)), self.forest.offsets[1:] - 1)] = -1

    def batch(self, which: np.ndarray) -> tuple[Schedule, np.ndarray, np.ndarray]:
        plan = self.forest.schedule(which)
        leaves = plan.nodes[: plan.leaves]
        return plan, self.words[leaves], self.fixed[leaves]


def _tensors(*arrays: np.ndarray) -> list[torch.Tensor]:
    return [torch.from_numpy(array) for array in arrays]


def _learn(
    network: TreeNetwork, optimiser: Any, scores: torch.Tensor, part: _Part, plan: Schedule, clip: float
) -> None:
    gold = torch.from_numpy(part.learnt[plan.nodes])
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
def _score(network: TreeNetwork, part: _Part, not_at_roots: list[int]) -> float:
    right = []
    for which in np.array_split(np.arange(len(part.forest)), max(len(part.forest) // 64, 1)):
        plan, *leaves = part.batch(which)
        scores = network.by_level(plan, *_tensors(*leaves))[plan.roots]
        if not_at_roots:
            scores[:, not_at_roots] = -torch.inf
        right.append(scores.argmax(1).numpy() == part.gold[plan.nodes[plan.roots]])
    return float(np.concatenate(right).mean())


if __name__ == "__main__":
    sys.exit(main())
