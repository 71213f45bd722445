"""Cross-validation beside the same trainings by hand."""

import os
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import postil
from oracles import corpora
from postil.errors import DataError, PostilError, TrainingInterruptedWarning
from postil.evaluation import crossval
from postil.evaluation.cross_validation import (
    check_entities,
    check_scorable,
    documents_of,
    folds,
    groups_of,
    run_all,
    unfitted,
)
from postil.text import Sentence
from postil.text.labels.schemes import PartialLabel

SMALL = {"hidden": 8, "epochs": 2}


def test_predictions_are_those_of_models_that_have_not_seen_the_sentence():
    X, y = corpora.named_entities(40)
    result = crossval(postil.Tagger(**SMALL), X, y, folds=3, seed=5)
    parts = folds([len(tokens) for tokens in X], 3, np.random.default_rng(5))
    for number, part in enumerate(parts):
        tagger = postil.Tagger(**SMALL).fit([X[i] for i in part.train], [y[i] for i in part.train])
        held_out = [X[i] for i in part.held_out]
        assert [result.predictions[i] for i in part.held_out] == tagger.predict(held_out)
        assert {result.fold_of[i] for i in part.held_out} == {number}
        expected = tagger.evaluate(held_out, [y[i] for i in part.held_out])
        assert result.folds[number].to_dict() == expected.to_dict()
    assert result.mean == pytest.approx(np.mean([fold.main_score for fold in result.folds]))
    assert result.pooled.sentences == 40
    assert "over 3 folds" in str(result)
    assert [row[0] for row in result.table().rows] == ["1", "2", "3", "all"] and "<table>" in result._repr_html_()
    assert result.to_dict()["mean"] == pytest.approx(100 * result.mean)


@pytest.mark.slow
def test_two_at_a_time_give_the_same(monkeypatch):
    X, y = corpora.named_entities(30)
    tagger = postil.Tagger(**SMALL)
    done = []
    one = crossval(tagger, X, y, folds=2, progress=lambda finished, total: done.append((finished, total)))
    two = crossval(tagger, X, y, folds=2, threads=2)
    assert one.predictions == two.predictions and one.fold_of == two.fold_of
    assert done == [(1, 2), (2, 2)]


def test_groups_are_held_out_together():
    X, y = corpora.named_entities(30)
    groups = [i // 10 for i in range(30)]
    result = crossval(postil.Tagger(**SMALL), X, y, folds=3, groups=groups)
    assert len({(group, fold) for group, fold in zip(groups, result.fold_of, strict=True)}) == 3


def test_labels_without_a_scheme_are_scored_by_tokens():
    X, y = corpora.parts_of_speech(30)
    result = crossval(postil.Tagger(**SMALL), X, y, folds=2)
    assert result.pooled.spans is None
    assert "accuracy" in str(result)


def test_without_entities_nothing_can_be_scored():
    X, y = corpora.named_entities(10)
    with pytest.raises(PostilError, match="cross-validation needs entities"):
        crossval(postil.Tagger(**SMALL), X, [["O"] * len(labels) for labels in y])


# ------------------------------------------------ Parts that are held out together


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 6)), min_size=2, max_size=60), st.data())
def test_every_sentence_is_held_out_once_and_groups_stay_together(rows, data):
    sizes, groups = zip(*rows, strict=True)
    if len(set(groups)) < 2:
        groups = ()
    number = data.draw(st.integers(2, len(set(groups) or sizes) if groups else len(sizes)))
    parts = folds(sizes, number, np.random.default_rng(0), groups)
    assert len(parts) == number
    assert sorted(i for part in parts for i in part.held_out) == list(range(len(sizes)))
    for part in parts:
        assert len(part.held_out) and sorted([*part.train, *part.held_out]) == list(range(len(sizes)))
        if groups:
            assert not {groups[i] for i in part.held_out} & {groups[i] for i in part.train}


def test_parts_are_about_equally_large_and_repeat():
    sizes = np.random.default_rng(1).integers(1, 50, 500).tolist()
    parts = folds(sizes, 5, np.random.default_rng(0))
    tokens = [sum(sizes[i] for i in part.held_out) for part in parts]
    assert max(tokens) - min(tokens) <= 50
    again = folds(sizes, 5, np.random.default_rng(0))
    assert all(np.array_equal(a.held_out, b.held_out) for a, b in zip(parts, again, strict=True))
    other = folds(sizes, 5, np.random.default_rng(1))
    assert any(not np.array_equal(a.held_out, b.held_out) for a, b in zip(parts, other, strict=True))


@pytest.mark.parametrize(
    ("number", "groups", "told"), [(1, (), "from 2 to 4"), (5, (), "from 2 to 4"), (3, "aabb", "from 2 to 2")]
)
def test_impossible_numbers_are_refused(number, groups, told):
    with pytest.raises(PostilError, match=told):
        folds([3, 3, 3, 3], number, np.random.default_rng(0), tuple(groups))


def test_one_group_cannot_be_split():
    with pytest.raises(PostilError, match="at least 2 groups"):
        folds([3, 3], 2, np.random.default_rng(0), ["same", "same"])


def test_documents_are_numbered_where_they_are_marked():
    sentences = [Sentence(["a"], document="one"), Sentence(["b"]), Sentence(["c"], document=""), Sentence(["d"])]
    assert documents_of(sentences) == [1, 1, 2, 2]
    assert documents_of(sentences[1:2]) == []


def test_one_document_is_no_group():
    assert groups_of([1, 1, 1]) == () and groups_of([]) == ()
    assert groups_of([0, 0, 1]) == [0, 0, 1]


# ------------------------------------------------ Independent trainings, in order, on any number of cores


def double(number):
    return 2 * number


def test_results_keep_their_order():
    tasks = [(number,) for number in range(6)]
    assert run_all(double, tasks) == run_all(double, tasks, 2) == [0, 2, 4, 6, 8, 10]


def test_an_estimator_lends_its_hyperparameters():
    tagger = postil.Tagger(hidden=7, seed=3, vectors=["a.txt"])
    other = unfitted(tagger, seed=4)
    assert other is not tagger
    assert other.get_params() == tagger.get_params() | {"seed": 4}


def cut_short(number):
    warnings.warn("the training was interrupted", TrainingInterruptedWarning, stacklevel=1)
    return number


def test_a_training_that_was_cut_short_ends_everything():
    """Its score would be that of a model that has not learnt: no table may contain it."""
    with pytest.raises(KeyboardInterrupt):
        run_all(cut_short, [(1,), (2,)])


CALLER = """
import os, sys, time
from postil.evaluation.cross_validation import run_all, unfitted

def long(path):
    with open(path, "w") as file:
        file.write(str(os.getpid()))
    time.sleep(600)

run_all(long, [(sys.argv[1],), (sys.argv[2],)], 2)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_workers_end_when_their_caller_is_killed(tmp_path):
    paths = [tmp_path / "one", tmp_path / "two"]
    script = tmp_path / "caller.py"
    script.write_text(CALLER, encoding="utf8")
    caller = subprocess.Popen([sys.executable, str(script), *map(str, paths)])
    try:
        assert until(lambda: all(path.exists() and path.read_text() for path in paths))
    finally:
        caller.kill()
        caller.wait()
    assert until(lambda: not any(is_alive(int(path.read_text())) for path in paths))


def until(condition, seconds=120):
    """Whether the condition comes true: generous, because machines may be busy."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.1)
    return False


def is_alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_labels_that_are_nothing_but_o_are_refused():
    check_entities([["O"], ["O", "B-PER"]], "a curve")
    check_entities([["NN"]], "a curve")
    check_entities([["O"], ["O", PartialLabel("?")]], "a curve")
    with pytest.raises(
        DataError, match=r"^a curve needs entities in the sentences to score on \(got no label but O\)$"
    ):
        check_scorable([["B-PER"]], [["O"], ["O", "O"], []], "a curve")


def test_spans_and_labels_without_a_scheme_are_not_scored_on_one_another():
    check_scorable([["NN"]], [["VB"]], "a curve")
    check_scorable([["B-PER"]], [["S-PER"]], "a curve")
    with pytest.raises(DataError, match="a curve needs spans, as B-PER, in the sentences to score on as well"):
        check_scorable([["B-PER"]], [["NN"]], "a curve")
    with pytest.raises(DataError, match="got spans, as B-PER"):
        check_scorable([["NN"]], [["B-PER"]], "a curve")
