"""Settings that taggers and tree classifiers share: refused where they are impossible, used where they are not."""

from dataclasses import fields

import numpy as np
import pytest

import postil
from oracles.corpora import named_entities
from postil.errors import ConfigurationError
from postil.features.words import LEARNT_DIMS, WordFeatureConfig
from postil.models.config import (
    PRESETS,
    TaggerConfig,
    adapted,
    configured,
    configured_tree,
    parsed_setting,
    patience_in_epochs,
)
from postil.optimisation import OPTIMISERS, SCHEDULES

TRAIN = named_entities(40)
SMALL = {"hidden": 8, "word_dim": 8, "epochs": 2, "batch_sentences": 8}
CONFIGS = [lambda **settings: configured("fast", settings), lambda **settings: configured_tree("sum", settings)]


@pytest.mark.parametrize("make", CONFIGS, ids=["tagger", "trees"])
def test_optimisers_and_schedules_are_those_of_the_tables(make):
    for name in OPTIMISERS:
        assert make(optimiser=name).optimiser == name
    for name in SCHEDULES:
        assert make(schedule=name).schedule == name
    with pytest.raises(ConfigurationError, match=f"optimiser.*{', '.join(OPTIMISERS)}.*'newton'"):
        make(optimiser="newton")
    with pytest.raises(ConfigurationError, match=f"schedule.*{', '.join(SCHEDULES)}.*'cosine'"):
        make(schedule="cosine")


@pytest.mark.parametrize("make", CONFIGS, ids=["tagger", "trees"])
@pytest.mark.parametrize("tau", [0, -1, 1.5, float("nan"), "soon"])
def test_tau_is_a_share_of_the_training(make, tau):
    with pytest.raises(ConfigurationError, match="tau"):
        make(schedule="inverse-decay", tau=tau)


def test_a_schedule_from_the_command_line():
    assert parsed_setting("schedule=inverse-decay") == ("schedule", "inverse-decay")
    assert parsed_setting("tau=0.1") == ("tau", 0.1)


def rates(**settings):
    """The rates of all steps of a training, as its optimiser got them."""
    tagger = postil.Tagger(**{**SMALL, "rate": 0.01, **settings})
    seen = []
    fitting = tagger.fitting(*TRAIN)
    optimiser = fitting.training.optimiser
    step = optimiser.step
    optimiser.step = lambda gradients, rate, **rest: (seen.append(rate), step(gradients, rate, **rest))
    list(fitting)
    return np.array(seen)


def test_the_rates_of_each_schedule():
    linear, constant, inverse = (rates(schedule=name, tau=0.4) for name in SCHEDULES)
    shares = np.arange(10) / 10
    assert np.allclose(constant, 0.01)
    assert np.allclose(inverse, 0.01 * 0.4 / np.maximum(shares, 0.4))
    assert np.allclose(linear, [0.0001, *(0.01 * (1 - 0.95 * (shares[1:] - 0.05) / 0.95))])


def test_a_schedule_follows_the_clock_of_a_time_budget():
    falling = rates(schedule="inverse-decay", tau=0.01, epochs=10_000, minutes=0.01)
    assert falling[0] == 0.01 and falling[-1] < 0.001  # by batches it would have stayed at its height


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_tree_classifiers_learn_by_any_schedule(schedule):
    trees = [("3", ("2", "a"), ("3", "good")), ("1", ("2", "a"), ("1", "bad"))] * 20
    classifier = postil.TreeClassifier(composition="sum", schedule=schedule, epochs=3, rate=0.05).fit(trees)
    assert classifier.score(trees) == 1.0


def test_every_word_feature_can_be_set():
    settings = {field.name for field in fields(TaggerConfig)}
    assert {field.name for field in fields(WordFeatureConfig)} - settings == {"vector_dim"}


@pytest.mark.parametrize("preset", PRESETS)
def test_word_features_are_those_of_the_settings(preset):
    config = adapted(configured(preset, {}), 100, 1000)
    words = WordFeatureConfig.of(config)
    for field in fields(WordFeatureConfig):
        if field.name != "vector_dim":
            assert getattr(words, field.name) == getattr(config, field.name)


@pytest.mark.parametrize("name", LEARNT_DIMS)
def test_dimensions_of_word_features_have_limits(name):
    with pytest.raises(ConfigurationError, match=name):
        TaggerConfig(**{name: -1})


def test_a_tagger_needs_a_word_feature():
    with pytest.raises(ConfigurationError, match=r"features of words.* a dimension above 0"):
        TaggerConfig(**dict.fromkeys(LEARNT_DIMS, 0))


# ------------------------------------------------------------------------------------------------ little data


def schedule(preset, sentences, **options):
    """(size of a batch, epochs, steps, dropout of the inputs) for this number of sentences."""
    config = adapted(configured(preset, {}), sentences, 20 * sentences, **options)
    steps = config.epochs * -(-sentences // config.batch_sentences)
    return config.batch_sentences, config.epochs, steps, config.input_dropout


@pytest.mark.parametrize("preset", [preset for preset in PRESETS if preset != "margin"])
@pytest.mark.parametrize("sentences", [1, 2, 3, 10, 30, 100, 300, 719])
def test_few_sentences_have_enough_steps(preset, sentences):
    batch, epochs, steps, _ = schedule(preset, sentences)
    assert steps >= 600 and epochs >= 10 and batch <= 8
    assert epochs == 10 or steps < 600 + -(-sentences // batch)  # not an epoch more than needed


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(("sentences", "batch"), [(720, 8), (1000, 11), (1001, 11), (2880, 32), (50_000, 32)])
def test_more_sentences_have_the_schedule_they_always_had(preset, sentences, batch):
    assert schedule(preset, sentences)[:2] == (batch, 20 if preset == "margin" else 10)
    assert schedule(preset, sentences)[3] == (0.1 if preset == "roles" and sentences >= 2500 else 0.3)


def test_hidden_layers_have_smaller_batches_and_more_noise():
    assert schedule("fast", 100)[::3] == (2, 0.5)
    assert schedule("linear-crf", 100)[::3] == (8, 0.3)


@pytest.mark.slow
def test_detectors_and_continued_trainings_do_not_depend_on_it():
    assert schedule("margin", 30) == (8, 20, 80, 0.3)
    assert schedule("fast", 30, continued=True) == (8, 10, 40, 0.3)
    tagger = postil.Tagger(hidden=8, word_dim=8).fit(*named_entities(6))
    assert tagger.config.epochs == 200
    assert postil.Tagger(hidden=8, word_dim=8).fit(*named_entities(6), warm_start=tagger).config.epochs == 10


def test_with_a_number_of_epochs_nothing_depends_on_it():
    config = adapted(configured("fast", {"epochs": 60}), 30, 400)
    assert (config.epochs, config.batch_sentences, config.input_dropout) == (60, 8, 0.3)


def test_what_is_set_is_not_adapted():
    config = adapted(configured("fast", {"batch_sentences": 5, "input_dropout": 0.1}), 20, 400)
    assert (config.epochs, config.batch_sentences, config.input_dropout) == (150, 5, 0.1)


@pytest.mark.parametrize(("sentences", "epochs"), [(10, 54), (100, 6), (300, 3), (5000, 3)])
def test_patience_is_patient_in_steps(sentences, epochs):
    config = adapted(configured("fast", {"patience": 3}), sentences, 1000)
    assert patience_in_epochs(config, sentences) == epochs


def test_patience_of_a_training():
    X, y = named_entities(10)
    fitting = postil.Tagger(hidden=4, word_dim=4, patience=1).fitting(X, y, dev=(X, y))
    assert fitting.training.patience == 18 and fitting.model.config.patience == 1
    assert postil.Tagger(hidden=4).fitting(X, y, dev=(X, y)).training.patience is None
    assert postil.Detector(label="PER", hidden=4, patience=2).fitting(X, y, dev=(X, y)).training.patience == 2
