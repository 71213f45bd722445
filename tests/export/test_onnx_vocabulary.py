"""Tables of words as JSON: the look-up that reads them finds the ids that Postil finds."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.export.onnx_files.words import Words
from postil.export.onnx_vocabulary import vocabulary_of
from postil.features.gazetteer import Gazetteer
from postil.features.inputs import InputFeatures
from postil.features.lexicon import ALONE, FIRST, Entry, Lexicon
from postil.features.vectors import WordVectors
from postil.features.vocabulary import Vocabulary
from postil.features.words import WordFeatureConfig

WORDS = [
    "Anna",
    "ANNA",
    "museum",
    "1984",
    "٣٤",
    "Ελλάς",
    "ΕΛΛΑΣ",
    "İzmir",
    "straße",
    "東京",
    "iPhone",
    "F-16A",
    "\ud800x",
]
CONFIG = WordFeatureConfig(
    word_dim=4,
    caps_dim=2,
    shape_dim=2,
    prefix_dim=2,
    prefix_lengths=(1, 3),
    suffix_dim=2,
    suffix_lengths=(2,),
    cluster_dim=2,
    name_dim=2,
    character_dim=2,
)
SENTENCES = [[(word, "N" if word.isascii() else "F") for word in WORDS]] * 2


@pytest.fixture(scope="module")
def features(tmp_path_factory):
    names = tmp_path_factory.mktemp("names") / "places.txt"
    names.write_text("New York\nSTRASSE\nNew York City\nBuilding\tYork\n", encoding="utf8")
    known = Vocabulary.build(["", "Anna", "museum", "##", "####", "ελλάς", "izmir"])
    return InputFeatures.build(
        CONFIG,
        SENTENCES,
        vectors=WordVectors(known, np.zeros((len(known), 3), np.float32)),
        gazetteer=Gazetteer.load(names),
        lexicons={
            "clusters": Lexicon.of_paths({"anna": "0101", "museum": "011010", "1984": "1"}),
            "vector clusters": Lexicon(["vector cluster 3"], known, np.array([[0, 1, 2, 2, 3, 1, 3]], np.uint16).T),
            "names": Lexicon.of_names([Entry("Anna", "PER", ALONE), Entry("東京", "LOC", FIRST)]),
        },
    )


@pytest.fixture(scope="module")
def words(features):
    return Words({"labels": {}} | json.loads(json.dumps(vocabulary_of(features))))


def expected_ids(features, sentences):
    inputs = features.inputs(sentences)
    of_words = np.concatenate([inputs.forms, inputs.vectors[:, None]], axis=1)
    return np.concatenate([of_words[inputs.places], inputs.extra], axis=1)


tokens = st.sampled_from([*WORDS, "New", "york", "City", "Strasse", "zebra"]) | st.text(min_size=1, max_size=30)
sentences = st.lists(st.lists(st.tuples(tokens, st.sampled_from(["N", "F", "Z"])), max_size=5), max_size=4)


@given(sentences)
def test_ids_are_those_of_the_model(features, words, sentences):
    found, lengths = words.features(sentences)
    assert lengths == [len(sentence) for sentence in sentences]
    assert len({len(sentence) for sentence in found}) <= 1
    rows = [row for sentence, length in zip(found, lengths, strict=True) for row in sentence[:length]]
    if rows:
        np.testing.assert_array_equal(rows, expected_ids(features, sentences))


def test_a_model_with_little(features):
    small = InputFeatures.build(WordFeatureConfig(caps_dim=2), [["a"]])
    found, lengths = Words({"labels": {}, **vocabulary_of(small)}).features([["a", "B."], []])
    assert (found, lengths) == ([[[1], [4]], [[0], [0]]], [2, 0])


def test_names_that_keep_their_case(tmp_path):
    path = tmp_path / "places.txt"
    path.write_text("New York\n", encoding="utf8")
    features = InputFeatures.build(
        WordFeatureConfig(caps_dim=2), [["a"]], gazetteer=Gazetteer.load(path, ignore_case=False)
    )
    words = Words({"labels": {}, **vocabulary_of(features)})
    ((rows, others), _) = words.features([["New", "York"], ["new", "york"]])
    assert ([row[-1] for row in rows], [row[-1] for row in others]) == ([1, 3], [0, 0])
