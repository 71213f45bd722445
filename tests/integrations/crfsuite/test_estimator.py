"""``CRF`` as scikit-learn and the users of sklearn-crfsuite expect it."""

import inspect
import pickle

import numpy as np
import pytest

import postil
from oracles.features import feature_dicts
from postil.crfsuite import CRF, Trainer, metrics
from postil.errors import ConfigurationError, NotFittedError

X, Y = feature_dicts(60)


@pytest.fixture(scope="module")
def crf():
    return CRF(c1=0.1, c2=0.1, max_iterations=40).fit(X, Y)


def test_it_is_reachable_under_its_public_name():
    assert postil.crfsuite.CRF is CRF
    from postil.crfsuite.metrics import flat_f1_score

    assert flat_f1_score([["a", "b"]], [["a", "b"]], average="macro") == 1.0
    from postil.crfsuite.scorers import flat_accuracy, sequence_accuracy

    fitted = CRF(max_iterations=5).fit(X, Y)
    assert flat_accuracy(fitted, X, Y) == fitted.score(X, Y) and 0 < sequence_accuracy(fitted, X, Y) < 1


@pytest.mark.extra("sklearn_crfsuite")
def test_the_constructor_is_that_of_sklearn_crfsuite():
    import sklearn_crfsuite

    theirs, ours = (inspect.signature(kind).parameters for kind in (sklearn_crfsuite.CRF, CRF))
    assert [*theirs] == [name for name in ours if name != "threads"]
    assert all(ours[name].default == parameter.default for name, parameter in theirs.items())


def test_predictions_and_marginals_belong_together(crf):
    labels, marginals = crf.predict(X), crf.predict_marginals(X)
    assert isinstance(labels, np.ndarray) and labels.dtype == object and len(labels) == len(X)
    assert list(labels[0]) == crf.predict_single(X[0])
    assert list(marginals[0]) == crf.predict_marginals_single(X[0])
    for rows, items in zip(marginals, X, strict=True):
        assert len(rows) == len(items)
        assert all(sum(row.values()) == pytest.approx(1.0) and [*row] == crf.classes_ for row in rows)


def test_the_tagger_answers_as_the_estimator(crf):
    assert crf.tagger_.tag(X[3]) == crf.predict_single(X[3])
    assert crf.tagger_.marginal("O", 0) == crf.predict_marginals_single(X[3])[0]["O"]


def test_what_was_learnt_is_told(crf):
    assert crf.attributes_ == [*dict.fromkeys(a for a, _ in crf.state_features_)]
    assert crf.num_attributes_ == len(crf.attributes_) and crf.size_ > 1000
    assert {label for pair in crf.transition_features_ for label in pair} <= set(crf.classes_)
    assert all(crf.state_features_.values()), "weights of 0 are left out"


def test_a_pickled_copy_is_the_same(crf, tmp_path):
    copy = pickle.loads(pickle.dumps(crf))
    assert copy.predict(X).tolist() == crf.predict(X).tolist() and copy.state_features_ == crf.state_features_
    assert copy.modelfile.name != crf.modelfile.name
    assert copy.training_log_.last_iteration["num"] == crf.training_log_.last_iteration["num"]


def test_a_named_model_file_stays(tmp_path):
    path = tmp_path / "m.crfsuite"
    fitted = CRF(model_filename=str(path), max_iterations=3).fit(X, Y)
    expected = fitted.predict(X).tolist()
    del fitted
    assert CRF(model_filename=str(path)).predict(X).tolist() == expected


def test_a_temporary_model_file_goes_with_the_estimator():
    from pathlib import Path

    fitted = CRF(max_iterations=2).fit(X, Y)
    path = Path(fitted.modelfile.name)
    assert path.exists()
    del fitted
    assert not path.exists()


def test_held_out_data_is_scored_and_changes_no_weight():
    plain, with_dev = CRF(max_iterations=5).fit(X, Y), CRF(max_iterations=5).fit(X, Y, X_dev=X[:9], y_dev=Y[:9])
    last = with_dev.training_log_.last_iteration
    assert last["item_accuracy_float"] == pytest.approx(with_dev.score(X[:9], Y[:9]))
    right = sum(list(a) == b for a, b in zip(with_dev.predict(X[:9]), Y[:9], strict=True))
    assert last["instance_accuracy_float"] == pytest.approx(right / 9)
    assert last["scores"]["O"].ref == sum(label == "O" for labels in Y[:9] for label in labels)
    assert plain.state_features_ == with_dev.state_features_


def test_scikit_learn_can_clone_and_search():
    sklearn = pytest.importorskip("sklearn")
    from sklearn.model_selection import GridSearchCV

    crf = CRF(c1=0.3, threads=1)
    copy = sklearn.base.clone(crf)
    assert copy.get_params() == crf.get_params() and repr(copy) == "CRF(c1=0.3, threads=1)"
    search = GridSearchCV(CRF(max_iterations=20), {"c2": [0.1, 1e5]}, cv=2).fit(X, Y)
    assert search.best_params_ == {"c2": 0.1}


def test_threads_change_nothing():
    fitted = [CRF(max_iterations=10, threads=threads).fit(X, Y).state_features_ for threads in (1, 3)]
    assert fitted[0] == fitted[1]


def test_a_trainer_of_ones_own():
    class Own(Trainer):
        seen = []

        def on_iteration(self, log, info):
            self.seen.append((info["num"], "Loss: " in log))

    CRF(max_iterations=2, trainer_cls=Own, verbose=True).fit(X, Y)
    assert Own.seen == [(1, True), (2, True)]


def test_mistakes_are_named():
    with pytest.raises(NotFittedError):
        CRF().predict(X)
    with pytest.raises(ValueError, match="X_dev and y_dev must be passed together"):
        CRF().fit(X, Y, X)
    with pytest.raises(ConfigurationError, match=r"threads must be at least 1 \(got 0\)"):
        CRF(threads=0).fit(X, Y)
    with pytest.raises(ConfigurationError, match="unknown setting 'c3'"):
        CRF().set_params(c3=1)


def test_metrics_by_hand():
    gold, found = [["x", "z", "y"], ["x", "x"]], [["y", "z", "y"], ["x", "y"]]
    assert metrics.flat_accuracy_score(gold, found) == 3 / 5
    assert metrics.flat_precision_score(gold, found, average="micro") == 3 / 5
    assert metrics.flat_recall_score(gold, found, average="micro") == 3 / 5
    assert metrics.flat_fbeta_score(gold, found, 1, average="macro") == pytest.approx(2 / 3)
    assert "precision" in metrics.flat_classification_report(gold, found)
    assert metrics.sequence_accuracy_score([[1, 2], [3], [4]], [[1, 2], [4], [4]]) == 2 / 3
    assert metrics.sequence_accuracy_score([], []) == 0
