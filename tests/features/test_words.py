"""Feature columns of words: counted, numbered, remembered, saved."""

import pickle
from dataclasses import asdict, dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import ConfigurationError, ModelFileError
from postil.features import (
    Vocabulary,
    WordFeatureConfig,
    WordFeatures,
    WordVectors,
    caps_class,
    distinct,
    frequent_values,
    normalise,
    shape,
    words,
)
from postil.features.words import LEARNT_DIMS

SENTENCES = [["The", "cat", "sat", "in", "1984"], ["the", "Cat", "sat", "on", "NATO"], ["THE", "end", "in", "1985"]]
CONFIG = WordFeatureConfig(
    word_dim=64,
    min_count=2,
    caps_dim=8,
    shape_dim=16,
    prefix_dim=16,
    prefix_lengths=(1, 3),
    suffix_dim=16,
    suffix_lengths=(2,),
    min_affix_count=2,
)
forms = st.text(st.characters(), min_size=1, max_size=8)


def slow_row(features, form):
    """The ids of one form, column by column, without packing or caching."""
    normal, config, ids = normalise(form), features.config, {}
    ids["word"] = normal
    ids["shape"] = shape(form)
    ids |= {f"prefix {n}": normal[:n] for n in config.prefix_lengths}
    ids |= {f"suffix {n}": normal[-n:] for n in config.suffix_lengths}
    row = []
    for column in features.columns:
        if column.name == "caps":
            row.append(caps_class(form))
        else:
            values = list(features.vocabularies[column.name])
            row.append(values.index(ids[column.name]) if ids[column.name] in values else 0)
    return row


def test_columns_and_counts():
    features = WordFeatures.build(CONFIG, SENTENCES)
    assert [(c.name, c.D) for c in features.columns] == [
        *[("word", 64), ("shape", 16), ("prefix 1", 16), ("prefix 3", 16), ("suffix 2", 16), ("caps", 8)]
    ]
    assert list(features.vocabularies["word"]) == ["", "the", "0000", "cat", "in", "sat"]
    assert features.counts.tolist() == [3, 3, 2, 2, 2, 2]  # on, nato and end are unknown
    assert features.columns[0].V == 6


def test_rows_of_known_and_unknown_words():
    features = WordFeatures.build(CONFIG, SENTENCES)
    rows = features.rows(["Cat", "CAT", "dog", "1066"])
    assert rows.dtype == np.int32 and rows.shape == (4, 6)
    assert rows[:, 0].tolist() == [3, 3, 0, 2]
    assert rows.tolist() == [slow_row(features, form) for form in ("Cat", "CAT", "dog", "1066")]
    rows[:] = 9  # the caller's own: what is cached stays
    assert features.rows(["Cat"])[0, 0] == 3
    assert features.rows([]).shape == (0, 6)


@given(st.lists(st.lists(forms, max_size=6), max_size=6), st.lists(forms))
def test_rows_agree_with_the_slow_way_and_with_themselves_from_arrays(sentences, others):
    features = WordFeatures.build(CONFIG, sentences)
    queries = [form for sentence in sentences for form in sentence] + others
    rows = features.rows(queries)
    assert rows.tolist() == [slow_row(features, form) for form in queries]
    assert (rows < [column.V for column in features.columns]).all() and (rows >= 0).all()
    for again in (WordFeatures.from_arrays(features.config, features.arrays()), pickle.loads(pickle.dumps(features))):
        assert again.columns == features.columns
        assert again.counts.tolist() == features.counts.tolist()
        assert (again.rows(queries) == rows).all()
    assert (features.rows(queries) == rows).all()


@given(st.lists(st.lists(forms, min_size=1, max_size=5), max_size=5), st.randoms())
def test_the_order_of_the_sentences_does_not_matter(sentences, random):
    shuffled = random.sample(sentences, len(sentences))
    first, second = (WordFeatures.build(CONFIG, order).arrays() for order in (sentences, shuffled))
    assert all((first[name] == second[name]).all() for name in first)


def test_the_cache_is_bounded(monkeypatch):
    monkeypatch.setattr(words, "_CACHED_WORDS", 10)
    features = WordFeatures.build(CONFIG, SENTENCES)
    for start in range(0, 100, 7):
        queries = [f"cat{number}" for number in range(start, start + 20)] + ["x" * 1000]
        assert features.rows(queries).tolist() == [slow_row(features, form) for form in queries]
        assert len(features._cache) <= 10 and "x" * 1000 not in features._cache


def test_a_dimension_of_0_switches_a_feature_off():
    off = replace(CONFIG, word_dim=0, shape_dim=0, prefix_dim=0, suffix_lengths=(), caps_dim=4)
    features = WordFeatures.build(off, SENTENCES)
    assert [tuple(column) for column in features.columns] == [("caps", 8, 4)]
    assert features.rows(["Cat", "cat"]).tolist() == [[2], [1]]
    assert len(features.counts) == 0
    nothing = WordFeatures.build(replace(off, caps_dim=0), SENTENCES)
    assert nothing.rows(["Cat", "cat"]).shape == (2, 0)


def vectors(*strings):
    return WordVectors(Vocabulary.build(["", *strings]), np.zeros((len(strings) + 1, 3), np.float32))


def vector_ids(given, queries):
    features = WordFeatures.build(WordFeatureConfig(), SENTENCES, vectors=given)
    assert [tuple(column) for column in features.columns] == [("vector", len(given.words), 3)]
    assert features.config.vector_dim == 3
    again = WordFeatures.from_arrays(features.config, features.arrays())
    assert (again.rows(queries) == features.rows(queries)).all()
    return features.rows(queries)[:, 0].tolist()


def test_vectors_are_found_by_form_then_lower_case():
    given = vectors("paris", "us", "US", "10", "00")
    assert vector_ids(given, ["Paris", "US", "Us", "us", "unheard", "42", "10"]) == [1, 3, 2, 2, 0, 0, 4]


@pytest.mark.parametrize("mark", ["#", "0"])
def test_vectors_of_a_file_that_folds_digits(mark):
    given = vectors(mark * 2, f"a{mark * 3}", "1")
    assert vector_ids(given, ["42", "A380", "1", "427"]) == [1, 2, 3, 0]


def test_vectors_and_their_dimension_must_agree():
    with pytest.raises(ConfigurationError, match=r"vector_dim must be 3, the size of the vectors given \(got 50\)"):
        WordFeatures.build(WordFeatureConfig(vector_dim=50), SENTENCES, vectors=vectors("a"))
    with pytest.raises(ConfigurationError, match="vector_dim without vectors"):
        WordFeatures.build(WordFeatureConfig(vector_dim=50), SENTENCES)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"word_dim": -1}, "word_dim.* a whole number of at least 0.*got -1"),
        ({"caps_dim": 1.5}, "caps_dim.* a whole number of at least 0.*got 1.5"),
        ({"shape_dim": True}, "shape_dim"),
        ({"min_count": 0}, "min_count.* a whole number of at least 1.*got 0"),
        ({"min_affix_count": "2"}, "min_affix_count"),
        ({"prefix_lengths": (0,)}, "prefix_lengths.* a whole number of at least 1.*got 0"),
        ({"suffix_lengths": (2, 2)}, r"suffix_lengths.* different lengths.*got \[2, 2\]"),
        ({"suffix_lengths": 3}, "suffix_lengths.* a list of lengths.*got 3"),
        ({"suffix_lengths": "123"}, "suffix_lengths.* a list of lengths.*got '123'"),
    ],
)
def test_impossible_settings(setting, message):
    with pytest.raises(ConfigurationError, match=message):
        WordFeatureConfig(**setting)


def test_the_configuration_survives_json():
    assert WordFeatureConfig(**{**asdict(CONFIG), "prefix_lengths": [1, 3], "suffix_lengths": [2]}) == CONFIG


def test_features_are_off_unless_asked_for():
    assert not WordFeatures.build(WordFeatureConfig(), SENTENCES).columns
    assert all(getattr(WordFeatureConfig(), name) == 0 for name in LEARNT_DIMS)


def test_settings_of_a_model_are_taken_over_by_name():
    @dataclass
    class Settings:
        word_dim: int = 3
        suffix_lengths: tuple = (2,)
        hidden: int = 7

    assert WordFeatureConfig.of(Settings()) == WordFeatureConfig(word_dim=3, suffix_lengths=(2,))


def test_missing_arrays_are_named():
    arrays = WordFeatures.build(CONFIG, SENTENCES).arrays()
    del arrays["shape/text"], arrays["shape/offsets"], arrays["shape/slots"], arrays["counts"]
    with pytest.raises(ModelFileError, match="expected shape, counts, got none of these"):
        WordFeatures.from_arrays(CONFIG, arrays)


def test_frequent_values():
    vocabulary = frequent_values({"b": 2, "a": 2, "c": 5, "d": 1, "": 7}, min_count=2)
    assert list(vocabulary) == ["", "c", "a", "b"]


@given(st.lists(st.lists(forms)))
def test_distinct(sentences):
    found, indices, offsets = distinct(sentences)
    assert found == list(dict.fromkeys(form for sentence in sentences for form in sentence))
    cut = [[found[i] for i in indices[a:b]] for a, b in pairwise(offsets)]
    assert cut == sentences
    assert indices.dtype == offsets.dtype == np.int64
