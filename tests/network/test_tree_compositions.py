"""The table of compositions: each name builds its class, with the widths that were asked for."""

import numpy as np
import pytest

from postil.graph import Input
from postil.network import COMPOSITIONS
from postil.network.tree import Forest, new_composition
from postil.text.trees.tree import Tree


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_every_name_builds_its_class_and_it_composes(name):
    D, H = (3, 4) if name == "tree-lstm" else (4, 4)
    composition = new_composition(name, D, H, rng=np.random.default_rng(0), dtype=np.float64)
    assert type(composition) is COMPOSITIONS[name]
    plan = Forest.of([Tree.of(("1", ("0", "a"), ("1", "b"))).children]).schedule(np.array([0]))
    assert composition(Input(np.ones((plan.leaves, D))), plan).value.shape == (3, 4)


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_the_same_seed_the_same_parameters(name):
    one, other = (new_composition(name, 4, 4, rng=np.random.default_rng(5)).parameters() for _ in range(2))
    assert one.keys() == other.keys()
    assert all((one[key].value == other[key].value).all() for key in one)
    assert all(parameter.dtype == np.float32 for parameter in one.values())


def test_an_unknown_name():
    with pytest.raises(KeyError):
        new_composition("product", 4, 4, rng=np.random.default_rng(0))
