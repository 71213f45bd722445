"""Tables of predicted and observed probabilities."""

import numpy as np
import pytest

import postil
from oracles.corpora import named_entities, parts_of_speech
from postil.models.decoding.posteriors import Posteriors
from postil.models.decoding.tuning import entity_calibration


def calibration_of(tagger, X, y):
    return entity_calibration(Posteriors(tagger.model), X, y)


def assert_alike(found, expected):
    """Up to the rounding of a matrix product of other sentences."""
    assert np.array_equal(found.counts, expected.counts)
    for figure in ("expected_calibration_error", "error_by_chance"):
        assert found.to_dict()[figure] == pytest.approx(expected.to_dict()[figure], abs=1e-4)


def test_what_unknown_labels_leave_open_is_not_counted(names_model):
    X, y = named_entities(40, seed=1)
    tagger = postil.load(names_model)
    half = [["?"] * len(labels) if i % 2 else labels for i, labels in enumerate(y)]
    found = calibration_of(tagger, X, half)
    expected = calibration_of(tagger, X[::2], y[::2])
    assert found.counts.sum() > 0
    assert_alike(found, expected)


def test_nor_of_tokens(speech_model):
    X, y = parts_of_speech(40, seed=1)
    tagger = postil.load(speech_model)
    half = [["?"] * len(labels) if i % 2 else labels for i, labels in enumerate(y)]
    found = calibration_of(tagger, [[f"{token}x" for token in tokens] for tokens in X], half)
    expected = calibration_of(tagger, [[f"{token}x" for token in tokens] for tokens in X[::2]], y[::2])
    assert_alike(found, expected)


def test_labels_of_another_kind_are_never_right(names_model):
    X, _ = named_entities(10, seed=1)
    tagger = postil.load(names_model)
    found = calibration_of(tagger, X, [["NOUN"] * len(tokens) for tokens in X])
    assert found.counts.sum() > 0
    assert found.kept.sum() == 0
