"""Recursive networks over trees in PyTorch, by level and node by node; imported in PyTorch's environment only.

By level they are given our own schedules, made by NumPy: what is compared is the network, not the preparation of trees.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import nn

from postil.features.trees import Schedule


class TreeNetwork(nn.Module):
    """The compositions of postil.network with the same shapes and first values (Xavier's)."""

    def __init__(
        self,
        composition: str,
        table: np.ndarray,
        hidden: int,
        labels: int,
        *,
        fixed: np.ndarray | None = None,
        word_noise: float = 0.0,
        noise: float = 0.0,
    ) -> None:
        """``table`` (V, D) holds the first vectors of words; with ``fixed`` (V', D) theirs are added to these."""
        super().__init__()
        D = table.shape[1]
        self.fixed = None if fixed is None else torch.from_numpy(fixed)
        self.composition, self.hidden = composition, hidden
        self.words = nn.Embedding.from_pretrained(torch.from_numpy(table), freeze=False)
        self.word_noise, self.noise = nn.Dropout(word_noise), nn.Dropout(noise)
        same = hidden == D or composition == "tree-lstm"
        self.leaf_map = nn.Identity() if same else nn.Linear(D, hidden)
        if composition == "sum":
            self.linear = nn.Linear(hidden, hidden, bias=False)
        elif composition == "tree-lstm":
            self.leaf = nn.Linear(D, 3 * hidden)
            self.linear = nn.Linear(2 * hidden, 5 * hidden)
        else:
            self.linear = nn.Linear(2 * hidden, hidden)
        if composition == "tensor":
            self.V = nn.Parameter(torch.empty(hidden, 2 * hidden, 2 * hidden))
            nn.init.uniform_(self.V, -0.5 / hidden**1.5, 0.5 / hidden**1.5)
        self.out = nn.Linear(hidden, labels)
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                nn.init.xavier_uniform_(layer.weight)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)
        if composition == "tree-lstm":
            self.linear.bias.data[hidden : 3 * hidden] = 1  # forget gates begin open

    def leaves(self, words: torch.Tensor, fixed: torch.Tensor | None = None) -> torch.Tensor:
        """(n, H) vectors of words; for a Tree-LSTM (n, 2 H): vector and memory."""
        X = self.words(words)
        if self.fixed is not None:
            X = X + self.fixed[fixed]
        X = self.leaf_map(self.word_noise(X))
        if self.composition != "tree-lstm":
            return X
        o, i, u = self.leaf(X).chunk(3, -1)
        c = torch.sigmoid(i) * torch.tanh(u)
        return torch.cat([torch.sigmoid(o) * torch.tanh(c), c], -1)

    def compose(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        """Two parts to a whole, (N, H) or single vectors (H,)."""
        if self.composition == "sum":
            return torch.tanh(self.linear(left + right))
        if self.composition == "tree-lstm":
            H = self.hidden
            o, f, g, i, u = self.linear(torch.cat([left[..., :H], right[..., :H]], -1)).chunk(5, -1)
            c = torch.sigmoid(i) * torch.tanh(u) + torch.sigmoid(f) * left[..., H:] + torch.sigmoid(g) * right[..., H:]
            return torch.cat([torch.sigmoid(o) * torch.tanh(c), c], -1)
        both = torch.cat([left, right], -1)
        Z = self.linear(both)
        if self.composition == "tensor":
            Z = Z + torch.einsum("...j,djk,...k->...d", both, self.V, both)
        return torch.tanh(Z)

    def by_level(self, plan: Schedule, words: torch.Tensor, fixed: torch.Tensor | None = None) -> torch.Tensor:
        """Scores (M, L) of the rows of a schedule."""
        X = self.leaves(words, fixed)
        children = torch.from_numpy(plan.children)
        for a, b in plan.levels:
            X = torch.cat([X, self.compose(X[children[a:b, 0]], X[children[a:b, 1]])])
        return self.out(self.noise(X[:, : self.hidden]))

    def node_by_node(self, trees: list[list[tuple[int, ...]]], words: torch.Tensor) -> torch.Tensor:
        """Scores (M, L) in post-order, by a function that calls itself, as tutorials do it.

        ``trees`` are children per node, ``words`` in their order.
        """
        found: list[torch.Tensor] = []
        rows = iter(self.leaves(words).unbind(0))
        for children in trees:
            self._composed(len(children) - 1, children, rows, found)
        return self.out(self.noise(torch.stack(found)[:, : self.hidden]))

    def _composed(
        self, node: int, children: list[tuple[int, ...]], rows: Iterator[torch.Tensor], found: list[torch.Tensor]
    ) -> torch.Tensor:
        if children[node]:
            left, right = (self._composed(child, children, rows, found) for child in children[node])
            X = self.compose(left, right)
        else:
            X = next(rows)
        found.append(X)
        return X


def learn(network: nn.Module, optimiser: Any, scores: Callable[[], torch.Tensor], gold: torch.Tensor) -> None:
    """One step."""
    loss = nn.functional.cross_entropy(scores(), gold)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()


def first_table(V: int, D: int) -> np.ndarray:
    """Word vectors as postil's begin."""
    bound = np.sqrt(3 / D)
    return np.random.default_rng(0).uniform(-bound, bound, (V, D)).astype(np.float32)
