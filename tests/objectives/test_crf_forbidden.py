"""Forbidden spans as a lattice: its paths are, one to one and with the same scores, those without the spans."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.examples import examples
from oracles.paths import enumerate_paths
from postil.errors import ConfigurationError, ShapeError
from postil.objectives import ChainScores, Lattice, Posterior, forced_spans, span_probabilities, viterbi
from postil.objectives.spans import EntityLabels, SpanOfKind, entities_of, without_spans
from postil.text import spans_from_labels, transition_mask

SCHEMES = {
    "iobes": ["O", "B-X", "I-X", "E-X", "S-X", "S-Y"],
    "bio": ["O", "B-X", "I-X", "B-Y", "I-Y"],
}


def entities(scheme: str) -> list[EntityLabels]:
    at = {name: i for i, name in enumerate(SCHEMES[scheme])}
    L = len(at)
    if scheme == "bio":
        return [EntityLabels.bio(L, begin=at[f"B-{c}"], inside=at[f"I-{c}"]) for c in "XY"]
    nothing, single = np.zeros(L, bool), np.arange(L) == at["S-Y"]
    anything = np.ones(L, bool)
    one = EntityLabels(before=anything, only=single, first=nothing, middle=nothing, last=nothing, after=anything)
    return [EntityLabels.iobes(L, begin=at["B-X"], inside=at["I-X"], end=at["E-X"], single=at["S-X"]), one]


def random_lattice(rng: np.random.Generator, scheme: str, T: int) -> Lattice:
    names = SCHEMES[scheme]
    mask, L = transition_mask(names, scheme), len(names)
    chain = ChainScores.under_mask(
        L,
        transitions=rng.normal(size=(L, L)),
        start=rng.normal(size=L),
        end=rng.normal(size=L),
        allowed_transitions=mask.transitions,
        allowed_start=mask.start,
        allowed_end=mask.end,
    )
    return Lattice.over(rng.normal(size=(T, L)), np.array([0, T]), chain)


def spans_of(path, scheme: str) -> set[tuple[int, int, int]]:
    found = spans_from_labels([SCHEMES[scheme][i] for i in path], scheme)
    return {(span.start, span.end, "XY".index(span.label)) for span in found}


@pytest.mark.slow
@examples(0.6)
@given(st.integers(0, 2**32 - 1), st.sampled_from(list(SCHEMES)), st.integers(1, 4), st.integers(1, 5))
def test_paths_scores_and_probabilities_are_those_without_the_spans(seed, scheme, T, number):
    rng = np.random.default_rng(seed)
    lattice = random_lattice(rng, scheme, T)
    every = [(*span, kind) for span in combinations(range(T + 1), 2) for kind in (0, 1)]
    forbidden = {every[i] for i in rng.integers(len(every), size=number)}
    old = enumerate_paths(lattice, 0)
    kept = {path: s for path, s in zip(old.paths, old.scores, strict=True) if not spans_of(path, scheme) & forbidden}
    new, meaning = without_spans(lattice, [SpanOfKind(*span) for span in forbidden], entities(scheme))
    found = enumerate_paths(new, 0)
    meant = [tuple(int(meaning[i]) for i in path) for path in found.paths]
    assert len(set(meant)) == len(meant)
    assert dict(zip(meant, found.scores, strict=True)) == pytest.approx(kept)
    best = max(kept, key=kept.__getitem__)
    assert tuple(meaning[viterbi(new)]) == best
    rows = np.array([(0, start, end) for start, end, _ in every])
    kinds = np.array([kind for *_, kind in every])
    probabilities = span_probabilities(Posterior.of(new), rows, kinds, entities_of(entities(scheme), meaning))
    total = np.exp(list(kept.values())).sum()
    expected = [sum(np.exp(s) for path, s in kept.items() if span in spans_of(path, scheme)) / total for span in every]
    assert probabilities == pytest.approx(expected, abs=1e-9)


def test_nothing_forbidden_changes_nothing():
    lattice = random_lattice(np.random.default_rng(0), "iobes", 3)
    new, meaning = without_spans(lattice, [], entities("iobes"))
    assert (new.unary == lattice.unary).all()
    assert (new.chain.transitions == lattice.chain.transitions).all()
    assert meaning.tolist() == list(range(6))


def test_one_sentence_at_a_time():
    lattice = random_lattice(np.random.default_rng(0), "bio", 3)
    two = Lattice(unary=lattice.unary, offsets=np.array([0, 1, 3]), chain=lattice.chain)
    with pytest.raises(ShapeError, match="one sentence at a time: expected 1, got 2"):
        without_spans(two, [], entities("bio"))


def test_forbidding_what_must_be_is_an_error():
    lattice = random_lattice(np.random.default_rng(0), "bio", 1)
    forced = lattice.restricted(forced_spans(lattice, [(0, 0, 1)], 0, entities("bio")))
    new, _ = without_spans(forced, [SpanOfKind(0, 1, 0)], entities("bio"))
    with pytest.raises(ConfigurationError, match="sentence 0: no labelling is possible"):
        viterbi(new)
