"""The kernels of chain.c, forward_backward.c and answers.c under the names and arguments of ``plain_chain.py``."""

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from postil.arrays import Array
from postil.kernels import plain_chain as plain
from postil.kernels.checking import contiguous
from postil.kernels.library import BYTES, DOUBLES, INTEGERS, MOST_LABELS, MOST_LABELS_AT_ONCE, call, ffi, pointer
from postil.kernels.plain_chain import ChainAnswers, ChainMessages, Question

viterbi, ranked_paths = call.viterbi, call.ranked_paths


def chain_messages(unary: Array, offsets: Array, transitions: Array, start: Array, end: Array) -> ChainMessages:
    """See ``plain_chain.chain_messages``."""
    if np.shape(unary)[-1] > MOST_LABELS and len(offsets) > 2:
        return plain.chain_messages(unary, offsets, transitions, start, end)
    return ChainMessages._make(call.chain_messages(unary, offsets, transitions, start, end))


def chain_moments(
    unary: Array, offsets: Array, transitions: Array, start: Array, end: Array
) -> tuple[Array, Array, Array, Array]:
    """See ``plain_chain.chain_moments``."""
    if np.shape(unary)[-1] > MOST_LABELS and len(offsets) > 2:
        return plain.chain_moments(unary, offsets, transitions, start, end)
    moments: tuple[Array, Array, Array, Array] = call.chain_moments(unary, offsets, transitions, start, end)
    return moments


_known: WeakKeyDictionary[Question, tuple[int, Any, list[Any]]] = WeakKeyDictionary()
"""Of each question the number of labels, the struct of C, and what that points to: it is asked again and again."""


def chain_answers(
    unary: Array, offsets: Array, transitions: Array, start: Array, end: Array, question: Question
) -> ChainAnswers | None:
    """Answer the question about every sentence; None if NumPy is faster because there are many labels.

    unary (N, L) are scores of the network; transitions (L, L), start and end (L,), float64, are those of the
    distribution, that is, divided by the temperature already. Paths must be valid labellings of the scheme.
    """
    N, L = np.shape(unary)
    if L > MOST_LABELS_AT_ONCE and len(offsets) > 2:
        return None
    known = _known.get(question)
    if known is None or known[0] != L:
        known = _known[question] = L, *_struct(question, L)
    labels = np.empty(N) if question.alike is not None else None
    path, whole, spans, of_spans, exact = call.chain_answers(unary, offsets, transitions, start, end, known[1], labels)
    return ChainAnswers(
        numbers=path,
        probabilities=whole,
        label_probabilities=labels,
        spans=spans.copy(),
        span_probabilities=of_spans.copy(),
        is_exact=exact,
    )


def _struct(q: Question, L: int) -> tuple[Any, list[Any]]:
    C = int(q.classes.max(initial=-1)) + 1 if q.classes is not None else 0
    if not -1 <= q.outside < L or (q.lowest is not None and q.outside < 0):
        raise IndexError(f"outside {q.outside} of {L} labels")
    shapes = {"bonus": (L,), "classes": (L,), "begins": (L,), "after": (C, L), "lowest": (C,), "alike": (L, L)}
    kinds = {"classes": (np.int64, INTEGERS), "begins": (np.bool_, BYTES), "after": (np.bool_, BYTES)}
    fields: dict[str, Any] = {}
    for name, shape in shapes.items():
        dtype, kind = kinds.get(name, (np.float64, DOUBLES))
        if getattr(q, name) is not None:
            fields[name] = pointer(contiguous(getattr(q, name), dtype, shape, name), kind)
    struct = ffi.new(
        "chain_question *", fields | {"temperature": q.temperature, "shift": q.shift, "outside": q.outside}
    )
    return struct, [*fields.values()]
