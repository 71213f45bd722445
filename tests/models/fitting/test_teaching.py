"""Students learn what teachers say about raw text."""

import numpy as np
import pytest

import postil
from oracles import corpora
from postil.errors import ConfigurationError, DataError
from postil.models.fitting.training_set import MOST_REPEATS, Lesson

SETTINGS = {"hidden": 16, "epochs": 4, "rate": 0.02}


@pytest.fixture(scope="module")
def teachers():
    X, y = corpora.named_entities(60)
    return [postil.Tagger(seed=seed, **SETTINGS).fit(X, y) for seed in (1, 2)]


def lesson_of(teachers, X, gold=(), labelled=()):
    return Lesson.of(teachers, X, labelled, list(gold), teachers[0].model)


def test_one_teacher_is_learnt_as_its_own_posterior(teachers):
    X, _ = corpora.named_entities(5)
    lesson = lesson_of(teachers[:1], X)
    for i, tokens in enumerate(X):
        lattice = lesson.target(np.array([i]), [])
        posterior = teachers[0]._posteriors.of_one(tokens)
        assert np.allclose(lattice.unary, posterior.lattice.unary, atol=1e-5)
        assert np.array_equal(lattice.chain.transitions, posterior.lattice.chain.transitions)


def test_scores_of_several_teachers_are_averaged(teachers):
    X, _ = corpora.named_entities(3)
    both, one, other = (lesson_of(some, X).target(np.arange(3), []) for some in (teachers, teachers[:1], teachers[1:]))
    assert np.allclose(both.unary, (one.unary + other.unary) / 2, atol=1e-5)
    assert not np.allclose(one.unary, other.unary, atol=1e-2)


def test_labelled_sentences_have_one_path_and_are_repeated(teachers):
    X, y = corpora.named_entities(30)
    gold = teachers[0].model.codec.numbers(y[:4])
    lesson = lesson_of(teachers, X, gold)
    assert 1 < lesson.repeats <= MOST_REPEATS
    repeated = gold * lesson.repeats
    for i in (0, 3, 4, 4 * lesson.repeats - 1):
        lattice = lesson.target(np.array([i]), repeated)
        assert np.array_equal(lattice.unary.argmax(axis=1), gold[i % 4])
        assert (np.isfinite(lattice.unary).sum(axis=1) == 1).all()
    first_raw = lesson.target(np.array([4 * lesson.repeats]), repeated)
    assert len(first_raw.unary) == len(X[0])
    assert np.isfinite(first_raw.unary).all()


def test_teachers_choose_among_the_labels_that_partial_ones_leave_open(teachers):
    """Not all of them alike: a corpus that does not annotate a class must not teach that the class is likely."""
    X, y = corpora.named_entities(6)
    codec = teachers[0].model.codec
    every, only_o = (np.zeros((len(X[1]), len(codec.labels)), bool) for _ in range(2))
    every[:], only_o[:, 0] = True, True
    for allowed in (every, only_o):
        gold = codec.numbers(y)
        gold[1] = allowed
        lesson = lesson_of(teachers[:1], X[3:], gold, labelled=X)
        lattice = lesson.target(np.array([1]), gold)
        said = teachers[0]._posteriors.of_one(X[1]).lattice.unary
        assert np.array_equal(np.isfinite(lattice.unary), allowed)
        assert np.allclose(lattice.unary[allowed], said[allowed], atol=1e-5)


def test_a_student_learns_what_only_the_teachers_know(teachers):
    """Three labelled sentences are not enough; the raw text has no labels."""
    X, y = corpora.named_entities(200)
    few = [i for i, labels in enumerate(y) if len(set(labels)) >= 3][:3]
    labelled = [X[i] for i in few], [y[i] for i in few]
    labels = sorted({label for labels in y for label in labels})
    assert {label for labels in labelled[1] for label in labels} == set(labels), "every class occurs"
    alone = postil.Tagger(**SETTINGS).fit(*labelled)
    taught = postil.Tagger(**SETTINGS).fit(*labelled, unlabelled=X[60:160], teachers=teachers)
    assert taught.score(X[160:], y[160:]) > alone.score(X[160:], y[160:]) + 0.1
    assert taught.model.about["data"]["unlabelled"]["sentences"] == 100


def test_a_lesson_goes_on_after_an_interruption(teachers, tmp_path):
    X, y = corpora.named_entities(30)
    lesson = {"unlabelled": X[10:], "teachers": teachers}
    whole = postil.Tagger(**SETTINGS).fit(X[:10], y[:10], **lesson)
    stopped, checkpoint = postil.Tagger(**SETTINGS), tmp_path / "c"
    for _ in zip(range(7), stopped.fitting(X[:10], y[:10], checkpoint=checkpoint, **lesson), strict=False):
        pass
    assert checkpoint.exists(), "the training was stopped after an epoch"
    resumed = postil.Tagger(**SETTINGS)
    for _ in resumed.fitting(X[:10], y[:10], checkpoint=checkpoint, resume=True, **lesson):
        pass
    for name, parameter in whole.model.network.parameters().items():
        assert np.array_equal(parameter.value, resumed.model.network.parameters()[name].value), name


def test_what_cannot_be_learnt_is_one_error(teachers):
    X, y = corpora.named_entities(10)
    tagger = postil.Tagger(**SETTINGS)
    with pytest.raises(ConfigurationError, match="teachers"):
        tagger.fit(X, y, unlabelled=X)
    with pytest.raises(ConfigurationError, match="unlabelled"):
        tagger.fit(X, y, teachers=teachers)
    with pytest.raises(DataError, match="at least one sentence with a word"):
        tagger.fit(X, y, unlabelled=[[]], teachers=teachers)
    with pytest.raises(ConfigurationError, match="labels of the teacher"):
        tagger.fit([["a"]], [["B-X"]], unlabelled=X, teachers=teachers)
    with pytest.raises(ConfigurationError, match="objective of a student"):
        postil.Tagger(preset="window-wll").fit(X, y, unlabelled=X, teachers=teachers)


def test_a_model_of_several_tasks_is_not_a_teacher():
    X, y = corpora.named_entities(10)
    several = postil.MultiTaskTagger(**SETTINGS).fit(X, {"names": y, "others": y})
    student = postil.Tagger(**SETTINGS)
    with pytest.raises(ConfigurationError, match=r"teachers must be taggers of one task, .* .got a multi-task-tagger"):
        student.fit(X, y, unlabelled=X, teachers=[several])
    assert len(student.fit(X, y, unlabelled=X, teachers=[several["names"]]).predict(X)) == len(X)
