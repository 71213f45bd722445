"""Operations of the flow graph: values and gradients (B1)."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import postil.graph as graph
from postil import objectives
from postil.errors import DtypeError, IndexRangeError, NumericalError, ShapeError
from postil.gradcheck import check
from postil.graph import Input, Result, gradients

small = st.integers(1, 3)


@given(st.data(), st.lists(small, min_size=0, max_size=3))
def test_broadcasting_of_any_two_shapes(data, shape):
    """Each operand may lack leading axes and be 1 anywhere."""

    def shrunk():
        kept = shape[data.draw(st.integers(0, len(shape))) :]
        return [1 if data.draw(st.booleans()) else size for size in kept]

    rng = np.random.default_rng(0)
    a, b = rng.uniform(1, 2, shrunk()), rng.uniform(1, 2, shrunk())
    operation = data.draw(st.sampled_from([graph.add, graph.subtract, graph.multiply, graph.divide, graph.power]))
    check(operation, a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((4, 2, 3), (3, 2)),
        ((3,), (4, 3, 2)),
        ((4, 2, 3), (3,)),
        ((0, 3), (3, 2)),
    ],
)
def test_matmul_of_vectors_matrices_and_stacks(a, b):
    rng = np.random.default_rng(0)
    nothing = ["input 0", "input 1"] if 0 in a else []
    report = check(graph.matmul, rng.normal(size=a), rng.normal(size=b), expect_zero=nothing)
    A, B = Input(np.ones(a)), Input(np.ones(b))
    assert np.array_equal((A @ B).value, np.ones(a) @ np.ones(b))
    assert report.passed


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_sums_and_means_over_any_axes(axis, keepdims):
    x = np.random.default_rng(0).normal(size=(2, 3, 2))
    assert np.allclose(Input(x).sum(axis, keepdims).value, x.sum(axis, keepdims=keepdims))
    check(lambda n: n.sum(axis, keepdims), x)
    check(lambda n: n.mean(axis, keepdims), x)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_max_over_any_axis(axis, keepdims):
    x = np.random.default_rng(0).normal(size=(3, 4))
    assert np.array_equal(Input(x).max(axis, keepdims).value, x.max(axis, keepdims=keepdims))
    check(lambda n: n.max(axis, keepdims), x)


def test_the_first_of_equal_maxima_gets_the_gradient():
    x = Input(np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]]))
    assert np.array_equal(gradients(x.max(axis=1).sum())[x], [[0, 1, 0], [1, 0, 0]])
    assert np.array_equal(gradients(x.max())[x], [[0, 1, 0], [0, 0, 0]])


@pytest.mark.parametrize(
    "index",
    [0, -1, slice(1, None), (slice(None), 1), [0, 0, 2], np.array([[0, 1], [2, 2]]), (..., None), ([0, 1], [1, 1])],
    ids=str,
)
def test_indexing_like_numpy(index):
    x = np.random.default_rng(0).normal(size=(3, 4))
    assert np.array_equal(Input(x)[index].value, x[index])
    check(lambda n: n[index], x)


def test_indexing_by_truth_values():
    x = np.random.default_rng(0).normal(size=(3, 4))
    chosen = x > 0
    assert np.array_equal(Input(x)[chosen].value, x[chosen])
    check(lambda n: n[chosen], x)


def test_a_node_can_be_unpacked():
    a, b = Input(np.array([1.0, 2.0]))
    assert (a.value, b.value) == (1.0, 2.0)


def test_numbers_and_arrays_on_either_side():
    x = Input(np.array([2.0, 4.0]))
    array = np.array([1.0, 3.0])
    assert np.array_equal((1 - x).value, [-1, -3])
    assert np.array_equal((array - x).value, [-1, -1])
    assert np.array_equal((8 / x).value, [4, 2])
    assert np.array_equal((2**x).value, [4, 16])
    assert np.array_equal((array * x).value, [2, 12])
    assert (array @ x).value == 14
    assert np.array_equal((-x).value, [-2, -4])
    check(lambda n: 2.0**n + 3 / n - (1 - n) * np.array([1.0, 2.0]), x.value)


def test_constants_are_no_parents():
    x = Input(np.ones(2))
    assert (x + np.ones(2)).parents == (x,)
    assert (3.0 * x).parents == (x,)


def test_powers_of_zero_and_negative_bases():
    check(lambda n: n**2, np.array([-1.5, 0.0, 2.0]))
    check(lambda n: n**-1.0, np.array([-1.5, 2.0]))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda x: x + np.ones(2, np.float32),
            DtypeError,
            r"operands of add: expected all float32 or all float64, got",
        ),
        (lambda x: x * np.array([1, 2]), DtypeError, "operands of multiply"),
        (lambda x: x + np.float32(1), DtypeError, "operands of add"),
        (lambda x: x + np.ones(3), ShapeError, r"add: .*broadcast"),
        (lambda x: x @ np.ones((3, 2)), ShapeError, "matmul"),
        (lambda x: x @ 2.0, ShapeError, "operands of matmul: expected vectors or matrices"),
        (lambda x: graph.log(x - 1), NumericalError, "result of log must be finite .got divide by zero"),
        (lambda x: graph.log(x - 5), NumericalError, "result of log must be finite .got invalid value"),
        (lambda x: graph.sqrt(-x), NumericalError, "result of sqrt must be finite"),
        (lambda x: graph.exp(x * 1e4), NumericalError, "result of exp must be finite .got overflow"),
        (lambda x: x / (x - 1), NumericalError, "result of divide must be finite"),
        (lambda x: x[5], IndexRangeError, "out of bounds"),
        (lambda x: graph.take_rows(x, np.array([2])), IndexRangeError, "expected 0 to 1, got 2"),
        (lambda x: x.reshape(3), ShapeError, "reshape"),
        (lambda x: x.transpose(1, 0), ShapeError, "transpose"),
        (lambda x: x.sum(axis=3), ShapeError, "sum"),
        (lambda x: graph.concatenate([x, np.ones((2, 2))]), ShapeError, "concatenate"),
        (lambda x: x[:0].max(), ShapeError, "max of nothing: expected at least one value"),
        (lambda x: x[:0].mean(), ShapeError, "mean of nothing"),
        (lambda x: Input([1, 2j]), DtypeError, "expected float32 or float64"),
    ],
)
def test_bad_operands_get_one_clear_message(make, error, message):
    with pytest.raises(error, match=message):
        make(Input(np.array([1.0, 2.0]), "x"))


def test_transpose_takes_axes_from_the_end():
    x = np.random.default_rng(0).normal(size=(3, 3, 3))  # equal sizes: a wrong order would not show in the shape
    check(lambda x: x.transpose(-1, 0, 1), x)
    check(lambda x: x.transpose(0, -1, -2), x)


def test_every_part_of_a_wide_concatenation_gets_its_own_gradient():
    parts = [Input(np.full((2, i % 3), float(i))) for i in range(40)]
    joined = graph.concatenate(parts, axis=-1)
    seed = np.random.default_rng(0).normal(size=joined.shape)
    found = gradients(joined, parts, seed=seed)
    ends = np.cumsum([part.shape[1] for part in parts])
    for part, expected in zip(parts, np.split(seed, ends[:-1], axis=1), strict=True):
        assert np.array_equal(found[part], expected)


def test_a_row_before_the_first_is_named_as_it_was_given():
    with pytest.raises(IndexRangeError, match="expected 0 to 2, got -9 at position"):
        Input(np.ones((3, 2)))[[-9]]


@pytest.mark.parametrize("mistake", [lambda x: x.sum(axis="a"), lambda x: x.reshape(2.5), lambda x: x.max(axis=(0, 1))])
def test_axes_and_shapes_of_a_wrong_type(mistake):
    with pytest.raises(ShapeError):
        mistake(Input(np.ones((3, 2))))


def test_flags_that_a_blas_raises_for_a_valid_product_are_no_error(monkeypatch):
    true_matmul = np.matmul

    def matmul_with_flags(A, B):
        np.float64(1e308) * np.float64(10)  # sets the overflow flag
        return true_matmul(A, B)

    monkeypatch.setattr(np, "matmul", matmul_with_flags)
    assert (Input(np.ones((2, 2))) @ np.ones(2)).value.tolist() == [2, 2]


def test_a_product_that_is_not_finite():
    with pytest.raises(NumericalError, match=r"matmul: a value is not finite: .* got inf at position \(1,\)"):
        Input(np.array([[1.0, 1.0], [1e308, 1e308]])) @ np.ones(2)


@pytest.mark.parametrize(("exponent", "slopes"), [(0, [0, 0, 0]), (1, [1, 1, 1]), (0.0, [0, 0, 0]), (2, [-2, 0, 2])])
def test_slopes_of_powers_at_zero(exponent, slopes):
    x = Input(np.array([-1.0, 0.0, 1.0], np.float32))
    found = gradients((x**exponent).sum())[x]
    assert found.tolist() == slopes and found.dtype == np.float32


def test_slopes_of_powers_with_an_array_of_exponents():
    x = Input(np.zeros(3))
    assert gradients((x ** np.array([0.0, 1.0, 2.0])).sum())[x].tolist() == [0, 1, 0]


def test_numpy_functions_work_on_nodes():
    rng = np.random.default_rng(0)
    W, x = Input(rng.normal(size=(3, 4)), "W"), Input(rng.normal(size=4), "x")
    node = np.tanh(rng.normal(size=3) + W @ x) * np.float64(2)
    assert isinstance(node, Result) and node.name == "multiply"
    assert np.allclose(np.exp(x).value, np.exp(x.value))
    check(lambda x: np.sqrt(np.exp(x)) - np.log(np.exp(x)) / 3.0, rng.normal(size=4))


@pytest.mark.parametrize(
    ("use", "what"),
    [
        (np.sin, "numpy.sin of a node"),
        (np.sum, "numpy.sum of a node"),
        (np.asarray, "a node instead of an array"),
        (lambda node: objectives.softmax(node), "a node instead of an array"),
        (lambda node: objectives.CRF(4).lattice(node, [0, 3]), "a node instead of an array"),
    ],
)
def test_a_node_where_an_array_is_needed_is_one_clear_error(use, what):
    expected = re.escape(f"{what}: expected an operation of postil.graph, or the array node.value, got <")
    with pytest.raises(DtypeError, match=expected):
        use(Input(np.ones((3, 4)), "x"))


def test_adding_a_node_to_an_array_in_place_is_refused():
    array = np.zeros(2)
    with pytest.raises(DtypeError, match=r"numpy\.add of a node with out"):
        array += Input(np.ones(2), "x")
    assert not array.any()


@pytest.mark.parametrize("name", ["exp", "sigmoid", "relu", "softmax", "tanh", "sum", "mean", "max", "transpose"])
def test_an_array_instead_of_a_node_is_one_clear_error(name):
    with pytest.raises(DtypeError, match=rf"operand of {name}: expected a node, such as Input\(array\)"):
        getattr(graph, name)(np.ones(3))


def test_activations_and_softmax():
    x = np.array([[-800.0, 0.0, 2.0], [1.0, 1.0, 800.0]])
    assert np.array_equal(graph.relu(Input(x)).value, np.maximum(x, 0))
    assert np.allclose(graph.sigmoid(Input(x)).value[:, 1:2], [[0.5], [1 / (1 + np.exp(-1))]])
    assert np.allclose(graph.softmax(Input(x)).value.sum(axis=-1), 1)
    assert np.allclose(graph.softmax(Input(x[:, 1:]), axis=0).value.sum(axis=0), 1)
