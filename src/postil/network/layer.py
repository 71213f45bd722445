"""The contract of every layer (A1): forward returns the output and its pullback.

A layer declares its parameters as attributes in its ``__init__``; ``parameters()`` finds them there. ``forward`` works
on plain arrays, so that layers compose without a graph; calling a layer on a node, a ragged batch or an array makes one
node, whatever happens inside. A forward pass changes nothing: the same layer can run in several threads and be used
many times in one graph.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from postil.arrays import FLOATS, Array, Ragged, describe
from postil.errors import ConfigurationError, DtypeError, ShapeError
from postil.graph import Gradient, Node, Parameter, Parameterised, Result, sum_of_two

# ------------------------------------------------------------------------------------------------ layers


ParameterGradients: TypeAlias = dict[Parameter, Gradient]
# dY -> (dX, gradients of the parameters); dX is None if the input has no gradient (indices).
LayerPullback: TypeAlias = Callable[[Array], tuple[Array | None, ParameterGradients]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The arguments of a forward pass other than the array.

    ``offsets`` (B + 1,) divides the rows into sentences. ``rng`` is set in training only: a layer with noise (dropout)
    is active if there is an ``rng``, and does nothing otherwise.
    """

    offsets: Array | None = None
    rng: "np.random.Generator | None" = None


class Layer(Parameterised, ABC):
    """A function of an array with parameters and a gradient."""

    @abstractmethod
    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        """Y and the pullback, which propagates dY to dX and the parameters. Neither X nor dY is modified."""

    def offsets_after(self, offsets: Array | None) -> Array | None:
        """The offsets of the output: those of the input, unless the layer pools sentences."""
        return offsets

    @property
    def name(self) -> str:
        return type(self).__name__

    def __call__(self, x: Node | Ragged | Array, *, rng: "np.random.Generator | None" = None) -> Result:
        """One node with the layer's output; its parents are ``x`` (if it is a node) and the parameters."""
        offsets: Array | None
        match x:
            case Ragged():
                X, offsets = x.data, x.offsets
            case Node():
                X, offsets = x.value, x.offsets
            case _:
                X, offsets = np.asarray(x), None
        parameters = tuple(self.parameters().values())
        Y, back = checked_forward(self, X, Run(offsets=offsets, rng=rng))

        def pullback(dY: Array) -> list[Gradient | None]:
            dX, gradients = back(dY)
            if unlisted := gradients.keys() - parameters:
                raise ConfigurationError(
                    "a gradient for a parameter that parameters() does not list",
                    expected="every parameter in an attribute of the layer, or in a list, tuple, dict or layer there",
                    got=unlisted.pop().name,
                    where=self.name,
                )
            of_parameters = [gradients.get(parameter) for parameter in parameters]
            return [dX, *of_parameters] if isinstance(x, Node) else of_parameters

        parents = (x, *parameters) if isinstance(x, Node) else parameters
        return Result(Y, parents, pullback, self.name, offsets=self.offsets_after(offsets), is_layer=True)


def checked_forward(layer: Layer, X: Array, run: Run) -> tuple[Array, LayerPullback]:
    """``layer.forward(X, run)``. Mistakes in a layer that users write are reported, not unpacked."""
    answer: Any = layer.forward(X, run)
    if not (isinstance(answer, tuple) and len(answer) == 2 and callable(answer[1])):
        expected = "must return (Y, pullback)"
        raise ConfigurationError("forward of a layer", expected=expected, got=_kind(answer), where=layer.name)
    Y, back = answer
    return Y, lambda dY: _checked_gradients(layer, back(dY))


def _checked_gradients(layer: Layer, answer: Any) -> tuple[Array | None, ParameterGradients]:
    if not (isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], dict)):
        expected = "must return (dX, {parameter: gradient}), with an empty dict if the layer has no parameters"
        raise ConfigurationError("the pullback of a layer", expected=expected, got=_kind(answer), where=layer.name)
    if others := [key for key in answer[1] if not isinstance(key, Parameter)]:
        what, expected = (
            "gradients that the pullback of a layer returns",
            "must have parameters as keys, such as self.W",
        )
        raise ConfigurationError(what, expected=expected, got=describe(others[0]), where=layer.name)
    return answer


def _kind(answer: Any) -> str:
    if isinstance(answer, tuple):
        return f"({', '.join(type(part).__name__ for part in answer)})"
    return describe(answer) if isinstance(answer, np.ndarray) else type(answer).__name__


def add_gradients(gradients: ParameterGradients, out: ParameterGradients) -> None:
    """Add the gradients of one more use of (partly) the same parameters to ``out``.

    The dict is changed, never the arrays in it: copying it for every layer would cost the square of the depth (E11).
    """
    for parameter, gradient in gradients.items():
        out[parameter] = sum_of_two(out[parameter], gradient) if parameter in out else gradient


def by_parameter(
    answer: tuple[Array, Callable[[Array], tuple[Array, ...]]], *parameters: Parameter | None
) -> tuple[Array, LayerPullback]:
    """Convert the result of a pure function (X, W, b) -> Y, with the pullback (dX, dW, db), to that of a layer."""
    Y, back = answer

    def pullback(dY: Array) -> tuple[Array, ParameterGradients]:
        dX, *gradients = back(dY)
        return dX, {p: gradient for p, gradient in zip(parameters, gradients, strict=True) if p is not None}

    return Y, pullback


def checked_layer(value: Any, what: str) -> Layer:
    """``value`` itself if it is a layer."""
    if not isinstance(value, Layer):
        raise ConfigurationError(what, expected="a layer, such as Activation('tanh')", got=describe(value))
    return value


def needed_offsets(run: Run, where: str) -> Array:
    """The offsets of a layer that must know where sentences begin and end."""
    if run.offsets is None:
        what = "the rows are not cut into sentences"
        raise ShapeError(what, expected="a ragged batch", got="no offsets", where=where)
    return run.offsets


def checked_rows(X: Array, where: str, like: Parameter | None = None) -> Array:
    """X itself if it is (N, D) of floats and, with a parameter ``like`` (…, D), has its width and its float type."""
    if X.ndim != 2 or (like is not None and X.shape[1] != like.shape[-1]):
        expected = f"(N, {like.shape[-1] if like is not None else 'D'})"
        raise ShapeError("input of a layer", expected=expected, got=X.shape, where=where)
    if X.dtype not in ([like.dtype] if like is not None else FLOATS):
        expected = f"{like.dtype} like {like.name}" if like is not None else "float32 or float64"
        raise DtypeError("input of a layer", expected=expected, got=describe(X), where=where)
    return X


# ------------------------------------------------------------------------------------------------ initialisers
# Initialisers: functions of (rng, shape) that draw the first value of a parameter.
#
# The last axis of the shape is the fan-in, the number of inputs used for each output, as in W (H, D). For a lookup
# table the documents say that the fan-in is 1 (A10): pass ``fan_in=1`` with ``functools.partial``.


Shape: TypeAlias = tuple[int, ...]
Rng: TypeAlias = "np.random.Generator"  # a text: to import NumPy's generators takes as long as to read a model
Initialiser: TypeAlias = Callable[[Rng, Shape], Array]


def fan_in_as_printed(rng: Rng, shape: Shape, fan_in: int | None = None) -> Array:
    """A10 to the letter: centred uniform with **variance** 1 / sqrt(fan-in).

    A uniform variable on ±a has the variance a²/3. Other texts read the sentence as variance 1 / fan-in: that is
    ``fan_in_variance``, whose values are smaller by the fourth root of the fan-in.
    """
    bound = np.sqrt(3 * (1 / np.sqrt(shape[-1] if fan_in is None else fan_in)))
    return rng.uniform(-bound, bound, shape)


def fan_in_variance(rng: Rng, shape: Shape, fan_in: int | None = None) -> Array:
    """Centred uniform with variance 1 / fan-in: preserves the variance of the inputs."""
    bound = np.sqrt(3 * (1 / (shape[-1] if fan_in is None else fan_in)))
    return rng.uniform(-bound, bound, shape)


def xavier(rng: Rng, shape: Shape) -> Array:
    """Xavier initialisation (B7): U[± sqrt(6 / (n_in + n_out))]."""
    bound = np.sqrt(6 / (shape[-1] + shape[0]))
    return rng.uniform(-bound, bound, shape)


def constant(value: float) -> Initialiser:
    """The same number everywhere; biases start at ``constant(0)``."""
    return lambda rng, shape: np.full(shape, float(value))


def placeholder(rng: Rng, shape: Shape) -> Array:
    """Zeros that take no memory, whatever their shape, and cannot be written to: a model file's arrays replace them."""
    return np.broadcast_to(np.zeros((), np.float32), shape)


UNUSED: Any = object()
"""In place of a generator: every parameter is a placeholder."""
zeros = constant(0.0)
ones = constant(1.0)


def checked_sizes(shape: Shape, where: str) -> Shape:
    """``shape`` itself, if a parameter can have it."""
    if not all(isinstance(size, int | np.integer) and size >= 1 for size in shape):
        raise ConfigurationError("sizes of a layer", expected="whole numbers from 1", got=shape, where=where)
    return shape


def new_parameter(
    name: str, shape: Shape, initialise: Initialiser, rng: Rng, dtype: Any, *, fan_in: int = 1, decays: bool = True
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
    # Not copied if the type is right: of zeros in place of a model file's arrays not even the pages are touched.
    return Parameter(value.astype(dtype, copy=False), name, fan_in=fan_in, decays=decays)


INITIALISERS: dict[str, Initialiser] = {
    "fan-in-as-printed": fan_in_as_printed,
    "fan-in": fan_in_variance,
    "xavier": xavier,
    "zeros": zeros,
    "ones": ones,
}
