"""The compiled kernel under the name and arguments of ``plain_answers.py``."""

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from postil.arrays import Array
from postil.kernels import plain_answers
from postil.kernels.checking import contiguous, label_scores
from postil.kernels.compiled_chain import on_chain
from postil.kernels.library import (
    BYTES,
    DOUBLES,
    INT64,
    INTEGERS,
    MOST_LABELS,
    ffi,
    finish,
    lib,
    pointer,
    ready_offsets,
)
from postil.kernels.plain_answers import Answers, Question

_COUNT = ffi.typeof("int64_t[1]")
_known: WeakKeyDictionary[Question, Any] = WeakKeyDictionary()
"""Of each question the number of labels, the arguments, and the arrays that they point to."""


def chain_answers(
    unary: Array, offsets: Array, transitions: Array, start: Array, end: Array, question: Question
) -> Answers:
    """See ``plain_answers.chain_answers``."""
    unary = label_scores(unary)
    offsets = ready_offsets(offsets, len(unary))
    (N, L), B, q = unary.shape, len(offsets) - 1, question
    if L > MOST_LABELS and B > 1:
        return plain_answers.chain_answers(unary, offsets, transitions, start, end, q)
    path, whole, exact = np.empty(N, INT64), np.empty(B), np.empty(B, np.bool_)
    of_labels = np.empty(N) if q.alike is not None else None
    spans, probabilities, found = np.empty((N, 4), INT64), np.empty(N), ffi.new(_COUNT)
    code = lib.chain_answers(
        *on_chain(unary, offsets, transitions, start, end),
        *_asked(q, L),
        *(pointer(path, INTEGERS), pointer(whole, DOUBLES)),
        ffi.NULL if of_labels is None else pointer(of_labels, DOUBLES),
        *(pointer(spans, INTEGERS), pointer(probabilities, DOUBLES), found, pointer(exact, BYTES)),
    )
    finish(code, "answers", offsets, N)
    M = found[0]
    return Answers(path, whole, of_labels, spans[:M].copy(), probabilities[:M].copy(), exact)


def _asked(q: Question, L: int) -> list[Any]:
    """The question as arguments of the kernel; made once, for the same question is asked again and again."""
    known = _known.get(q)
    if known is None or known[0] != L:
        known = _known[q] = (L, *_arguments(q, L))
    asked: list[Any] = known[1]
    return asked


def _arguments(q: Question, L: int) -> tuple[list[Any], list[Array]]:
    """The question as arguments of the kernel, and the arrays that they point to."""
    C = int(q.classes.max(initial=-1)) + 1 if q.classes is not None else 0
    if not -1 <= q.outside < L or (q.lowest is not None and q.outside < 0):
        raise IndexError(f"outside {q.outside} of {L} labels")
    arrays = {
        "bonus": (q.bonus, np.float64, (L,), DOUBLES),
        "classes": (q.classes, np.int64, (L,), INTEGERS),
        "begins": (q.begins, np.bool_, (L,), BYTES),
        "after": (q.after, np.bool_, (C, L), BYTES),
        "lowest": (q.lowest, np.float64, (C,), DOUBLES),
        "alike": (q.alike, np.float64, (L, L), DOUBLES),
    }
    pointers, kept = [], []
    for name, (array, dtype, shape, kind) in arrays.items():
        if array is None:
            pointers.append(ffi.NULL)
        else:
            kept.append(contiguous(array, dtype, shape, name))
            pointers.append(pointer(kept[-1], kind))
    return [q.temperature, q.shift, q.outside, *pointers], kept
