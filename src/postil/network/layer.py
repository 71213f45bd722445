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

ParameterGradients: TypeAlias = dict[Parameter, Gradient]
# dY -> (dX, gradients of the parameters); dX is None where the input has no gradient (indices).
LayerPullback: TypeAlias = Callable[[Array], tuple[Array | None, ParameterGradients]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a forward pass needs besides the array.

    ``offsets`` (B + 1,) divides the rows into sentences. ``rng`` is set in training only: a layer with noise (dropout)
    is active if there is an ``rng``, and does nothing otherwise.
    """

    offsets: Array | None = None
    rng: "np.random.Generator | None" = None


class Layer(Parameterised, ABC):
    """Something with parameters that maps an array to an array and knows its gradient."""

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
        """One node with the layer's output; its parents are ``x`` (where it is a node) and the parameters."""
        X, offsets = (x.data, x.offsets) if isinstance(x, Ragged) else _value_and_offsets(x)
        parameters = tuple(self.parameters().values())
        Y, back = checked_forward(self, X, Run(offsets=offsets, rng=rng))

        def pullback(dY: Array) -> list[Gradient | None]:
            dX, gradients = back(dY)
            if unlisted := gradients.keys() - parameters:
                raise _not_an_attribute(self, unlisted.pop())
            of_parameters = [gradients.get(parameter) for parameter in parameters]
            return [dX, *of_parameters] if isinstance(x, Node) else of_parameters

        parents = (x, *parameters) if isinstance(x, Node) else parameters
        return Result(Y, parents, pullback, self.name, offsets=self.offsets_after(offsets), is_layer=True)


def checked_forward(layer: Layer, X: Array, run: Run) -> tuple[Array, LayerPullback]:
    """``layer.forward(X, run)``. Mistakes in a layer that users write are reported, not unpacked."""
    answer: Any = layer.forward(X, run)
    if not (isinstance(answer, tuple) and len(answer) == 2 and callable(answer[1])):
        raise ConfigurationError(
            "forward of a layer", expected="must return (Y, pullback)", got=_kind(answer), where=layer.name
        )
    Y, back = answer
    return Y, lambda dY: _checked_gradients(layer, back(dY))


def _checked_gradients(layer: Layer, answer: Any) -> tuple[Array | None, ParameterGradients]:
    if not (isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], dict)):
        raise ConfigurationError(
            "the pullback of a layer",
            expected="must return (dX, {parameter: gradient}), with an empty dict if there are no parameters",
            got=_kind(answer),
            where=layer.name,
        )
    for key in answer[1]:
        if not isinstance(key, Parameter):
            raise ConfigurationError(
                "gradients that the pullback of a layer returns",
                expected="must have parameters as keys, such as self.W",
                got=describe(key),
                where=layer.name,
            )
    return answer


def _kind(answer: Any) -> str:
    if isinstance(answer, tuple):
        return f"({', '.join(type(part).__name__ for part in answer)})"
    return describe(answer) if isinstance(answer, np.ndarray) else type(answer).__name__


def _not_an_attribute(layer: Layer, parameter: Parameter) -> ConfigurationError:
    return ConfigurationError(
        "a gradient for a parameter that parameters() does not list",
        expected="every parameter in an attribute of the layer, or in a list, tuple, dict or layer there",
        got=parameter.name,
        where=layer.name,
    )


def add_gradients(gradients: ParameterGradients, out: ParameterGradients) -> None:
    """Add the gradients of one more use of (partly) the same parameters to ``out``.

    The dict is changed, never the arrays in it: copying it for every layer would cost the square of the depth (E11).
    """
    for parameter, gradient in gradients.items():
        out[parameter] = sum_of_two(out[parameter], gradient) if parameter in out else gradient


def checked_layer(value: Any, what: str) -> Layer:
    """``value`` itself if it is a layer."""
    if not isinstance(value, Layer):
        raise ConfigurationError(what, expected="a layer, such as Activation('tanh')", got=describe(value))
    return value


def needed_offsets(run: Run, where: str) -> Array:
    """The offsets of a layer that must know where sentences begin and end."""
    if run.offsets is None:
        raise ShapeError(
            "the rows are not cut into sentences", expected="a ragged batch", got="no offsets", where=where
        )
    return run.offsets


def checked_rows(X: Array, where: str, like: Parameter | None = None) -> Array:
    """X itself if it is (N, D) of floats and, with a parameter ``like`` (…, D), has its width and its float type."""
    if X.ndim != 2 or (like is not None and X.shape[1] != like.shape[-1]):
        raise ShapeError(
            "input of a layer", expected=f"(N, {like.shape[-1] if like is not None else 'D'})", got=X.shape, where=where
        )
    if X.dtype not in ([like.dtype] if like is not None else FLOATS):
        expected = f"{like.dtype} like {like.name}" if like is not None else "float32 or float64"
        raise DtypeError("input of a layer", expected=expected, got=describe(X), where=where)
    return X


def _value_and_offsets(x: Node | Array) -> tuple[Array, Array | None]:
    return (x.value, x.offsets) if isinstance(x, Node) else (np.asarray(x), None)
