"""Initialisers: functions of (rng, shape) that draw the first value of a parameter.

The last axis of the shape is the fan-in, the number of inputs used for each output, as in W (H, D). For a lookup table
the documents say that the fan-in is 1 (A10): pass ``fan_in=1`` with ``functools.partial``.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from postil.arrays import Array, describe
from postil.errors import ConfigurationError, ShapeError
from postil.graph import Parameter

Shape: TypeAlias = tuple[int, ...]
Initialiser: TypeAlias = Callable[["np.random.Generator", Shape], Array]


def fan_in_as_printed(rng: "np.random.Generator", shape: Shape, fan_in: int | None = None) -> Array:
    """A10 to the letter: centred uniform with **variance** 1 / sqrt(fan-in).

    A uniform variable on ±a has the variance a²/3. Other texts read the sentence as variance 1 / fan-in: that is
    ``fan_in_variance``, whose values are smaller by the fourth root of the fan-in.
    """
    return _uniform_of_variance(rng, shape, 1 / np.sqrt(shape[-1] if fan_in is None else fan_in))


def fan_in_variance(rng: "np.random.Generator", shape: Shape, fan_in: int | None = None) -> Array:
    """Centred uniform with variance 1 / fan-in: preserves the variance of the inputs."""
    return _uniform_of_variance(rng, shape, 1 / (shape[-1] if fan_in is None else fan_in))


def xavier(rng: "np.random.Generator", shape: Shape) -> Array:
    """Xavier initialisation (B7): U[± sqrt(6 / (n_in + n_out))]."""
    bound = np.sqrt(6 / (shape[-1] + shape[0]))
    return rng.uniform(-bound, bound, shape)


def constant(value: float) -> Initialiser:
    """The same number everywhere; biases start at ``constant(0)``."""
    return lambda rng, shape: np.full(shape, float(value))


def placeholder(rng: "np.random.Generator", shape: Shape) -> Array:
    """Zeros that take no memory, whatever their shape, and cannot be written to: a model file's arrays replace them."""
    return np.broadcast_to(np.zeros((), np.float32), shape)


UNUSED: Any = object()
"""In place of a generator: every parameter is a placeholder. To import NumPy's takes as long as to read a model."""
zeros = constant(0.0)
ones = constant(1.0)


def checked_sizes(shape: Shape, where: str) -> Shape:
    """``shape`` itself, if a parameter can have it."""
    if not all(isinstance(size, int | np.integer) and size >= 1 for size in shape):
        raise ConfigurationError("sizes of a layer", expected="whole numbers from 1", got=shape, where=where)
    return shape


def new_parameter(
    name: str,
    shape: Shape,
    initialise: Initialiser,
    rng: "np.random.Generator",
    dtype: Any,
    *,
    fan_in: int = 1,
    decays: bool = True,
) -> Parameter:
    """A parameter of a layer with its first value, after checking all arguments."""
    checked_sizes(shape, where=name)
    if rng is not UNUSED and not isinstance(rng, np.random.Generator):
        raise ConfigurationError("rng", expected="np.random.default_rng(…)", got=describe(rng), where=name)
    if not callable(initialise):
        raise ConfigurationError(
            "initialise", expected="a function, such as INITIALISERS['xavier']", got=describe(initialise), where=name
        )
    value = np.asarray(placeholder(rng, shape) if rng is UNUSED else initialise(rng, shape))
    if value.shape != shape:
        raise ShapeError("first value of a parameter", expected=shape, got=value.shape, where=name)
    # Not copied where the type is right: of zeros in place of a model file's arrays not even the pages are touched.
    return Parameter(value.astype(dtype, copy=False), name, fan_in=fan_in, decays=decays)


def _uniform_of_variance(rng: "np.random.Generator", shape: Shape, variance: float) -> Array:
    bound = np.sqrt(3 * variance)
    return rng.uniform(-bound, bound, shape)


INITIALISERS: dict[str, Initialiser] = {
    "fan-in-as-printed": fan_in_as_printed,
    "fan-in": fan_in_variance,
    "xavier": xavier,
    "zeros": zeros,
    "ones": ones,
}
