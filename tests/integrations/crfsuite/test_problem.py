"""The features of a corpus, and the loss with its gradient: by enumeration of all labellings and by differences."""

from itertools import pairwise, product

import numpy as np
import pytest

from oracles.features import feature_dicts, flattened
from postil import kernels
from postil.errors import DataError
from postil.integrations.crfsuite.problem import AttributeCorpus, TrainingProblem
from postil.objectives import Lattice, Posterior

X, Y = feature_dicts(12, seed=1)
SHORT = [(x, y) for x, y in zip(X, Y, strict=True) if len(x) <= 4]


def problem(X=X, y=Y, threads=1, **settings):
    return TrainingProblem(AttributeCorpus.of(X, y), threads, **settings)


def weights_by_name(found, weights):
    model = found.named(weights)
    return {**model.state_features(), **{("step", *k): v for k, v in model.transition_features().items()}}


def path_score(named, items, labels):
    score = sum(named.get((a, y), 0.0) * v for item, y in zip(items, labels, strict=True) for a, v in flattened(item))
    return score + sum(named.get(("step", a, b), 0.0) for a, b in pairwise(labels))


def test_the_loss_is_that_of_all_labellings():
    found = problem([x for x, _ in SHORT], [y for _, y in SHORT])
    weights = np.random.default_rng(0).normal(size=found.features)
    named, labels = weights_by_name(found, weights), found.corpus.labels
    expected = 0.3 * float(weights @ weights)
    for items, gold in SHORT:
        scores = [path_score(named, items, path) for path in product(labels, repeat=len(items))]
        expected += float(np.logaddexp.reduce(scores)) - path_score(named, items, gold)
    assert found.objective(0.3)(weights)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "settings", [{}, {"all_possible_states": True, "all_possible_transitions": True}, {"min_freq": 2.0}]
)
def test_the_gradient_by_differences(settings):
    found = problem(**settings)
    rng = np.random.default_rng(0)
    weights, direction = rng.normal(size=(2, found.features))
    objective, step = found.objective(0.7), 1e-5
    numeric = (objective(weights + step * direction)[0] - objective(weights - step * direction)[0]) / (2 * step)
    assert float(objective(weights)[1] @ direction) == pytest.approx(numeric, rel=1e-7)


def test_which_features_there_are():
    items = [[{"a": 1.0, "b": False}, {"a": 1.0}, {"a": 0.5, "c": -1.0}]]
    found = problem(items, [["X", "Y", "Y"]])
    named = weights_by_name(found, np.ones(found.features))
    assert set(named) == {("a", "X"), ("b", "X"), ("a", "Y"), ("step", "X", "Y"), ("step", "Y", "Y")}
    assert found.observed.tolist() == [1.0, 1.5, 0.0, 1.0, 1.0], "negative totals are below a least frequency of 0"
    every = problem(items, [["X", "Y", "Y"]], all_possible_states=True, all_possible_transitions=True, min_freq=-1.0)
    assert every.features == 3 * 2 + 4
    assert problem(items, [["X", "Y", "Y"]], min_freq=1.2).features == 1


def test_the_same_bits_for_any_number_of_threads(monkeypatch):
    import postil.integrations.crfsuite.problem as module

    monkeypatch.setattr(module, "_TOKENS_OF_A_SHARD", 7)
    monkeypatch.setattr(module, "_OCCURRENCES_OF_A_SHARD", 11)
    weights = np.random.default_rng(0).normal(size=problem().features)
    results = [problem(threads=threads).objective(0.5)(weights) for threads in (1, 2, 5)]
    assert len(problem().shards) > 3 and len(module._ranges(problem().occurrences.starts, 11)) > 3
    for value, gradient in results[1:]:
        assert value == results[0][0] and np.array_equal(gradient, results[0][1])


def test_scores_far_apart_are_summed_in_log_space():
    found = problem()
    weights = 400.0 * np.random.default_rng(0).normal(size=found.features)
    value, gradient = found.objective(0.0)(weights)
    scores = kernels.attribute_scores(found.attributes, found.pairs, found.states(weights), found.L)
    lattice = Lattice(unary=scores, offsets=found.corpus.offsets, chain=found.chain(weights))
    expected = Posterior.of(lattice).log_partition.sum() - weights @ found.observed
    assert value == pytest.approx(expected) and np.isfinite(gradient).all()


def test_labels_and_items_must_match():
    with pytest.raises(DataError, match=r"y\[1\]: items and labels differ in length: expected 2 labels, got 1"):
        AttributeCorpus.of([[{}], [{}, {}]], [["A"], ["B"]])
    with pytest.raises(DataError, match="X and y differ in length"):
        AttributeCorpus.of([[{}]], [["A"], ["B"]])
    with pytest.raises(DataError, match="label must be a string"):
        AttributeCorpus.of([[{}]], [[3]])
