"""Viterbi and forward-backward as graphs of ONNX.

A batch is padded: scores (B, T, L), and the number of words of each sentence. Each recursion is a Scan over time. Since
a Scan over nothing is an error, every sentence begins with a virtual row, whose only label is one more, number L, the
start:

    row      0      1      2    …    T
    label    L     y_1    y_2   …   y_T        transitions[L, j] = start_j, and nothing goes back to L

So a sentence of one word, or of none, is like any other. After its last word a sentence keeps its state.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from postil.arrays import Array
from postil.export.onnx_graph import FORBIDDEN, Graph, fixed
from postil.objectives.lattice import ChainScores

_FLOAT = np.float64  # of all recursions, as in Postil itself


class Answers(NamedTuple):
    """The names of what comes out of a lattice."""

    labels: str  # (B, T) int64 the best labels; at padding they mean nothing
    marginals: str  # (B, T, L) float64
    probability: str  # (B,) float64 of the best labels as a whole
    beginnings: str  # (B, T + 1, L + 1) float64, log-scores of everything up to a row
    endings: str  # (B, T + 1, L + 1) float64, log-scores of everything after it
    rows: str  # (B, T + 1, L + 1) float64, the scores of the rows themselves
    log_z: str  # (B,) float64


@final
@dataclass(frozen=True, kw_only=True)
class LatticeGraph:
    """What a lattice takes besides the scores of words: all float64, impossible steps -inf."""

    chain: ChainScores
    bonus: Array | None = None  # (L,) added to labels where they are chosen, not where they are judged

    @property
    def L(self) -> int:
        return self.chain.labels

    @property
    def transitions(self) -> Array:
        """(L + 1, L + 1) with the virtual label."""
        table = np.full((self.L + 1, self.L + 1), FORBIDDEN)
        table[:-1, :-1], table[-1, :-1], table[-1, -1] = fixed(self.chain.transitions), fixed(self.chain.start), 0.0
        return table

    @property
    def end(self) -> Array:
        """(L + 1,); a sentence without words may end at once."""
        return np.append(fixed(self.chain.end), 0.0)

    def answers(self, g: Graph, unary: str, is_word: str) -> Answers:
        """Nodes from scores (B, T, L) float64, and which places are words (B, T) boolean."""
        rows, is_row = self._with_start(g, unary, is_word)
        by_time = [g.add("Transpose", value, perm=[1, 0, 2]) for value in (rows, is_row)]
        labels = self._best(g, *by_time)  # (T + 1, B, 1)
        beginnings, endings, log_z = self._messages(g, *by_time)
        sums = g.add("Add", beginnings, endings)
        marginals = g.slice(g.slice(g.add("Softmax", sums, axis=2), 1, None, 1), 0, self.L, 2)
        labels = g.add("Transpose", g.add("Squeeze", labels, g.constant([2], np.int64)), perm=[1, 0])  # (B, T + 1)
        score = self._path_score(g, rows, labels, is_word)
        probability = g.add("Exp", g.add("Min", g.add("Sub", score, log_z), g.constant(0.0, _FLOAT)))
        of_words = g.add("Min", g.slice(labels, 1, None, 1), g.constant(self.L - 1, np.int64))  # of no words: the start
        return Answers(of_words, marginals, probability, beginnings, endings, rows, log_z)

    def _with_start(self, g: Graph, unary: str, is_word: str) -> tuple[str, str]:
        """(B, T + 1, L + 1) scores with the virtual row and label, and (B, T + 1, 1) which rows are there."""
        B, T = g.size(unary, 0), g.size(unary, 1)
        impossible = g.filled(FORBIDDEN, _FLOAT, g.sizes(B, T, 1))
        first = g.filled(np.append(np.full((1, 1, self.L), FORBIDDEN), 0.0).reshape(1, 1, -1), _FLOAT, g.sizes(B, 1, 1))
        rows = g.add("Concat", first, g.add("Concat", unary, impossible, axis=2), axis=1)
        is_row = g.add("Concat", g.filled([[True]], np.bool_, g.sizes(B, 1)), is_word, axis=1)
        return rows, g.unsqueeze(is_row, 2)

    def _best(self, g: Graph, rows: str, is_row: str) -> str:
        """The best labels (T + 1, B, 1), of rows (T + 1, B, L + 1). Ties go to the lower label, from the last word."""
        S = self.L + 1
        if self.bonus is not None:
            rows = g.add("Add", rows, g.constant(np.append(self.bonus, 0.0), _FLOAT))
        A, itself = g.constant(self.transitions, _FLOAT), g.constant(np.arange(S)[None], np.int64)

        def step(h: Graph, states: list[str], items: list[str]) -> Any:
            ((delta,), (row, is_there)) = states, items
            extended = h.add("Add", h.unsqueeze(delta, 2), A)  # (B, S, S) from i to j
            best = h.add("Add", h.reduce("ReduceMax", extended, 1), row)
            pointers = h.add("ArgMax", extended, axis=1, keepdims=0)
            kept = h.add("Where", is_there, best, delta), h.add("Where", is_there, pointers, itself)
            return [(kept[0], _FLOAT)], [(kept[1], np.int64)]

        nothing = g.filled(np.zeros((1, S)), _FLOAT, g.sizes(g.size(rows, 1), 1))
        delta, pointers = g.scan(step, [(nothing, _FLOAT)], [(rows, _FLOAT), (is_row, np.bool_)])
        last = g.add("ArgMax", g.add("Add", delta, g.constant(self.end, _FLOAT)), axis=1, keepdims=1)

        def back(h: Graph, states: list[str], items: list[str]) -> Any:
            ((label,), (pointer,)) = states, items
            before = h.add("GatherElements", pointer, label, axis=1)
            return [(before, np.int64)], [(label, np.int64)]

        _, labels = g.scan(back, [(last, np.int64)], [(pointers, np.int64)], backwards=True)
        return labels

    def _messages(self, g: Graph, rows: str, is_row: str) -> tuple[str, str, str]:
        """Log-scores of all beginnings and of all endings (B, T + 1, S), and log Z (B,)."""
        A, end = g.constant(self.transitions, _FLOAT), g.constant(self.end, _FLOAT)
        S = self.L + 1

        def forward(h: Graph, states: list[str], items: list[str]) -> Any:
            ((alpha,), (row, is_there)) = states, items
            new = h.add("Add", _log_sum(h, h.add("Add", h.unsqueeze(alpha, 2), A), 1), row)
            kept = h.add("Where", is_there, new, alpha)
            return [(kept, _FLOAT)], [(kept, _FLOAT)]

        # The first row comes after one that is certain to be the start.
        certain = np.append(np.full((1, self.L), FORBIDDEN), [[0.0]], axis=1)
        sizes = g.sizes(g.size(rows, 1), 1)
        items = [(rows, _FLOAT), (is_row, np.bool_)]
        alpha, beginnings = g.scan(forward, [(g.filled(certain, _FLOAT, sizes), _FLOAT)], items)

        def backward(h: Graph, states: list[str], items: list[str]) -> Any:
            ((beta,), (row, is_there)) = states, items
            after = h.unsqueeze(h.add("Add", row, beta), 1)  # (B, 1, S)
            new = h.add("Where", is_there, _log_sum(h, h.add("Add", A, after), 2), beta)
            return [(new, _FLOAT)], [(beta, _FLOAT)]

        ends = g.filled(self.end.reshape(1, S), _FLOAT, sizes)
        _, endings = g.scan(backward, [(ends, _FLOAT)], items, backwards=True)
        log_z = _log_sum(g, g.add("Add", alpha, end), 1)
        beginnings, endings = (g.add("Transpose", value, perm=[1, 0, 2]) for value in (beginnings, endings))
        return beginnings, endings, log_z

    def _path_score(self, g: Graph, rows: str, labels: str, is_word: str) -> str:
        """(B,) the scores of labels (B, T + 1), whose first is the virtual one, in rows (B, T + 1, S)."""
        before, now = g.slice(labels, 0, -1, 1), g.slice(labels, 1, None, 1)
        places = g.add("Add", g.add("Mul", before, g.constant(self.L + 1, np.int64)), now)
        steps = g.add("Gather", g.constant(self.transitions.reshape(-1), _FLOAT), places)  # (B, T)
        words = g.add("GatherElements", g.slice(rows, 1, None, 1), g.unsqueeze(now, 2), axis=2)
        scores = g.add("Add", steps, g.add("Squeeze", words, g.constant([2], np.int64)))
        total = g.reduce("ReduceSum", g.add("Where", is_word, scores, g.constant(0.0, _FLOAT)), 1)
        last = g.add("Squeeze", g.slice(labels, -1, None, 1), g.constant([1], np.int64))  # kept after the last word
        return g.add("Add", total, g.add("Gather", g.constant(self.end, _FLOAT), last))


def _log_sum(g: Graph, values: str, axis: int) -> str:
    """log Σ exp along an axis, by its largest value."""
    largest = g.reduce("ReduceMax", values, axis, keep=True)
    powers = g.reduce("ReduceSum", g.add("Exp", g.add("Sub", values, largest)), axis)
    return g.add("Add", g.add("Log", powers), g.add("Squeeze", largest, g.constant([axis], np.int64)))
