"""Trees to integers: many trees as flat arrays, and the order in which a batch of them is computed, level by level.

A level holds the nodes of one height, of all trees of the batch: their children are on the levels before, so a whole
level is computed at once. The rows of a batch are sorted by level, so that a level is a slice of one array.

    (3 (2 not) (3 (3 very) (2 bad)))        row     0    1     2      3    4
                                            height  0    0     0      1    2
                                            node    not  very  bad    (very bad)    (not (very bad))
                                            children                  1 2           0 3
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import final

import numpy as np

from postil import kernels
from postil.arrays import Array, offsets_from_lengths
from postil.errors import DataError
from postil.text.trees.tree import Tree, widths_of_nodes


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
        """Work the flat arrays out, once for all batches. The trees are binary and have at least one word."""
        offsets = offsets_from_lengths([len(tree.children) for tree in trees])
        widths = widths_of_nodes(trees)
        if widths is None:
            expected = "two children at every inner node, as of Tree.binarised()"
            widest = max(len(children) for tree in trees for children in tree.children)
            raise DataError("trees of a network", expected=expected, got=widest)
        back, heights = kernels.binary_shape(np.frombuffer(widths, np.uint8), offsets)
        # Small numbers are sorted by digits, which is several times as fast.
        small = heights.astype(np.int16) if heights.max(initial=0) <= np.iinfo(np.int16).max else heights
        return cls(back=back, heights=small, offsets=offsets)

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
        count = np.arange(int(ends[-1]))
        nodes = count + np.repeat(starts - (ends - sizes), sizes)
        heights = self.heights.take(nodes)
        order = heights.argsort(kind="stable")
        row_of = np.empty_like(count)
        row_of[order] = count
        per_height = np.bincount(heights)
        leaves = int(per_height[0])
        nodes = nodes.take(order)
        children = row_of.take(order[leaves:, None] - self.back.take(nodes[leaves:], axis=0))
        parents = np.full(len(count), children.size)
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
