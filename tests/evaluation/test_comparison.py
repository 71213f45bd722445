"""Two taggers on the same sentences."""

import pytest

import postil
from oracles import corpora
from postil.errors import PostilError
from postil.evaluation import compare


@pytest.fixture(scope="module")
def taggers():
    X, y = corpora.named_entities(60)
    weak = postil.Tagger(hidden=4, epochs=1, seed=1).fit(X[:6], y[:6])
    return weak, postil.Tagger(hidden=16, epochs=5, rate=0.02).fit(X, y)


def test_scores_and_differences(taggers):
    X, y = corpora.named_entities(50, seed=3)
    result = compare(*taggers, X, y)
    for tagger, evaluation in zip(taggers, (result.first, result.second), strict=True):
        assert evaluation.to_dict() == tagger.evaluate(X, y).to_dict()
    answers = [tagger.predict(X) for tagger in taggers]
    differing = {i for i in range(50) if answers[0][i] != answers[1][i]}
    assert {one.sentence for one in result.differences} == differing
    assert result.test.difference == pytest.approx(result.second.main_score - result.first.main_score)
    assert result.test.p_value < 0.05
    assert "p = " in result.summary()
    for one in result.differences:
        wrong = [len({*spans} ^ {*one.gold}) for spans in (one.first, one.second)]
        assert one.winner == ("" if wrong[0] == wrong[1] else "second" if wrong[1] < wrong[0] else "first")


def test_a_model_does_not_differ_from_itself(taggers):
    X, y = corpora.named_entities(20, seed=4)
    result = compare(taggers[1], taggers[1], X, y)
    assert result.differences == [] and result.test.p_value == 1


def test_names_and_parts_of_speech_cannot_be_compared(taggers):
    X, y = corpora.parts_of_speech(30)
    speech = postil.Tagger(hidden=4, epochs=1).fit(X, y)
    with pytest.raises(PostilError):
        compare(taggers[0], speech, *corpora.named_entities(20))


def test_a_comparison_prints_itself():
    X, y = corpora.named_entities(40)
    one, two = (postil.Tagger(hidden=8, epochs=epochs).fit(X, y) for epochs in (1, 4))
    result = postil.compare(one, two, X, y)
    lines = str(result).split("\n")
    assert lines[0] == "F1" and lines[1].split() == ["label", "first", "second", "difference"]
    assert f"{len(result.differences)} sentences labelled differently" in lines[-1]
    assert "<table>" in result._repr_html_() and result.table(("old", "new")).columns[1:3] == ("old", "new")
