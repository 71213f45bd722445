"""Gradient clipping by norm."""

import math

import numpy as np

from postil import kernels
from postil.errors import ConfigurationError, NumericalError
from postil.graph import Gradients
from postil.training.optimisers import part_and_values


def gradient_norm(gradients: Gradients) -> float:
    """The Euclidean norm of all gradients taken as one long vector."""
    return math.sqrt(sum(kernels.sum_of_squares(part_and_values(gradient)[1]) for gradient in gradients.values()))


def clipping_factor(gradients: Gradients, limit: float) -> tuple[float, float]:
    """The factor (at most 1) that brings the norm of all gradients down to ``limit``; and the norm before."""
    if not limit > 0:
        raise ConfigurationError("limit of the gradient norm", expected="a positive number", got=limit)
    norm = gradient_norm(gradients)
    if not np.isfinite(norm):
        names = ", ".join(node.name for node, g in gradients.items() if not np.isfinite(part_and_values(g)[1]).all())
        raise NumericalError(
            "a gradient is not finite", expected="finite numbers", got=norm, where=names or "their sum"
        )
    return min(1.0, limit / max(norm, limit)), norm
