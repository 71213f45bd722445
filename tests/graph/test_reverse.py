"""The reverse pass (B3)."""

import threading

import numpy as np
import pytest

import postil.graph as graph
from postil.errors import DtypeError, NumericalError, ShapeError
from postil.graph import Input, Parameter, Result, RowGradient, dense, gradients, jacobian


def test_the_expression_of_the_notes_and_every_gradient_of_it():
    rng = np.random.default_rng(1)
    u, W, b = (Parameter(rng.normal(size=s), n) for n, s in (("u", 3), ("W", (3, 4)), ("b", 3)))
    x = Input(rng.normal(size=4), "x")
    s = u.T @ graph.tanh(W @ x + b)
    h = np.tanh(W.value @ x.value + b.value)
    delta = u.value * (1 - h * h)
    found = gradients(s)
    assert np.allclose(found[u], h)
    assert np.allclose(found[W], np.outer(delta, x.value))
    assert np.allclose(found[b], delta)
    assert np.allclose(found[x], W.value.T @ delta)
    assert set(found) == {u, W, b, x}


def test_gradients_of_all_successors_are_added():
    x = Input(np.array([2.0, 3.0]), "x")
    y = x * x + x * 3.0 + x
    assert np.allclose(gradients(y.sum())[x], 2 * x.value + 4)


def test_a_diamond_visits_each_node_once():
    visits = []
    x = Input(np.array(1.0))

    def counted(a, b, name):
        return Result(a.value + b.value, (a, b), lambda dY: (visits.append(name), [dY, dY])[1], name)

    y = x * 1.0
    for level in range(60):  # 2 ** 60 paths
        y = counted(y, y, level)
    assert gradients(y)[x] == 2.0**60
    assert visits == list(reversed(range(60)))


def test_a_chain_of_20_000_nodes():
    x = Input(np.array([1.0, -1.0]))
    y = x
    for _ in range(20_000):
        y = y + 1.0
    assert np.array_equal(gradients(y.sum())[x], [1.0, 1.0])


def test_the_same_parent_twice():
    x = Input(np.array(3.0))
    assert gradients(x * x)[x] == 6.0


def test_gradients_can_be_asked_for_at_inner_nodes_only():
    x, w = Input(np.array(3.0), "x"), Parameter(np.array(2.0), "w")
    inner = x * w
    y = inner * inner
    assert gradients(y, [inner]) == {inner: 12.0}
    assert gradients(y, [y]) == {y: 1.0}
    assert set(gradients(y, [x, inner])) == {x, inner}


def test_only_what_leads_to_the_wanted_nodes_is_visited():
    def never(dY):
        raise AssertionError("this pullback is not needed")

    x, w = Input(np.array(3.0)), Input(np.array(2.0))
    detour = Result(w.value * 2, (w,), never, "detour")
    assert gradients(x * detour, [x])[x] == 4.0


def test_a_node_that_does_not_matter_gets_zeros():
    x, other = Input(np.ones(2)), Parameter(np.ones((2, 2)), "other")
    assert np.array_equal(gradients(x.sum(), [other])[other], np.zeros((2, 2)))


def test_a_seed_weights_the_elements():
    x = Input(np.array([1.0, 2.0]))
    assert np.array_equal(gradients(x * x, seed=np.array([1.0, 10.0]))[x], [2.0, 40.0])


def test_wrong_starts_of_the_reverse_pass():
    x = Input(np.ones(2), "x")
    with pytest.raises(ShapeError, match=r"needs a seed: expected a single number, or seed=array, got float64 \(2,\)"):
        gradients(x * 2.0)
    with pytest.raises(ShapeError, match="seed of the reverse pass"):
        gradients(x * 2.0, seed=np.ones(3))
    with pytest.raises(DtypeError, match="expected float64, got float32"):
        gradients(x * 2.0, seed=np.ones(2, np.float32))


def test_a_pullback_that_gives_a_wrong_shape_is_named():
    x = Input(np.ones(2), "x")
    wrong = Result(np.array(1.0), (x,), lambda dY: [np.ones(3)], "my operation")
    with pytest.raises(ShapeError, match=r"node my operation: a pullback returned .* expected float64 \(2,\) for x"):
        gradients(wrong)


def test_the_reverse_pass_changes_no_array_that_a_pullback_returned():
    x, y = Input(np.ones(2)), Input(np.ones(2))
    shared = np.ones(2)
    node = Result(np.array(0.0), (x, y), lambda dY: [shared, shared], "shares")
    total = node + (x * y).sum() + (x * 2.0).sum()
    found = gradients(total)
    assert np.array_equal(shared, np.ones(2))
    assert np.array_equal(found[x], [4, 4]) and np.array_equal(found[y], [2, 2])


def test_gradients_of_table_rows_stay_sparse_and_add_up():
    table = Parameter(np.arange(12.0).reshape(4, 3), "table")
    y = table[np.array([2, 0, 2])].sum() + graph.take_rows(table, np.array([2])).sum()
    found = gradients(y)[table]
    assert isinstance(found, RowGradient)
    assert list(found.rows) == [0, 2]
    assert np.array_equal(found.values, [[1, 1, 1], [3, 3, 3]])
    assert isinstance(gradients(y + table.sum())[table], np.ndarray)
    assert np.array_equal(gradients(y + table.sum())[table], dense(found) + 1)


def test_a_sparse_gradient_flows_on_through_a_computed_table():
    table = Parameter(np.ones((3, 2)), "table")
    doubled = table * 2.0
    assert np.array_equal(gradients(doubled[[1, 1]].sum())[table], [[0, 0], [4, 4], [0, 0]])


def test_jacobians_of_the_slides():
    rng = np.random.default_rng(0)
    z, W, x, b = (
        Input(rng.normal(size=3)),
        Input(rng.normal(size=(3, 4))),
        Input(rng.normal(size=4)),
        Input(np.zeros(3)),
    )
    u, h = Input(rng.normal(size=3)), Input(rng.normal(size=3))
    assert np.allclose(jacobian(graph.tanh(z), z), np.diag(1 - np.tanh(z.value) ** 2))
    assert np.allclose(jacobian(W @ x + b, x), W.value)
    assert np.allclose(jacobian(W @ x + b, b), np.eye(3))
    assert np.allclose(jacobian(u.T @ h, u), h.value)
    assert jacobian(W @ x, W).shape == (3, 3, 4)


def test_the_float_type_is_kept():
    x = Input(np.ones(3, np.float32))
    y = graph.mean(graph.tanh(x * 2.0 + 1) / 3 - 1)
    assert y.dtype == np.float32 and gradients(y)[x].dtype == np.float32


def test_threads_share_parameters_without_mixing_gradients():
    w = Parameter(np.ones(1000), "w")
    found = {}

    def work(i):
        y = w * float(i)
        for _ in range(50):
            y = y + w
        found[i] = gradients(y.sum())[w]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert all(np.array_equal(found[i], np.full(1000, i + 50.0)) for i in range(8))


def test_a_single_node_can_be_asked_for():
    x = Input(np.arange(6.0).reshape(3, 2))
    assert np.array_equal(gradients((x * x).sum(), x)[x], 2 * x.value)


def test_many_uses_of_one_table_add_up():
    rng = np.random.default_rng(3)
    table = Parameter(rng.normal(size=(30, 2)), "table")
    uses = [rng.integers(0, 30, 7) for _ in range(50)]
    found = gradients(graph.concatenate([graph.take_rows(table, ids) for ids in uses]).sum())[table]
    assert isinstance(found, RowGradient)
    counts = np.bincount(np.concatenate(uses), minlength=30)
    assert np.array_equal(dense(found), np.stack([counts, counts], axis=1))


def test_an_overflow_in_the_reverse_pass_names_the_node():
    x = Input(np.array([1.0]), "x")
    y = Result(x.value, (x,), lambda dY: [dY * 1e300], "steep")
    with pytest.raises(NumericalError, match=r"gradient that node steep sends to x: a value is not finite: .* got inf"):
        gradients((y * 1e300).sum())


def test_gradients_whose_sum_overflows():
    x, table = Input(np.array([0.5]), "x"), Parameter(np.full((2, 1), 0.1), "table")
    with pytest.raises(NumericalError, match=r"sends to x: a value is not finite"):
        gradients((x * 1e308 + x * 1e308).sum())
    huge = np.array([1e308])
    with pytest.raises(NumericalError, match=r"gradient of table: a value is not finite"):
        gradients(sum((graph.take_rows(table, np.array([0])) * huge).sum() * 1.0 for _ in range(2)))


def test_flags_in_the_reverse_pass_are_no_error_where_the_numbers_are_fine():
    def pullback(dY):
        np.float64(1e308) * np.float64(10)
        return [dY]

    x = Input(np.array([1.0]), "x")
    assert gradients(Result(x.value, (x,), pullback, "flags").sum())[x].tolist() == [1]


def test_a_seed_may_be_a_list():
    x = Input(np.ones(2, np.float32))
    found = gradients(x * 2.0, seed=[1, 3])[x]
    assert found.tolist() == [2, 6] and found.dtype == np.float32
    with pytest.raises(DtypeError, match="seed of the reverse pass: wrong element type"):
        gradients(x * 2.0, seed=["a", "b"])
    with pytest.raises(ShapeError, match=r"seed of the reverse pass: expected \(2,\), got \(1,\)"):
        gradients(x * 2.0, seed=[1])


def test_arrays_in_the_place_of_nodes():
    x = Input(np.ones(2), "x")
    with pytest.raises(DtypeError, match=r"output of the reverse pass: expected a node, .* got float64 \(2,\)"):
        gradients(np.ones(2))
    with pytest.raises(DtypeError, match=r"wrt, what to differentiate by: expected a node"):
        gradients(x.sum(), [x.value])


@pytest.mark.parametrize(
    ("answer", "got"),
    [(lambda dY: [dY], "1 of them"), (lambda dY: [dY, dY, dY], "3 of them"), (lambda dY: dY, r"float64 \(2,\)")],
)
def test_a_pullback_that_returns_another_number_of_gradients_is_explained(answer, got):
    a, b = Input(np.ones(2)), Input(np.ones(2))
    node = Result(a.value + b.value, (a, b), answer, "mine")
    message = rf"node mine: the pullback of a node must return a list .* each of its 2 parents \(got {got}\)"
    with pytest.raises(ShapeError, match=message):
        gradients(node, seed=np.ones(2))
