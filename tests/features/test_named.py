"""Hand-made features as numbers: a vocabulary or buckets, stored and read again, shared by threads."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

from postil.errors import DataError, ModelFileError
from postil.features.named import FeatureToken, NamedFeatures

ITEMS = [
    {"word": "Rome", "title": True, "length": 4},
    {"word": "is", "title": False, "near": ["a", "b"]},
    {},
    {"word": "Rome", "other": {"x": 0.5}},
]
X = [[FeatureToken.of(item.get("word", ""), item) for item in ITEMS[:3]], [], [FeatureToken.of("Rome", ITEMS[3])]]


def named(features, sentences=X):
    """The names and values of each token's features."""
    ids, values, offsets = features.of(sentences)
    values = np.ones(len(ids)) if values is None else values
    names = list(features.names)
    return [{names[i]: float(v) for i, v in zip(ids[a:b], values[a:b], strict=True)} for a, b in pairwise(offsets)]


def test_features_are_those_of_crfsuite_without_what_counts_nothing():
    assert named(NamedFeatures.build(X, min_count=1, buckets=None)) == [
        {"word:Rome": 1, "title": 1, "length": 4},
        {"word:is": 1, "near:a": 1, "near:b": 1},  # False is 0 and adds nothing
        {},
        {"word:Rome": 1, "other:x": 0.5},
    ]


def test_rare_and_unknown_features_are_left_out():
    features = NamedFeatures.build(X, min_count=2, buckets=None)
    assert sorted(features.names) == ["title", "word:Rome"] and len(features) == 2
    new = [[FeatureToken.of("Oslo", {"word": "Oslo", "title": True, "length": 4})]]
    assert named(features, new) == [{"title": 1}]


def test_hashed_features_are_all_known():
    features = NamedFeatures.build(X, min_count=9, buckets=1000)
    ids, values, offsets = features.of(X)
    assert len(features) == 1000 and np.diff(offsets).tolist() == [3, 3, 0, 2]
    assert ids[0] == ids[6] and ids.max() < 1000 and values[2] == 4
    assert ids.tolist() == NamedFeatures(None, 1000).of(X).ids.tolist()


@pytest.mark.parametrize("buckets", [None, 50])
def test_features_survive_their_arrays_and_pickle(buckets):
    features = NamedFeatures.build(X, min_count=1, buckets=buckets)
    for again in (NamedFeatures.from_arrays(features.arrays()), pickle.loads(pickle.dumps(features))):
        assert len(again) == len(features)
        for one, other in zip(features.of(X), again.of(X), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("buckets", [np.array([0]), np.array([1.0]), np.array([1, 2]), np.array([1 << 40])])
def test_forged_buckets_are_refused(buckets):
    with pytest.raises(ModelFileError, match="buckets of features"):
        NamedFeatures.from_arrays({"buckets": buckets})


def test_a_word_alone_is_no_token_here():
    features = NamedFeatures.build(X, min_count=1, buckets=None)
    for token in ("Rome", ("Rome", "NNP")):
        with pytest.raises(DataError, match="token 'Rome' has no features"):
            features.of([[token]])


def test_a_token_without_a_key_and_with_it_alone():
    token = X[0][0]
    assert token.without("title")[1] == {"word": "Rome", "length": 4} and token.only("title")[1] == {"title": True}
    assert token.only("none") == ("Rome", {}) and token[1] is ITEMS[0]


@pytest.mark.slow
def test_threads_share_the_features():
    """Numbers are collected in a list of the table while a sentence is read: two threads must not mix theirs."""
    names = [f"f{i}" for i in range(50)]
    sentences = [[[FeatureToken.of("w", dict.fromkeys(names, i + 0.5))] * 20] for i in range(40)]
    features = NamedFeatures.build(sentences[0], min_count=1, buckets=None)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(features.of, sentences * 5))
    for i, answer in enumerate(answers):
        assert set(answer.values.tolist()) == {i % 40 + 0.5}
