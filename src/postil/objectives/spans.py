"""Entities on the lattice of a CRF: exact probabilities of spans, spans that must or must not be entities,
and the log-odds of a statement about a sentence.

A scheme writes an entity as a run of labels. "Tokens 3 to 5, and no more, are a PER" is, under BIO, the set of paths
with B-PER at 3, I-PER at 4 and 5, and anything but I-PER at 6; under IOBES the labels B, I, E alone say it.
Every such statement is a **window**: consecutive tokens with a set of allowed labels each. Its probability is the share
of Z that belongs to the paths through the window.

Spans come as rows (sentence, start, end), counted in tokens of the sentence, the end not included. M is their number.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, Self, final

import numpy as np

from postil.arrays import Array, checked_indices, checked_offsets, describe, offsets_from_lengths, selected_rows
from postil.errors import ConfigurationError, IndexRangeError, ShapeError
from postil.graph import Node, Result
from postil.kernels.plain_chain import GROUP_ENTRIES, Packing
from postil.objectives.crf import ChainScores, Lattice, Messages, Posterior, checked_mask, viterbi

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
        return cls(before=np.ones(labels, bool), only=first, first=first, middle=rest, last=rest, after=~rest)

    @classmethod
    def iobes(cls, labels: int, *, begin: int, inside: int, end: int, single: int) -> Self:
        """B I E, or S alone."""
        first, middle, last, only = (_one(labels, label) for label in (begin, inside, end, single))
        anything = np.ones(labels, bool)
        return cls(before=anything, only=only, first=first, middle=middle, last=last, after=anything)

    @property
    def anywhere(self) -> Array:
        """(L,) the labels that a token of the entity can have."""
        return self.only | self.first | self.middle | self.last

    def at_places(self) -> Array:
        """(6, L) the sets, in the order of the constants below."""
        return np.stack([self.before, self.only, self.first, self.middle, self.last, self.after])


BEFORE, ONLY, FIRST, MIDDLE, LAST, AFTER = range(6)


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
    given = np.asarray(kinds) if len(rows) else np.zeros(0, np.int64)
    if given.shape not in ((), rows.shape):
        raise ShapeError("kinds of spans", expected=f"one number, or ({len(rows)},)", got=given.shape)
    kind = np.broadcast_to(checked_indices(given, len(entities), where="kinds of spans"), rows.shape)
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
    shape = 6, lattice.chain.labels
    tables = np.array([checked_mask(e.at_places(), shape, where="labels of an entity") for e in entities])
    allowed = tables.reshape(-1, *shape)[kind, place].astype(bool)
    return Windows(np.repeat(lattice.offsets[rows], lengths) + t, offsets, allowed)


def window_probabilities(posterior: Posterior, windows: Windows) -> Array:
    """(M,) the probability that every token of the window has one of its allowed labels, whatever is outside."""
    lattice = posterior.lattice
    checked_mask(windows.allowed, (len(windows.tokens), lattice.chain.labels), where="allowed labels of windows")
    checked_offsets(windows.offsets, rows=len(windows.tokens))
    checked_indices(windows.tokens, len(lattice.unary), where="tokens of windows")
    sentences = np.repeat(np.arange(len(lattice.lengths)), lattice.lengths)[windows.tokens]
    follows = (np.diff(windows.tokens) == 1) & (np.diff(sentences) == 0)
    is_filled = bool((np.diff(windows.offsets) > 0).all())
    if is_filled:
        follows[windows.offsets[1:-1] - 1] = True  # from one window to the next anything goes
    if not is_filled or not follows.all():
        raise ShapeError("windows", expected="consecutive tokens of one sentence each, at least one", got="others")
    probabilities = np.empty(len(windows.offsets) - 1)
    first = windows.tokens[windows.offsets[:-1]]
    size = max(1, GROUP_ENTRIES // lattice.chain.labels**2)
    for part in posterior.parts:
        places = np.full(len(lattice.unary), -1)  # row of each token in this part
        places[part.tokens] = np.arange(len(part.tokens))
        mine = np.flatnonzero(places[first] >= 0)
        for group in (mine[low : low + size] for low in range(0, len(mine), size)):
            offsets, rows = selected_rows(windows.offsets, group)
            chosen = Windows(places[windows.tokens[rows]], offsets, windows.allowed[rows])
            probabilities[group] = _window_sums(part.messages, chosen)
    return probabilities


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


# -------------------------------------------------------------------------------------- spans that must not be entities
# That a span is forbidden says something about several tokens at once, so no set of allowed labels per token can say
# it. But an entity is known by its class and by where it begins. So those labels after which an entity goes on get
# copies that mean "in the entity that began exactly there": free ones, and bound ones, after which it must not end.
# With
#
#     Bank of England         and "Bank of" forbidden as ORG,
#
# an ORG that begins at Bank begins with a bound copy of B-ORG. No E-ORG may follow that, but a copy of I-ORG may, and
# then E-ORG. Every labelling without the forbidden spans is one path of the new lattice, with the same score. So its
# best path, marginals, k best and probabilities of spans are those *given that* none of the spans is an entity.


PLAIN = -1  # the group of labels that are not copies


class SpanOfKind(NamedTuple):
    """Tokens ``start:end`` as an entity of a kind: a place in the list of EntityLabels."""

    start: int
    end: int
    kind: int


def without_spans(
    lattice: Lattice, spans: Iterable[SpanOfKind], entities: Sequence[EntityLabels]
) -> tuple[Lattice, Array]:
    """Of the lattice of one sentence, only the paths on which none of the spans is an entity of its kind.

    Returns the new lattice and the label (S,) that each of its labels stands for. The old lattice must allow no other
    sequences than those of BIO or IOBES.
    """
    if len(lattice.lengths) != 1:
        raise ShapeError("spans are forbidden in one sentence at a time", expected=1, got=len(lattice.lengths))
    ends: dict[tuple[int, int], set[int]] = defaultdict(set)
    for start, end, kind in spans:
        ends[start, kind].add(end)
    # The labels of the new lattice, S of them: the old ones, then the copies of each group, which is the entities of
    # one kind that begin at one token. For each the label that it stands for, the number of its group, and whether the
    # entity must not end after it.
    L = lattice.chain.labels
    columns = [[np.arange(L)], [np.full(L, PLAIN)], [np.zeros(L, bool)]]
    for number, (_, kind) in enumerate(ends):
        goes_on = np.flatnonzero(entities[kind].first | entities[kind].middle)
        for is_bound in (False, True):
            copies = goes_on, np.full(len(goes_on), number), np.full(len(goes_on), is_bound)
            for column, of_group in zip(columns, copies, strict=True):
                column.append(of_group)
    m, group, bound = (np.concatenate(column) for column in columns)
    chain = lattice.chain
    # An entity that began in a group goes on in it. It ends with a label that closes it (E) or, where the scheme has
    # none, by not going on; neither after a bound copy.
    continues = np.logical_or.reduce([entity.middle | entity.last for entity in entities])[m]
    closes = np.logical_or.reduce([entity.last & ~entity.middle for entity in entities])[m]
    allowed = np.where(continues, (group[:, None] == group) | (closes & ~bound[:, None]), ~bound[:, None])  # (S, S)
    wider = ChainScores(
        transitions=np.where(allowed, chain.transitions[np.ix_(m, m)], -np.inf),
        start=chain.start[m],
        end=np.where(bound, -np.inf, chain.end[m]),
    )
    # Each copy only where it is meant, and only copies where a group begins.
    scores = lattice.unary[:, m]  # (T, S), a copy: indexed by an array
    t = np.arange(len(scores))
    for number, ((start, kind), forbidden) in enumerate(ends.items()):
        entity, mine = entities[kind], np.flatnonzero(group == number)
        has_closing = bool((entity.last & ~entity.middle).any())
        must_go_on = np.isin(t + (2 if has_closing else 1), sorted(forbidden))  # with E, the next token is still inside
        first, middle = entity.first[m[mine]], entity.middle[m[mine]]
        meant = np.where((t == start)[:, None], first, (t > start)[:, None] & middle)  # (T, n)
        meant &= bound[mine] == must_go_on[:, None]
        scores[:, mine] = np.where(meant, scores[:, mine], -np.inf)
        taken = entity.first | entity.only if start + 1 in forbidden else entity.first
        scores[start, (group == PLAIN) & taken[m]] = -np.inf
    return Lattice(unary=scores, offsets=lattice.offsets, chain=wider), m


def entities_of(entities: Sequence[EntityLabels], meaning: Array) -> list[EntityLabels]:
    """How entities are written in labels that stand for others.  meaning (S,)"""
    names = [field.name for field in fields(EntityLabels)]
    return [EntityLabels(**{name: getattr(entity, name)[meaning] for name in names}) for entity in entities]


# ------------------------------------------------------------------------------------------- log-odds of a set of paths
# A statement about a sentence ("tokens 3 to 5 are a PER") is a table of allowed labels, and holds on the set S of paths
# that take an allowed label at every token. With Z(S) the sum of exp(score) over these paths, and Z(¬S) over all
# others,
#
#     log-odds = log p(S) / (1 - p(S)) = log Z(S) - log Z(¬S).
#
# 1 - p is never formed, which would leave nothing of a p near 1. Instead ¬S gets a separate lattice, with three
# copies of every label: a path walks on the first copy while it agrees with S, takes the second where it disagrees for
# the first time, and the third from then on. Every path outside S is exactly one path there, and no path of S is one.


def log_odds(lattice: Lattice, allowed: Any) -> Array:
    """(B,) of every sentence, for one statement per sentence.  allowed (N, L) boolean."""
    inside, outside = _both_sides(lattice, allowed)
    return inside.log_partition - outside.log_partition


def log_odds_and_gradient(lattice: Lattice, allowed: Any) -> tuple[Array, Array]:
    """``log_odds`` (B,), and the derivatives of their sum by the unary scores, (N, L).

    A derivative of log Z is an expected count (C5): here what the paths of S expect minus what the others do,

        ∂ log-odds / ∂ unary[t, j] = p(y_t = j | S) - p(y_t = j | ¬S).
    """
    inside, outside = _both_sides(lattice, allowed)
    N, L = lattice.unary.shape
    expected_outside = outside.marginals().reshape(N, 3, L).sum(axis=1)
    return inside.log_partition - outside.log_partition, inside.marginals() - expected_outside


def _both_sides(lattice: Lattice, allowed: Any) -> list[Posterior]:
    """The paths of S, and all others: labels below L agree so far, those below 2L leave S here, those below 3L left."""
    mask, chain = checked_mask(allowed, lattice.unary.shape, where="allowed labels"), lattice.chain

    def copied(possible: Any, scores: Array) -> Array:
        """The table of scores again for each entry of ``possible``; -inf in place of it where that is 0."""
        copies = np.asarray(possible)
        return np.where(np.kron(copies, np.ones(scores.shape)), np.tile(scores, copies.shape), -np.inf)

    free = np.concatenate((mask, ~mask, np.ones_like(mask)), axis=1)
    others = Lattice(
        unary=np.where(free, np.tile(lattice.unary, 3), -np.inf),
        offsets=lattice.offsets,
        chain=ChainScores(
            transitions=copied([[1, 1, 0], [0, 0, 1], [0, 0, 1]], chain.transitions),
            start=copied([1, 1, 0], chain.start),
            end=copied([0, 1, 1], chain.end),
        ),
    )
    posteriors = []
    for part, what in ((lattice.restricted(mask), "cannot be true"), (others, "must be true")):
        try:
            posteriors.append(Posterior.of(part))
        except ConfigurationError as error:  # no path is possible
            problem, expected = f"a statement that {what} has no odds", "one that some possible labellings agree with"
            raise ConfigurationError(problem, expected=f"{expected} and some do not", where=error.where) from None
    return posteriors


def summed_log_odds(scores: Node, chain: ChainScores, allowed: Any) -> Result:
    """A node with the sum of the sentences' log-odds.  scores (N, L), a node that carries offsets."""
    values, dscores = log_odds_and_gradient(Lattice.over(scores.value, scores.offsets, chain), allowed)

    def pullback(dY: Array) -> list[Array]:
        return [(dscores * float(dY)).astype(scores.dtype)]

    return Result(np.asarray(values.sum(), scores.dtype), (scores,), pullback, "log-odds")


def without_transition_scores(lattice: Lattice) -> Lattice:
    """The same scores of words on a chain in which every allowed transition scores 0."""
    tables = (lattice.chain.transitions, lattice.chain.start, lattice.chain.end)
    transitions, start, end = (np.where(np.isfinite(table), 0.0, -np.inf) for table in tables)
    return replace(lattice, chain=ChainScores(transitions=transitions, start=start, end=end))


# ------------------------------------------------------------------------------------------------ at most once
# A path that remembers which of some kinds of entities have begun: (label, set of kinds) are its states. Two kinds make
# four sets, so few kinds should be remembered; ``best_without_repeats`` begins with none and adds those that matter.


def without_repeats(lattice: Lattice, begins: Array, kinds: Array, once: Sequence[int]) -> tuple[Lattice, Array]:
    """Only the paths on which an entity of each kind in ``once`` begins at most once, and the label of each state (S,).

    begins (L,): the labels with which an entity begins; kinds (L,): of which kind each label is.
    """
    chain, L, sets = lattice.chain, lattice.chain.labels, 2 ** len(once)
    adds = np.zeros(L, np.int64)  # the bit that a label adds to the set
    for bit, kind in enumerate(once):
        adds[begins & (kinds == kind)] = 1 << bit
    meaning, have = np.tile(np.arange(L), sets), np.repeat(np.arange(sets), L)  # (S,)
    added = adds[meaning]
    before = have[None, :] ^ added[None, :]  # the set that a step to each state must come from
    is_step = ((have & added) == added)[None, :] & (have[:, None] == before)
    transitions = np.where(is_step, chain.transitions[np.ix_(meaning, meaning)], -np.inf)
    start = np.where(have == added, chain.start[meaning], -np.inf)
    states = ChainScores(transitions=transitions, start=start, end=chain.end[meaning])
    return replace(lattice, unary=lattice.unary[:, meaning], chain=states), meaning


def best_without_repeats(lattice: Lattice, begins: Array, kinds: Array, once: Sequence[int]) -> Array:
    """The best paths (N,) on which an entity of each kind in ``once`` begins at most once in a sentence: exact.

    The best path of all is the answer if it repeats nothing. Otherwise the kinds that it repeats are remembered, and
    the best of the paths that are left is looked at, until none is repeated.
    """
    labels = np.zeros(len(lattice.unary), np.int64)
    waiting: dict[tuple[int, ...], Array] = {(): np.arange(len(lattice.lengths))}
    while waiting:
        remembered, rows = waiting.popitem()
        part, tokens = lattice.selected(rows)
        states, meaning = without_repeats(part, begins, kinds, remembered)
        best = labels[tokens] = meaning[viterbi(states)]
        counts = np.zeros((len(rows), len(once)), np.int64)
        for place, kind in enumerate(once):
            is_begun = begins[best] & (kinds[best] == kind)
            counts[:, place] = np.add.reduceat(is_begun.astype(np.int64), part.offsets[:-1])
        again: dict[tuple[int, ...], list[int]] = {}
        for row, repeated in zip(rows.tolist(), (counts > 1).tolist(), strict=True):
            if any(repeated):
                more = tuple(kind for kind, is_repeated in zip(once, repeated, strict=True) if is_repeated)
                again.setdefault(remembered + more, []).append(row)
        for key, some in again.items():
            waiting[key] = np.concatenate([waiting.get(key, np.zeros(0, np.int64)), some])
    return labels
