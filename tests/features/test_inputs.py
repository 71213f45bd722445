"""Sentences as integer arrays: distinct words once, batches cut out of a corpus, extra columns."""

import numpy as np
import pytest

from postil.errors import DataError
from postil.features.inputs import InputFeatures, distinct_numbers, forms_of
from postil.features.words import WordFeatureConfig

SENTENCES = [[("Anna", "N"), ("left", "V")], [("left", "V")], [("Oslo", "N"), ("Anna", "N"), ("Anna", "X")]]
CONFIG = WordFeatureConfig(word_dim=2, caps_dim=2, shape_dim=2)


@pytest.fixture
def features():
    return InputFeatures.build(CONFIG, SENTENCES)


def test_a_form_stands_once_and_every_token_points_to_it(features):
    inputs = features.inputs(SENTENCES)
    assert len(inputs.forms) == 3
    words = [features.words.vocabularies["word"][i] for i in inputs.forms[inputs.places, 0]]
    assert words == [form.lower() for tokens in SENTENCES for form in forms_of(tokens)]
    assert [features.columns[0][i] for i in inputs.extra[:, 0]] == [c for tokens in SENTENCES for _, c in tokens]
    assert inputs.offsets.tolist() == [0, 2, 3, 6]


@pytest.mark.parametrize("which", [[0], [2, 0], [1, 2], [2, 1, 0]])
def test_a_selection_is_what_its_sentences_alone_give(features, which):
    selected = features.inputs(SENTENCES).selected(np.array(which))
    alone = features.inputs([SENTENCES[i] for i in which])
    assert (selected.forms[selected.places] == alone.forms[alone.places]).all()
    assert (selected.vectors[selected.places] == alone.vectors[alone.places]).all()
    assert (selected.extra == alone.extra).all()
    assert (selected.offsets == alone.offsets).all()
    assert len(selected.forms) == len(alone.forms)


def test_unknown_values_are_id_0_and_missing_columns_an_error(features):
    assert features.inputs([[("new", "Z")]]).extra.tolist() == [[0]]
    for token in ("new", ("new",)):
        with pytest.raises(DataError, match="token 'new' lacks extra columns: expected 1, as in training, got 0"):
            features.inputs([[token]])


def test_arrays_give_the_same_features_back(features):
    again = InputFeatures.from_arrays(features.words.config, 1, features.arrays())
    one, other = features.inputs(SENTENCES), again.inputs(SENTENCES)
    assert (one.forms == other.forms).all()
    assert (one.extra == other.extra).all()
    assert again.extra_sizes(3, 5) == features.extra_sizes(3, 5) == [(4, 3)]


@pytest.mark.parametrize("size", [9, 10_000])
@pytest.mark.parametrize("count", [0, 1, 40])
def test_distinct_numbers_are_sorted_and_found_again(size, count):
    numbers = np.random.default_rng(count).integers(0, 9, count)
    used, places = distinct_numbers(numbers, size)
    assert np.array_equal(used, np.unique(numbers)) and np.array_equal(used[places], numbers)
