import numpy as np
import pytest

from postil.errors import DtypeError, IndexRangeError, NumericalError, ShapeError
from postil.graph import Input, gradients
from postil.objectives import log_softmax, softmax, softmax_cross_entropy

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
        (S, GOLD + 1, IndexRangeError, "gold labels: index out of range; expected 0 to 2, got 3"),
        (S, GOLD[:4], ShapeError, r"gold labels; expected \(5,\), got \(4,\)"),
        (S[0], GOLD, ShapeError, r"scores; expected \(N, L\)"),
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
        NumericalError, match=r"cross-entropy: scores too far apart: a value is not finite; .* got inf$"
    ):
        softmax_cross_entropy(far, [1])


def test_scores_must_be_a_node():
    with pytest.raises(DtypeError, match=r"scores of the cross-entropy; expected a node, .* got float64 \(5, 3\)"):
        softmax_cross_entropy(S, GOLD)
