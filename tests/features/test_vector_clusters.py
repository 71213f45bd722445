"""Clusters that are made of pre-trained vectors: which words share one, and how models keep them."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import postil
from oracles import corpora
from postil import archive
from postil.errors import ConfigurationError, ModelFileError
from postil.features.lexicon import cluster_centres, directions, nearest_centres, vector_clusters
from postil.features.vectors import WordVectors
from postil.features.vocabulary import Vocabulary
from postil.models.networks.network import members_of

SMALL = {"hidden": 8, "word_dim": 4, "epochs": 2}


def some_vectors(groups, of_each, rng, D=6):
    """Words ``g0 … gn`` whose vectors point to one of a few directions, of any length."""
    middles = np.linalg.qr(rng.normal(size=(D, D)))[0][:groups]
    matrix = np.repeat(middles, of_each, axis=0) * rng.uniform(1, 9, (groups * of_each, 1))
    matrix += rng.normal(0, 0.01, matrix.shape)
    words = [f"g{i // of_each}w{i}" for i in range(len(matrix))]
    return WordVectors(Vocabulary.build(["", *words]), np.concatenate([np.zeros((1, D)), matrix]).astype(np.float32))


def test_words_of_one_direction_share_a_cluster():
    """As many clusters as directions, and a start with which each direction has its own."""
    vectors = some_vectors(3, 33, np.random.default_rng(2))
    lexicon = vector_clusters(vectors, (3, 9))
    assert lexicon.columns == ["vector cluster 3", "vector cluster 9"]
    assert lexicon.words is vectors.words
    assert not lexicon.codes[0].any()
    assert [len(set(group)) for group in lexicon.codes[1:, 0].reshape(3, 33).tolist()] == [1, 1, 1]
    assert set(lexicon.codes[1:, 0].tolist()) == {1, 2, 3}
    assert len({fine for _, fine in lexicon.codes.tolist()}) == len(set(map(tuple, lexicon.codes.tolist())))  # nested
    np.testing.assert_array_equal(vector_clusters(vectors, (3, 9)).codes, lexicon.codes)


def test_a_form_without_a_vector_has_no_cluster_and_capitals_do_not_matter():
    lexicon = vector_clusters(some_vectors(3, 20, np.random.default_rng(0)), (4,))
    known, shouted, unknown = lexicon.of(["g1w20", "G1W20", "zebra"])[:, 0]
    assert known == shouted != 0
    assert unknown == 0


def test_few_words_have_few_clusters():
    vectors = some_vectors(3, 20, np.random.default_rng(0))  # 60 words
    assert vector_clusters(vectors, (6, 7, 64)).columns == ["vector cluster 6"]
    assert vector_clusters(vectors, (7, 64)) is None
    assert vector_clusters(vectors, ()) is None


@given(st.integers(1, 40), st.integers(1, 9), st.integers(1, 5), st.integers(0, 99))
def test_the_nearest_centre_is_that_of_the_largest_cosine(V, K, D, seed):
    rng = np.random.default_rng(seed)
    X, centres = directions(rng.normal(size=(V, D))), directions(rng.normal(size=(K, D)))
    cosines = [[float(x @ c) for c in centres] for x in X]
    found = nearest_centres(X, centres)
    assert [row[i] for row, i in zip(cosines, found, strict=True)] == pytest.approx([max(row) for row in cosines])


@given(st.integers(2, 30), st.integers(1, 6), st.integers(0, 99))
def test_a_round_never_moves_centres_away_from_their_words(V, K, seed):
    X = directions(np.random.default_rng(seed).normal(size=(V, 3)).astype(np.float32))
    K = min(K, V)
    totals = []
    for rounds in range(5):
        centres = cluster_centres(X, K, rounds=rounds, seed=0)
        totals.append(float((X * centres[nearest_centres(X, centres)]).sum()))
    assert all(later >= earlier - 1e-4 for earlier, later in pairwise(totals))


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((1,), "vector_clusters must be numbers from 2 to 65535"),
        ((70_000,), "vector_clusters must be numbers from 2 to 65535"),
        ((4, 4), "vector_clusters must be at most 64 different numbers"),
        (tuple(range(2, 67)), "vector_clusters must be at most 64 different numbers"),
    ],
)
def test_impossible_numbers_are_refused(numbers, message):
    with pytest.raises(ConfigurationError, match=message):
        postil.Tagger(vector_clusters=numbers).fit(*corpora.named_entities(10))


# ------------------------------------------------------------------------------------------------ models


@pytest.fixture(scope="module")
def data():
    return corpora.named_entities(40)


@pytest.fixture
def vectors(data, tmp_path):
    """A file of vectors of three quarters of the words, and some others."""
    rng = np.random.default_rng(0)
    words = sorted({token.lower() for tokens in data[0] for token in tokens})
    known = [word for word in words if rng.random() < 0.75] + [f"other{i}" for i in range(40)]
    lines = [f"{word} {' '.join(f'{x:.3f}' for x in rng.normal(size=6))}\n" for word in known]
    path = tmp_path / "vectors.txt"
    path.write_text("".join(lines), encoding="utf8")
    return path


def lexicon_of(tagger):
    return tagger.model.features.words.lexicons["vector clusters"]


@pytest.mark.parametrize("preset", ["fast", "accurate"])
def test_a_tagger_keeps_its_clusters_and_stores_their_words_once(data, vectors, preset, tmp_path):
    X, y = data
    settings = {**SMALL, "preset": preset, "vectors": str(vectors)}
    tagger = postil.Tagger(**settings, vector_clusters=(2, 4)).fit(X, y)
    plain = postil.Tagger(**settings, vector_clusters=()).fit(X, y)
    width = [members_of(one.model.network)[0].form_dim for one in (tagger, plain)]
    assert width[0] == width[1] + 2 * 12
    assert lexicon_of(tagger).columns == ["vector cluster 2", "vector cluster 4"]
    tagger.save(tmp_path / "m.postil")
    arrays, _ = archive.load(tmp_path / "m.postil")
    assert not [name for name in arrays if "lexicon vector clusters/words" in name]
    assert [name for name in arrays if "lexicon vector clusters/codes" in name]
    vectors.unlink()  # the file is not needed any more
    unseen = [*X, ["Zebra", "ANNA", "1984"]]
    for other in (postil.load(tmp_path / "m.postil"), pickle.loads(pickle.dumps(tagger))):
        assert lexicon_of(other).words is other.model.features.words.vocabularies["vector"]
        assert other.predict(unseen) == tagger.predict(unseen)


@pytest.mark.parametrize("preset", ["fast", "accurate", "sentence-sll"])
def test_the_engine_scores_as_the_graph_does(data, vectors, preset):
    X, y = data
    settings = {**SMALL, "preset": preset, "vectors": str(vectors), "vector_clusters": (2, 4)}
    parts = postil.Tagger(**settings).fit(X, y).model
    unseen = [*X, ["Zebra", "ANNA", "1984"], []]
    scores, _ = parts.engine().scores(unseen, [parts.task])
    expected = parts.network.unary(parts.features.inputs(unseen))
    np.testing.assert_allclose(scores[parts.task], expected, rtol=1e-4, atol=1e-4)


def test_both_ways_of_looking_words_up_agree(data, vectors):
    """By the id of the vector, and in a lexicon that has words of its own."""
    X, y = data
    words = postil.Tagger(**SMALL, vectors=str(vectors), vector_clusters=(4,)).fit(X, y).model.features.words
    forms = ["Anna", "oslo", "Zebra", "x" * 300, "1984", "", "the", "THE"]
    place = [column.name for column in words.columns].index("vector cluster 4")
    np.testing.assert_array_equal(words.rows(forms)[:, place], words.lexicons["vector clusters"].of(forms)[:, 0])


def test_a_warm_start_keeps_the_clusters_of_the_model(data, vectors):
    X, y = data
    first = postil.Tagger(**SMALL, vectors=str(vectors), vector_clusters=(2, 4)).fit(X, y)
    with vectors.open("a") as file:  # more words make other clusters
        file.writelines(f"more{i} {i} 1 -{i} 2 0 1\n" for i in range(50))
    again = postil.Tagger(**SMALL, vectors=str(vectors), vector_clusters=(2, 4)).fit(X, y, warm_start=first)
    np.testing.assert_array_equal(lexicon_of(again).codes, lexicon_of(first).codes)
    without = postil.Tagger(**SMALL, vectors=str(vectors), vector_clusters=()).fit(X, y)
    begun = postil.Tagger(**SMALL, vectors=str(vectors), vector_clusters=(2,)).fit(X, y, warm_start=without)
    assert not begun.model.features.words.lexicons
    assert begun.model.config.vector_clusters == ()


def test_a_file_that_lacks_the_words_of_a_lexicon_is_refused(data, vectors, tmp_path):
    X, y = data
    postil.Tagger(**SMALL, vectors=str(vectors), vector_clusters=(4,)).fit(X, y).save(tmp_path / "m.postil")
    arrays, metadata = archive.load(tmp_path / "m.postil")
    name = next(name for name in arrays if "lexicon vector clusters/codes" in name)
    archive.save(tmp_path / "short.postil", {**arrays, name: arrays[name][:-1]}, metadata)
    with pytest.raises(ModelFileError, match="codes of a lexicon"):
        postil.load(tmp_path / "short.postil")
