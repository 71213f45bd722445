"""The CRF as an objective: gradients, normalisation, three offsets, linear factors (C2)."""

from itertools import pairwise

import numpy as np
import pytest

from postil.arrays import Ragged
from postil.errors import ConfigurationError, DtypeError, IndexRangeError, NumericalError, ShapeError
from postil.gradcheck import check
from postil.graph import Input, Parameter, gradients
from postil.objectives import CRF, ChainScores, Lattice, Posterior, loss_and_gradient, offset_scores, viterbi

OFFSETS = np.array([0, 1, 1, 4, 9])
MASK = np.array([[True, True, False], [True, False, True], [True, True, True]])


def random_crf(rng, **options) -> CRF:
    crf = CRF(3, dtype=np.float64, **options)
    for parameter in crf.parameters().values():
        parameter.value[...] = rng.normal(size=parameter.shape)
    return crf


def scores_and_gold(rng):
    return Ragged(rng.normal(size=(9, 3)), OFFSETS), np.array([0, 1, 2, 0, 2, 2, 1, 0, 1])


@pytest.mark.parametrize("masked", [False, True])
def test_gradients_by_central_differences(masked):
    rng = np.random.default_rng(0)
    masks = {"allowed_transitions": MASK, "allowed_end": np.array([True, True, False])} if masked else {}
    crf = random_crf(rng, **masks)
    scores, gold = scores_and_gold(rng)
    report = check(crf, scores, gold)
    assert {entry.name for entry in report.entries} == {"input 0", "transitions", "start", "end"}


def test_gradients_of_partial_annotation():
    rng = np.random.default_rng(1)
    scores, gold = scores_and_gold(rng)
    allowed = rng.random((9, 3)) < 0.5
    allowed[np.arange(9), gold] = True
    check(random_crf(rng), scores, allowed)


def test_gradients_where_logarithms_take_over():
    rng = np.random.default_rng(2)
    crf = random_crf(rng)
    scores, gold = scores_and_gold(rng)
    scores.data[5] = [300.0, 0.0, -300.0]
    scores.data[6] = [0.0, 300.0, 301.0]
    lattice = crf.lattice(scores.data, OFFSETS)
    assert len(Posterior.of(lattice).parts) == 2
    check(crf, scores, gold)


def test_gradients_through_three_offsets():
    rng = np.random.default_rng(3)
    crf, (scores, gold) = random_crf(rng), scores_and_gold(rng)
    others = [Ragged(rng.normal(size=(9, 3)), OFFSETS) for _ in range(2)]
    check(lambda *nodes: crf.loss(offset_scores(*nodes), gold), scores, *others, parameters=crf.parameters())


def test_offset_scores_stop_at_the_edges_of_sentences():
    rng = np.random.default_rng(4)
    a, left, right = (rng.normal(size=(9, 3)) for _ in range(3))
    U = offset_scores(*(Input(values, offsets=OFFSETS) for values in (a, left, right))).value
    for first, end in pairwise(OFFSETS):
        for k in range(first, end):
            expected = a[k] + (left[k - 1] if k > first else 0) + (right[k + 1] if k + 1 < end else 0)
            assert np.allclose(U[k], expected)


def test_linear_factors_have_the_printed_gradients():
    """C6: b, W0, W-1 and W+1 straight on the inputs; the gradients of the document, summed word by word."""
    rng = np.random.default_rng(5)
    crf, (_, gold) = random_crf(rng), scores_and_gold(rng)
    X = Input(rng.normal(size=(9, 4)), "x", offsets=OFFSETS)
    W0, W_previous, W_next = (Parameter(rng.normal(size=(3, 4)), name) for name in ("W0", "W-1", "W+1"))
    b = Parameter(rng.normal(size=3), "b")
    maps = [X @ W0.T + b, X @ W_previous.T, X @ W_next.T]
    for node in maps:
        node.offsets = OFFSETS
    U = offset_scores(*maps)
    found = gradients(crf.loss(U, gold) * 4)  # the sum over the sentences
    difference = -(np.eye(3)[gold] - Posterior.of(crf.lattice(U.value, OFFSETS)).marginals())  # -(e(y_k) - p(y_k|X))
    expected = {p: np.zeros(p.shape) for p in (b, W0, W_previous, W_next)}
    for first, end in pairwise(OFFSETS):
        for k in range(first, end):
            expected[b] += difference[k]
            expected[W0] += np.outer(difference[k], X.value[k])
            if k > first:
                expected[W_previous] += np.outer(difference[k], X.value[k - 1])
            if k + 1 < end:
                expected[W_next] += np.outer(difference[k], X.value[k + 1])
    for parameter, value in expected.items():
        assert np.allclose(found[parameter], value)


def test_a_network_learns_a_pattern_that_only_transitions_can_tell():
    # Scores say nothing. Labels alternate 0 1 2 0 1 2: the transitions must learn it.
    crf, gold = CRF(3), np.array([0, 1, 2, 0, 1, 2])
    nothing = Input(np.zeros((6, 3), np.float32), offsets=[0, 6])
    losses = []
    for _ in range(60):
        loss = crf.loss(nothing, gold)
        losses.append(float(loss.value))
        for parameter, gradient in gradients(loss, crf.parameters().values()).items():
            parameter.value -= np.float32(0.5) * gradient
    assert losses[0] == pytest.approx(6 * np.log(3)) and losses[-1] < 0.2
    assert viterbi(crf.lattice(np.zeros((6, 3)), [0, 6])).tolist() == gold.tolist()


def test_the_loss_is_the_mean_over_the_sentences():
    rng = np.random.default_rng(6)
    scores, gold = scores_and_gold(rng)
    crf = random_crf(rng)
    losses, _ = loss_and_gradient(crf.lattice(scores.data, OFFSETS), gold)
    assert float(crf.loss(Input(scores.data, offsets=OFFSETS), gold).value) == pytest.approx(losses.mean())


def test_gradients_have_the_type_of_the_scores():
    rng = np.random.default_rng(7)
    scores, gold = scores_and_gold(rng)
    crf = CRF(3)
    node = Input(scores.data.astype(np.float32), offsets=OFFSETS)
    loss = crf.loss(node, gold)
    found = gradients(loss)
    assert loss.dtype == np.float32 and {gradient.dtype for gradient in found.values()} == {np.dtype(np.float32)}
    wide = CRF(3, dtype=np.float64).loss(Input(node.value.astype(np.float64), offsets=OFFSETS), gold)
    assert float(loss.value) == pytest.approx(float(wide.value), rel=1e-6)


def test_an_empty_batch_has_no_loss_and_no_gradient():
    crf = CRF(3)
    for offsets in ([0], [0, 0, 0]):
        loss = crf.loss(Input(np.zeros((0, 3), np.float32), offsets=offsets), np.zeros(0, np.int64))
        assert float(loss.value) == 0
        assert not any(gradient.any() for gradient in gradients(loss).values())


def test_a_forbidden_transition_is_never_learnt_nor_used():
    rng = np.random.default_rng(8)
    crf = random_crf(rng, allowed_transitions=MASK)
    scores, gold = scores_and_gold(rng)
    before = crf.loss(Input(scores.data, offsets=OFFSETS), gold)
    assert not gradients(before)[crf.transitions][~MASK].any()
    crf.transitions.value[~MASK] = 1e6
    assert crf.loss(Input(scores.data, offsets=OFFSETS), gold).value == before.value
    labels = viterbi(crf.lattice(scores.data, OFFSETS))
    steps = [(a, b) for i, (a, b) in enumerate(pairwise(labels)) if i + 1 not in OFFSETS]
    assert all(MASK[step] for step in steps)


def test_decoding_with_allowed_sets_and_bias():
    rng = np.random.default_rng(10)
    crf, (scores, _) = random_crf(rng), scores_and_gold(rng)
    allowed, bias = np.ones((9, 3), bool), np.array([0.0, 1.0, 0.0])
    allowed[4] = [False, True, False]
    lattice = Lattice.over(scores.data, OFFSETS, crf.chain(), allowed=allowed, bias=bias)
    assert viterbi(lattice)[4] == 1 and np.array_equal(lattice.unary[0], scores.data[0] + bias)
    assert isinstance(crf.chain(), ChainScores)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"labels": 0}, ConfigurationError, "number of labels: expected 1 or more, got 0"),
        ({"allowed_transitions": np.ones((2, 3), bool)}, ShapeError, "allowed transitions: wrong shape"),
        ({"allowed_start": np.ones(3)}, DtypeError, "allowed start: wrong element type: expected bool"),
    ],
)
def test_a_crf_that_cannot_be(options, error, message):
    with pytest.raises(error, match=message):
        CRF(**{"labels": 3, **options})


def test_scores_that_do_not_fit():
    crf, gold = CRF(3), np.zeros(2, np.int64)
    good = np.zeros((2, 3), np.float32)
    with pytest.raises(ShapeError, match="CRF: the scores are not cut into sentences: expected a node that carries"):
        crf.loss(Input(good), gold)
    with pytest.raises(DtypeError, match="CRF: float types of scores and parameters differ: expected float32"):
        crf.loss(Input(good.astype(np.float64), offsets=[0, 2]), gold)
    with pytest.raises(NumericalError, match=r"unary scores: a value is not finite: .* got nan at position \(1, 2\)"):
        crf.loss(Input(np.array([[0, 0, 0], [0, 0, np.nan]], np.float32), offsets=[0, 2]), gold)
    cut = Input(good, offsets=[0, 2])
    for other in (Input(good[:1]), Input(good.astype(np.float64))):
        with pytest.raises(
            ShapeError, match=r"offset scores: three score tables: expected one shape \(N, L\) and type"
        ):
            offset_scores(cut, Input(good), other)
    with pytest.raises(DtypeError, match="scores of a CRF: expected a node, such as Input"):
        crf.loss(good, gold)
    with pytest.raises(DtypeError, match="score table: expected a node, such as Input"):
        offset_scores(cut, cut, good)
    with pytest.raises(IndexRangeError, match="labels: index out of range: expected 0 to 2, got 3"):
        crf.loss(cut, np.array([0, 3]))
    with pytest.raises(ShapeError, match=r"labels: one label per token: expected \(2,\), got \(1,\)"):
        crf.loss(cut, gold[:1])
    with pytest.raises(ShapeError, match=r"allowed labels: wrong shape: expected \(2, 3\)"):
        crf.loss(cut, np.ones((1, 3), bool))
    crf.transitions.value[0, 1] = np.nan
    with pytest.raises(NumericalError, match="transitions scores: a value is not finite"):
        crf.loss(Input(good, offsets=[0, 2]), gold)
