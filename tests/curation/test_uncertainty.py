"""Measures of uncertainty against enumeration of all labellings of a sentence."""

import numpy as np
import pytest

import postil
from oracles import corpora
from postil.curation.uncertainty import MEASURES
from postil.models.answers.posteriors import Posteriors
from postil.text.labels.schemes import spans_from_labels

SENTENCES = [["Anna", "Paris"], ["Paris"], ["unknown", "Oslo", "of"]]


@pytest.fixture(scope="module")
def taggers():
    small = {"hidden": 6, "epochs": 2}
    return {
        "bio": postil.Tagger(**small).fit(*corpora.named_entities(40)),
        "none": postil.Tagger(**small).fit(*corpora.parts_of_speech(40)),
    }


def measured(tagger, name):
    values = np.zeros(len(SENTENCES))
    for posterior in Posteriors(tagger.fitted_parts()).of(SENTENCES):
        values[posterior.which] = MEASURES[name](posterior)
    return values


def every_labelling(tagger, tokens):
    return tagger.nbest(tokens, 100_000)


def expected_mistakes(paths, scheme):
    """Over all labellings, what the best one has too much and too little."""
    if scheme == "none":
        by_token = [{} for _ in paths[0][0]]
        for labels, p in paths:
            for sums, label in zip(by_token, labels, strict=True):
                sums[label] = sums.get(label, 0) + p
        return sum(1 - max(sums.values()) for sums in by_token)
    best = set(spans_from_labels(paths[0][0], scheme))
    return sum(p * len(best ^ set(spans_from_labels(labels, scheme))) for labels, p in paths)


@pytest.mark.parametrize("scheme", ["bio", "none"])
def test_every_measure_is_what_all_labellings_say(taggers, scheme):
    tagger = taggers[scheme]
    values = {name: measured(tagger, name) for name in MEASURES}
    for i, tokens in enumerate(SENTENCES):
        paths = every_labelling(tagger, tokens)
        p = np.array([probability for _, probability in paths])
        assert p.sum() == pytest.approx(1)
        assert values["entropy"][i] == pytest.approx(-(p * np.log(p)).sum(), abs=1e-9)
        assert values["confidence"][i] == pytest.approx(-np.log(p[0]), abs=1e-9)
        assert values["margin"][i] == pytest.approx(1 - p[0] + p[1], abs=1e-9)
        assert values["spans"][i] == pytest.approx(expected_mistakes(paths, scheme), abs=1e-9)


def test_a_model_of_one_label_is_certain():
    tagger = postil.Tagger(hidden=4, epochs=1).fit([["a", "b"]] * 3, [["O", "O"]] * 3)
    for name in MEASURES:
        assert measured(tagger, name) == pytest.approx(np.zeros(len(SENTENCES)), abs=1e-12)
