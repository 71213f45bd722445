"""The NumPy twin of every compiled kernel: same name, same arguments, same results.

Used where nothing was compiled, and by the tests as the reference. Each works on all sentences of a batch at once, in
the order of time, because a step of NumPy costs the same for one sentence and for a thousand.
"""

import numpy as np

from postil.arrays import Array
from postil.kernels import forward_backward
from postil.kernels.checking import checked_chain
from postil.kernels.forward_backward import NEGLIGIBLE, SCALED, ChainMessages
from postil.kernels.packing import Packing, Scratch, sentence_groups

_SCRATCH = Scratch()

# ------------------------------------------------------------------------------------------------ Viterbi


def viterbi(unary: Array, offsets: Array, transitions: Array, start: Array, end: Array) -> tuple[Array, Array]:
    """The best labelling of every sentence: labels (N,) and scores (B,).

    unary (N, L) float32 or float64, offsets (B + 1,), transitions (L, L), start and end (L,) float64; -inf forbids. Of
    equal paths: the lower label, decided from the last token. Labels mean nothing where the score is -inf.
    """
    unary, offsets, *chain = checked_chain(unary, offsets, transitions, start, end)
    labels, scores = np.empty(len(unary), np.int64), np.empty(len(offsets) - 1)
    for sentences, tokens in sentence_groups(offsets, unary.shape[1]):
        group = offsets[sentences.start : sentences.stop + 1] - tokens.start
        labels[tokens], scores[sentences] = _best_paths(unary[tokens], Packing(group), *chain)
    return labels, scores


def _best_paths(
    unary: Array, packing: Packing, transitions: Array, start: Array, end_scores: Array
) -> tuple[Array, Array]:
    """Back from the last tokens: y_t = argmax_i (δ_t(i) + A_i,y_t+1). No pointers are kept."""
    L = len(start)
    delta = _best_beginnings(unary, packing, transitions, start)  # (N, L), rows in the order of time
    # The end is one more label, number L, that follows each sentence's last token.
    departures = np.empty((L + 1, L))  # one row per next label
    departures[:L], departures[L] = transitions.T, end_scores
    y = np.full(len(packing.order), L)  # (B,) label of the next token
    packed, ended, scores = np.empty(len(delta), np.int64), 0, np.zeros(len(packing.order))
    for first, end in reversed(packing.steps):
        n = end - first
        totals = departures.take(y[:n], axis=0)  # (n, L)
        totals += delta[first:end]
        if n > ended:  # sentences that end here: their best total is the score of the whole path
            scores[packing.order[ended:n]] = totals[ended:].max(axis=1)
            ended = n
        packed[first:end] = y[:n] = totals.argmax(axis=1)
    labels = np.empty_like(packed)
    labels[packing.forward] = packed
    return labels, scores


def _best_beginnings(unary: Array, packing: Packing, transitions: Array, start: Array) -> Array:
    """δ of every token, (N, L) in the order of time. Inside, labels come first: long inner loops for the maximum."""
    (N, L), B = unary.shape, len(packing.order)
    delta = _SCRATCH.array("delta", L, N)  # turned from u into δ step by step
    delta[:] = unary.take(packing.forward, axis=0).T
    steps = _SCRATCH.array("steps", L, L, B)  # A_ij for every sentence
    steps[:] = transitions[:, :, None]
    sums, best = _SCRATCH.array("sums", L, L, B), _SCRATCH.array("best", L, B)
    before = delta[:, :0]
    for first, end in packing.steps:
        here, n = delta[:, first:end], end - first
        if first == 0:
            here += start[:, None]
        else:
            if sums.shape[2] != n:
                steps, sums, best = steps[:, :, :n], _SCRATCH.array("sums", L, L, n), _SCRATCH.array("best", L, n)
            np.add(before[:, None, :n], steps, sums)
            here += np.maximum.reduce(sums, axis=0, out=best)
        before = here
    return delta.T.copy()


# ------------------------------------------------------------------------------------------------ k best


def ranked_paths(
    unary: Array, offsets: Array, transitions: Array, start: Array, end: Array, k: int
) -> tuple[Array, Array]:
    """Labels (N, k) and scores (B, k) of the k best paths of every sentence, best first; arguments as for ``viterbi``.

    A path that does not exist scores -inf, and its labels mean nothing.
    """
    unary, offsets, transitions, start, end = checked_chain(unary, offsets, transitions, start, end)
    paths, scores = np.empty((len(unary), k), np.int64), np.empty((len(offsets) - 1, k))
    for sentences, tokens in sentence_groups(offsets, unary.shape[1]):
        group = offsets[sentences.start : sentences.stop + 1] - tokens.start
        paths[tokens], scores[sentences] = _ranked_group(unary[tokens], Packing(group), transitions, start, end, k)
    return paths, scores


def _ranked_group(
    unary: Array, packing: Packing, transitions: Array, start: Array, end_scores: Array, k: int
) -> tuple[Array, Array]:
    ordered = unary[packing.forward]
    ordered_scores, sources, pointers = _ranked_beginnings(ordered, packing, transitions, start, end_scores, k)
    paths = np.empty((len(unary), k), np.int64)
    for (first, end), pointer in zip(reversed(packing.steps), reversed(pointers), strict=True):
        n = end - first
        label, rank = np.divmod(sources[:n], k)  # (n, k)
        paths[packing.forward[first:end]] = label
        sources[:n] = pointer[np.arange(n)[:, None], label, rank]
    scores = np.empty_like(ordered_scores)
    scores[packing.order] = ordered_scores
    return paths, scores


def _ranked_beginnings(
    unary: Array, packing: Packing, transitions: Array, start: Array, end_scores: Array, k: int
) -> tuple[Array, Array, list[Array]]:
    """Scores (B, k) of the best whole paths, where they come from (B, k), and each step's pointers (n, L, k).

    A pointer is source label × k + rank. The end is reached like a label: by a step into a table with one column.
    """
    L, alive = len(start), [*(end - first for first, end in packing.steps), 0]
    scores = np.full((len(packing.order), k), -np.inf)
    scores[alive[0] :, 0] = 0  # a sentence without tokens has one path, the empty one
    sources = np.zeros((len(packing.order), k), np.int64)
    delta, pointers = np.full((0, 0, 0), -np.inf), []
    for (first, end), survivors in zip(packing.steps, alive[1:], strict=True):
        if first == 0:
            delta, pointer = np.full((end, L, k), -np.inf), np.zeros((end, L, k), np.int64)
            delta[:, :, 0] = start
        else:
            delta, pointer = _ranked_step(delta[: end - first], transitions)
        delta += unary[first:end, :, None]
        pointers.append(pointer)
        final, source = _ranked_step(delta[survivors:], end_scores[:, None])
        scores[survivors : end - first], sources[survivors : end - first] = final[:, 0], source[:, 0]
    return scores, sources, pointers


def _ranked_step(delta: Array, table: Array) -> tuple[Array, Array]:
    """The k best of δ(i, r) + table (L, J) into each j, with pointers.  delta (n, L, k) -> two (n, J, k)."""
    (n, _, k), J = delta.shape, table.shape[1]
    best, pointers = np.empty((n, J, k)), np.empty((n, J, k), np.int64)
    following = np.pad(delta, ((0, 0), (0, 0), (0, 1)), constant_values=-np.inf)  # after the last rank comes nothing
    offers = delta[:, None, :, 0] + table.T  # (n, J, L) what each source i offers now
    taken = np.zeros(offers.shape, np.int64)  # how many of its beginnings have been taken
    b, j = np.ogrid[:n, :J]
    for r in range(k):
        i = offers.argmax(axis=2)  # (n, J)
        rank = taken[b, j, i]
        best[:, :, r], pointers[:, :, r] = offers[b, j, i], i * k + rank
        taken[b, j, i] += 1
        offers[b, j, i] = following[b, i, rank + 1] + table[i, j]
    return best, pointers


# ------------------------------------------------------------------------------------------------ forward-backward


def chain_messages(unary: Array, offsets: Array, transitions: Array, start: Array, end: Array) -> ChainMessages:
    """Forward-backward with scaled probabilities; arguments as for ``viterbi``."""
    unary, *others = checked_chain(unary, offsets, transitions, start, end)
    return forward_backward.chain_messages(SCALED, unary.astype(np.float64, copy=False), *others)


def chain_moments(
    unary: Array, offsets: Array, transitions: Array, start: Array, end: Array
) -> tuple[Array, Array, Array, Array]:
    """log Z (B,), p(y_t = j) (N, L), how often each transition is expected (L, L), and is_exact (B,).

    Arguments as for ``viterbi``. A sentence that is not exact adds no transitions, and its other numbers mean nothing.
    These are for gradients: probabilities below NEGLIGIBLE are given as 0.
    """
    m = chain_messages(unary, offsets, transitions, start, end)
    with np.errstate(all="ignore"):  # sentences that are not exact
        share = m.prefix / m.weight
        marginals = share * m.following
        marginals[marginals < NEGLIGIBLE] = 0
        if not m.is_exact.all():
            lost = np.repeat(~m.is_exact, np.diff(offsets))
            share[lost] = m.arriving[lost] = 0
        return m.log_partition, marginals, share[:-1].T @ m.arriving[1:] * m.transitions, m.is_exact
