"""Arguments of kernels: taken as they are where C can read them, copied where it cannot, refused where wrong."""

import numpy as np
import pytest

from postil import kernels
from postil.errors import ConfigurationError, DtypeError, PostilError, ShapeError
from postil.kernels import AdamMemory, AdamSettings, AdamUpdate, TableShape, TaggerBatch, TaggerShape, Totals
from postil.kernels.checking import ACTIVATIONS, check_activation, checked_chain, contiguous, floats, label_scores


def test_activations_by_name():
    for name in ACTIVATIONS:
        check_activation(name)
    with pytest.raises(ConfigurationError, match="'tanh'"):
        check_activation("tanh")


def test_what_c_can_read_is_not_copied():
    ready = np.ones((2, 3))
    assert contiguous(ready, np.float64, (2, 3), where="x") is ready
    assert floats(ready, 2, where="x") is ready
    copy = contiguous(ready.T, np.float32, (3, 2), where="x")
    assert copy.flags.c_contiguous and copy.dtype == np.float32
    assert floats(ready.T, 2, where="x").flags.c_contiguous


def test_what_is_wrong_is_named():
    with pytest.raises(ShapeError, match=r"start.*\(3,\).*\(2,\)"):
        contiguous(np.ones(2), np.float64, (3,), where="start")
    with pytest.raises(DtypeError, match="int64"):
        floats(np.ones((2, 2), np.int64), 2, where="x")
    with pytest.raises(ShapeError, match="2 dimensions"):
        floats(np.ones(2), 2, where="x")
    with pytest.raises(ShapeError):
        label_scores(np.ones((4, 0)))


def test_the_arguments_of_a_chain():
    good = {"unary": np.zeros((3, 2), np.float32), "offsets": [0, 1, 3], "transitions": np.zeros((2, 2), np.float32)}
    good |= {"start": np.zeros(2), "end": np.zeros(2)}
    unary, offsets, transitions, _, _ = checked_chain(**good)
    assert unary.dtype == np.float32 and transitions.dtype == np.float64 and offsets.tolist() == [0, 1, 3]
    for name, wrong in (("offsets", [0, 2]), ("transitions", np.zeros((2, 3))), ("end", np.zeros(3))):
        with pytest.raises(PostilError):
            checked_chain(**{**good, name: wrong})


def test_what_c_changes_is_never_a_copy():
    ready = np.ones((2, 3))
    assert contiguous(ready, np.float64, (2, 3), "x", changed=True) is ready
    frozen = np.ones(2)
    frozen.flags.writeable = False
    for wrong, dtype in ((ready.T, np.float64), (ready, np.float32), (frozen, np.float64), ([1.0, 2.0], np.float64)):
        with pytest.raises(ShapeError, match="x: an array that is changed: expected a writable C-contiguous array"):
            contiguous(wrong, dtype, np.shape(wrong), "x", changed=True)


# ------------------------------------------------------------------------------------------------ what wrappers refuse

compiled = pytest.mark.skipif(not kernels.IN_USE.startswith("compiled"), reason="needs the compiled kernels")
N, V, D = 4, 5, 2


def adam_memory(**others):
    arrays = {"value": np.ones((V, D)), "mean": np.zeros((V, D)), "square": np.zeros((V, D))}
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
    return AdamMemory(**arrays | {"touches": np.zeros((V, 1), np.int64)} | others)


def totals(**others):
    return Totals(**{"total": np.zeros((V, D)), "settled": np.zeros(V, np.int64), "steps": 1} | others)


def floats32(*shape):
    return np.zeros(shape, np.float32)


WRONG_MEMORY = {
    "value": floats32(2 * V, D),
    "mean": floats32(V - 1, D),
    "square": floats32(V, D + 1),
    "touches": np.zeros((V - 1, 1), np.int64),
}
WRONG_TOTALS = {"total": np.zeros((V - 1, D)), "settled": np.zeros(V - 1, np.int64)}


@compiled
@pytest.mark.parametrize("name", WRONG_MEMORY)
def test_steps_of_adam_refuse_states_of_other_lengths(name):
    memory = adam_memory(**{name: WRONG_MEMORY[name]})
    g = np.zeros_like(memory.value)
    with pytest.raises(ShapeError):
        kernels.adam_kernel(0.9, 0.999, 1e-8).enter([AdamUpdate(memory, None, None, g, 0.1)], 5.0)
    with pytest.raises((ShapeError, ValueError)):
        kernels.adam_step(memory, ..., g, AdamSettings(0.1, 0.9, 0.999, 1e-8, 1.0))


@compiled
@pytest.mark.parametrize("name", WRONG_TOTALS)
def test_steps_of_adam_refuse_totals_of_other_lengths(name):
    memory, wrong, g = adam_memory(), totals(**{name: WRONG_TOTALS[name]}), floats32(V, D)
    with pytest.raises(ShapeError):
        kernels.adam_kernel(0.9, 0.999, 1e-8).enter([AdamUpdate(memory, wrong, None, g, 0.1)], 5.0)
    with pytest.raises(ShapeError):
        kernels.adam_step(memory, ..., g, AdamSettings(0.1, 0.9, 0.999, 1e-8, 1.0), wrong)


@compiled
def test_totals_that_fitted_one_parameter_do_not_fit_a_longer_one():
    kept, settings = totals(), AdamSettings(0.1, 0.9, 0.999, 1e-8, 1.0)
    kernels.adam_step(adam_memory(), ..., floats32(V, D), settings, kept)
    longer = {name: floats32(2 * V, D) for name in ("value", "mean", "square")}
    memory = adam_memory(**longer, touches=np.zeros((2 * V, 1), np.int64))
    with pytest.raises(ShapeError, match="totals of averages"):
        kernels.adam_step(memory, ..., floats32(2 * V, D), settings, kept)


@compiled
@pytest.mark.parametrize("rows", [None, np.array([0, 1])])
def test_steps_of_adam_refuse_gradients_of_other_lengths(rows):
    update = AdamUpdate(adam_memory(), None, rows, floats32(V - 1 if rows is None else 1, D), 0.1)
    with pytest.raises(ShapeError, match="gradient of a parameter"):
        kernels.adam_kernel(0.9, 0.999, 1e-8).enter([update], 5.0)


L, H = 3, 2
SHAPE = {"K": 1, "D": D, "H": H, "L": L, "dilations": (1,), "is_normed": True, "activation": "hardtanh"}
SHAPE |= {"tables": (TableShape(V, D, 1),), "vector_dim": 0, "input_dropped": 0, "hidden_dropped": 0}
WEIGHTS = [(D,), (H, D), (H,), (H,), (H,), (H,), (H, H), (H,), (H,), (H,), (L, H), (L,), (L, L), (L,), (L,)]
FORBIDDEN = [np.zeros((L, L), bool), np.zeros(L, bool), np.zeros(L, bool)]


def batch(**others):
    arrays = {"ids": [np.zeros((N, 1), np.int64)], "places": np.arange(N), "offsets": np.array([0, N])}
    arrays |= {"vectors": None, "gold": np.zeros(N, np.int64), "share": 1.0, "keys": [1, 2, 3]}
    return TaggerBatch(**arrays | others)


def entered(batch, weights=None, tables=None, forbidden=FORBIDDEN):
    kernel = kernels.tagger_kernel(TaggerShape(**SHAPE), forbidden, (1, False))  # nothing is computed here
    return kernel.enter(batch, [*(tables or [floats32(V, D)]), *(weights or [floats32(*one) for one in WEIGHTS])])


@compiled
def test_a_tagger_that_fits_is_entered():
    assert entered(batch())


@compiled
@pytest.mark.parametrize("place", range(len(WEIGHTS)))
def test_taggers_refuse_weights_of_other_lengths(place):
    shapes = [(2 * one[0], *one[1:]) if i == place else one for i, one in enumerate(WEIGHTS)]
    with pytest.raises(ShapeError, match="weights of a tagger"):
        entered(batch(), [floats32(*one) for one in shapes])


@compiled
@pytest.mark.parametrize(
    "others",
    [
        {"ids": [np.zeros((N, 2), np.int64)]},
        {"ids": []},
        {"gold": np.zeros(N - 1, np.int64)},
        {"gold": (np.zeros((N, L + 1)), np.zeros((L, L)))},
        {"gold": (np.zeros((N, L)), np.zeros((L, L - 1)))},
        {"keys": [1, 2]},
        {"vectors": (floats32(V, D), np.zeros(N, np.int64))},
        {"characters": np.zeros((N, 3), np.int64)},
    ],
    ids=str,
)
def test_taggers_refuse_batches_that_do_not_fit(others):
    with pytest.raises(ShapeError):
        entered(batch(**others))


@compiled
def test_taggers_refuse_tables_and_steps_that_do_not_fit():
    with pytest.raises(ShapeError, match="table"):
        entered(batch(), tables=[floats32(V, D + 1)])
    with pytest.raises(ShapeError, match="forbidden steps"):
        entered(batch(), forbidden=FORBIDDEN[:2])


@compiled
def test_sizes_that_only_c_can_refuse_are_told():
    chain = np.zeros((N, L)), np.array([0, N]), np.zeros((L, L)), np.zeros(L), np.zeros(L)
    with pytest.raises(ShapeError, match="ranked_paths: sizes that do not fit"):
        kernels.ranked_paths(*chain, 0)


@compiled
def test_expectations_are_written_into_float64_only():
    occurrences = kernels.AttributeTokens(np.array([0, 1]), np.zeros(1, np.int32), None)
    pairs = kernels.PairWeights(np.array([0, 1]), np.zeros(1, np.int32))
    with pytest.raises(ShapeError, match="out of attribute_counts"):
        kernels.attribute_counts(occurrences, pairs, np.zeros((1, 8)), 2, 0, 1, floats32(1))
