"""Nodes, constants and Scans."""

import numpy as np
import pytest

from oracles.onnx_graphs import run
from postil.export.onnx_graph import FORBIDDEN, Graph, fixed

pytestmark = [pytest.mark.extra("onnx"), pytest.mark.extra("onnxruntime")]


def test_equal_constants_are_stored_once_and_others_are_not():
    g = Graph()
    assert g.constant([1, 2], np.int64) == g.constant(np.array([1, 2]))
    names = {g.constant([1, 2], np.float64), g.constant([[1, 2]], np.int64), g.constant(1, np.int64)}
    assert len(names | {g.constant([1, 2], np.int64), g.constant([1], np.int64)}) == 5


def test_large_constants_are_kept_apart():
    g = Graph()
    assert g.constant(np.zeros(1000)) != g.constant(np.ones(1000))


def test_a_scalar_stays_one():
    g = Graph()
    g.output(g.constant(2.5, np.float32), "y", np.float32, [])
    assert run(g)["y"].shape == ()


@pytest.mark.parametrize("bounds", [(0, 2), (1, None), (0, -1), (2, None), (-1, None)])
def test_slices(bounds):
    g, X = Graph(), np.arange(12).reshape(3, 4)
    g.output(g.slice(g.input("x", np.int64, [3, 4]), *bounds, 1), "y", np.int64, [3, "n"])
    np.testing.assert_array_equal(run(g, x=X)["y"], X[:, bounds[0] : bounds[1]])


@pytest.mark.parametrize("backwards", [False, True])
def test_a_scan_goes_either_way_and_its_step_uses_the_outer_graph(backwards):
    g, X = Graph(), np.arange(1.0, 5.0)
    x, factor = g.input("x", np.float64, ["n"]), g.constant(2.0, np.float64)

    def step(h, states, items):
        total = h.add("Add", h.add("Mul", states[0], factor), items[0])
        return [(total, np.float64)], [(total, np.float64)]

    last, totals = g.scan(step, [(g.constant(0.0, np.float64), np.float64)], [(x, np.float64)], backwards=backwards)
    g.output(last, "last", np.float64, [])
    g.output(totals, "totals", np.float64, ["n"])
    expected, running = [], 0.0
    for value in X[::-1] if backwards else X:
        running = 2 * running + value
        expected.append(running)
    answers = run(g, x=X)
    assert answers["last"] == running
    np.testing.assert_array_equal(answers["totals"], expected[::-1] if backwards else expected)


def test_what_is_impossible_has_a_finite_score():
    np.testing.assert_array_equal(fixed(np.array([1.5, -np.inf])), [1.5, FORBIDDEN])
