"""Entities on the lattice of a CRF: exact probabilities of spans, and spans that are forced to be entities.

A scheme writes an entity as a run of labels. "Tokens 3 to 5, and no more, are a PER" is, under BIO, the set of paths
with B-PER at 3, I-PER at 4 and 5, and anything but I-PER at 6; under IOBES the labels B, I, E say it by themselves.
Every such statement is a **window**: consecutive tokens with a set of allowed labels each. Its probability is the share
of Z that belongs to the paths through the window.

Spans come as rows (sentence, start, end), counted in tokens of the sentence, the end not included. M is their number.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, final

import numpy as np

from postil.arrays import Array, checked_indices, checked_offsets, describe, offsets_from_lengths
from postil.errors import IndexRangeError, ShapeError
from postil.kernels.packing import GROUP_ENTRIES, Packing
from postil.objectives.crf import Messages, Posterior
from postil.objectives.lattice import Lattice, checked_mask, selected_rows

# ------------------------------------------------------------------------------------------------ entities as labels


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class EntityLabels:
    """How a scheme encodes one class of entity: the labels allowed at each position, (L,) boolean each."""

    before: Array  # of the token before the entity
    only: Array  # of an entity of one token
    first: Array  # of a longer entity: its first,
    middle: Array  # its middle
    last: Array  # and its last token
    after: Array  # of the token after the entity

    @classmethod
    def bio(cls, labels: int, *, begin: int, inside: int) -> Self:
        """B I I, where one more I would make the entity longer. ``labels`` is L."""
        first, rest = _one(labels, begin), _one(labels, inside)
        return cls(before=_all(labels), only=first, first=first, middle=rest, last=rest, after=~rest)

    @classmethod
    def iobes(cls, labels: int, *, begin: int, inside: int, end: int, single: int) -> Self:
        """B I E, or S alone."""
        first, middle, last, only = (_one(labels, label) for label in (begin, inside, end, single))
        return cls(before=_all(labels), only=only, first=first, middle=middle, last=last, after=_all(labels))

    @classmethod
    def io(cls, labels: int, *, inside: int) -> Self:
        """I I I, where one more I on either side would make the entity longer."""
        label = _one(labels, inside)
        return cls(before=~label, only=label, first=label, middle=label, last=label, after=~label)

    @property
    def anywhere(self) -> Array:
        """(L,) the labels that a token of the entity can have."""
        return self.only | self.first | self.middle | self.last

    def at_places(self) -> Array:
        """(6, L) the sets, in the order of the constants below."""
        return np.stack([self.before, self.only, self.first, self.middle, self.last, self.after])


BEFORE, ONLY, FIRST, MIDDLE, LAST, AFTER = range(6)


def _all(labels: int) -> Array:
    return np.ones(labels, bool)


def _one(labels: int, label: int) -> Array:
    chosen = np.zeros(labels, bool)
    chosen[checked_indices(label, labels, where="labels of an entity")] = True
    return chosen


# ------------------------------------------------------------------------------------------------ windows


class Windows(NamedTuple):
    """M runs of tokens, each token with its allowed labels, as a ragged batch."""

    tokens: Array  # (W,) rows of the lattice; consecutive inside a window, which stays inside a sentence
    offsets: Array  # (M + 1,)
    allowed: Array  # (W, L) boolean


def span_windows(lattice: Lattice, spans: Any, kinds: Any, entities: Sequence[EntityLabels]) -> Windows:
    """The windows that say "exactly this span is an entity of this kind".

    spans (M, 3); kinds (M,), or one for all: indices into ``entities``. A window also covers the token before the span
    and the one after it if the scheme constrains them: BIO constrains the one after, IOBES neither.
    """
    rows, begin, end = _checked_spans(lattice, spans).T
    kind = _checked_kinds(kinds, len(rows), entities)
    before, after = (not all(getattr(e, place).all() for e in entities) for place in ("before", "after"))
    low = np.maximum(begin - before, 0)
    lengths = np.minimum(end + after, lattice.lengths[rows]) - low
    offsets = offsets_from_lengths(lengths)
    begin, end, low, kind = (np.repeat(column, lengths) for column in (begin, end, low, kind))  # (W,) each from here on
    t = low + np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)  # token of the sentence
    place = np.full(len(t), MIDDLE)
    place[t == begin], place[t == end - 1] = FIRST, LAST
    place[(t == begin) & (t == end - 1)] = ONLY
    place[t < begin], place[t == end] = BEFORE, AFTER
    tables = np.array([_checked_places(entity, lattice) for entity in entities]).reshape(-1, 6, lattice.chain.labels)
    return Windows(np.repeat(lattice.offsets[rows], lengths) + t, offsets, tables[kind, place].astype(bool))


def window_probabilities(posterior: Posterior, windows: Windows) -> Array:
    """(M,) the probability that every token of the window has one of its allowed labels, whatever is outside."""
    lattice = posterior.lattice
    _check_windows(lattice, windows)
    probabilities = np.empty(len(windows.offsets) - 1)
    first = windows.tokens[windows.offsets[:-1]]
    size = max(1, GROUP_ENTRIES // lattice.chain.labels**2)
    for part in posterior.parts:
        places = np.full(len(lattice.unary), -1)  # row of each token in this part
        places[part.tokens] = np.arange(len(part.tokens))
        mine = np.flatnonzero(places[first] >= 0)
        for group in (mine[low : low + size] for low in range(0, len(mine), size)):
            chosen = _selected(windows, group)
            probabilities[group] = _window_sums(part.messages, chosen._replace(tokens=places[chosen.tokens]))
    return probabilities


def _check_windows(lattice: Lattice, windows: Windows) -> None:
    checked_mask(windows.allowed, (len(windows.tokens), lattice.chain.labels), where="allowed labels of windows")
    checked_offsets(windows.offsets, rows=len(windows.tokens))
    checked_indices(windows.tokens, len(lattice.unary), where="tokens of windows")
    if not (np.diff(windows.offsets) > 0).all() or not _is_consecutive(lattice, windows):
        raise ShapeError("windows", expected="consecutive tokens of one sentence each, at least one", got="others")


def _is_consecutive(lattice: Lattice, windows: Windows) -> bool:
    sentences = np.repeat(np.arange(len(lattice.lengths)), lattice.lengths)[windows.tokens]
    follows = (np.diff(windows.tokens) == 1) & (np.diff(sentences) == 0)
    follows[windows.offsets[1:-1] - 1] = True  # from one window to the next anything goes
    return bool(follows.all())


def _selected(windows: Windows, which: Array) -> Windows:
    offsets, rows = selected_rows(windows.offsets, which)
    return Windows(windows.tokens[rows], offsets, windows.allowed[rows])


def _window_sums(m: Messages, windows: Windows) -> Array:
    """The forward recursion through the windows, restricted: all windows at once, one token at a time.

    v_1(j) = α(j) 1[j allowed],   v_t(j) = 1[j allowed] ψ_t(j) Σ_i v_t-1(i) E_ij,   p = Σ_j v_T(j) β_T(j) / Z.
    v goes through the same divisions as α did, so it has α's units at every token.
    """
    packing, algebra = Packing(windows.offsets), m.algebra
    sums = np.empty(len(packing.order))
    alive = [*(end - first for first, end in packing.steps), 0]
    v = np.empty((0, 0))
    for (first, end), n, survivors in zip(packing.steps, alive, alive[1:], strict=False):
        places = packing.forward[first:end]
        tokens = windows.tokens[places]  # (n,)
        if first == 0:
            v = m.chain.prefix[tokens]
        else:
            stepped = np.empty((1, n, v.shape[1]))
            algebra.step(v[None, :n], m.chain.transitions[None], stepped)
            v = algebra.over(algebra.times(stepped[0], m.chain.factors[tokens]), m.chain.scale[tokens])
        v = np.where(windows.allowed[places], v, algebra.zero)
        last = tokens[survivors:]
        ended = algebra.over(algebra.total(algebra.times(v[survivors:], m.chain.following[last])), m.chain.weight[last])
        sums[packing.order[survivors:n]] = algebra.probability(ended)[:, 0]
    return sums


# ------------------------------------------------------------------------------------------------ probabilities


def span_probabilities(posterior: Posterior, spans: Any, kinds: Any, entities: Sequence[EntityLabels]) -> Array:
    """(M,) the probability that exactly these tokens, and no more, form an entity of this kind."""
    return window_probabilities(posterior, span_windows(posterior.lattice, spans, kinds, entities))


# ------------------------------------------------------------------------------------------------ constraints


def forced_spans(lattice: Lattice, spans: Any, kinds: Any, entities: Sequence[EntityLabels]) -> Array:
    """(N, L) allowed labels that leave only the paths on which every one of these spans is such an entity.

    For decoding, ``lattice.restricted(…)``; for training, the gold of a partly annotated sentence.
    """
    windows = span_windows(lattice, spans, kinds, entities)
    allowed = np.ones(lattice.unary.shape, bool)
    np.logical_and.at(allowed, windows.tokens, windows.allowed)  # windows may overlap: all of them must hold
    return allowed


def outside_spans(lattice: Lattice, spans: Any, entities: Sequence[EntityLabels]) -> Array:
    """(N, L) allowed labels that leave only the paths on which no token of these spans belongs to any entity."""
    allowed = np.ones(lattice.unary.shape, bool)
    of_entities = np.zeros(lattice.chain.labels, bool)
    for entity in entities:
        of_entities |= entity.anywhere
    for sentence, start, end in _checked_spans(lattice, spans).tolist():
        first = lattice.offsets[sentence]
        allowed[first + start : first + end, of_entities] = False
    return allowed


def _checked_spans(lattice: Lattice, spans: Any) -> Array:
    array = np.asarray(spans)
    array = array.reshape(-1, 3).astype(np.int64) if array.size == 0 else array
    if array.ndim != 2 or array.shape[1] != 3 or array.dtype.kind not in "iu":
        raise ShapeError("spans", expected="integers (M, 3): sentence, start, end", got=describe(array))
    sentence, start, end = array.T
    known = (sentence >= 0) & (sentence < len(lattice.lengths))
    length = np.where(known, lattice.lengths[sentence * known], -1) if len(lattice.lengths) else np.full(len(array), -1)
    wrong = np.flatnonzero((start < 0) | (start >= end) | (end > length))
    if len(wrong):
        room = f"0 <= start < end <= {length[wrong[0]]}" if known[wrong[0]] else "a sentence of the batch"
        got, where = tuple(array[wrong[0]].tolist()), f"span {wrong[0]}"
        raise IndexRangeError("a span lies outside its sentence", expected=room, got=got, where=where)
    return array


def _checked_kinds(kinds: Any, spans: int, entities: Sequence[EntityLabels]) -> Array:
    """(M,) one place in ``entities`` per span."""
    array = np.asarray(kinds) if spans else np.zeros(0, np.int64)
    if array.shape not in ((), (spans,)):
        raise ShapeError("kinds of spans", expected=f"one number, or ({spans},)", got=array.shape)
    return np.broadcast_to(checked_indices(array, len(entities), where="kinds of spans"), (spans,))


def _checked_places(entity: EntityLabels, lattice: Lattice) -> Array:
    return checked_mask(entity.at_places(), (6, lattice.chain.labels), where="labels of an entity")
