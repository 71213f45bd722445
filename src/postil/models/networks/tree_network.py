"""The network of a tree classifier: word vectors, a composition up the trees, a softmax at the nodes (D1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, final

import numpy as np

from postil import graph
from postil.arrays import Array
from postil.features.words import WordFeatures, distinct
from postil.graph import Input, Node, Parameterised, Result
from postil.models.config import TreeConfig
from postil.network import INITIALISERS, Dropout, Linear, LookupTable
from postil.network.layer import UNUSED, fan_in_variance
from postil.network.layer import zeros as zero_values
from postil.network.tree import Composer, Forest, TreeSchedule, new_composition
from postil.objectives import l2, softmax_cross_entropy
from postil.text.trees.tree import Tree


@final
@dataclass(frozen=True, eq=False)
class TreeInputs:
    """Many trees as arrays: their nodes, and the words at the leaves, U distinct forms."""

    forest: Forest
    forms: Array  # (N,) the form of each leaf; anything at inner nodes
    form_words: Array  # (U,) row of the table of each form
    form_vectors: Array  # (U,) row of the fixed vectors

    @classmethod
    def of(cls, trees: Sequence[Tree], features: WordFeatures) -> "TreeInputs":
        """The arrays of binary trees; every distinct word is looked up once."""
        forest = Forest.of([tree.children for tree in trees])
        tokens = [word for word in chain.from_iterable([tree.words for tree in trees]) if word is not None]
        words, places, _ = distinct([tokens])
        ids = features.rows(words)
        forms = np.zeros(len(forest.heights), np.int64)
        forms[forest.heights == 0] = places
        vectors = ids[:, -1] if features.config.vector_dim else np.zeros(len(ids))
        of_forms = (rows.astype(np.int64) for rows in (ids[:, 0], vectors))
        return cls(forest, forms, *of_forms)

    @property
    def uses(self) -> Array:
        """(2, U): how often each form is the left and how often the right part of a phrase."""
        places = np.flatnonzero(self.forest.heights)
        counts = []
        for side in (0, 1):
            children = places - self.forest.back[places, side]
            leaves = children[self.forest.heights[children] == 0]
            counts.append(np.bincount(self.forms[leaves], minlength=len(self.form_words)))
        return np.stack(counts)

    def selected(self, trees: Array) -> "TreeBatch":
        plan = self.forest.schedule(trees)
        forms = self.forms[plan.nodes[: plan.leaves]]
        return TreeBatch(plan=plan, words=self.form_words[forms], vectors=self.form_vectors[forms])


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class TreeBatch:
    """Some trees in the order in which they are computed."""

    plan: TreeSchedule
    words: Array  # (n,)
    vectors: Array  # (n,)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class TreeExample:
    """A batch with its gold: labels (R,) of the ``rows`` (R,), of all rows if that is None; their weights (R,)."""

    batch: TreeBatch
    rows: Array | None
    gold: Array
    weights: Array | None = None


@final
class TreeNetwork(Parameterised):
    """L scores for every node of every tree.

    A word's vector is a row of the learned table; with fixed ``vectors`` (V', D) it is the word's row of these plus
    that of the table, which then begins with zeros: what is learned is how far a word moves from its fixed vector.
    A word that only the fixed vectors know has a vector too.
    """

    PATHS = {"table": "words", "leaf_map": "leaves"}

    def __init__(
        self,
        config: TreeConfig,
        L: int,
        *,
        word_counts: Array,
        vectors: Array | None,
        rng: np.random.Generator | None,
        dtype: Any = np.float32,
    ) -> None:
        """``word_counts`` (V,) says how often each row of the table occurs in training.

        Without ``rng`` all parameters are zeros, to be replaced by those of a model file.
        """
        self.config, self.vectors, self.word_counts = config, vectors, word_counts
        D, H = config.word_dim if vectors is None else vectors.shape[1], config.hidden
        initialise, first = INITIALISERS[config.initialiser], fan_in_variance if vectors is None else zero_values
        learns_words = vectors is None or config.learn_vectors
        make: dict[str, Any] = {"rng": rng or UNUSED, "dtype": dtype}
        self.table = LookupTable(len(word_counts), D, initialise=first, **make) if learns_words else None
        if self.table is not None:
            self.table.table.pace = config.word_rate
        self.word_noise, self.node_noise = Dropout(config.input_dropout), Dropout(config.hidden_dropout)
        needs_map = D != H and config.composition != "tree-lstm"
        self.leaf_map = Linear(D, H, initialise=initialise, **make) if needs_map else None
        make |= {"initialise": initialise}
        self.composition = new_composition(config.composition, D, H, activation=config.activation, **make)
        self.output = Linear(H, L, **make)

    def loss(self, shard: TreeExample, *, rng: np.random.Generator) -> Node:
        """Mean cross-entropy at the labelled nodes, and the regulariser."""
        X: Node = self.node_noise(self.node_vectors(shard.batch, rng), rng=rng)
        if shard.rows is not None:
            X = graph.take_rows(X, shard.rows)
        loss: Node = softmax_cross_entropy(self.output(X), shard.gold, shard.weights)
        touched = {self.table.table: shard.batch.words} if self.table is not None else None
        return loss + l2(self.parameters().values(), self.config.l2, touched=touched) if self.config.l2 else loss

    def weight(self, shard: TreeExample) -> float:
        """How much the mean of a part weighs in that of the whole."""
        return float(len(shard.gold) if shard.weights is None else shard.weights.sum())

    def node_vectors(self, batch: TreeBatch, rng: np.random.Generator | None = None) -> Result:
        """A node (M, H): the vectors of all rows of the schedule."""
        words = self.word_noise(self.word_vectors(batch.words, batch.vectors, rng), rng=rng)
        return self.composition(self.mapped(words), batch.plan)

    def composer(self, inputs: TreeInputs) -> Composer:
        """A function that composes batches of these trees for prediction, where a word is the same everywhere."""
        words = self.mapped(self.word_vectors(inputs.form_words, inputs.form_vectors)).value
        return self.composition.composer(words, lambda: inputs.uses)

    def mapped(self, words: Node) -> Node:
        """Word vectors (n, D) in the width of the composition's leaves."""
        return words if self.leaf_map is None else self.leaf_map(words)

    def word_vectors(self, words: Array, vectors: Array, rng: np.random.Generator | None = None) -> Node:
        """A node (n, D): the vectors of words (n,), of the table and fixed. With ``rng`` some words become unknown."""
        fixed = None if self.vectors is None else self.vectors[vectors].astype(self.dtype, copy=False)
        if self.table is None:
            assert fixed is not None, "there are vectors of one kind or the other"
            return Input(fixed, "word vectors")
        rate = self.config.word_dropout
        if rng is not None and rate:
            words = np.where(rng.random(len(words)) < rate / (rate + self.word_counts[words]), 0, words)
        learnt: Node = self.table(words)
        return learnt if fixed is None else learnt + fixed

    @property
    def dtype(self) -> Any:
        return self.output.W.dtype

    def scores(self, X: Array) -> Array:
        """Scores (R, L) of vectors (R, H)."""
        return np.asarray(X @ self.output.W.value.T + self.output.b.value)  # type: ignore[union-attr]
