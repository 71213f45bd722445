"""At most one entity of a kind: the best path by constraint generation, compared with all paths."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from postil.objectives.crf import ChainScores, Lattice, Posterior
from postil.objectives.spans import best_without_repeats, without_repeats

# O, B and I of two kinds
BEGINS = np.array([False, True, False, True, False])
KINDS = np.array([-2, 0, 0, 1, 1])
ALLOWED = np.array([[i == j or BEGINS[j] or j == 0 or (KINDS[i] == KINDS[j]) for j in range(5)] for i in range(5)])
ALLOWED[0, [2, 4]] = ALLOWED[[1, 2], 4] = ALLOWED[[3, 4], 2] = False
START = np.array([True, True, False, True, False])


def lattice(seed, T):
    rng = np.random.default_rng(seed)
    chain = ChainScores.under_mask(
        5, transitions=rng.normal(size=(5, 5)), allowed_transitions=ALLOWED, start=rng.normal(size=5),
        allowed_start=START,
    )  # fmt: skip
    return Lattice.over(rng.normal(size=(T, 5)) + 2 * BEGINS, np.array([0, T]), chain)


def scores_of_paths(lattice):
    """{path: score} of all paths that the chain allows."""
    chain, found = lattice.chain, {}
    for path in product(range(5), repeat=len(lattice.unary)):
        steps = sum(chain.transitions[i, j] for i, j in pairwise(path))
        score = chain.start[path[0]] + chain.end[path[-1]] + steps
        score += sum(row[label] for row, label in zip(lattice.unary, path, strict=True))
        if np.isfinite(score):
            found[path] = score
    return found


def repeats(path, once):
    return any(sum(BEGINS[label] and KINDS[label] == kind for label in path) > 1 for kind in once)


@given(st.integers(0, 10_000), st.integers(1, 5), st.sampled_from([(), (0,), (1,), (0, 1)]))
def test_the_best_path_without_repeats_is_that_of_enumeration(seed, T, once):
    one = lattice(seed, T)
    allowed = {path: score for path, score in scores_of_paths(one).items() if not repeats(path, once)}
    best = best_without_repeats(one, BEGINS, KINDS, once)
    assert not repeats(best, once)
    assert np.isclose(allowed[tuple(best.tolist())], max(allowed.values()))


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=4), st.sampled_from([(0,), (0, 1)]))
def test_some_sentences_at_once_have_the_paths_that_each_has_alone(seeds, once):
    alone = [lattice(seed, 1 + seed % 6) for seed in seeds]
    offsets = np.cumsum([0, *(len(one.unary) for one in alone)])
    together = Lattice.over(np.concatenate([one.unary for one in alone]), offsets, alone[0].chain)
    expected = [best_without_repeats(replace(one, chain=alone[0].chain), BEGINS, KINDS, once) for one in alone]
    assert np.array_equal(best_without_repeats(together, BEGINS, KINDS, once), np.concatenate(expected))


@given(st.integers(0, 10_000), st.sampled_from([(), (1,), (0, 1)]))
def test_the_states_leave_exactly_the_paths_without_repeats(seed, once):
    one = lattice(seed, 4)
    allowed = [score for path, score in scores_of_paths(one).items() if not repeats(path, once)]
    states, meaning = without_repeats(one, BEGINS, KINDS, once)
    assert len(meaning) == 5 * 2 ** len(once)
    assert np.allclose(Posterior.of(states).log_partition, np.logaddexp.reduce(allowed))
