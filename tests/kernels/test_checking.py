"""Arguments of kernels: taken as they are where C can read them, copied where it cannot, refused where wrong."""

import numpy as np
import pytest

from postil.errors import ConfigurationError, DtypeError, PostilError, ShapeError
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
