"""Windows, averages of windows and convolutions (A4, E2, E3)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.arrays import Ragged, offsets_from_lengths
from postil.errors import ConfigurationError
from postil.network import Window, WindowAverage, convolution

lengths = st.lists(st.integers(0, 5), max_size=5)
sizes = st.sampled_from([1, 3, 5, 7])


def slow_windows(sentence, padding, size):
    """The obvious way: pad the sentence on both sides and cut."""
    half = size // 2
    padded = [padding] * half + list(sentence) + [padding] * half
    return [np.concatenate(padded[i : i + size]) for i in range(len(sentence))]


def rows(lengths):
    return np.random.default_rng(sum(lengths)).normal(size=(sum(lengths), 2))


@given(lengths, sizes)
def test_windows_are_those_of_the_padded_sentences(lengths, size):
    layer = Window(2, size, rng=np.random.default_rng(0), dtype=np.float64)
    layer.padding.value[:] = 7.0, -7.0
    batch = Ragged(rows(lengths), offsets_from_lengths(lengths))
    expected = [w for sentence in batch for w in slow_windows(sentence, layer.padding.value, size)]
    assert np.array_equal(layer(batch).value, np.array(expected).reshape(-1, 2 * size))


@given(lengths, sizes)
def test_averages_are_over_the_words_in_the_sentence(lengths, size):
    half = size // 2
    batch = Ragged(rows(lengths), offsets_from_lengths(lengths))
    expected = [s[max(0, i - half) : i + half + 1].mean(axis=0) for s in batch for i in range(len(s))]
    assert np.allclose(WindowAverage(size)(batch).value, np.array(expected).reshape(-1, 2))


def test_a_convolution_is_the_same_linear_layer_at_every_window():
    layer = convolution(2, 4, 3, rng=np.random.default_rng(0), dtype=np.float64)
    window, linear = layer.layers
    batch = Ragged(rows([3, 1]), offsets_from_lengths([3, 1]))
    for i, row in enumerate(window(batch).value):
        assert np.allclose(layer(batch).value[i], linear.W.value @ row + linear.b.value)


@pytest.mark.parametrize("size", [0, 2, -3])
@pytest.mark.parametrize("make", [lambda n: Window(2, n, rng=np.random.default_rng(0)), WindowAverage])
def test_even_windows_have_no_middle(make, size):
    with pytest.raises(ConfigurationError, match=f"window size: expected an odd number.*got {size}"):
        make(size)
