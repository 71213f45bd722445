"""Which kernels are in use: decided once, when they are first imported."""

import importlib
import os
from collections.abc import Callable
from types import ModuleType
from typing import ParamSpec, TypeVar

from postil.errors import ConfigurationError
from postil.kernels import plain

CHOICES = ("auto", "plain", "compiled")
_P = ParamSpec("_P")
_R = TypeVar("_R")


def _chosen_module() -> ModuleType:
    choice = os.environ.get("POSTIL_KERNELS", "auto") or "auto"
    if choice not in CHOICES:
        raise ConfigurationError("POSTIL_KERNELS", expected=" or ".join(CHOICES), got=repr(choice))
    if choice == "plain":
        return plain
    try:
        return importlib.import_module("postil.kernels.compiled")
    except ImportError as error:  # not built, or its run-time part (cffi) is missing
        if choice == "auto":
            return plain
        what, expected = "the compiled kernels cannot be used", "an installation with a C compiler"
        raise ConfigurationError(what, expected=expected, got=str(error), where="POSTIL_KERNELS") from None


def _description() -> str:
    if _MODULE is plain:
        return "plain (NumPy)"
    return f"compiled ({_MODULE.instruction_set()})"


def chosen(twin: Callable[_P, _R]) -> Callable[_P, _R]:
    """The function in use of a twin's name: ``plain.py`` has its twins in ``compiled.py``, and so on."""
    if _MODULE is plain:
        return twin
    module = importlib.import_module(twin.__module__.replace("plain", "compiled"))
    function: Callable[_P, _R] = getattr(module, twin.__name__)
    return function


_MODULE = _chosen_module()
IN_USE = _description()
