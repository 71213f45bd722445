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


def test_operations_are_there_without_being_imported():
    """In a process of its own: another test may have imported them."""
    code = (
        "import numpy as np\n"
        "from postil.graph.node import METHODS, Parameter\n"
        "a, b = (Parameter(np.array([[3.0, 4.0]]), name) for name in 'ab')\n"
        "print((a + b).value, (2 * a).value, a.T.shape, a[0].shape, a.sum().value)\n"
        "from postil.graph import operations\n"
        "print(set(METHODS) == set(operations._METHODS))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == "[[6. 8.]] [[6. 8.]] (2, 1) (2,) 7.0 True".split()
