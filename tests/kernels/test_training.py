"""Fused steps: Adam for all parameters at once, by any number of threads.

Gradients of taggers: tests/models/networks/test_fused.py.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

from postil import kernels
from postil.errors import IndexRangeError, NumericalError
from postil.graph import Parameter, RowGradient
from postil.optimisation import OPTIMISERS, Averaged

compiled = pytest.mark.skipif(not kernels.IN_USE.startswith("compiled"), reason="needs the compiled kernels")


def parameters(seed=0):
    rng = np.random.default_rng(seed)
    shapes = {"table": (900, 12), "W": (70, 300), "b": (70,), "cube": (3, 4, 5)}
    return {name: Parameter(rng.normal(size=shape).astype(np.float32), name) for name, shape in shapes.items()}


def gradients(named, seed, size=1.0):
    rng = np.random.default_rng(seed)
    found = {p: (size * rng.normal(size=p.shape)).astype(np.float32) for n, p in named.items() if n != "table"}
    rows = np.sort(rng.choice(900, 400, replace=False))
    values = (size * rng.normal(size=(400, 12))).astype(np.float32)
    return found | {named["table"]: RowGradient(rows, values, (900, 12))}


def trained(threads, clip=1e9):
    """Values and means after some steps; without threads by the general path."""
    named = parameters()
    averaged = Averaged(OPTIMISERS["adam"](named))
    with kernels.Crew(threads or 1) as crew:
        for i in range(4):
            g = gradients(named, i)
            averaged.step(g, 0.01, clip=clip, crew=crew if threads else None)
    return {n: p.value for n, p in named.items()}, {n: averaged.mean(n) for n in named}, averaged.state()


@compiled
def test_a_fused_step_is_the_general_one_to_the_bit_where_nothing_is_clipped():
    for fused, general in zip(trained(1), trained(0), strict=True):
        assert fused.keys() == general.keys()
        assert all(fused[name].tobytes() == general[name].tobytes() for name in fused)


@compiled
def test_clipping_together():
    for fused, general in zip(trained(1, clip=0.5), trained(0, clip=0.5), strict=True):
        for name in fused:
            np.testing.assert_allclose(fused[name], general[name], rtol=1e-5, atol=1e-7)


@compiled
@pytest.mark.parametrize("threads", [2, 3, 5])
def test_bits_for_any_number_of_threads(threads):
    for some, one in zip(trained(threads, clip=0.5), trained(1, clip=0.5), strict=True):
        assert all(some[name].tobytes() == one[name].tobytes() for name in one)


@compiled
def test_nothing_changes_where_the_norm_is_not_finite():
    named = parameters()
    before = {name: p.value.copy() for name, p in named.items()}
    optimiser = OPTIMISERS["adam"](named)
    with kernels.Crew(2) as crew:
        g = gradients(named, 0)
        g[named["b"]][3] = np.nan
        with pytest.raises(NumericalError):
            optimiser.step(g, 0.01, clip=1.0, crew=crew)
    assert all((before[name] == p.value).all() for name, p in named.items())


@compiled
def test_wide_floats_take_the_general_path():
    named = {"W": Parameter(np.zeros((2, 2)), "W")}
    with kernels.Crew(1) as crew:
        OPTIMISERS["adam"](named).step({named["W"]: np.ones((2, 2))}, 0.1, clip=1.0, crew=crew)
    np.testing.assert_allclose(named["W"].value, -0.1, rtol=1e-6)


@compiled
def test_rows_outside_a_table_are_refused():
    named = parameters()
    g = {named["table"]: RowGradient(np.array([3, 900]), np.ones((2, 12), np.float32), (900, 12))}
    with kernels.Crew(2) as crew, pytest.raises(IndexRangeError):
        OPTIMISERS["adam"](named).step(g, 0.01, clip=1.0, crew=crew)


def test_without_compiled_kernels_there_are_none():
    code = """
from postil import kernels
sizes = {"K": 3, "D": 4, "H": 5, "L": 2, "dilations": (), "vector_dim": 0, "input_dropped": 0, "hidden_dropped": 0}
shape = kernels.TaggerShape(**sizes, is_normed=False, activation="relu", tables=())
with kernels.Crew(2) as crew:
    print(kernels.tagger_kernel(shape, [], (0, True)), kernels.adam_kernel(0.9, 0.999, 1e-8))
"""
    environment = {**os.environ, "POSTIL_KERNELS": "plain"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout == "None None\n"
