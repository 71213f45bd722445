"""Viterbi and the k best paths against enumeration of all paths (A9)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.paths import SCORES, enumerate_all, in_sentence, random_lattice
from postil.errors import ConfigurationError
from postil.kernels import plain_chain as packing
from postil.objectives import ChainScores, Lattice, Posterior, k_best, path_scores, viterbi

KINDS = [(scores, masked) for scores in SCORES for masked in (False, True)]
cases = pytest.mark.parametrize(("scores", "masked"), KINDS)
SEEDS = range(20)
seeds = st.integers(0, 2**32 - 1)


@cases
def test_viterbi_finds_the_best_path_and_of_equal_ones_the_first(scores, masked):
    for seed in SEEDS:
        lattice = random_lattice(seed, scores, masked)
        labels = viterbi(lattice)
        for b, sentence in enumerate(enumerate_all(lattice)):
            assert tuple(labels[in_sentence(lattice, b)]) == sentence.best()[0]


@cases
@pytest.mark.parametrize("k", [1, 2, 5])
def test_k_best_gives_the_best_paths_in_order_with_their_probabilities(scores, masked, k):
    for seed in SEEDS:
        lattice = random_lattice(seed, scores, masked)
        for found, sentence in zip(k_best(lattice, k), enumerate_all(lattice), strict=True):
            expected = np.sort(sentence.scores)[::-1][:k]
            assert np.allclose([path.score for path in found], expected, rtol=1e-12, atol=1e-9)
            chances = np.exp(expected - sentence.log_z)
            assert np.allclose([path.probability for path in found], chances, rtol=1e-8, atol=1e-12)
            own = dict(zip(sentence.paths, sentence.scores, strict=True))
            labels = [tuple(path.labels.tolist()) for path in found]
            assert len(set(labels)) == len(labels)
            assert np.allclose([own[path] for path in labels], expected)


@cases
def test_the_first_of_the_k_best_is_viterbis(scores, masked):
    for seed in SEEDS:
        lattice = random_lattice(seed, scores, masked)
        first = [path.labels for path, *_ in k_best(lattice, 3)]
        assert np.array_equal(np.concatenate(first), viterbi(lattice))


@given(seeds, st.sampled_from(KINDS))
def test_all_paths_together_have_probability_one(seed, kind):
    lattice = random_lattice(seed, *kind, longest=3)
    for found, sentence in zip(k_best(lattice, 70), enumerate_all(lattice), strict=True):
        assert len(found) == len(sentence.paths)
        assert np.isclose(sum(path.probability for path in found), 1)


@given(seeds, st.sampled_from(KINDS))
def test_a_batch_equals_its_sentences_one_by_one(seed, kind):
    lattice = random_lattice(seed, *kind, longest=4)
    labels, ranked = viterbi(lattice), k_best(lattice, 3)
    for b in range(len(lattice.lengths)):
        one, tokens = lattice.selected(np.array([b]))
        assert np.array_equal(labels[tokens], viterbi(one))
        alone = k_best(one, 3)[0]
        assert [p.labels.tolist() for p in alone] == [p.labels.tolist() for p in ranked[b]]


def test_a_large_batch_is_done_in_groups(monkeypatch):
    whole = next(lattice for seed in range(99) if len((lattice := random_lattice(seed, "enormous")).lengths) > 2)
    labels, ranked, marginals = viterbi(whole), k_best(whole, 3), Posterior.of(whole).marginals()
    monkeypatch.setattr(packing, "GROUP_ENTRIES", 1)  # one sentence at a time
    assert len(list(whole.groups())) == len(whole.lengths)
    assert np.array_equal(viterbi(whole), labels)
    assert [[p.score for p in found] for found in k_best(whole, 3)] == [[p.score for p in found] for found in ranked]
    assert len(Posterior.of(whole).parts) > 1
    assert np.allclose(Posterior.of(whole).marginals(), marginals)


@given(seeds, st.sampled_from(list(SCORES)))
def test_a_constraint_never_raises_the_best_score(seed, scores):
    lattice = random_lattice(seed, scores)
    rng = np.random.default_rng(seed)
    allowed = rng.random(lattice.unary.shape) < 0.6
    allowed[np.arange(len(allowed)), rng.integers(0, lattice.chain.labels, len(allowed))] = True
    free, bound = viterbi(lattice), viterbi(lattice.restricted(allowed))
    gained = path_scores(lattice, bound) - path_scores(lattice, free)
    assert (gained <= 1e-9).all()  # the order of additions may differ
    assert allowed[np.arange(len(bound)), bound].all()


def test_the_bias_is_a_dial():
    rng = np.random.default_rng(2)
    unary, chain = rng.normal(size=(50, 3)), ChainScores.under_mask(3, transitions=rng.normal(size=(3, 3)))
    counts = []
    for bias in (-5.0, -1.0, 0.0, 1.0, 5.0):
        labels = viterbi(Lattice.over(unary, [0, 20, 50], chain, bias=np.array([0.0, 0.0, bias])))
        counts.append(int((labels == 2).sum()))
    assert counts == sorted(counts) and counts[0] < counts[2] < counts[-1]
    biased = Lattice.over(unary, [0, 20, 50], chain, bias=np.array([0.0, 0.0, 1.0]))
    assert np.array_equal(biased.unary, unary + np.array([0, 0, 1]))


def test_a_softmax_model_under_a_mask_is_a_chain_without_scores():
    unary = np.array([[0.0, 3.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.5, 2.0]])
    may_follow = np.array([[True, True, False], [True, True, True], [True, True, True]])  # 2 never after 0
    free = viterbi(Lattice.over(unary, [0, 3], ChainScores.under_mask(3)))
    assert free.tolist() == [1, 2, 2]
    bound = ChainScores.under_mask(3, allowed_transitions=may_follow, allowed_end=np.array([True, True, False]))
    assert viterbi(Lattice.over(unary, [0, 3], bound)).tolist() == [1, 2, 1]


def test_edges():
    nothing = Lattice.over(np.zeros((0, 3)), [0, 0], ChainScores.under_mask(3))
    assert viterbi(nothing).shape == (0,)
    ((only,),) = k_best(nothing, 4)
    assert only.labels.shape == (0,) and only.score == 0 and only.probability == 1
    assert k_best(Lattice.over(np.zeros((0, 3)), [0], ChainScores.under_mask(3)), 2) == []
    one_label = Lattice.over(np.ones((3, 1)), [0, 1, 3], ChainScores.under_mask(1))
    assert viterbi(one_label).tolist() == [0, 0, 0]
    assert [len(found) for found in k_best(one_label, 5)] == [1, 1]


@pytest.mark.slow
def test_long_sentences_and_many_labels():
    rng = np.random.default_rng(0)
    unary = rng.normal(size=(100_000, 3))
    assert np.array_equal(viterbi(Lattice.over(unary, [0, 100_000], ChainScores.under_mask(3))), unary.argmax(axis=1))
    unary = rng.normal(size=(10, 1000)) * 1e4
    many = Lattice.over(unary, [0, 5, 10], ChainScores.under_mask(1000))
    assert np.array_equal(viterbi(many), unary.argmax(axis=1))
    assert np.array_equal(k_best(many, 2)[1][0].labels, unary[5:].argmax(axis=1))


def test_complaints():
    lattice = Lattice.over(np.zeros((4, 2)), [0, 2, 4], ChainScores.under_mask(2))
    for k in (0, 2.5):
        with pytest.raises(
            ConfigurationError, match=f"number of labellings: expected a whole number, 1 or more, got {k}"
        ):
            k_best(lattice, k)
    allowed = np.ones((4, 2), bool)
    allowed[3] = False
    for decode in (viterbi, lambda lattice: k_best(lattice, 2)):
        with pytest.raises(ConfigurationError, match="sentence 1: no labelling is possible"):
            decode(lattice.restricted(allowed))
