"""Softmax and the likelihood of single labels (A7, D2)."""

import numpy as np
import pytest

from postil.errors import DataError, DtypeError, IndexRangeError, NumericalError, ShapeError
from postil.graph import Input, gradients
from postil.objectives import log_softmax, softmax, softmax_cross_entropy
from postil.objectives.losses import cross_entropy_and_gradient, several_cross_entropy_and_gradient

S = np.random.default_rng(0).normal(size=(5, 3))
GOLD = np.array([0, 2, 1, 1, 0])


def test_probabilities():
    p = softmax(S)
    assert np.allclose(p, np.exp(S) / np.exp(S).sum(axis=1, keepdims=True))
    assert np.allclose(np.log(p), log_softmax(S))
    assert np.allclose(softmax(S + 1e4), p)


def test_the_mean_over_words_and_its_gradient():
    scores = Input(S)
    loss = softmax_cross_entropy(scores, GOLD)
    p = softmax(S)
    assert np.isclose(loss.value, -np.log(p[np.arange(5), GOLD]).mean())
    assert np.allclose(gradients(loss)[scores], (p - np.eye(3)[GOLD]) / 5)


def test_scores_of_ten_thousand():
    scores = Input(np.array([[1e4, -1e4]]))
    assert softmax_cross_entropy(scores, [0]).value == 0
    loss = softmax_cross_entropy(scores, [1])
    assert loss.value == 2e4 and np.array_equal(gradients(loss)[scores], [[1, -1]])


def test_an_empty_batch_costs_nothing():
    scores = Input(np.empty((0, 3)))
    loss = softmax_cross_entropy(scores, [])
    assert loss.value == 0 and gradients(loss)[scores].shape == (0, 3)


@pytest.mark.parametrize(
    ("scores", "gold", "error", "message"),
    [
        (S, GOLD + 1, IndexRangeError, "gold labels: index out of range: expected 0 to 2, got 3"),
        (S, GOLD[:4], ShapeError, r"gold labels: expected \(5,\), got \(4,\)"),
        (S[0], GOLD, ShapeError, r"scores must be \(N, L\)"),
        (S * np.nan, GOLD, NumericalError, "scores of the cross-entropy: a value is not finite"),
    ],
)
def test_bad_input(scores, gold, error, message):
    with pytest.raises(error, match=message):
        softmax_cross_entropy(Input(scores), gold)


def test_scores_near_the_largest_float():
    far = Input(np.array([[1e308, -1e308]]))
    assert softmax_cross_entropy(far, [0]).value == 0
    assert gradients(softmax_cross_entropy(far, [0]))[far].tolist() == [[0, 0]]
    with pytest.raises(
        NumericalError, match=r"cross-entropy: scores too far apart: a value is not finite: .* got inf$"
    ):
        softmax_cross_entropy(far, [1])


def test_scores_must_be_a_node():
    with pytest.raises(DtypeError, match=r"scores of the cross-entropy: expected a node, .* got float64 \(5, 3\)"):
        softmax_cross_entropy(S, GOLD)


def test_several_labels_are_one_event_and_unknown_words_are_not_counted():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(4, 3))
    allowed = np.array([[True, False, False], [True, True, False], [True, True, True], [False, False, True]])
    p = softmax(scores)
    loss = softmax_cross_entropy(Input(scores), allowed)
    expected = -np.log([(p[i] * allowed[i]).sum() for i in (0, 1, 3)]).mean()
    assert loss.value == pytest.approx(expected)
    everything = np.ones_like(allowed)
    assert softmax_cross_entropy(Input(scores), everything).value == 0


def test_sets_of_one_label_have_the_ordinary_loss_and_gradient():
    rng = np.random.default_rng(1)
    scores, gold = rng.normal(size=(6, 4)), rng.integers(0, 4, 6)
    one = cross_entropy_and_gradient(scores, gold)
    other = several_cross_entropy_and_gradient(scores, np.eye(4, dtype=bool)[gold])
    assert one[0] == pytest.approx(other[0]) and one[1] == pytest.approx(other[1])


def test_sets_far_apart_do_not_underflow():
    scores, allowed = np.array([[0.0, -800.0, -801.0]]), np.array([[False, True, True]])
    loss, gradient = several_cross_entropy_and_gradient(scores, allowed)
    assert loss == pytest.approx(800 - np.log(1 + np.exp(-1)))
    assert np.isfinite(gradient).all()


def test_a_word_without_a_possible_label_is_named():
    allowed = np.array([[True, False], [False, False]])
    with pytest.raises(DataError, match="word 1: no label is allowed"):
        softmax_cross_entropy(Input(np.zeros((2, 2))), allowed)
    with pytest.raises(ShapeError, match="allowed labels"):
        softmax_cross_entropy(Input(np.zeros((3, 2))), allowed)
