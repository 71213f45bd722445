"""Scores, partition, marginals and the loss against enumeration of all paths (A8, C3, C4, C5)."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.logadd import cost_and_gradients
from oracles.paths import SCORES, enumerate_all, in_sentence, random_lattice
from postil.errors import ConfigurationError, DataError, DtypeError, IndexRangeError, ShapeError
from postil.objectives import (
    LOGARITHMIC,
    SCALED,
    ChainScores,
    Lattice,
    Posterior,
    forward_backward,
    log_probabilities,
    loss_and_gradient,
    path_scores,
)
from postil.objectives.crf import cross_entropy_and_gradient

KINDS = [(scores, masked) for scores in SCORES for masked in (False, True)]
cases = pytest.mark.parametrize(("scores", "masked"), KINDS)
SEEDS = range(20)
seeds = st.integers(0, 2**32 - 1)


def close(a, b):
    """Equal up to the rounding of scores of up to 1e5."""
    return np.allclose(a, b, rtol=1e-10, atol=1e-10)


@cases
def test_partition_and_marginals_equal_the_sums_over_all_paths(scores, masked):
    for seed in SEEDS:
        lattice = random_lattice(seed, scores, masked)
        posterior = Posterior.of(lattice)
        marginals, pairwise = posterior.marginals(), posterior.pairwise_marginals()
        for b, sentence in enumerate(enumerate_all(lattice)):
            assert close(posterior.log_partition[b], sentence.log_z)
            expected = np.zeros_like(marginals[in_sentence(lattice, b)])
            expected_pairs = np.zeros_like(pairwise[in_sentence(lattice, b)])
            for path, p in zip(sentence.paths, sentence.probabilities, strict=True):
                for t, label in enumerate(path):
                    expected[t, label] += p
                    if t:
                        expected_pairs[t, path[t - 1], label] += p
            assert close(marginals[in_sentence(lattice, b)], expected)
            assert close(pairwise[in_sentence(lattice, b)], expected_pairs)
        assert close(posterior.transition_counts(), pairwise.sum(axis=0))


@cases
def test_the_entropy_is_the_sum_over_all_paths(scores, masked):
    for seed in SEEDS:
        lattice = random_lattice(seed, scores, masked)
        entropy = Posterior.of(lattice).entropy()
        for b, sentence in enumerate(enumerate_all(lattice)):
            p = sentence.probabilities
            expected = -sum(one * np.log(one) for one in p[p > 0])
            # Marginals are rounded in proportion to the largest score, and multiplied by scores of that size.
            assert entropy[b] == pytest.approx(expected, abs=1e-12 + 1e-15 * np.abs(sentence.scores).max() ** 2)


def test_the_entropy_of_what_is_certain_or_empty_is_nothing_and_of_equal_paths_their_logarithm():
    equal = Lattice.over(np.zeros((5, 3)), [0, 0, 2, 5], ChainScores.under_mask(3))
    assert close(Posterior.of(equal).entropy(), [0, 2 * np.log(3), 3 * np.log(3)])
    assert Posterior.of(Lattice.over(np.zeros((2, 1)), [0, 2], ChainScores.under_mask(1))).entropy() == [0]


@cases
def test_path_scores_and_log_probabilities(scores, masked):
    for seed in SEEDS:
        lattice, rng = random_lattice(seed, scores, masked), np.random.default_rng(seed)
        sentences = enumerate_all(lattice)
        picks = [int(rng.integers(len(sentence.paths))) for sentence in sentences]
        labels = [label for sentence, i in zip(sentences, picks, strict=True) for label in sentence.paths[i]]
        labels = np.array(labels, np.int64)
        assert close(path_scores(lattice, labels), [s.scores[i] for s, i in zip(sentences, picks, strict=True)])
        expected = [s.scores[i] - s.log_z for s, i in zip(sentences, picks, strict=True)]
        assert close(log_probabilities(lattice, labels), expected)


@cases
def test_both_algebras_agree_wherever_scaling_calls_itself_exact(scores, masked):
    for seed in SEEDS:
        lattice = random_lattice(seed, scores, masked, longest=12 if not masked else 4)
        fast, slow = (forward_backward(lattice, algebra).chain for algebra in (SCALED, LOGARITHMIC))
        exact = fast.is_exact
        assert close(fast.log_partition[exact], slow.log_partition[exact])
        rows = np.repeat(exact, lattice.lengths)
        scaled = fast.prefix[rows] * fast.following[rows] / fast.weight[rows]
        assert close(scaled, np.exp(slow.prefix[rows] + slow.following[rows] - slow.weight[rows]))


def test_ordinary_scores_never_need_logarithms_and_extreme_ones_do():
    assert all(forward_backward(random_lattice(seed, "spread", True), SCALED).chain.is_exact.all() for seed in SEEDS)
    lost = [forward_backward(random_lattice(seed, "enormous"), SCALED).chain.is_exact.all() for seed in SEEDS]
    assert not all(lost)


def test_a_path_that_loses_slowly_and_wins_late_is_not_forgotten():
    # Two labels that never meet. Label 1 falls behind by 90 a token, which no single step shows, then overtakes.
    unary = np.zeros((24, 2))
    unary[:11, 1], unary[11:, 0] = -90, -90
    lattice = Lattice.over(unary, [0, 24], ChainScores.under_mask(2, allowed_transitions=np.eye(2, dtype=bool)))
    assert not forward_backward(lattice, SCALED).chain.is_exact[0]
    posterior = Posterior.of(lattice)
    assert close(posterior.log_partition, [-90 * 11])
    assert close(posterior.marginals()[:, 1], 1)


def test_only_the_sentences_that_need_it_are_done_again():
    rng = np.random.default_rng(0)
    chain = ChainScores.under_mask(3, transitions=rng.normal(size=(3, 3)))
    unary = rng.normal(size=(9, 3))
    unary[4, 1] = 5000.0
    posterior = Posterior.of(Lattice.over(unary, [0, 3, 6, 9], chain))
    assert [(part.messages.algebra is SCALED, part.sentences.tolist()) for part in posterior.parts] == [
        (True, [0, 2]),
        (False, [1]),
    ]
    alone = [Posterior.of(Lattice.over(unary[i : i + 3], [0, 3], chain)) for i in (0, 3, 6)]
    assert close(posterior.marginals(), np.concatenate([p.marginals() for p in alone]))
    assert close(posterior.log_partition, [p.log_partition[0] for p in alone])
    assert close(posterior.transition_counts(), sum(p.transition_counts() for p in alone))


def test_the_loss_of_a_batch_with_such_a_sentence_is_that_of_its_sentences():
    rng = np.random.default_rng(1)
    chain = ChainScores.under_mask(3, transitions=rng.normal(size=(3, 3)))
    unary, gold = rng.normal(size=(9, 3)), rng.integers(3, size=9)
    unary[4, 1] = 5000.0
    losses, gradient = loss_and_gradient(Lattice.over(unary, [0, 3, 6, 9], chain), gold)
    alone = [loss_and_gradient(Lattice.over(unary[i : i + 3], [0, 3], chain), gold[i : i + 3]) for i in (0, 3, 6)]
    assert close(losses, np.concatenate([loss for loss, _ in alone]))
    assert close(gradient.unary, np.concatenate([g.unary for _, g in alone]))
    assert close(gradient.transitions, sum(g.transitions for _, g in alone))


@given(seeds, st.sampled_from(KINDS))
def test_marginals_are_distributions(seed, kind):
    lattice = random_lattice(seed, *kind)
    posterior = Posterior.of(lattice)
    marginals, pairwise = posterior.marginals(), posterior.pairwise_marginals()
    assert (marginals >= 0).all() and (pairwise >= 0).all()
    assert close(marginals.sum(axis=1), 1)
    assert not marginals[lattice.unary == -np.inf].any()  # impossible is exactly impossible
    for b in range(len(lattice.lengths)):
        rows = in_sentence(lattice, b)
        assert not pairwise[rows][:1].any()
        assert close(pairwise[rows][1:].sum(axis=2), marginals[rows][:-1])
        assert close(pairwise[rows][1:].sum(axis=1), marginals[rows][1:])


@given(seeds, st.sampled_from(KINDS))
def test_a_batch_equals_its_sentences_one_by_one(seed, kind):
    lattice = random_lattice(seed, *kind)
    whole = Posterior.of(lattice)
    for b in range(len(lattice.lengths)):
        one, tokens = lattice.selected(np.array([b]))
        alone = Posterior.of(one)
        assert close(whole.log_partition[b], alone.log_partition[0])
        assert close(whole.marginals()[tokens], alone.marginals())


# ------------------------------------------------------------------------------------------------ loss


def possible_labels(lattice: Lattice, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    paths = [s.paths[int(rng.integers(len(s.paths)))] for s in enumerate_all(lattice)]
    return np.array([label for path in paths for label in path], np.int64)


@pytest.mark.parametrize("scores", ["spread", "ties", "wide"])
def test_the_gradient_is_that_of_the_documents_recursion(scores):
    for seed in SEEDS:
        lattice = random_lattice(seed, scores)
        gold, chain = possible_labels(lattice, seed), lattice.chain
        losses, gradient = loss_and_gradient(lattice, gold)
        sums = [np.zeros_like(table) for table in (chain.transitions, chain.start, chain.end)]
        for b in np.flatnonzero(lattice.lengths):
            rows = in_sentence(lattice, b)
            cost, df, *others = cost_and_gradients(
                lattice.unary[rows], chain.transitions, chain.start, chain.end, gold[rows]
            )
            assert close(losses[b], cost)
            assert close(gradient.unary[rows], df)
            sums = [a + b for a, b in zip(sums, others, strict=True)]
        for found, expected in zip(gradient[1:], sums, strict=True):
            assert close(found, expected)


@cases
def test_the_gradient_is_marginals_minus_gold(scores, masked):
    for seed in SEEDS:
        lattice = random_lattice(seed, scores, masked)
        gold = possible_labels(lattice, seed)
        losses, gradient = loss_and_gradient(lattice, gold)
        chosen = np.eye(lattice.chain.labels)[gold]
        assert close(losses, -log_probabilities(lattice, gold))
        assert close(gradient.unary, Posterior.of(lattice).marginals() - chosen)
        assert (losses >= -1e-9).all()


@cases
def test_partial_annotation_sums_over_the_paths_that_agree_with_it(scores, masked):
    for seed in SEEDS:
        lattice, rng = random_lattice(seed, scores, masked), np.random.default_rng(seed)
        allowed = rng.random(lattice.unary.shape) < 0.5
        allowed[np.arange(len(allowed)), possible_labels(lattice, seed)] = True
        losses, gradient = loss_and_gradient(lattice, allowed)
        agreeing = enumerate_all(lattice.restricted(allowed))
        for b, (sentence, part) in enumerate(zip(enumerate_all(lattice), agreeing, strict=True)):
            assert close(losses[b], sentence.log_z - part.log_z)
        expected = Posterior.of(lattice).marginals() - Posterior.of(lattice.restricted(allowed)).marginals()
        assert close(gradient.unary, expected)


def test_an_annotation_of_single_labels_is_a_labelling():
    lattice = random_lattice(3)
    gold = possible_labels(lattice, 3)
    by_labels = loss_and_gradient(lattice, gold)
    by_sets = loss_and_gradient(lattice, np.eye(lattice.chain.labels, dtype=bool)[gold])
    assert close(by_labels[0], by_sets[0])
    assert all(close(a, b) for a, b in zip(by_labels[1], by_sets[1], strict=True))


def test_an_annotation_that_says_nothing_costs_nothing():
    lattice = random_lattice(5)
    losses, gradient = loss_and_gradient(lattice, np.ones(lattice.unary.shape, bool))
    assert close(losses, 0) and all(close(part, 0) for part in gradient)


# ------------------------------------------------------------------------------------------------ edges


def test_one_label_one_token_no_token_no_sentence():
    one_label = ChainScores.under_mask(1)
    posterior = Posterior.of(Lattice.over(np.full((3, 1), 2.0), [0, 0, 3], one_label))
    assert close(posterior.log_partition, [0, 6]) and close(posterior.marginals(), 1)
    one_token = Lattice.over(np.array([[0.0, np.log(3)]]), [0, 1], ChainScores.under_mask(2))
    assert close(Posterior.of(one_token).marginals(), [[0.25, 0.75]])
    for offsets in ([0], [0, 0]):
        empty = Lattice.over(np.zeros((0, 2)), offsets, ChainScores.under_mask(2))
        assert Posterior.of(empty).marginals().shape == (0, 2)
        assert not Posterior.of(empty).log_partition.any()
        assert Posterior.of(empty).pairwise_marginals().shape == (0, 2, 2)
        losses, gradient = loss_and_gradient(empty, np.zeros(0, np.int64))
        assert len(losses) == len(offsets) - 1 and not gradient.transitions.any()


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_a_thousand_labels(scale):
    rng = np.random.default_rng(0)
    chain = ChainScores.under_mask(1000, transitions=rng.normal(size=(1000, 1000)) * scale)
    unary = rng.normal(size=(4, 1000)) * scale
    posterior = Posterior.of(Lattice.over(unary, [0, 1, 4], chain))
    assert close(posterior.marginals().sum(axis=1), 1)
    a = unary[1]
    for t in (2, 3):
        step = a[:, None] + chain.transitions
        a = unary[t] + step.max(axis=0) + np.log(np.exp(step - step.max(axis=0)).sum(axis=0))
    assert close(posterior.log_partition[1], a.max() + np.log(np.exp(a - a.max()).sum()))
    assert close(posterior.transition_counts().sum(), 2)


def test_a_hundred_thousand_tokens():
    # Without transition scores the tokens are independent: log Z is the sum of the tokens' own.
    rng = np.random.default_rng(0)
    unary = rng.normal(scale=3, size=(100_000, 4))
    posterior = Posterior.of(Lattice.over(unary, [0, 100_000], ChainScores.under_mask(4)))
    assert len(posterior.parts) == 1 and posterior.parts[0].messages.algebra is SCALED
    assert np.isclose(posterior.log_partition[0], np.log(np.exp(unary).sum(axis=1)).sum(), rtol=1e-12)
    expected = np.exp(unary) / np.exp(unary).sum(axis=1, keepdims=True)
    assert close(posterior.marginals(), expected)


def test_long_sentences_stay_accurate_in_logarithms():
    rng = np.random.default_rng(0)
    unary = rng.choice([-1e4, 1e4], size=(2_000, 3))
    posterior = Posterior.of(Lattice.over(unary, [0, 2_000], ChainScores.under_mask(3)))
    assert posterior.parts[-1].messages.algebra is LOGARITHMIC
    expected = (unary == unary.max(axis=1, keepdims=True)).astype(float)
    assert close(posterior.marginals(), expected / expected.sum(axis=1, keepdims=True))


# ------------------------------------------------------------------------------------------------ complaints


def test_a_sentence_without_a_possible_path_is_named():
    chain = ChainScores.under_mask(2, allowed_transitions=np.array([[False, True], [False, False]]))
    lattice = Lattice.over(np.zeros((6, 2)), [0, 2, 3, 6], chain)
    with pytest.raises(ConfigurationError, match=r"sentence 2: no labelling is possible: expected a path that"):
        Posterior.of(lattice)
    with pytest.raises(ConfigurationError, match="sentence 1: no labelling is possible"):
        Posterior.of(Lattice.over(np.zeros((2, 2)), [0, 1, 2], chain, allowed=np.array([[True, True], [False, False]])))


@pytest.mark.parametrize("where", ["start", "end"])
def test_forbidden_everywhere_at_an_edge(where):
    chain = ChainScores.under_mask(2, **{f"allowed_{where}": np.zeros(2, bool)})
    with pytest.raises(ConfigurationError, match="sentence 0: no labelling is possible"):
        Posterior.of(Lattice.over(np.zeros((2, 2)), [0, 2], chain))


@pytest.mark.parametrize(
    ("gold", "step"),
    [
        ([0, 0, 1, 0, 1], "label 1 after 0 at token 2"),
        ([0, 0, 2, 0, 0], "label 2 at the start"),
        ([0, 0, 0, 0, 2], "label 2 at the end"),
        ([0, 0, 0, 2, 0], "label 2 at token 1"),
    ],
)
def test_gold_labels_that_are_forbidden_are_named(gold, step):
    allowed = {
        "allowed_transitions": np.array([[True, False, True], [True, True, True], [True, True, True]]),
        "allowed_start": np.array([True, True, False]),
        "allowed_end": np.array([True, True, False]),
    }
    sets = np.ones((5, 3), bool)
    sets[3, 2] = False
    lattice = Lattice.over(np.zeros((5, 3)), [0, 2, 5], ChainScores.under_mask(3, **allowed), allowed=sets)
    with pytest.raises(DataError, match=f"sentence 1: gold labels on a forbidden path: expected .*, got {step}$"):
        loss_and_gradient(lattice, np.array(gold))


def test_threads_do_not_disturb_each_other():
    lattices = [random_lattice(seed, longest=12) for seed in range(12)]
    alone = [loss_and_gradient(lattice, np.zeros(len(lattice.unary), np.int64)) for lattice in lattices]

    def again(_):
        return [loss_and_gradient(lattice, np.zeros(len(lattice.unary), np.int64)) for lattice in lattices]

    with ThreadPoolExecutor(4) as pool:
        for results in pool.map(again, range(8)):
            for (losses, gradient), (expected, expected_gradient) in zip(results, alone, strict=True):
                assert np.array_equal(losses, expected)
                assert all(np.array_equal(a, b) for a, b in zip(gradient, expected_gradient, strict=True))


def test_labels_that_do_not_fit():
    lattice = Lattice.over(np.zeros((3, 2)), [0, 3], ChainScores.under_mask(2))
    with pytest.raises(IndexRangeError, match=r"labels: index out of range: expected 0 to 1, got 2 at position \(1,\)"):
        path_scores(lattice, np.array([0, 2, 1]))
    with pytest.raises(IndexRangeError, match="got -1 at position"):
        loss_and_gradient(lattice, np.array([0, -1, 1]))
    with pytest.raises(ShapeError, match=r"labels: one label per token: expected \(3,\), got \(2,\)"):
        path_scores(lattice, np.array([0, 1]))
    with pytest.raises(DtypeError, match="labels: wrong element type: expected integers"):
        path_scores(lattice, np.array([0.0, 1.0, 1.0]))


@cases
def test_cross_entropy_with_a_teacher_is_the_sum_over_all_paths(scores, masked):
    for seed in SEEDS:
        student = random_lattice(seed, scores, masked)
        rng = np.random.default_rng(seed)
        noise = rng.normal(size=student.unary.shape)
        teacher = Lattice(unary=student.unary / 50 + noise, offsets=student.offsets, chain=student.chain)
        expected = 0.0
        for ours, theirs in zip(enumerate_all(student), enumerate_all(teacher), strict=True):
            log_p = {tuple(path): np.log(p) for path, p in zip(ours.paths, ours.probabilities, strict=True) if p > 0}
            for path, q in zip(theirs.paths, theirs.probabilities, strict=True):
                if q > 1e-300 and tuple(path) in log_p:
                    expected -= q * log_p[tuple(path)]
        if scores in ("spread", "ties"):
            assert np.isclose(cross_entropy_and_gradient(student, teacher)[0], expected, rtol=1e-8)
        loss, gradient = cross_entropy_and_gradient(student, student)
        assert np.abs(gradient.unary).max(initial=0) < 1e-12
        assert loss >= -1e-6


def test_a_teacher_that_is_sure_of_one_path_is_a_gold_labelling():
    for seed in SEEDS:
        lattice = random_lattice(seed, "spread", False)
        labels = np.random.default_rng(seed).integers(0, lattice.chain.labels, len(lattice.unary))
        sure = lattice.restricted(np.eye(lattice.chain.labels, dtype=bool)[labels])
        losses, gradient = loss_and_gradient(lattice, labels)
        loss, taught = cross_entropy_and_gradient(lattice, sure)
        assert np.isclose(loss, losses.sum())
        for one, other in zip(gradient, taught, strict=True):
            assert close(one, other)
