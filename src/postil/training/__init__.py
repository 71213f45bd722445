"""Learning: optimisers, schedules, clipping, averaging."""

from postil.training.averaging import Averaged
from postil.training.clipping import clipped, clipping_factor, gradient_norm
from postil.training.optimisers import OPTIMISERS, SGD, AdaGrad, Adam, Optimiser
from postil.training.randomness import generator_state, restored_generator
from postil.training.schedules import Constant, InverseDecay, Schedule, WarmUpAndDecay

__all__ = [
    "Optimiser",
    "SGD",
    "AdaGrad",
    "Adam",
    "OPTIMISERS",
    "Averaged",
    "Schedule",
    "Constant",
    "InverseDecay",
    "WarmUpAndDecay",
    "clipped",
    "clipping_factor",
    "gradient_norm",
    "generator_state",
    "restored_generator",
]
