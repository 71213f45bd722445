"""Learning: optimisers, schedules, clipping, averaging."""

import typing

from postil import lazy

if typing.TYPE_CHECKING:
    from postil.training.averaging import Averaged
    from postil.training.clipping import clipping_factor, gradient_norm
    from postil.training.optimisers import OPTIMISERS, SGD, AdaGrad, Adam, Optimiser
    from postil.training.schedules import SCHEDULES, Constant, InverseDecay, Schedule, WarmUpAndDecay, new_schedule
else:
    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            ".averaging": ["Averaged"],
            ".clipping": ["clipping_factor", "gradient_norm"],
            ".optimisers": ["OPTIMISERS", "SGD", "AdaGrad", "Adam", "Optimiser"],
            ".schedules": ["SCHEDULES", "Constant", "InverseDecay", "Schedule", "WarmUpAndDecay", "new_schedule"],
        },
    )

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
    "SCHEDULES",
    "new_schedule",
    "clipping_factor",
    "gradient_norm",
]
