"""Log-odds of sets of paths against enumeration of all paths, and against central differences."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oracles.examples import examples
from oracles.paths import SCORES, enumerate_all, in_sentence, random_lattice
from postil.errors import ConfigurationError, DtypeError
from postil.graph import Input
from postil.objectives import (
    ChainScores,
    Lattice,
    log_odds,
    log_odds_and_gradient,
    summed_log_odds,
    without_transition_scores,
)

seeds = st.integers(0, 2**32 - 1)


def log_sum(scores):
    return np.logaddexp.reduce(np.array(scores))


def expected_odds(lattice, allowed):
    """Every path on one side or the other."""
    odds = []
    for b, sentence in enumerate(enumerate_all(lattice)):
        mine = allowed[in_sentence(lattice, b)]
        agrees = [all(mine[t, label] for t, label in enumerate(path)) for path in sentence.paths]
        if all(agrees) or not any(agrees):
            return None
        odds.append(
            log_sum([s for s, a in zip(sentence.scores, agrees, strict=True) if a])
            - log_sum([s for s, a in zip(sentence.scores, agrees, strict=True) if not a])
        )
    return np.array(odds)


def drawn(seed, scores="spread", masked=False):
    """A lattice, and a set of paths that is neither empty nor everything in any sentence, if there is one."""
    rng = np.random.default_rng(seed)
    for attempt in range(50):
        lattice = random_lattice(seed + attempt, scores, masked)
        allowed = rng.random(lattice.unary.shape) < 0.7
        if expected_odds(lattice, allowed) is not None:
            break
    return lattice, allowed


@pytest.mark.slow
@given(seed=seeds, scores=st.sampled_from(list(SCORES)), masked=st.booleans())
def test_odds_are_those_of_all_paths(seed, scores, masked):
    lattice, allowed = drawn(seed, scores, masked)
    expected = expected_odds(lattice, allowed)
    assume(expected is not None)
    assert log_odds(lattice, allowed) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    values, _ = log_odds_and_gradient(lattice, allowed)
    assert values == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.slow
@examples(0.5)
@given(seed=seeds, masked=st.booleans())
def test_the_gradient_is_the_slope(seed, masked):
    lattice, allowed = drawn(seed, masked=masked)
    assume(expected_odds(lattice, allowed) is not None)
    _, gradient = log_odds_and_gradient(lattice, allowed)
    step = 1e-5
    for place in np.ndindex(lattice.unary.shape):
        if lattice.unary[place] == -np.inf:
            assert gradient[place] == 0
            continue
        up, down = lattice.unary.copy(), lattice.unary.copy()
        up[place] += step
        down[place] -= step
        both = [log_odds(replace(lattice, unary=unary), allowed).sum() for unary in (up, down)]
        assert gradient[place] == pytest.approx((both[0] - both[1]) / (2 * step), abs=1e-7)


def test_a_probability_next_to_one_keeps_its_odds():
    """1 - p is far below the last digit of p here."""
    lattice = Lattice.over(np.array([[80.0, 0.0], [60.0, 0.0]]), np.array([0, 2]), ChainScores.under_mask(2))
    allowed = np.array([[True, False], [True, False]])
    assert log_odds(lattice, allowed)[0] == pytest.approx(60.0, abs=1e-8)


def test_without_transition_scores_only_the_mask_is_left():
    transitions = np.arange(4.0).reshape(2, 2)
    chain = ChainScores.under_mask(2, transitions=transitions, allowed_start=np.array([True, False]))
    lattice = Lattice.over(np.zeros((2, 2)), np.array([0, 2]), chain)
    bare = without_transition_scores(lattice).chain
    assert bare.transitions.tolist() == [[0, 0], [0, 0]]
    assert bare.start.tolist() == [0, -np.inf]
    assert lattice.chain.transitions.tolist() == transitions.tolist()


def test_mistakes():
    lattice = Lattice.over(np.zeros((2, 2)), np.array([0, 2]), ChainScores.under_mask(2))
    with pytest.raises(ConfigurationError, match="sentence 0: a statement that must be true has no odds"):
        log_odds(lattice, np.ones((2, 2), bool))
    with pytest.raises(ConfigurationError, match="cannot be true"):
        log_odds(lattice, np.zeros((2, 2), bool))
    with pytest.raises(DtypeError, match="expected bool"):
        log_odds(lattice, np.ones((2, 2)))


def test_the_node_carries_the_sum_in_the_type_of_its_scores():
    lattice, allowed = next(found for found in map(drawn, range(100)) if expected_odds(*found) is not None)
    scores = Input(lattice.unary.astype(np.float32))
    scores.offsets = lattice.offsets
    node = summed_log_odds(scores, lattice.chain, allowed)
    assert node.dtype == np.float32
    assert float(node.value) == pytest.approx(log_odds(lattice, allowed).sum(), rel=1e-5)
