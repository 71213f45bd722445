"""What each row of the table of encoders promises, measured on its layers: a new row is checked without a new test."""

from dataclasses import replace

import numpy as np
import pytest

from postil.arrays import Ragged
from postil.errors import ConfigurationError
from postil.gradcheck import check
from postil.models.config import TaggerConfig, adapted, configured
from postil.models.networks.encoders import ENCODERS, LayerMaker, reach
from postil.network.layer import Run

D, T = 4, 21
SETTINGS = {"hidden": 6, "layers": 2, "window": 5, "activation": "tanh", "position_dim": 2}


def config(name, **settings):
    return TaggerConfig(encoder=name, **{**SETTINGS, **settings})


def layers(name, dtype=np.float64, **settings):
    return ENCODERS[name].build(LayerMaker(config(name, **settings), np.random.default_rng(0), dtype), D)


def sentences(*lengths, seed=1):
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Ragged(np.random.default_rng(seed).normal(size=(offsets[-1], D)), offsets)


@pytest.mark.parametrize("name", ENCODERS)
def test_the_width_of_the_output(name):
    width = D if ENCODERS[name].keeps_width else SETTINGS["hidden"]
    assert layers(name)(sentences(3, 1, 5)).shape == (9, width)


@pytest.mark.slow
@pytest.mark.parametrize("name", ENCODERS)
def test_gradients(name):
    check(layers(name), sentences(1, 3, 6))


@pytest.mark.parametrize("layer_count", [1, 3])
@pytest.mark.parametrize("window", [1, 5])
@pytest.mark.parametrize("name", ENCODERS)
def test_the_reach_is_how_far_a_word_is_seen(name, window, layer_count):
    """Change one word: exactly the outputs within reach of it change, or for a whole sentence those of one end too."""
    settings = {"window": window, "layers": layer_count}
    encoder, batch = layers(name, **settings), sentences(T)
    before = encoder.forward(batch.data, Run(offsets=batch.offsets))[0]
    changed = batch.data.copy()
    changed[T // 2] += 10
    after = encoder.forward(changed, Run(offsets=batch.offsets))[0]
    seen = np.flatnonzero((before != after).any(axis=1))
    around = reach(config(name, **settings))
    if around is None:
        assert seen[0] == 0 and seen[-1] == T - 1
    else:
        assert seen.tolist() == list(range(T // 2 - around, T // 2 + around + 1))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, row in ENCODERS.items() if row.longest_view is not None])
def test_a_word_sees_all_of_its_view_and_nothing_beyond(name):
    longest = ENCODERS[name].longest_view
    encoder = layers(name, np.float32)
    for length, is_seen in ((longest, True), (longest + 1, False)):
        batch = sentences(length)
        X = batch.data.astype(np.float32)
        before = encoder.forward(X, Run(offsets=batch.offsets))[0]
        X[0] += 100 * np.random.default_rng(0).normal(size=D)
        after = encoder.forward(X, Run(offsets=batch.offsets))[0]
        assert (before[0] != after[0]).any()
        assert (before[-1] != after[-1]).any() == is_seen


@pytest.mark.parametrize("name", ENCODERS)
def test_large_batches_are_cut_where_that_pays(name):
    large, small = (adapted(config(name), count, 10_000) for count in (90 * 32, 90 * 31))
    assert large.shards == (2 if ENCODERS[name].second_shard_pays else 1)
    assert small.shards == 1


def test_settings_know_the_table():
    with pytest.raises(ConfigurationError, match=", ".join(ENCODERS)):
        configured("fast", {"encoder": "transformer"})


def test_without_a_generator_all_weights_are_zeros():
    made = ENCODERS["window"].build(LayerMaker(config("window"), None, np.float32), D)
    assert not any(parameter.value.any() for parameter in made.parameters().values())


def test_three_output_maps_see_one_word_more():
    assert reach(replace(config("window"), offsets=3)) == 3
    assert reach(replace(config("sentence"), offsets=3)) is None
