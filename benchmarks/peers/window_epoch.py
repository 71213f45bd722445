"""An epoch of ``window-sll``, ours and PyTorch's in turn; runs in PyTorch's environment."""

import argparse
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import torch

from benchmarks.accuracy import load_part
from benchmarks.measuring import Outcome, report
from postil.models import Tagger
from postil.optimisation.loop import Epoch

sys.path.insert(0, str(Path(__file__).parent.parent / "contestants"))  # contestants import each other by bare names
from pytorch_window import Network, PyTorchWindow

GOAL = 5.0


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("train")
    options.add_argument("--turns", type=int, default=5)
    arguments = options.parse_args()
    torch.set_num_threads(1)
    X, y = load_part(arguments.train)
    epochs = {"ours": _ours(X, y), "PyTorch": _theirs(list(zip(X, y, strict=True)))}
    seconds: dict[str, list[float]] = {name: [] for name in epochs}
    for turn in range(arguments.turns + 1):
        for name, epoch in epochs.items():
            began = time.process_time()
            next(epoch)
            if turn:  # the first one also prepares
                seconds[name].append(time.process_time() - began)
    ratios = [theirs / ours for ours, theirs in zip(*seconds.values(), strict=True)]
    rows: list[dict[str, Any]] = [{"": name, "CPU seconds": min(found)} for name, found in seconds.items()]
    return report(
        Outcome(
            name="window_epoch",
            compared=f"an epoch of window-sll, one core, {sum(map(len, X))} tokens; median ratio {median(ratios):.2f}",
            rows=rows,
            goal=f"{GOAL:.0f} x PyTorch",
            passed=median(ratios) >= GOAL,
        )
    )


def _ours(X: Any, y: Any) -> Iterator[Epoch]:
    return (event for event in Tagger(preset="window-sll", epochs=1000).fitting(X, y) if isinstance(event, Epoch))


def _theirs(train: list[Any]) -> Iterator[None]:
    """As ``PyTorchWindow.train``, an epoch at a time."""
    peer = PyTorchWindow(1)
    peer.labels = sorted({label for _, labels in train for label in labels})
    known = sorted({word.lower() for words, _ in train for word in words})
    peer.known = {word: i + 2 for i, word in enumerate(known)}
    peer.network = Network(len(peer.known) + 2, len(peer.labels))
    optimiser = torch.optim.Adam(peer.network.parameters(), lr=0.001)
    numbers = {label: i for i, label in enumerate(peer.labels)}
    sentences = [(peer._row(words), [numbers[label] for label in labels]) for words, labels in train]
    rng = random.Random(0)
    while True:
        peer._epoch(sentences, optimiser, rng)
        yield


if __name__ == "__main__":
    sys.exit(main())
