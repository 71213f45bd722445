"""Trees to integers: many trees as flat arrays, and the order in which a batch of them is computed, level by level.

A level holds the nodes of one height, of all trees of the batch: their children stand on the levels before, so a whole
level is computed at once. The rows of a batch are sorted by level, so that a level is a slice of one array.

    (3 (2 not) (3 (3 very) (2 bad)))        row     0    1     2      3    4
                                            height  0    0     0      1    2
                                            node    not  very  bad    (very bad)    (not (very bad))
                                            children                  1 2           0 3
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import final

import numpy as np

from postil.arrays import Array, offsets_from_lengths
from postil.errors import DataError
from postil.text.tree import Tree


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Schedule:
    """A batch of B trees with M nodes, n of them leaves, in rows sorted by height; P = M - n phrases follow."""

    nodes: Array  # (M,) which node of the forest each row is
    leaves: int  # n
    levels: list[tuple[int, int]]  # inner nodes first:end of each height from 1, counted without the leaves
    children: Array  # (P, 2) rows of the left and the right child
    parents: Array  # (M,) 2 i + side for the children of inner node i, side 0 is left; 2 P at roots
    roots: Array  # (B,) rows

    @property
    def inner(self) -> int:
        return len(self.children)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Forest:
    """B binary trees with N nodes, those of each tree in post-order and one tree after the other."""

    back: Array  # (N, 2) how many places before its parent each child stands; 0 at leaves
    heights: Array  # (N,)
    offsets: Array  # (B + 1,)

    @classmethod
    def of(cls, trees: Sequence[Tree]) -> "Forest":
        """Work the flat arrays out, once for all batches."""
        children = np.array([pair or (-1, -1) for tree in trees for pair in tree.children], np.int64).reshape(-1, 2)
        offsets = offsets_from_lengths([len(tree.children) for tree in trees])
        own = np.arange(len(children)) - np.repeat(offsets[:-1], np.diff(offsets))
        back = np.where(children >= 0, own[:, None] - children, 0)
        heights = np.fromiter(chain.from_iterable(map(_heights, trees)), np.int32, len(children))
        return cls(back=back, heights=heights, offsets=offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def tree_heights(self) -> Array:
        """(B,) heights of the roots."""
        return np.asarray(self.heights[self.offsets[1:] - 1])

    @property
    def sizes(self) -> Array:
        """(B,) nodes of each tree."""
        return np.asarray(self.offsets[1:] - self.offsets[:-1])

    def schedule(self, which: Array) -> Schedule:
        """The rows of some of the trees, sorted by height; within a height in the order given."""
        starts, sizes = self.offsets[which], self.sizes[which]
        ends = np.cumsum(sizes)
        M = int(ends[-1])
        nodes = np.arange(M) + np.repeat(starts - (ends - sizes), sizes)
        heights = self.heights[nodes]
        order = np.argsort(heights.astype(np.int16) if heights.max(initial=0) < 32_000 else heights, kind="stable")
        row_of = np.empty(M, np.int64)
        row_of[order] = np.arange(M)
        per_height = np.bincount(heights)
        leaves = int(per_height[0])
        nodes = nodes[order]
        children = row_of[order[leaves:, None] - self.back[nodes[leaves:]]]
        parents = np.full(M, children.size)
        parents[children.ravel()] = np.arange(children.size)
        cuts = (np.cumsum(per_height) - leaves).tolist()
        return Schedule(
            nodes=nodes,
            leaves=leaves,
            levels=list(pairwise(cuts)),
            children=children,
            parents=parents,
            roots=row_of[ends - 1],
        )


def _heights(tree: Tree) -> list[int]:
    heights: list[int] = []
    append = heights.append
    for pair in tree.children:
        if pair:
            left, right = heights[pair[0]], heights[pair[1]]
            append((left if left > right else right) + 1)
        else:
            append(0)
    return heights


def checked_binary(tree: Tree, where: str) -> Tree:
    """``tree`` itself, if every inner node has two children and there is a leaf."""
    if not len(tree.children) or not all(len(pair) in (0, 2) for pair in tree.children):
        raise DataError("a tree of the network", expected="two children at every inner node", where=where)
    return tree
