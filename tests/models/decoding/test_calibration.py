"""Fitting temperature and shift: against data drawn from a known distribution, and the slope by differences."""

import numpy as np
import pytest

import postil
from oracles.corpora import named_entities, parts_of_speech
from postil import Decoding
from postil.models.decoding.codec import LabelCodec
from postil.models.decoding.distribution import calibrated_lattice
from postil.models.decoding.posteriors import Posteriors
from postil.models.decoding.tuning import (
    LabelledLattices,
    calibrated,
    entity_calibration,
    known_labels,
    reliability,
)
from postil.objectives import ChainScores, Lattice, k_best

LABELLING = LabelCodec("bio", ("X", "Y"))


def drawn(decoding, seed=0, sentences=1500):
    """Lattices of a network whose scores are as wrong as ``decoding`` says, and gold drawn from what is true."""
    rng, L, mask = np.random.default_rng(seed), len(LABELLING.labels), LABELLING.mask
    chain = ChainScores.under_mask(
        L,
        transitions=rng.normal(size=(L, L)),
        allowed_transitions=mask.transitions,
        allowed_start=mask.start,
        allowed_end=mask.end,
    )
    T = 2
    lattice = Lattice.over(rng.normal(scale=2, size=(sentences * T, L)), np.arange(0, sentences * T + 1, T), chain)
    gold = []
    for paths in k_best(calibrated_lattice(lattice, LABELLING, decoding), 200):
        weights = np.array([path.probability for path in paths])
        gold.append(paths[rng.choice(len(paths), p=weights / weights.sum())].labels)
    return LabelledLattices([lattice], [np.concatenate(gold)], LABELLING)


@pytest.mark.parametrize("truth", [Decoding(temperature=2.0, shift=0.5), Decoding(temperature=0.7, shift=-0.6)])
def test_what_the_data_were_drawn_from_is_found_again(truth):
    found = calibrated(Decoding(bias=0.3), drawn(truth))
    assert found.temperature == pytest.approx(truth.temperature, rel=0.12)
    assert found.shift == pytest.approx(truth.shift, abs=0.15)
    assert found.bias == 0.3


def test_the_slope_is_that_of_the_value_and_zero_where_it_ends():
    data = drawn(Decoding(temperature=1.5, shift=0.2), sentences=60)
    at, h = np.array([0.8, -0.3]), 1e-5
    numeric = [(data.value(at + step) - data.value(at - step)) / (2 * h) for step in h * np.eye(2)]
    assert data.slope(at) == pytest.approx(numeric, rel=1e-5)
    found = calibrated(Decoding(), data)
    assert data.slope(np.array([1 / found.temperature, found.shift])) == pytest.approx([0, 0], abs=0.1)


def test_labels_known_in_part_count_by_what_they_leave_open():
    data = drawn(Decoding(temperature=1.5, shift=0.2), sentences=60)
    (lattice,), (gold,) = data.lattices, data.gold
    at, h, L = np.array([0.8, -0.3]), 1e-5, len(LABELLING.labels)
    one_path = np.eye(L, dtype=bool)[gold]
    known = LabelledLattices([lattice], [one_path], LABELLING)
    assert known.value(at) == pytest.approx(data.value(at))
    assert known.slope(at) == pytest.approx(data.slope(at))
    nothing = LabelledLattices([lattice], [np.ones_like(one_path)], LABELLING)
    assert calibrated(Decoding(), nothing) == Decoding()
    some = one_path | (np.random.default_rng(0).random(one_path.shape) < 0.3)
    partly = LabelledLattices([lattice], [some], LABELLING)
    numeric = [(partly.value(at + step) - partly.value(at - step)) / (2 * h) for step in h * np.eye(2)]
    assert partly.slope(at) == pytest.approx(numeric, rel=1e-5)


def test_sentences_with_partial_labels_calibrate(names_model):
    """A corpus that does not annotate a class has a partial label at every O: no sentence of it may be lost."""
    X, y = named_entities(40, seed=1)
    model = postil.load(names_model)
    partial = [["O|LOC" if label == "O" else label for label in labels] for labels in y]
    found = LabelledLattices.of(Posteriors(model.model), X, partial)
    assert sum(map(len, found.gold)) == sum(map(len, X)) and all(gold.ndim == 2 for gold in found.gold)
    assert model.calibrate(X, partial).temperature != 1


def test_little_data_change_little():
    data = drawn(Decoding(), sentences=1)
    found = calibrated(Decoding(), data)
    assert 0.5 < found.temperature < 2
    assert abs(found.shift) < 1


def test_fit_calibrates_with_dev_only():
    train, dev = named_entities(60), named_entities(40, seed=1)
    options = {"hidden": 12, "epochs": 2, "rate": 0.02}
    assert postil.Tagger(**options).fit(*train).decoding == Decoding()
    model = postil.Tagger(**options).fit(*train, dev=dev)
    assert model.decoding.temperature != 1
    assert model.decoding.shift != 0
    by_hand = postil.Tagger(**options).fit(*train, dev=dev)
    by_hand.decoding = Decoding()
    assert by_hand.calibrate(*dev) == model.decoding


def test_labels_without_a_scheme_have_a_temperature_and_no_shift():
    model = postil.Tagger(hidden=12, epochs=2, rate=0.02).fit(*parts_of_speech(60), dev=parts_of_speech(40, seed=1))
    assert model.decoding.temperature != 1
    assert model.decoding.shift == pytest.approx(0, abs=1e-9)


def test_dev_with_unknown_classes_is_no_obstacle(names_model):
    X, y = named_entities(40, seed=1)
    y = [[label.replace("LOC", "CITY") for label in labels] if i % 2 else labels for i, labels in enumerate(y)]
    model = postil.load(names_model)
    assert any(found is None for found in known_labels(model.model.codec, y))
    assert model.calibrate(X, y).temperature != 1
    only_unknown = [["B-CITY"] * len(labels) for labels in y]
    before = model.decoding
    assert model.calibrate(X, only_unknown) == before


def test_reliability_counts_the_entities_that_were_found(speech_model):
    model = postil.Tagger(hidden=12, epochs=2, rate=0.02).fit(*named_entities(60), dev=named_entities(40, seed=1))
    X, y = named_entities(40, seed=2)
    y[0] = ["O"] * len(y[0])
    found = reliability(model.model, X, y)
    scores = model.evaluate(X, y).spans.overall
    assert (found.after.counts.sum(), found.after.kept.sum()) == (scores.predicted, scores.correct)
    assert found.is_calibrated
    assert found.to_dict()["before"] != found.to_dict()["after"]
    promised = [e.probability for x in X for e in model.annotate([postil.text.Sentence(x)])[0]]
    assert found.after.promised.sum() == pytest.approx(sum(promised))
    model.decoding = Decoding()
    assert not reliability(model.model, X, y).is_calibrated
    speech = postil.load(speech_model)
    X, y = parts_of_speech(20, seed=1)
    assert entity_calibration(Posteriors(speech.model), X, y).counts.sum() == sum(map(len, X))
