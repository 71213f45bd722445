"""Cross-validation beside the same trainings by hand."""

import numpy as np
import pytest

import postil
from oracles import corpora
from postil.curation import crossval
from postil.curation.folds import folds
from postil.errors import PostilError

SMALL = {"hidden": 8, "epochs": 2}


def test_predictions_are_those_of_models_that_have_not_seen_the_sentence():
    X, y = corpora.named_entities(40)
    result = crossval(postil.Tagger(**SMALL), X, y, number=3, seed=5)
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
    assert result.to_dict()["mean"] == pytest.approx(100 * result.mean)


def test_two_at_a_time_give_the_same(monkeypatch):
    X, y = corpora.named_entities(30)
    tagger = postil.Tagger(**SMALL)
    done = []
    one = crossval(tagger, X, y, number=2, progress=lambda finished, total: done.append((finished, total)))
    two = crossval(tagger, X, y, number=2, jobs=2)
    assert one.predictions == two.predictions and one.fold_of == two.fold_of
    assert done == [(1, 2), (2, 2)]


def test_groups_are_held_out_together():
    X, y = corpora.named_entities(30)
    groups = [i // 10 for i in range(30)]
    result = crossval(postil.Tagger(**SMALL), X, y, number=3, groups=groups)
    assert len({(group, fold) for group, fold in zip(groups, result.fold_of, strict=True)}) == 3


def test_labels_without_a_scheme_are_scored_by_tokens():
    X, y = corpora.parts_of_speech(30)
    result = crossval(postil.Tagger(**SMALL), X, y, number=2)
    assert result.pooled.spans is None
    assert "accuracy" in str(result)


def test_without_entities_nothing_can_be_scored():
    X, y = corpora.named_entities(10)
    with pytest.raises(PostilError, match="cross-validation needs entities"):
        crossval(postil.Tagger(**SMALL), X, [["O"] * len(labels) for labels in y])
