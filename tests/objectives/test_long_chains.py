"""Long sentences in blocks: the same probabilities as in one piece."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.examples import examples
from postil.errors import ConfigurationError
from postil.objectives import ChainScores, EntityLabels, Lattice, Posterior, long_chains, span_probabilities
from postil.text import transition_mask

LABELS = ["O", "B-A", "I-A", "E-A", "S-A", "B-C", "I-C", "E-C", "S-C"]
ENTITIES = [
    EntityLabels.iobes(9, begin=1, inside=2, end=3, single=4),
    EntityLabels.iobes(9, begin=5, inside=6, end=7, single=8),
]


@pytest.fixture(autouse=True)
def short_is_long(monkeypatch):
    for name, value in (("LONG", 12), ("BLOCK", 5), ("GROUP", 17), ("PIECE", 7)):
        monkeypatch.setattr(long_chains, name, value)


def lattice_of(rng, lengths, scale=1.0, masked=True):
    mask = transition_mask(LABELS, "iobes")
    chain = ChainScores.under_mask(
        9,
        transitions=scale * rng.normal(size=(9, 9)),
        start=rng.normal(size=9),
        end=rng.normal(size=9),
        **(
            {"allowed_transitions": mask.transitions, "allowed_start": mask.start, "allowed_end": mask.end}
            if masked
            else {}
        ),
    )
    N = sum(lengths)
    allowed = rng.random((N, 9)) < 0.9 if not masked else None
    if allowed is not None:
        allowed[:, 0] = True
    return Lattice.over(scale * rng.normal(size=(N, 9)), np.cumsum([0, *lengths]), chain, allowed=allowed)


@pytest.mark.slow
@given(seed=st.integers(0, 9999), lengths=st.lists(st.integers(0, 60), min_size=1, max_size=4), masked=st.booleans())
def test_marginals_in_blocks_are_those_of_the_whole(seed, lengths, masked):
    lattice = lattice_of(np.random.default_rng(seed), [*lengths, 40], masked=masked)
    assert long_chains.cut(lattice) is not lattice
    assert long_chains.marginals(lattice) == pytest.approx(Posterior.of(lattice).marginals(), abs=1e-10)


@examples(0.5)
@given(
    seed=st.integers(0, 9999),
    lengths=st.lists(st.integers(0, 60), min_size=1, max_size=4),
    scale=st.sampled_from([1.0, 100.0]),
)
def test_log_partition_is_that_of_the_whole(seed, lengths, scale):
    lattice = lattice_of(np.random.default_rng(seed), [*lengths, 40], scale=scale)
    assert long_chains.log_partition(lattice) == pytest.approx(Posterior.of(lattice).log_partition, rel=1e-12)


@pytest.mark.slow
@given(seed=st.integers(0, 9999))
def test_entities_are_never_cut(seed):
    rng = np.random.default_rng(seed)
    lattice = lattice_of(rng, [40, 3, 25])
    starts = rng.integers(0, 25, 12)
    spans = np.column_stack([rng.choice([0, 2], 12), starts, np.minimum(starts + rng.integers(1, 8, 12), 25)])
    spans = spans[spans[:, 2] > spans[:, 1]]
    kinds = rng.integers(0, 2, len(spans))
    expected = span_probabilities(Posterior.of(lattice), spans, kinds, ENTITIES)
    assert long_chains.entity_probabilities(lattice, spans, kinds, ENTITIES) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("scale", [30.0, 300.0])
@pytest.mark.parametrize("seed", range(5))
def test_scores_far_apart_lose_nothing(scale, seed):
    """Pieces that may have lost something to underflow are swept again in logarithms."""
    lattice = lattice_of(np.random.default_rng(seed), [50, 4, 31], scale=scale)
    assert long_chains.cut(lattice) is not lattice
    assert long_chains.marginals(lattice) == pytest.approx(Posterior.of(lattice).marginals(), abs=1e-10)


@examples(0.5)
@given(seed=st.integers(0, 9999), scale=st.sampled_from([0.0, 1.0, 8.0, 100.0]), masked=st.booleans())
def test_border_messages_are_those_of_one_token_after_the_other(seed, scale, masked):
    """The obvious way: α in logarithms, one token at a time, and what it sends on at every cut."""
    rng = np.random.default_rng(seed)
    lattice = lattice_of(rng, [30], scale=scale, masked=masked)
    cuts = np.unique(rng.integers(1, 30, 6))
    found = long_chains._messages(lattice.unary, lattice.chain, cuts)
    message, expected = lattice.chain.start, []
    for t, scores in enumerate(lattice.unary):
        if t in cuts:
            expected.append(message)
        message = np.logaddexp.reduce((message + scores)[:, None] + lattice.chain.transitions, axis=0)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours - ours.max() == pytest.approx(theirs - theirs.max(), abs=1e-10, rel=1e-12)


def test_messages_that_become_small_are_seen():
    """Each step is harmless, but one label loses a little at each of them: its message would vanish in the end."""
    unary = np.zeros((60, 2))
    unary[:, 1] = -70
    chain = ChainScores.under_mask(2, transitions=np.array([[0.0, -70.0], [-70.0, 0.0]]))
    lattice = Lattice.over(unary, np.array([0, 60]), chain)
    assert long_chains.marginals(lattice) == pytest.approx(Posterior.of(lattice).marginals(), abs=1e-12)


def test_an_impossible_sentence_is_complained_of():
    chain = ChainScores.under_mask(2, allowed_transitions=np.zeros((2, 2), bool))
    with pytest.raises(ConfigurationError, match="sentence 1: no labelling is possible"):
        long_chains.marginals(Lattice.over(np.zeros((31, 2)), np.array([0, 1, 31]), chain))
