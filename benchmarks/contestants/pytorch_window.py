"""A window network with a CRF in PyTorch and pytorch-crf, as home-made taggers have it.

The network of Postil's preset ``window-sll``: five words of 50 dimensions with caps classes of 5, 300 hidden units,
hardtanh, dropout, a CRF over the labels; and its batches: as many sentences, of similar length. Batches are padded; the
windows of a batch are one matrix.

    pytorch_window.py [EPOCHS]
"""

import json
import random
import sys
from pathlib import Path
from typing import Any

import torch
from protocol import Contestant, Stopwatch, serve
from torch import nn
from torchcrf import CRF

WINDOW, WORD, CAPS, HIDDEN = 5, 50, 5, 300
PADDING, UNKNOWN = 0, 1


def batch_size(sentences: int) -> int:
    """As Postil's presets choose it: a small corpus needs more steps than a large one. Larger batches are faster."""
    return max(8, min(32, sentences // 90))


def caps(word: str) -> int:
    """1 to 4: all lower, all upper, first upper, other."""
    return 1 if word.islower() else 2 if word.isupper() else 3 if word[:1].isupper() else 4


class Network(nn.Module):
    def __init__(self, words: int, labels: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, WORD, padding_idx=PADDING)
        self.caps = nn.Embedding(5, CAPS, padding_idx=PADDING)
        self.noise = nn.Dropout(0.3)
        self.hidden = nn.Linear(WINDOW * (WORD + CAPS), HIDDEN)
        self.output = nn.Linear(HIDDEN, labels)
        self.crf = CRF(labels, batch_first=True)

    def scores(self, words: torch.Tensor, classes: torch.Tensor) -> torch.Tensor:
        x = self.noise(torch.cat([self.words(words), self.caps(classes)], dim=2))  # (B, T, D)
        padded = nn.functional.pad(x, (0, 0, WINDOW // 2, WINDOW // 2))
        windows = padded.unfold(1, WINDOW, 1).flatten(2)  # (B, T, D * WINDOW)
        return self.output(self.noise(nn.functional.hardtanh(self.hidden(windows))))


class PyTorchWindow(Contestant):
    def __init__(self, epochs: int) -> None:
        self.epochs = epochs

    def train(self, train: list[Any], model: str, stopwatch: Stopwatch) -> None:
        torch.manual_seed(0)
        self.labels = sorted({label for _, labels in train for label in labels})
        known = sorted({word.lower() for words, _ in train for word in words})
        self.known = {word: i + 2 for i, word in enumerate(known)}
        self.network = Network(len(self.known) + 2, len(self.labels))
        optimiser = torch.optim.Adam(self.network.parameters(), lr=0.001)
        numbers = {label: i for i, label in enumerate(self.labels)}
        sentences = [(self._row(words), [numbers[label] for label in labels]) for words, labels in train]
        rng = random.Random(0)
        for _ in range(self.epochs):
            self._epoch(sentences, optimiser, rng)
            stopwatch.checkpoint()
            if stopwatch.is_over:
                break
        self._save(model)

    def _epoch(self, sentences: list[Any], optimiser: torch.optim.Optimizer, rng: random.Random) -> None:
        """Batches of similar length in random order; one word in twenty-five becomes the unknown word."""
        self.network.train()
        order = sorted(range(len(sentences)), key=lambda i: (len(sentences[i][1]), rng.random()))
        size = batch_size(len(sentences))
        batches = [order[i : i + size] for i in range(0, len(order), size)]
        rng.shuffle(batches)
        for batch in batches:
            words, classes, mask = _padded([sentences[i][0] for i in batch])
            words = torch.where((torch.rand(words.shape) < 0.04) & mask, UNKNOWN, words)
            gold = nn.utils.rnn.pad_sequence([torch.tensor(sentences[i][1]) for i in batch], batch_first=True)
            loss = -self.network.crf(self.network.scores(words, classes), gold, mask=mask, reduction="mean")
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

    def _row(self, words: list[str]) -> tuple[list[int], list[int]]:
        return [self.known.get(word.lower(), UNKNOWN) for word in words], [caps(word) for word in words]

    def tag(self, sentences: list[list[str]]) -> list[list[str]]:
        self.network.eval()
        found: list[list[str]] = [[] for _ in sentences]
        order = sorted((i for i in range(len(sentences)) if sentences[i]), key=lambda i: len(sentences[i]))
        with torch.no_grad():
            for first in range(0, len(order), 128):
                batch = order[first : first + 128]
                words, classes, mask = _padded([self._row(sentences[i]) for i in batch])
                paths = self.network.crf.decode(self.network.scores(words, classes), mask=mask)
                for i, path in zip(batch, paths, strict=True):
                    found[i] = [self.labels[label] for label in path]
        return found

    def _save(self, model: str) -> None:
        Path(model + ".json").write_text(json.dumps({"labels": self.labels, "known": self.known}), encoding="utf8")
        torch.save(self.network.state_dict(), model)

    def load(self, model: str) -> None:
        content = json.loads(Path(model + ".json").read_text(encoding="utf8"))
        self.labels, self.known = content["labels"], content["known"]
        self.network = Network(len(self.known) + 2, len(self.labels))
        self.network.load_state_dict(torch.load(model))


def _padded(rows: list[tuple[list[int], list[int]]]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    words = nn.utils.rnn.pad_sequence([torch.tensor(row[0]) for row in rows], batch_first=True)
    classes = nn.utils.rnn.pad_sequence([torch.tensor(row[1]) for row in rows], batch_first=True)
    return words, classes, words != PADDING


if __name__ == "__main__":
    serve(PyTorchWindow(int(sys.argv[1]) if len(sys.argv) > 1 else 20))
