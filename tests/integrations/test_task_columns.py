"""Columns of text and several tasks: each task says what it says alone."""

from functools import cache

import pytest

import postil
from oracles.corpora import named_entities, parts_of_speech
from postil.errors import ConfigurationError
from postil.integrations import arrow
from postil.models.decoding.posteriors import Posteriors

pytestmark = pytest.mark.extra("pyarrow")

X, Y = named_entities(40)
TEXTS = ["Anna lives in Oslo. Bob left.", None, "", "  ", "😀 é Anna met Ünal in Oslo!\n\nLima", "no names here"]


@pytest.fixture(params=[True, False], ids=["fast", "general"])
def path(request, monkeypatch):
    if not request.param:
        monkeypatch.setattr(Posteriors, "takes_cells", False)


def table(texts):
    import pyarrow as pa

    return pa.array(texts, pa.string())


@cache
def one_task():
    return postil.Tagger(hidden=12, word_dim=8, epochs=1).fit(X, Y)


@cache
def two_tasks():
    X_words, y_words = parts_of_speech(40)
    model = postil.MultiTaskTagger(hidden=12, word_dim=8, epochs=3, rate=0.02)
    return model.fit({"names": X, "words": X_words}, {"names": Y, "words": y_words}, partial=False)


@pytest.mark.parametrize("parts", [None, "tokens", ["labels", "sentences"]])
@pytest.mark.parametrize("threshold", [None, 0.7])
def test_several_tasks_are_a_struct_of_what_each_answers(path, parts, threshold):
    import pyarrow as pa

    model, texts = two_tasks(), table(TEXTS)
    answer = arrow.tag(texts, model, parts=parts, threshold=threshold)
    answer.validate(full=True)
    assert [field.name for field in answer.type] == ["names", "words"]
    assert answer[1].as_py() is None  # the null text
    for task in model.tasks:
        alone = arrow.tag(texts, model[task], parts=parts, threshold=threshold if task == "names" else None)
        assert answer.field(task).type == alone.type
        assert close(answer.field(task).to_pylist(), alone.to_pylist())
    some = arrow.tag(texts, model, tasks=["words"], parts=parts, threshold=threshold)
    assert [field.name for field in some.type] == ["words"]
    assert close(some.field("words").to_pylist(), alone.to_pylist())

    tagged = arrow.tag_table(pa.table({"text": texts}), model, parts=parts, threshold=threshold)
    assert tagged.column_names == ["text", "names", "words"]
    assert tagged["words"].to_pylist() == [of_text and of_text["words"] for of_text in answer.to_pylist()]


def close(one, other):
    """Equal, up to the rounding of probabilities: tasks together are scored in other blocks than one alone."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(close(one[name], other[name]) for name in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(close, one, other))
    return one == (pytest.approx(other, abs=2e-6) if isinstance(other, float) else other)


def test_tasks_that_cannot_be_chosen_are_refused():
    import pyarrow as pa

    with pytest.raises(ConfigurationError, match="one of names, words"):
        arrow.tag(table(TEXTS), two_tasks(), tasks=["chunks"])
    with pytest.raises(ConfigurationError, match="at least one of names, words"):
        arrow.tag(table(TEXTS), two_tasks(), tasks=[])
    with pytest.raises(ConfigurationError, match="the model has one task"):
        arrow.tag(table(TEXTS), one_task(), tasks=["names"])
    with pytest.raises(ConfigurationError, match="would replace the texts"):
        arrow.tag_table(pa.table({"names": table(TEXTS)}), two_tasks(), "names")
