"""Objectives: scores to a loss with its gradient."""

from postil.objectives.margin import max_margin
from postil.objectives.regularisation import l2
from postil.objectives.softmax import log_softmax, softmax, softmax_cross_entropy

__all__ = ["softmax", "log_softmax", "softmax_cross_entropy", "max_margin", "l2"]
