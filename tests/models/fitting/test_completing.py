"""What marks leave open is learnt as the posterior of a teacher: beside enumeration of all labellings."""

from itertools import pairwise, product

import numpy as np
import pytest

import postil
from oracles import corpora
from postil.models.decoding.distribution import LabelPosterior
from postil.models.fitting.training_set import Lesson, TrainingSet
from postil.text.labels.partial import with_marks

SMALL = {"hidden": 8, "epochs": 3, "rate": 0.02}
TOKENS = ["Anna", "left", "Acme"]
LABELS = ["O|PER|LOC", "O|PER|LOC", "B-ORG"]


@pytest.fixture(scope="module")
def teacher():
    return postil.Tagger(**SMALL).fit(*corpora.named_entities(40))


@pytest.fixture(scope="module")
def student(teacher):
    """The parts of a student that knows a class more."""
    return postil.Tagger(**SMALL).fitting([TOKENS], [["O", "O", "B-ORG"]], warm_start=teacher).model


@pytest.fixture(scope="module")
def gold(student):
    return student.codec.numbers(with_marks([LABELS], [TOKENS], partial=True))


def path_score(lattice, path):
    chain = lattice.chain
    score = chain.start[path[0]] + chain.end[path[-1]] + sum(lattice.unary[t, label] for t, label in enumerate(path))
    return score + sum(chain.transitions[a, b] for a, b in pairwise(path))


def test_marginals_are_those_of_the_teacher_given_the_marks(teacher, student, gold):
    """Enumerated over the teacher's own labellings in which the unknown entity is O."""
    lattice = Lesson.completing(teacher, [TOKENS], gold, [0], student).target(np.array([0]), gold)
    found = LabelPosterior(which=[0], lattice=lattice, codec=student.codec).marginals()
    of_teacher, outside = teacher._posteriors.of_one(TOKENS).lattice, teacher.model.codec.outside
    paths = [path for path in product(range(len(teacher.model.codec.labels)), repeat=3) if path[2] == outside]
    weights = np.exp([path_score(of_teacher, path) for path in paths])
    expected = np.zeros_like(found)
    place = {label: i for i, label in enumerate(student.codec.labels)}
    for path, weight in zip(paths, weights / weights.sum(), strict=True):
        for t, label in enumerate(path[:2]):
            expected[t, place[teacher.model.codec.labels[label]]] += weight
    expected[2, place["S-ORG"]] = 1.0
    assert np.isfinite(weights).all() and weights.sum() > 0
    assert np.allclose(found, expected, atol=1e-5)


def test_completed_sentences_are_never_mixed_with_others(teacher, student, gold):
    X = [TOKENS] * 10
    completion = Lesson.completing(teacher, X, gold * 10, [0, 3, 4], student)
    examples = TrainingSet(student, X, gold * 10, completion)
    batches = examples.order(2, np.random.default_rng(0))
    assert sorted(i for batch in batches for i in batch) == list(range(10))
    assert all(len({int(i) in completion for i in batch}) == 1 for batch in batches)
    kinds = {isinstance(shard.gold, np.ndarray) for batch in batches for shard in examples.batch(batch).shards}
    assert kinds == {True, False}
