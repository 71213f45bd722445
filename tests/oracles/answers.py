"""Answers about sentences from their scores, in NumPy: the oracle of the kernel ``chain_answers``."""

import numpy as np

from postil.arrays import Array
from postil.kernels import ChainAnswers, Question, viterbi
from postil.kernels.plain_chain import ChainMessages, Sentences, chain_messages


def chain_answers(
    unary: Array, offsets: Array, transitions: Array, start: Array, end: Array, question: Question
) -> ChainAnswers:
    """Answer the question about every sentence.

    unary (N, L) are scores of the network; transitions (L, L), start and end (L,), float64, are those of the
    distribution, that is, divided by the temperature already. Paths must be valid labellings of the scheme.
    """
    q = question
    scores = unary.astype(np.float64) / q.temperature
    if q.outside >= 0:
        scores[:, q.outside] -= q.shift
    path, _ = viterbi(scores if q.bonus is None else scores + q.bonus, offsets, transitions, start, end)
    m = chain_messages(scores, offsets, transitions, start, end)
    with np.errstate(all="ignore"):  # sentences that are not exact
        spans, probabilities = _entities(m, path, offsets, q)
        steps = scores[np.arange(len(path)), path]  # s(y) is the sum over tokens of these
        steps[1:] += transitions[path[:-1], path[1:]]
        first, last = (sentences := Sentences(offsets)).first, sentences.last
        steps[first] = start[path[first]] + scores[first, path[first]]
        steps[last] += end[path[last]]
        whole = np.exp(sentences.sums(steps) - m.log_partition)
        of_labels = None
        if q.alike is not None:
            of_labels = (m.prefix * m.following * q.alike[path]).sum(axis=1) / m.weight[:, 0]
    return ChainAnswers(path, whole, of_labels, spans, probabilities, m.is_exact)


def _entities(m: ChainMessages, path: Array, offsets: Array, q: Question) -> tuple[Array, Array]:
    """Spans (M, 4) on the path and their probabilities; the path loses those that are not probable enough."""
    spans, probabilities = [], []
    if q.classes is not None and q.begins is not None:
        for b, (low, high) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
            s = low
            while s < high:
                e = s + 1
                if q.begins[path[s]]:
                    while e < high and q.classes[path[e]] >= 0 and not q.begins[path[e]]:
                        e += 1
                    kind, p = int(q.classes[path[s]]), _entity_probability(m, path, s, e, high, q)
                    if q.lowest is not None and p < q.lowest[kind]:
                        path[s:e] = q.outside
                    else:
                        spans.append((b, s - low, e - low, kind))
                        probabilities.append(p)
                s = e
    return np.array(spans, np.int64).reshape(-1, 4), np.array(probabilities, np.float64)


def _entity_probability(m: ChainMessages, path: Array, s: int, e: int, high: int, q: Question) -> float:
    """The share of all paths that label the tokens s:e as this one does and do not go on with the entity."""
    v = m.prefix[s, path[s]]
    for t in range(s + 1, e):
        v = v * m.transitions[path[t - 1], path[t]] * m.factors[t, path[t]] / m.scale[t, 0]
    if q.after is None or e == high or q.classes is None:
        return float(v * m.following[e - 1, path[e - 1]] / m.weight[e - 1, 0])
    onward = v * m.transitions[path[e - 1]] * m.factors[e] / m.scale[e, 0] * m.following[e]
    return float(onward[q.after[q.classes[path[s]]]].sum() / m.weight[e, 0])
