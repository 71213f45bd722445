"""Half precision: which arrays are rounded, and what is said about it."""

import numpy as np
import pytest

import postil
from oracles import corpora
from oracles import flat as flat_file
from postil.export import flat as precision
from postil.export.flat import Rounding, exported


@pytest.fixture(scope="module")
def tagger(names_model):
    return postil.load(names_model)


def test_the_rounded_model_has_the_tables_that_are_exported(tagger):
    rounded = precision.halved(tagger)
    half = flat_file.read(exported(tagger, half=True))
    again = flat_file.read(exported(rounded, half=False))
    assert any(array.dtype == np.float16 for array in half.values())
    for name, array in half.items():
        np.testing.assert_array_equal(array.astype(again[name].dtype), again[name], err_msg=name)


def test_the_model_itself_stays_as_it_is(tagger):
    X = corpora.named_entities(20)[0]
    before = exported(tagger), tagger.predict(X)
    rounded = precision.halved(tagger)
    assert (exported(tagger), tagger.predict(X)) == before
    assert exported(rounded) != before[0]


def test_changed_labels_and_probabilities_are_counted(tagger):
    X = corpora.named_entities(20)[0]
    N = sum(map(len, X))
    assert precision.change(tagger, tagger, X) == Rounding(tokens=N, labels=0, probability=0.0)
    rounded = precision.change(tagger, precision.halved(tagger), X)
    assert rounded.labels == 0 and 0 < rounded.probability < 0.01
    other = postil.Tagger(hidden=16, epochs=1, seed=9).fit(*corpora.named_entities(5))
    found = precision.change(tagger, other, X)
    pairs = zip(tagger.predict(X), other.predict(X), strict=True)
    wrong = sum(a != b for y, z in pairs for a, b in zip(y, z, strict=True))
    assert found.labels == wrong > 0
    assert str(Rounding(tokens=12_345, labels=2, probability=0.00042)) == (
        "half precision changes 2 of 12,345 labels, and probabilities by at most 0.0004"
    )


def test_every_task_counts():
    X, y = corpora.named_entities(30)
    both = postil.MultiTaskTagger(hidden=8, epochs=1).fit(X, {"names": y, "words": corpora.parts_of_speech(30)[1]})
    assert precision.change(both, precision.halved(both), X).tokens == 2 * sum(map(len, X))
    assert len(both.model.heads) == 2


def test_the_sample_has_words_of_the_model(tagger):
    sentences = precision.sample(tagger)
    assert sentences == precision.sample(tagger), "the same every time"
    assert any("museums" in sentence and "janeiro" in sentence for sentence in sentences)
