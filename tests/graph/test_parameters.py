import numpy as np
import pytest

from oracles.created import created_parameters
from postil.graph import Parameter, Parameterised


def parameter(name):
    return Parameter(np.zeros(2), name)


class Part(Parameterised):
    def __init__(self):
        self.W, self.size, self.b = parameter("W"), 3, parameter("b")


class Whole(Parameterised):
    PATHS = {"first_part": "first", "outputs": "output{}"}

    def __init__(self):
        self.name, self.values = "whole", np.zeros(4)
        self.first_part = Part()
        self.outputs = [Part(), Part()]
        self.rest = {"scale": parameter("scale"), "parts": (self.first_part, parameter("last"))}
        self.nothing = None


def test_paths_are_attribute_names_in_the_order_of_declaration():
    assert list(Whole().parameters()) == [
        *["first.W", "first.b", "output0.W", "output0.b", "output1.W", "output1.b"],
        *["rest.scale", "rest.parts.1"],
    ]


def test_a_shared_parameter_is_listed_once_by_its_first_path():
    whole = Whole()
    whole.again = whole.first_part
    assert whole.parameters()["first.W"] is whole.first_part.W
    assert not any(path.startswith("again") for path in whole.parameters())


def test_a_parameter_declared_later_is_found():
    whole = Whole()
    whole.first_part.slope = parameter("slope")
    assert "first.slope" in whole.parameters()


def test_the_oracle_sees_a_parameter_that_nobody_declared():
    class Forgetful(Parameterised):
        def __init__(self):
            self.W = parameter("W")
            hidden = parameter("hidden")
            self.bias = lambda: hidden

    with created_parameters() as created:
        forgetful = Forgetful()
    assert {p.name for p in created} - {p.name for p in forgetful.parameters().values()} == {"hidden"}


@pytest.mark.parametrize("value", [None, 1, 2.0, "text", True, np.zeros(3), object()])
def test_other_attributes_have_no_parameters(value):
    part = Part()
    part.other = value
    assert list(part.parameters()) == ["W", "b"]
