"""The gradient check of fitted taggers, and that it finds a wrong gradient."""

import numpy as np
import pytest

import postil
from oracles.corpora import named_entities, parts_of_speech
from postil.gradients.fitted import examine_parts

SMALL = {
    "hidden": 4,
    "word_dim": 3,
    "caps_dim": 2,
    "column_dim": 2,
    "position_dim": 2,
    "epochs": 1,
    "rate": 0.02,
    "input_dropout": 0.2,
    "hidden_dropout": 0.2,
}


# All presets are rows of `postil check`; here are objectives and encoders once each, fitted.
@pytest.mark.parametrize("preset", ["fast", "window-wll", "sentence-sll", "linear-crf"])
def test_the_loss_of_a_fitted_model_has_the_right_gradient(preset, tmp_path):
    vectors = tmp_path / "v.txt"
    vectors.write_text("anna 0.5 1\noslo 0.1 2\n")
    X, y = named_entities(20)
    X = [[(word, word[-1]) for word in tokens] for tokens in X]
    y = [[label.replace("LOC", "PER") for label in labels] for labels in y]  # one class: few labels to step through
    tagger = postil.Tagger(preset=preset, vectors=vectors, **SMALL, l2=0.01).fit(X, y)
    report = examine_parts(tagger.parts, np.random.default_rng(1))
    assert report.passed, report.failures
    names = {entry.name for entry in report.entries}
    assert names == set(tagger.parts.network.parameters())
    assert report.checked > 100


def test_labels_without_a_scheme_too():
    tagger = postil.Tagger(**SMALL).fit(*parts_of_speech(20))
    assert examine_parts(tagger.parts, np.random.default_rng(1)).passed


def test_a_wrong_gradient_is_found(monkeypatch):
    from postil.network import linear

    def wrong(X, W, b, finish=None, right=linear.linear):
        Y, back = right(X, W, b, finish)
        return Y, lambda dY: (back(dY)[0], back(dY)[1] * 1.001, back(dY)[2])

    tagger = postil.Tagger(preset="window-wll", **SMALL).fit(*named_entities(20))
    monkeypatch.setattr(linear, "linear", wrong)
    assert not examine_parts(tagger.parts, np.random.default_rng(1)).passed
