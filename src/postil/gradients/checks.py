"""The list of checked gradients: everything differentiable in Postil, on small inputs (B4).

What it must cover is derived from the package (``requirements.py``); tests fail on anything that no row covers.
"""

from postil.gradients.layers import layer_checks
from postil.gradients.models import model_checks
from postil.gradients.objectives import objective_checks
from postil.gradients.operations import operation_checks
from postil.gradients.pretraining import pretraining_checks
from postil.gradients.rows import GradientCheck
from postil.gradients.trees import tree_checks

__all__ = ["GradientCheck", "gradient_checks"]


def gradient_checks() -> list[GradientCheck]:
    """All rows, in the order in which data pass through what they check."""
    vectors_and_models = [*pretraining_checks(), *model_checks(), *tree_checks()]
    return [*operation_checks(), *layer_checks(), *objective_checks(), *vectors_and_models]
