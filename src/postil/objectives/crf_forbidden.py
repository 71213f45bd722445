"""The lattice of all labellings on which some spans are *not* entities: forbidding as a lattice of its own.

That a span is forbidden says something about several tokens at once, so no set of allowed labels per token can say it.
But an entity is known by its class and by where it begins. So those labels after which an entity goes on get copies
that mean "in the entity that began exactly there": free ones, and bound ones, after which it must not end. With

    Bank of England         and "Bank of" forbidden as ORG,

an ORG that begins at Bank begins with a bound copy of B-ORG. No E-ORG may follow that, but a copy of I-ORG may, and
then E-ORG. Every labelling without the forbidden spans is one path of the new lattice, with the same score. So its best
path, marginals, k best and probabilities of spans are those *given that* none of the spans is an entity.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple, Self, final

import numpy as np

from postil.arrays import Array
from postil.errors import ShapeError
from postil.objectives.crf_spans import EntityLabels
from postil.objectives.lattice import ChainScores, Lattice

PLAIN = -1  # the group of labels that are no copies


class SpanOfKind(NamedTuple):
    """Tokens ``start:end`` as an entity of a kind: a place in the list of EntityLabels."""

    start: int
    end: int
    kind: int


class Group(NamedTuple):
    """The entities of one kind that begin at one token; those with these ends are forbidden."""

    start: int
    kind: int
    ends: frozenset[int]


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class States:
    """The labels of the new lattice, S of them: the old ones, then the copies of each group."""

    meaning: Array  # (S,) the label that each of them stands for
    group: Array  # (S,) PLAIN, or the number of the group
    is_bound: Array  # (S,) the entity must not end after this

    @classmethod
    def of(cls, labels: int, groups: Sequence[Group], entities: Sequence[EntityLabels]) -> Self:
        meaning, group, bound = [np.arange(labels)], [np.full(labels, PLAIN)], [np.zeros(labels, bool)]
        for number, (_, kind, _) in enumerate(groups):
            goes_on = np.flatnonzero(entities[kind].first | entities[kind].middle)
            for is_bound in (False, True):
                meaning.append(goes_on)
                group.append(np.full(len(goes_on), number))
                bound.append(np.full(len(goes_on), is_bound))
        return cls(meaning=np.concatenate(meaning), group=np.concatenate(group), is_bound=np.concatenate(bound))


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
    groups = [Group(start, kind, frozenset(forbidden)) for (start, kind), forbidden in ends.items()]
    states = States.of(lattice.chain.labels, groups, entities)
    unary = _gated(lattice.unary, states, groups, entities)
    return Lattice(unary=unary, offsets=lattice.offsets, chain=_chain(lattice.chain, states, entities)), states.meaning


def entities_of(entities: Sequence[EntityLabels], meaning: Array) -> list[EntityLabels]:
    """How entities are written in labels that stand for others.  meaning (S,)"""
    names = [field.name for field in fields(EntityLabels)]
    return [EntityLabels(**{name: getattr(entity, name)[meaning] for name in names}) for entity in entities]


def _chain(chain: ChainScores, states: States, entities: Sequence[EntityLabels]) -> ChainScores:
    """An entity that began in a group goes on in it. It ends with a label that closes it (E) or, where the scheme has
    none, by not going on; neither after a bound copy.
    """
    m, before, bound = states.meaning, states.group[:, None], states.is_bound[:, None]
    continues = _any([entity.middle | entity.last for entity in entities])[m]
    closes = _any([entity.last & ~entity.middle for entity in entities])[m]
    allowed = np.where(continues, (before == states.group) | (closes & ~bound), ~bound)  # (S, S)
    return ChainScores(
        transitions=np.where(allowed, chain.transitions[np.ix_(m, m)], -np.inf),
        start=chain.start[m],
        end=np.where(states.is_bound, -np.inf, chain.end[m]),
    )


def _gated(unary: Array, states: States, groups: Sequence[Group], entities: Sequence[EntityLabels]) -> Array:
    """Scores (T, S): each copy only where it is meant, and only copies where a group begins."""
    scores = unary[:, states.meaning]  # a copy: indexed by an array
    t = np.arange(len(unary))
    plain = states.group == PLAIN
    for number, (start, kind, ends) in enumerate(groups):
        entity, mine = entities[kind], np.flatnonzero(states.group == number)
        has_closing = bool((entity.last & ~entity.middle).any())
        must_go_on = np.isin(t + (2 if has_closing else 1), sorted(ends))  # with E, the next token is still inside
        first, middle = entity.first[states.meaning[mine]], entity.middle[states.meaning[mine]]
        meant = np.where((t == start)[:, None], first, (t > start)[:, None] & middle)  # (T, n)
        meant &= states.is_bound[mine] == must_go_on[:, None]
        scores[:, mine] = np.where(meant, scores[:, mine], -np.inf)
        taken = entity.first | entity.only if start + 1 in ends else entity.first
        scores[start, plain & taken[states.meaning]] = -np.inf
    return scores


def _any(sets: Sequence[Array]) -> Array:
    return np.asarray(np.logical_or.reduce(sets))
