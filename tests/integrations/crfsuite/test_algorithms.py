"""Every algorithm learns; one update of each by hand; the optimum is CRFsuite's."""

import math

import numpy as np
import pytest

from oracles.features import feature_dicts
from postil import kernels
from postil.crfsuite import CRF
from postil.errors import ConfigurationError
from postil.integrations.crfsuite.algorithms import ALGORITHMS, RUN
from postil.integrations.crfsuite.problem import AttributeCorpus, TrainingProblem

X, Y = feature_dicts(150)
X_TEST, Y_TEST = feature_dicts(80, seed=1)


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
def test_every_algorithm_learns_and_repeats(algorithm):
    crfs = [CRF(algorithm, max_iterations=15).fit(X, Y) for _ in range(2)]
    assert crfs[0].score(X_TEST, Y_TEST) > 0.75
    assert crfs[0].state_features_ == crfs[1].state_features_


def first_step(algorithm, **changed):
    items, labels = [[{"a": 1.0, "b": 2.0}, {"a": 1.0}]], [["X", "Y"]]
    parameters = {name: parameter.default for name, parameter in ALGORITHMS[algorithm].items()}
    problem = TrainingProblem(AttributeCorpus.of(items, labels), 1)
    step = next(iter(RUN[algorithm](problem, {**parameters, **changed})))
    return step, problem


# Under weights 0 the best path is X X: Δ takes 1 from (a, X) for (a, Y) and the step X Y; (b, X) is on both paths.
DELTA = np.array([-1.0, 1.0, 0.0, 1.0])  # features (a, X), (a, Y), (b, X), step X Y


def test_the_first_update_of_the_perceptron():
    step, problem = first_step("averaged-perceptron")
    assert problem.features == 4
    assert step.weights.tolist() == (DELTA - DELTA / 2).tolist() and step.info["loss"] == 0.5


@pytest.mark.parametrize(("kind", "tau"), [(0, 1 / 3), (1, 0.2), (2, 1 / (3 + 0.5 / 0.2))])
def test_the_first_update_of_passive_aggressive(kind, tau):
    step, _ = first_step("passive-aggressive", type=kind, c=0.2, averaging=False)
    np.testing.assert_allclose(step.weights, tau * DELTA)


def test_the_first_update_of_arow():
    step, _ = first_step("arow", gamma=2.0, variance=0.5)
    np.testing.assert_allclose(step.weights, 1.0 / (2.0 + 3 * 0.5) * 0.5 * DELTA)


def test_gradient_descent_comes_near_the_optimum_of_lbfgs():
    exact, stochastic = CRF(c2=0.5).fit(X, Y), CRF("l2sgd", c2=0.5, max_iterations=200).fit(X, Y)
    losses = [crf.training_log_.last_iteration["loss"] for crf in (exact, stochastic)]
    assert losses[0] <= losses[1] * 1.001 and losses[1] < losses[0] * 1.05


@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.skipif(kernels.IN_USE.startswith("plain"), reason="nothing was compiled")
@pytest.mark.parametrize(
    ("algorithm", "changed"),
    [
        ("averaged-perceptron", {}),
        ("passive-aggressive", {"type": 0, "averaging": False}),
        ("passive-aggressive", {"type": 1, "c": 0.01}),
        ("passive-aggressive", {"type": 2, "error_sensitive": False}),
        ("arow", {}),
        ("l2sgd", {}),
        ("l2sgd", {"calibration.eta": 1000.0, "c2": 1e-4}),  # weights that need log space
    ],
)
def test_the_kernels_do_what_python_defines(algorithm, changed, monkeypatch):
    parameters = {name: parameter.default for name, parameter in ALGORITHMS[algorithm].items()}
    parameters |= {"max_iterations": 3, **changed}
    problem = TrainingProblem(AttributeCorpus.of([*X[:40], []], [*Y[:40], []]), 1)
    compiled = [*RUN[algorithm](problem, parameters)]
    monkeypatch.setattr("postil.integrations.crfsuite.algorithms._IN_PYTHON", True)
    for found, expected in zip(compiled, RUN[algorithm](problem, parameters), strict=True):
        np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-6, atol=1e-9)
        assert found.info == pytest.approx(expected.info) and found.ending == expected.ending


def test_without_sentences_there_is_nothing_to_learn():
    for algorithm in ALGORITHMS:
        assert CRF(algorithm, max_iterations=2).fit([], []).classes_ == []


def test_unknown_algorithms_and_parameters_are_refused():
    with pytest.raises(ConfigurationError, match=r"algorithm must be lbfgs or .* did you mean lbfgs"):
        CRF("lbgfs").fit(X[:2], Y[:2])
    with pytest.raises(ConfigurationError, match=r"parameter of l2sgd: expected .*, got 'c1'"):
        CRF("l2sgd", c1=1.0).fit(X[:2], Y[:2])


# ------------------------------------------------------------------------------------------------ the real library


def both(**settings):
    import sklearn_crfsuite

    theirs, ours = sklearn_crfsuite.CRF(**settings), CRF(**settings)
    return theirs.fit(X, Y), ours.fit(X, Y)


SETTINGS = [
    {},
    {"c1": 0.1, "c2": 0.1},
    {"c1": 1.0, "c2": 0.0},
    {"c2": 0.01, "all_possible_transitions": True, "all_possible_states": True},
    {"min_freq": 3, "linesearch": "Backtracking"},
    {"linesearch": "StrongBacktracking", "num_memories": 3},
]


@pytest.mark.extra("sklearn_crfsuite")
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_optimum_is_that_of_crfsuite(settings):
    theirs, ours = both(algorithm="lbfgs", **settings)
    losses = [crf.training_log_.last_iteration["loss"] for crf in (theirs, ours)]
    assert math.isclose(*losses, rel_tol=1e-4)
    assert theirs.classes_ == ours.classes_
    for a, b in zip(theirs.predict(X_TEST), ours.predict(X_TEST), strict=True):
        assert list(a) == list(b)
    names = ("active_features", "num")
    if not settings.get("c1"):
        assert set(theirs.attributes_) == set(ours.attributes_)
        assert [theirs.training_log_.last_iteration[n] for n in names[:1]] == [
            ours.training_log_.last_iteration[n] for n in names[:1]
        ]


@pytest.mark.extra("sklearn_crfsuite")
def test_the_first_iterations_are_those_of_crfsuite():
    """The same line search from the same start: the same numbers until rounding has grown."""
    for c1 in (0.0, 0.2):
        theirs, ours = both(algorithm="lbfgs", c1=c1, max_iterations=8)
        for one, other in zip(theirs.training_log_.iterations, ours.training_log_.iterations, strict=True):
            assert one["loss"] == pytest.approx(other["loss"], rel=1e-6)
            assert one["linesearch_trials"] == other["linesearch_trials"]
            assert one["error_norm"] == pytest.approx(other["error_norm"], rel=1e-3, abs=1e-5)


@pytest.mark.extra("sklearn_crfsuite")
def test_weights_and_marginals_are_those_of_crfsuite():
    tight = {"epsilon": 1e-9, "delta": 1e-12, "c2": 0.5}
    theirs, ours = both(algorithm="lbfgs", **tight)
    for name in ("state_features_", "transition_features_"):
        expected, found = getattr(theirs, name), getattr(ours, name)
        assert all(found.get(key, 0.0) == pytest.approx(weight, abs=2e-4) for key, weight in expected.items())
    for one, other in zip(theirs.predict_marginals(X_TEST), ours.predict_marginals(X_TEST), strict=True):
        for a, b in zip(one, other, strict=True):
            assert a == pytest.approx(b, abs=1e-4)
