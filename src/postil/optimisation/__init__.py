# ruff: noqa: F403, F405 - the type checker takes every public name
"""Learning: optimisers, schedules, clipping, averaging."""

import functools
import inspect
import typing
from collections import abc

from postil import lazy

if typing.TYPE_CHECKING:
    from postil.graph import Parameter
    from postil.optimisation.optimisers import *
else:  # a model that only tags checks its settings against the names below
    _NAMES = "SGD AdaGrad Adam Averaged Optimiser clipping_factor gradient_norm "
    _NAMES += "Schedule constant inverse_decay warm_up_and_decay"
    __getattr__, __dir__ = lazy.exports(__name__, {".optimisers": _NAMES})

_ROWS = {  # name -> class, usual rate
    "adam": ("Adam", 0.005),
    "adagrad": ("AdaGrad", 0.02),
    "sgd": ("SGD", 0.05),
    "sgd-fan-in": ("SGDByFanIn", 0.05),
    "sgd-root-fan-in": ("SGDByRootFanIn", 0.05),
}
USUAL_RATES = {name: rate for name, (_, rate) in _ROWS.items()}
"""Name -> the rate at which taggers learn by default."""
OPTIMISERS: "abc.Mapping[str, abc.Callable[[abc.Mapping[str, Parameter]], Optimiser]]"
OPTIMISERS = lazy.LazyTable("postil.optimisation.optimisers", {name: kind for name, (kind, _) in _ROWS.items()})
"""Name -> how to build it; the choices of the setting ``optimiser``."""
SCHEDULES: "abc.Mapping[str, abc.Callable[..., float]]" = lazy.LazyTable(
    "postil.optimisation.optimisers",
    {"linear": "warm_up_and_decay", "constant": "constant", "inverse-decay": "inverse_decay"},
)


def new_schedule(name: str, settings: abc.Mapping[str, typing.Any]) -> "Schedule":
    """The schedule of this name with those of the settings that are its arguments."""
    schedule = SCHEDULES[name]
    known = inspect.signature(schedule).parameters
    return functools.partial(schedule, **{field: value for field, value in settings.items() if field in known})


__all__ = ["Optimiser", "SGD", "AdaGrad", "Adam", "OPTIMISERS", "USUAL_RATES", "Averaged", "clipping_factor"]
__all__ += ["gradient_norm", "Schedule", "constant", "inverse_decay", "warm_up_and_decay", "SCHEDULES", "new_schedule"]
