"""Recursive networks over trees in PyTorch, by level and node by node; imported in PyTorch's environment only.

By level they work on the lists that ``levels_in_python`` makes of a batch of trees, as a PyTorch user's loop has to, or
on our own schedules, made by NumPy.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from postil.network.tree import TreeSchedule
from postil.text import Tree


class Levels(NamedTuple):
    """A batch of trees whose rows are sorted by height: words first, then level by level."""

    words: torch.Tensor
    children: list[torch.Tensor]  # (N, 2) rows, for each height from 1
    gold: torch.Tensor  # a label a row
    roots: torch.Tensor

    @classmethod
    def given(cls, plan: TreeSchedule, words: np.ndarray, gold: np.ndarray) -> "Levels":
        """Made by NumPy, as ours are."""
        children = torch.from_numpy(plan.children)
        parts = torch.from_numpy(words), [children[a:b] for a, b in plan.levels]
        return cls(*parts, torch.from_numpy(gold[plan.nodes]), torch.from_numpy(plan.roots))


def levels_in_python(trees: Sequence[Tree], words: Mapping[str, int], labels: Mapping[str, int]) -> Levels:
    """From trees to lists in one walk over their nodes; a node's place is its height and its number there."""
    ids: list[int] = []
    children: list[list[Any]] = [[]]
    gold: list[list[int]] = [[]]
    roots = []
    for tree in trees:
        places: list[tuple[int, int]] = []
        for label, word, pair in zip(tree.labels, tree.words, tree.children, strict=True):
            if pair:
                left, right = places[pair[0]], places[pair[1]]
                height = (left[0] if left[0] > right[0] else right[0]) + 1
                if height == len(children):
                    children.append([])
                    gold.append([])
                places.append((height, len(children[height])))
                children[height].append((left, right))
            else:
                height = 0
                places.append((0, len(ids)))
                ids.append(words[word])
            gold[height].append(labels[label])
        roots.append(places[-1])
    starts = [0, *accumulate(map(len, gold))]
    rows = [[(starts[h] + i, starts[k] + j) for (h, i), (k, j) in level] for level in children[1:]]
    return Levels(
        torch.tensor(ids),
        [torch.tensor(level) for level in rows],
        torch.tensor([label for level in gold for label in level]),
        torch.tensor([starts[h] + i for h, i in roots]),
    )


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

    def by_level(self, levels: Levels, fixed: torch.Tensor | None = None) -> torch.Tensor:
        """Scores (M, L) of all rows."""
        X = self.leaves(levels.words, fixed)
        for children in levels.children:
            X = torch.cat([X, self.compose(X[children[:, 0]], X[children[:, 1]])])
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
