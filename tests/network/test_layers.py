"""Invariants that every layer must keep, run over one table of layers (A1)."""

import threading

import numpy as np
import pytest

from postil.arrays import Ragged
from postil.errors import DtypeError, ShapeError
from postil.gradcheck import check
from postil.graph import Input, dense, gradients
from postil.network import (
    ACTIVATIONS,
    Activation,
    Chain,
    Concatenation,
    Dropout,
    LayerNorm,
    Linear,
    LookupTable,
    LookupTables,
    MaxOverTime,
    ParametricReLU,
    Residual,
    Window,
    WindowAverage,
    convolution,
)

D = 4
OFFSETS = np.array([0, 1, 4, 9])  # a sentence of one word among others


def make_layers(dtype=np.float64):
    rng = np.random.default_rng(0)
    options = {"rng": rng, "dtype": dtype}
    return {
        "linear": Linear(D, 3, **options),
        "window": Window(D, 3, **options),
        "window of one": Window(D, 1, **options),
        "wide window": Window(D, 7, **options),
        "average": WindowAverage(3),
        "convolution": convolution(D, 3, 5, **options),
        "max over time": MaxOverTime(),
        "layer norm": LayerNorm(D, **options),
        "parametric relu": ParametricReLU(D, dtype=dtype),
        "dropout": Dropout(0.5),
        "row dropout": Dropout(0.5, rows=True),
        "residual": Residual(convolution(D, D, 3, **options)),
        "concatenation": Concatenation(Linear(D, 2, **options), WindowAverage(5)),
        "chain": Chain(convolution(D, 6, 3, **options), Activation("tanh"), MaxOverTime(), Linear(6, 2, **options)),
        "empty chain": Chain(),
        **{name: Activation(name) for name in ACTIVATIONS},
    }


NAMES = list(make_layers())
POOLS = {"max over time", "chain"}


def batch(dtype=np.float64, seed=1):
    return Ragged(np.random.default_rng(seed).normal(size=(OFFSETS[-1], D)).astype(dtype), OFFSETS)


@pytest.mark.parametrize("name", NAMES)
def test_gradients(name):
    unused = ["padding"] if name == "window of one" else []
    check(make_layers()[name], batch(), expect_zero=unused)


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_equals_its_sentences_one_by_one(name):
    layer, sentences = make_layers()[name], batch()
    together = layer(sentences).value
    alone = [layer(Ragged(rows, np.array([0, len(rows)]))).value for rows in sentences]
    assert np.allclose(together, np.concatenate(alone), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_the_float_type_is_kept_forward_and_backward(name, dtype):
    layer = make_layers(dtype)[name]
    x = Input(batch(dtype).data, offsets=OFFSETS)
    y = layer(x, rng=np.random.default_rng(0))
    assert y.dtype == dtype
    assert all(dense(gradient).dtype == dtype for gradient in gradients(y, seed=np.ones_like(y.value)).values())


@pytest.mark.parametrize("name", NAMES)
def test_nothing_given_is_changed(name):
    layer, sentences = make_layers()[name], batch()
    before = sentences.data.copy()
    values = {path: p.value.copy() for path, p in layer.parameters().items()}
    x = Input(sentences.data, offsets=OFFSETS)
    y = layer(x, rng=np.random.default_rng(0))
    seed = np.random.default_rng(2).normal(size=y.shape)
    seed_before = seed.copy()
    first, second = (gradients(y, seed=seed) for _ in range(2))
    assert np.array_equal(sentences.data, before) and np.array_equal(seed, seed_before)
    assert all(np.array_equal(p.value, values[path]) for path, p in layer.parameters().items())
    assert all(np.array_equal(dense(first[node]), dense(second[node])) for node in first)


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_batch(name):
    layer = make_layers()[name]
    x = Input(np.empty((0, D)), offsets=[0])
    y = layer(x)
    assert len(y.value) == 0
    found = gradients(y, seed=np.empty(y.shape))
    assert all(not dense(gradient).any() for gradient in found.values())


@pytest.mark.parametrize("name", [name for name in NAMES if name not in POOLS])
def test_an_empty_sentence_among_others(name):
    layer = make_layers()[name]
    data = batch().data
    with_gap = layer(Ragged(data, [0, 1, 1, 4, 9, 9])).value
    assert np.array_equal(with_gap, layer(batch()).value)


@pytest.mark.parametrize("name", NAMES)
def test_a_layer_is_one_node_and_used_twice_adds_its_gradients_up(name):
    layer = make_layers()[name]
    x = Input(batch().data, offsets=OFFSETS)
    once = layer(x)
    assert once.parents == (x, *layer.parameters().values())
    seed = np.ones_like(once.value)
    alone = gradients(once, seed=seed)
    both = gradients(layer(x) + layer(x), seed=seed)
    assert all(np.allclose(dense(both[node]), 2 * dense(alone[node])) for node in alone)


@pytest.mark.parametrize("name", NAMES)
def test_threads_get_the_same_bits(name):
    layer, results = make_layers()[name], {}

    def work(i):
        results[i] = layer(batch()).value

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert all(np.array_equal(results[0], results[i]) for i in range(4))


@pytest.mark.parametrize("name", ["linear", "window", "convolution", "layer norm", "parametric relu"])
def test_a_wrong_width_is_named(name):
    layer = make_layers()[name]
    with pytest.raises(ShapeError, match=r"input of a layer: expected \(N, 4\), got \(9, 5\)"):
        layer(Ragged(np.ones((9, 5)), OFFSETS))


@pytest.mark.parametrize("name", ["window", "average", "max over time", "convolution"])
def test_layers_over_sentences_need_offsets(name):
    with pytest.raises(
        ShapeError, match="the rows are not cut into sentences: expected a ragged batch, got no offsets"
    ):
        make_layers()[name](np.ones((9, D)))


@pytest.mark.parametrize("kind", [LookupTable, LookupTables])
def test_lookup_layers_take_empty_batches(kind):
    rng = np.random.default_rng(0)
    layer = kind(5, 3, rng=rng) if kind is LookupTable else kind([(5, 3), (4, 2)], rng=rng)
    ids = np.empty(0, np.int64) if kind is LookupTable else np.empty((0, 2), np.int64)
    y = layer(Ragged(ids, [0]))
    found = gradients(y, seed=np.empty(y.shape, np.float32))
    assert all(len(gradient.rows) == 0 for gradient in found.values())


@pytest.mark.parametrize("name", NAMES)
def test_whole_numbers_are_no_input_for_a_layer_of_floats(name):
    if name == "empty chain":
        return
    with pytest.raises(DtypeError, match=r"expected float.*, got int64 \(9, 4\)"):
        make_layers()[name](Ragged(np.ones((9, D), np.int64), OFFSETS))
