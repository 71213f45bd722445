import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import DataError
from postil.metrics import average_precision, best_threshold, precision_recall, score_detection
from postil.metrics.counts import Counts

# Few distinct scores, so that most examples have ties.
labelled_scores = st.lists(st.tuples(st.booleans(), st.sampled_from([-1.5, -0.5, 0.0, 0.25, 2.0])), min_size=1)


def obvious_average_precision(truth, scores):
    """The mean over the true tokens of the precision among all that score at least as high."""
    precisions = []
    for is_true, score in zip(truth, scores, strict=True):
        if is_true:
            above = [t for t, s in zip(truth, scores, strict=True) if s >= score]
            precisions.append(sum(above) / len(above))
    return sum(precisions) / len(precisions) if precisions else 0.0


def f1_above(truth, scores, threshold):
    detected = [score > threshold for score in scores]
    correct = sum(t and d for t, d in zip(truth, detected, strict=True))
    return Counts(correct, sum(detected), sum(truth)).f1


@given(labelled_scores)
def test_average_precision_against_its_definition(pairs):
    truth, scores = zip(*pairs, strict=True)
    assert average_precision(truth, scores) == pytest.approx(obvious_average_precision(truth, scores), abs=1e-12)


@pytest.mark.parametrize("decimals", [0, 1, 8])
def test_average_precision_against_scikit_learn(decimals):
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(decimals)
    truth = rng.random(500) < 0.1
    scores = np.round(rng.normal(size=500) + truth, decimals)
    assert average_precision(truth, scores) == pytest.approx(metrics.average_precision_score(truth, scores), abs=1e-12)


@given(labelled_scores)
def test_no_threshold_is_better_than_the_best(pairs):
    truth, scores = zip(*pairs, strict=True)
    chosen = best_threshold(truth, scores)
    lines = [-9.0, *scores, *(score - 0.01 for score in scores)]
    assert f1_above(truth, scores, chosen.value) == pytest.approx(chosen.f1, abs=1e-12)
    assert chosen.f1 == pytest.approx(max(f1_above(truth, scores, line) for line in lines), abs=1e-12)


def test_the_threshold_lies_half_way_between_scores():
    assert best_threshold([True, True, False], [3.0, 2.0, 1.0]) == (1.5, 1.0)
    neighbours = [np.nextafter(1.0, 2.0), 1.0]  # no number lies between these two
    assert best_threshold([True, False], neighbours) == (1.0, 1.0)


def test_everything_and_nothing():
    assert best_threshold([True, True], [0.5, 0.5]).value < 0.5
    assert best_threshold([False, False], [0.5, 0.7]) == (0.7, 0.0)
    assert average_precision([False], [1.0]) == 0.0
    assert average_precision([], []) == 0.0


def test_all_figures():
    scores = score_detection([True, True, False, False], [2.0, -1.0, 1.0, -2.0], 0.0, label="LOC", sentences=2)
    assert scores.to_dict() == {
        "label": "LOC",
        "sentences": 2,
        "tokens": 4,
        "accuracy": 50.0,
        "average_precision": pytest.approx(100 * (1 + 2 / 3) / 2),
        "precision": 50.0,
        "recall": 50.0,
        "f1": 50.0,
        "support": 2,
        "predicted": 2,
        "correct": 1,
        "threshold": 0.0,
    }
    assert score_detection([], [], 0.0, label="LOC", sentences=0).accuracy == 0.0


@pytest.mark.parametrize(
    ("truth", "scores", "message"),
    [
        ([True], [1.0, 2.0], "one score per token is needed"),
        ([True, False], [1.0, np.nan], "must be finite numbers"),
        ([True, False], [1.0, np.inf], "must be finite numbers"),
    ],
)
def test_impossible_scores_are_refused(truth, scores, message):
    with pytest.raises(DataError, match=message):
        average_precision(truth, scores)


def test_no_tokens_give_no_threshold():
    with pytest.raises(DataError, match="no tokens to choose a threshold on"):
        best_threshold([], [])


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from([0.1, 0.4, 0.5, 0.9])), min_size=1, max_size=12),
    st.integers(0, 3),
)
def test_the_curve_against_counting(answers, unscored):
    truth, scores = zip(*answers, strict=True)
    positives = sum(truth) + unscored
    curve = precision_recall(truth, scores, positives)
    assert list(curve.scores) == sorted(set(scores), reverse=True)
    for score, precision, recall in zip(*curve, strict=True):
        kept = [true for true, given in answers if given >= score]
        assert precision == sum(kept) / len(kept)
        assert recall == (sum(kept) / positives if positives else 0)
    if not unscored:
        steps = np.diff(curve.recall, prepend=0)
        assert average_precision(truth, scores) == pytest.approx(float((steps * curve.precision).sum()))
        assert np.array_equal(precision_recall(truth, scores).recall, curve.recall)


def test_the_curve_of_nothing():
    assert [len(part) for part in precision_recall([], [])] == [0, 0, 0]
