"""Chains and other combinations of layers (E7)."""

import numpy as np
import pytest

from postil.arrays import Ragged
from postil.errors import ConfigurationError, ShapeError
from postil.graph import gradients
from postil.network import Activation, Chain, Concatenation, Linear, LookupTable, MaxOverTime, Residual


def rng():
    return np.random.default_rng(0)


def test_a_chain_is_named_after_its_layers():
    assert Chain(Linear(2, 2, rng=rng()), Activation("tanh")).name == "Linear → tanh"


def test_a_chain_ends_sentences_where_it_pools():
    assert Chain(Activation("tanh"), MaxOverTime()).offsets_after(np.array([0, 2])) is None


def test_a_shortcut_needs_the_same_width():
    with pytest.raises(
        ShapeError, match=r"shortcut around a layer: expected output \(4, 2\) like the input, got \(4, 3\)"
    ):
        Residual(Linear(2, 3, rng=rng()))(np.ones((4, 2), np.float32))


def test_a_concatenation_of_nothing():
    with pytest.raises(ConfigurationError, match="concatenation of layers: expected at least one layer"):
        Concatenation()


def test_two_tables_on_the_same_indices():
    words, more = LookupTable(5, 2, rng=rng()), LookupTable(5, 3, rng=rng())
    y = Concatenation(words, more)(np.array([1, 1]))
    assert y.shape == (2, 5)
    assert np.array_equal(gradients(y.sum())[more.table].values, [[2, 2, 2]])


@pytest.mark.parametrize("make", [Chain, Concatenation, Residual])
def test_a_function_is_no_layer(make):
    with pytest.raises(ConfigurationError, match=r"expected a layer, such as Activation.*, got ufunc"):
        make(np.tanh)


@pytest.mark.parametrize("offsets", [[0, 1, 4], [0, 1, 2, 3, 4]])
def test_words_and_sentences_do_not_stand_side_by_side(offsets):
    both = Concatenation(Activation("tanh"), MaxOverTime())
    with pytest.raises(ShapeError, match=r"layers side by side: expected a row per word.*, got tanh \(4, 2\), MaxOver"):
        both(Ragged(np.ones((4, 2)), offsets))


def test_numbers_without_rows_do_not_stand_side_by_side():
    with pytest.raises(ShapeError, match=r"layers side by side"):
        Concatenation(Activation("tanh"), Activation("relu"))(np.ones(3))
