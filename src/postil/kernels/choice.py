"""Which kernels are in use: decided once, when they are first imported."""

import importlib
import os
import warnings
from types import ModuleType

from postil.errors import ConfigurationError, SlowKernelsWarning
from postil.kernels import plain

CHOICES = ("auto", "plain", "compiled")


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
            warnings.warn(
                f"the compiled kernels cannot be used ({error}): the results are the same, but training and tagging "
                "are several times slower; install a C compiler and then Postil again, or set POSTIL_KERNELS=plain",
                SlowKernelsWarning,
                stacklevel=2,
            )
            return plain
        what, expected = "the compiled kernels cannot be used", "an installation with a C compiler"
        raise ConfigurationError(what, expected=expected, got=str(error), where="POSTIL_KERNELS") from None


def _description() -> str:
    if _MODULE is plain:
        return "plain (NumPy)"
    return f"compiled ({_MODULE.instruction_set()})"


def twin(module: str) -> str:
    """The module that a kernel is taken from: ``plain_x``, or its twin ``compiled_x`` if those are in use."""
    return module if _MODULE is plain else module.replace("plain", "compiled")


_MODULE = _chosen_module()
IN_USE = _description()
