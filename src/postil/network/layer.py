"""The contract of every layer (A1): forward returns the output and its pullback.

A layer declares its parameters as attributes in its ``__init__``; ``parameters()`` finds them there. ``forward`` works
on plain arrays, so that layers compose without a graph; calling a layer on a node, a ragged batch or an array makes one
node, whatever happens inside. A forward pass changes nothing: the same layer can run in several threads and be used
many times in one graph.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np

from postil import kernels
from postil.arrays import FLOATS, Array, Ragged, checked_floats, describe
from postil.errors import ConfigurationError, DtypeError, ShapeError
from postil.graph import Gradient, Node, Parameter, Parameterised, Result, sum_of_two
from postil.graph.activations import Activated, hardtanh, leaky_relu, parametric_relu, relu, sigmoid, softsign, tanh
from postil.graph.node import listening, note_branches
from postil.kernels import Noise
from postil.kernels.plain_layers import kept_elements

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
        X = x.data if isinstance(x, Ragged) else x.value if isinstance(x, Node) else np.asarray(x)
        offsets = x.offsets if isinstance(x, Ragged | Node) else None
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


def _checked_gradients(layer: Layer, gradients: Any) -> tuple[Array | None, ParameterGradients]:
    what = "the pullback of a layer"
    if not (isinstance(gradients, tuple) and len(gradients) == 2 and isinstance(gradients[1], dict)):
        expected = "must return (dX, {parameter: gradient}), with an empty dict if the layer has no parameters"
        raise ConfigurationError(what, expected=expected, got=_kind(gradients), where=layer.name)
    if others := [key for key in gradients[1] if not isinstance(key, Parameter)]:
        what, expected = f"gradients that {what} returns", "must have parameters as keys, such as self.W"
        raise ConfigurationError(what, expected=expected, got=describe(others[0]), where=layer.name)
    return gradients


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
# Functions of (rng, shape) that draw the first value of a parameter. The last axis of the shape is the fan-in, the
# number of inputs used for each output, as in W (H, D). For a lookup table the documents say that the fan-in is 1
# (A10): pass ``fan_in=1`` with ``functools.partial``.


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


UNUSED: Any = object()
"""In place of a generator: every parameter is a placeholder, zeros that take no memory and cannot be written to."""
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
    is_unused = rng is UNUSED  # a model file's arrays will replace it
    value = np.broadcast_to(np.zeros((), np.float32), shape) if is_unused else np.asarray(initialise(rng, shape))
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


# ---------------------------------------------------------------------------------------------------------- activations
# Layers that keep the shape of their input: activations (A6, B6, E10), dropout, layer normalisation. Formulas and
# derivatives of the activations are in ``graph/activations.py``.


ACTIVATIONS: dict[str, Callable[[Array], Activated]] = {
    "hardtanh": hardtanh,
    "sigmoid": sigmoid,
    "tanh": tanh,
    "softsign": softsign,
    "relu": relu,
    "leaky-relu": leaky_relu,
}


def checked_activation(name: str) -> str:
    """``name`` itself if it is one of ACTIVATIONS."""
    if name not in ACTIVATIONS:
        raise ConfigurationError("activation", expected=f"one of {', '.join(ACTIVATIONS)}", got=repr(name))
    return name


@final
class Activation(Layer):
    """Applies one of ACTIVATIONS, by name, to every element."""

    def __init__(self, function: str) -> None:
        self.function = checked_activation(function)

    @property
    def name(self) -> str:
        return self.function

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        Y, back = ACTIVATIONS[self.function](checked_floats(X, where=self.name))
        return Y, lambda dY: (back(dY), {})


@final
class ParametricReLU(Layer):
    """ReLU whose slope on the negative side is learned, one per feature (E10)."""

    def __init__(self, D: int, *, slope: float = 0.25, dtype: Any = np.float32) -> None:
        self.slope = Parameter(np.full(checked_sizes((D,), "slope"), slope, dtype), "slope", decays=False)

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        return by_parameter(parametric_relu(checked_rows(X, self.name, self.slope), self.slope.value), self.slope)


# ------------------------------------------------------------------------------------------------ dropout
# It acts only if a forward pass carries an ``rng``, that is, in training.


def noise_of(rate: float, rng: Rng) -> Noise:
    """Drop a share ``rate``, rounded to 2⁻³². One number is drawn; the bits of the elements are made from it."""
    dropped = min(round(rate * 2**32), 2**32 - 1)
    return Noise(int(rng.integers(0, 2**64 - 1, dtype=np.uint64, endpoint=True)) if dropped else 0, dropped)


def dropout(X: Array, rate: float, rows: bool, rng: Rng) -> tuple[Array, Callable[[Array], Array]]:
    """Set a share ``rate`` of the elements (or rows) to 0 and scale the others, so that the mean stays.  X (N, D)."""
    noise = noise_of(rate, rng)
    if rows:
        kept = kept_elements(noise, (len(X), *[1] * (X.ndim - 1)), X.dtype)
        return X * kept, lambda dY: dY * kept
    Y, flat = np.empty_like(X, order="C"), (1, X.size)
    scale = kernels.activate(X.reshape(flat), None, "identity", noise, out=Y.reshape(flat)).reshape(X.shape)
    return Y, lambda dY: dY * scale


@final
class Dropout(Layer):
    """Sets elements to 0 at random in training; with ``rows=True``, whole rows, that is, words."""

    def __init__(self, rate: float, *, rows: bool = False) -> None:
        if not 0 <= rate < 1:
            raise ConfigurationError("dropout rate", expected="at least 0 and below 1", got=rate)
        self.rate = rate
        self.rows = rows

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        checked_floats(X, where=self.name)
        if run.rng is None or self.rate == 0:
            return X, lambda dY: (dY, {})
        Y, back = dropout(X, self.rate, self.rows, run.rng)
        return Y, lambda dY: (back(dY), {})


# ------------------------------------------------------------------------------------------------ layer normalisation


EPSILON = 1e-5  # inside the root, against rows without variance


def layer_norm(X: Array, gain: Array, bias: Array) -> tuple[Array, Callable[[Array], tuple[Array, Array, Array]]]:
    """Y = gain ∘ (X - mean) / sqrt(variance + ε) + bias, mean and variance per row.  X (N, D), gain, bias (D,)."""
    Y, Z, deviation = kernels.normalise_rows(X, gain, bias, EPSILON)
    return Y, lambda dY: kernels.normalise_rows_back(dY, Z, deviation, gain)


@final
class LayerNorm(Layer):
    """Normalises each row to mean 0 and variance 1, then applies a learned gain and bias. (N, D) to (N, D)."""

    def __init__(self, D: int, *, rng: Rng, dtype: Any = np.float32) -> None:
        self.gain = new_parameter("gain", (D,), ones, rng, dtype, decays=False)
        self.bias = new_parameter("bias", (D,), zeros, rng, dtype, decays=False)

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        checked_rows(X, self.name, self.gain)
        return by_parameter(layer_norm(X, self.gain.value, self.bias.value), self.gain, self.bias)


# ----------------------------------------------------------------------------- bias, activation and dropout in one pass
# What follows a matrix product in training, in one pass instead of three.


@final
@dataclass(frozen=True, kw_only=True)
class Finish:
    """An activation that the kernels can fuse, and the share of elements to drop."""

    activation: str
    rate: float
    rng: Rng


def finish_of(layers: Sequence[Layer], run: Run) -> tuple[int, Finish | None]:
    """How many of the layers after a linear one are fused with it, and what they do."""
    match layers:
        case [Activation() as f, *rest] if run.rng is not None and f.function in kernels.ACTIVATIONS:
            match rest:
                case [Dropout(rows=False) as noise, *_]:
                    return 2, Finish(activation=f.function, rate=noise.rate, rng=run.rng)
            return 1, Finish(activation=f.function, rate=0.0, rng=run.rng)
    return 0, None


def finished(Z: Array, b: Array, finish: Finish | None) -> tuple[Array, Callable[[Array], tuple[Array, Array]]]:
    """Y = dropout(f(Z + b)), written over Z.  Z (N, H), b (H,). Its pullback returns dZ and db."""
    if finish is None:
        Z += b
        return Z, lambda dY: (dY, dY.sum(axis=0))
    slopes = kernels.activate(Z, b, finish.activation, noise_of(finish.rate, finish.rng), out=Z)  # 1
    if listening():
        note_branches(slopes != 0)  # a dropped element has slope 0 on either side of its kink

    def pullback(dY: Array) -> tuple[Array, Any]:
        dZ = dY * slopes  # undoes 1
        return dZ, dZ.sum(axis=0)

    return Z, pullback


# ------------------------------------------------------------------------------------------------ the linear layer
# A3; equations (13) to (15).


def linear(
    X: Array, W: Array, b: Array, finish: Finish | None = None
) -> tuple[Array, Callable[[Array], tuple[Array, Array, Array]]]:
    """Y = X Wᵀ + b, for every row, with ``finish`` applied.  X (N, D), W (H, D), b (H,) -> Y (N, H)."""
    Z = X @ W.T  # 1
    Y, unfinished = finished(Z, b, finish)  # 2

    def pullback(dY: Array) -> tuple[Array, Array, Array]:
        dZ, db = unfinished(dY)  # undoes 2: (14)
        dW = dZ.T @ X  # undoes 1: (14)
        dX = dZ @ W  # undoes 1: (15)
        return dX, dW, db

    return Y, pullback


@final
class Linear(Layer):
    """Maps rows of D features to rows of H features.

    Without ``bias``, b is 0: for scores of which only differences count.
    """

    def __init__(
        self, D: int, H: int, *, rng: Rng, initialise: Initialiser = xavier, bias: bool = True, dtype: Any = np.float32
    ) -> None:
        self.W = new_parameter("W", (H, D), initialise, rng, dtype, fan_in=D)
        self.b = new_parameter("b", (H,), zeros, rng, dtype, fan_in=D, decays=False) if bias else None

    def forward(self, X: Array, run: Run, finish: Finish | None = None) -> tuple[Array, LayerPullback]:
        """With ``finish``, the layers after it are fused into the same pass."""
        checked_rows(X, self.name, self.W)
        return by_parameter(linear(X, self.W.value, self.bias(), finish), self.W, self.b)

    def bias(self) -> Array:
        """b, zeros if the layer has none."""
        return self.b.value if self.b is not None else np.zeros(len(self.W.value), self.W.dtype)


# ------------------------------------------------------------------------------------------------ layers made of layers
# One after the other, side by side, around a shortcut (A1, E7).


# Paths that the data choose: each is a row of the gradient list (tests/oracles/requirements.py).
MODES: dict[str, tuple[str, ...]] = {"Chain": ("layer used twice",)}


@final
class Chain(Layer):
    """Layers one after the other: f_L(… f_2(f_1(X)))."""

    def __init__(self, *layers: Layer) -> None:
        self.layers = [checked_layer(layer, "part of a chain") for layer in layers]

    @property
    def name(self) -> str:
        return " → ".join(layer.name for layer in self.layers)

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        backs: list[LayerPullback] = []
        waiting = self.layers
        while waiting:
            layer, *waiting = waiting
            if isinstance(layer, Linear):
                fused, finish = finish_of(waiting, run)
                X, back = layer.forward(X, run, finish)
                waiting = waiting[fused:]
            else:
                X, back = checked_forward(layer, X, run)
                run = Run(offsets=layer.offsets_after(run.offsets), rng=run.rng)
            backs.append(back)

        def pullback(dY: Array) -> tuple[Array | None, ParameterGradients]:
            total: ParameterGradients = {}
            dX: Array | None = dY
            for back in reversed(backs):
                if dX is None:
                    raise ShapeError("a lookup table can only be the first of a chain", where=self.name)
                dX, gradients = back(dX)  # (11) and (12)
                add_gradients(gradients, out=total)
            return dX, total

        return X, pullback

    def offsets_after(self, offsets: Array | None) -> Array | None:
        for layer in self.layers:
            offsets = layer.offsets_after(offsets)
        return offsets


@final
class Concatenation(Layer):
    """Layers on the same input, their outputs side by side: (N, H1 + H2 + …)."""

    def __init__(self, *layers: Layer) -> None:
        if not layers:
            raise ConfigurationError("concatenation of layers", expected="at least one layer", got="none")
        self.layers = [checked_layer(layer, "part of a concatenation") for layer in layers]

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        outputs, backs = zip(*(checked_forward(layer, X, run) for layer in self.layers), strict=True)  # 1
        # Rows of words and rows of sentences do not fit side by side, even if there are as many of both.
        pooled = [layer.offsets_after(run.offsets) is None for layer in self.layers]
        if len(set(pooled)) > 1 or len({len(Y) for Y in outputs}) > 1 or any(Y.ndim != 2 for Y in outputs):
            got = ", ".join(f"{layer.name} {Y.shape}" for layer, Y in zip(self.layers, outputs, strict=True))
            raise ShapeError("layers side by side", expected="a row per word, or per sentence, from each", got=got)
        ends = np.cumsum([Y.shape[1] for Y in outputs])[:-1]

        def pullback(dY: Array) -> tuple[Array | None, ParameterGradients]:
            dX: Array | None = None
            total: ParameterGradients = {}
            for back, dpart in zip(backs, np.split(dY, ends, axis=1), strict=True):  # undoes 2
                dX_part, gradients = back(dpart)  # undoes 1
                add_gradients(gradients, out=total)
                dX = dX_part if dX is None or dX_part is None else dX + dX_part
            return dX, total

        return np.concatenate(outputs, axis=1), pullback  # 2

    def offsets_after(self, offsets: Array | None) -> Array | None:
        return self.layers[0].offsets_after(offsets)


@final
class Residual(Layer):
    """Y = X + f(X): a shortcut around a layer that keeps the width."""

    def __init__(self, layer: Layer) -> None:
        self.layer = checked_layer(layer, "layer of Residual")

    @property
    def name(self) -> str:
        return f"X + ({self.layer.name})"

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        Y, back = checked_forward(self.layer, X, run)
        if Y.shape != X.shape:
            raise ShapeError("shortcut around a layer", expected=f"output {X.shape} like the input", got=Y.shape)

        def pullback(dY: Array) -> tuple[Array | None, ParameterGradients]:
            dX, gradients = back(dY)
            return dY if dX is None else dY + dX, gradients

        return X + Y, pullback
