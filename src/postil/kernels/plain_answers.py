"""All that is answered about sentences, from their scores at once: the NumPy twin of ``answers.c``.

Probabilities come from the distribution

    p(y) ∝ exp(s(y) / temperature + shift · (tokens that y does not label O)),

and the labelling that is answered has the largest log p(y) + the bonuses of its labels.
"""

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from postil.arrays import Array
from postil.kernels import plain_chain as plain
from postil.kernels.plain_chain import ChainMessages, Sentences


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Question:
    """How to read answers from the scores of L labels. None: not requested, or no restriction."""

    temperature: float = 1.0
    shift: float = 0.0
    outside: int = -1
    """The label O; -1: there is none."""
    bonus: Array | None = None
    """(L,) float64, added to the scores when labels are chosen, not in the distribution."""
    classes: Array | None = None
    """(L,) int64, the class of an entity's labels, negative elsewhere; None: labels without spans."""
    begins: Array | None = None
    """(L,) boolean, the labels with which an entity begins."""
    after: Array | None = None
    """(classes, L) boolean, the labels that may follow an entity; None: all."""
    lowest: Array | None = None
    """(classes,) float64: entities less probable than this become O."""
    alike: Array | None = None
    """(L, L) float64, 1 where two labels have one spelling: asks for the probabilities of labels."""


class Answers(NamedTuple):
    """The answers for B sentences of N tokens with M entities."""

    path: Array  # (N,) label numbers
    whole: Array  # (B,) the probability of each sentence's labelling
    label_probabilities: Array | None  # (N,) the probability of each token's label
    spans: Array  # (M, 4) sentence, start, end and class, in the order of the text
    probabilities: Array  # (M,)
    is_exact: Array  # (B,) False if something may have been lost to underflow: the sentence's numbers mean nothing


def chain_answers(
    unary: Array, offsets: Array, transitions: Array, start: Array, end: Array, question: Question
) -> Answers:
    """Answer the question about every sentence.

    unary (N, L) are scores of the network; transitions (L, L), start and end (L,), float64, are those of the
    distribution, that is, divided by the temperature already. Paths must be valid labellings of the scheme.
    """
    q = question
    scores = unary.astype(np.float64) / q.temperature
    if q.outside >= 0:
        scores[:, q.outside] -= q.shift
    path, _ = plain.viterbi(scores if q.bonus is None else scores + q.bonus, offsets, transitions, start, end)
    m = plain.chain_messages(scores, offsets, transitions, start, end)
    with np.errstate(all="ignore"):  # sentences that are not exact
        spans, probabilities = _entities(m, path, offsets, q)
        whole = np.exp(_path_scores(scores, path, offsets, transitions, start, end) - m.log_partition)
        of_labels = None
        if q.alike is not None:
            of_labels = (m.prefix * m.following * q.alike[path]).sum(axis=1) / m.weight[:, 0]
    return Answers(path, whole, of_labels, spans, probabilities, m.is_exact)


def _path_scores(scores: Array, path: Array, offsets: Array, transitions: Array, start: Array, end: Array) -> Array:
    """(B,) s(y) of the labelling (N,)."""
    sentences = Sentences(offsets)
    arriving = np.empty(len(path))
    arriving[1:] = transitions[path[:-1], path[1:]]
    arriving[sentences.first] = start[path[sentences.first]]
    arriving += scores[np.arange(len(path)), path]
    arriving[sentences.last] += end[path[sentences.last]]
    return sentences.sums(arriving)


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
