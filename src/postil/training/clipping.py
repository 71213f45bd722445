"""Gradient clipping by norm."""

import math

import numpy as np

from postil import kernels
from postil.errors import ConfigurationError, NumericalError
from postil.graph import Gradient, Gradients, Node, RowGradient
from postil.training.optimisers import part_and_values


def gradient_norm(gradients: Gradients) -> float:
    """The Euclidean norm of all gradients taken as one long vector."""
    return math.sqrt(sum(kernels.sum_of_squares(part_and_values(gradient)[1]) for gradient in gradients.values()))


def clipping_factor(gradients: Gradients, limit: float) -> tuple[float, float]:
    """The factor that scales all gradients to a norm of at most ``limit``, and the norm."""
    if not limit > 0:
        raise ConfigurationError("limit of the gradient norm", expected="a positive number", got=limit)
    norm = gradient_norm(gradients)
    if not np.isfinite(norm):
        names = ", ".join(node.name for node, g in gradients.items() if not np.isfinite(part_and_values(g)[1]).all())
        raise NumericalError(
            "a gradient is not finite", expected="finite numbers", got=norm, where=names or "their sum"
        )
    return min(1.0, limit / max(norm, limit)), norm


def clipped(gradients: Gradients, limit: float) -> tuple[dict[Node, Gradient], float]:
    """The gradients, scaled down jointly if their norm exceeds ``limit``, and the norm before."""
    factor, norm = clipping_factor(gradients, limit)
    if factor == 1:
        return dict(gradients), norm
    return {node: _scaled(gradient, factor) for node, gradient in gradients.items()}, norm


def _scaled(gradient: Gradient, factor: float) -> Gradient:
    if isinstance(gradient, RowGradient):
        return RowGradient(gradient.rows, gradient.values * gradient.dtype.type(factor), gradient.shape)
    return np.asarray(gradient * gradient.dtype.type(factor))
