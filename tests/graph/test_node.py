"""Nodes, their gradients and Jacobians (E5, E6, E8)."""

import subprocess
import sys

import numpy as np
import pytest

from postil.errors import DtypeError
from postil.graph import Input, Parameter, ancestors
from postil.graph.node import check_node


def test_a_node_shows_its_name_shape_and_type():
    assert repr(Parameter(np.zeros((2, 3), np.float32), "W")) == "<Parameter W: float32 (2, 3)>"
    assert repr(Input(np.zeros(4))) == "<Input (unnamed): float64 (4,)>"


def test_ancestors_stand_before_their_children():
    x, W = Input(np.ones(2), "x"), Parameter(np.ones((2, 2)), "W")
    hidden = W @ x
    output = (hidden + x).sum()
    order = ancestors(output)
    assert set(order[:2]) == {x, W} and order[2] is hidden and order[-1] is output
    assert len(order) == 5


def test_arrays_meet_nodes_from_the_left():
    node = np.ones(2) + Input(np.ones(2))
    assert node.value.tolist() == [2, 2] and len(node.parents) == 1


def test_an_array_is_no_node():
    with pytest.raises(DtypeError, match=r"scores.* a node, such as Input"):
        check_node(np.ones(2), "scores")


def test_a_value_must_be_floats():
    with pytest.raises(DtypeError, match="parameter W"):
        Parameter(np.array([1, 2]), "W")


def test_nodes_can_be_calculated_with_from_the_first_line():
    """The operators come from another module, which has to be there whoever imported what."""
    code = "from postil.graph import Input; x = Input([1.0, 2.0]); assert (2 * x + x @ x).value.tolist() == [7, 9]"
    subprocess.run([sys.executable, "-c", code], check=True)
