"""Which kernels are in use: decided once, when they are first imported."""

import importlib
import os
import warnings
from typing import NamedTuple

from postil.errors import ConfigurationError, SlowKernelsWarning
from postil.threads import blas

CHOICES = ("auto", "plain", "compiled")


def _chosen() -> tuple[str, str]:
    """The instruction set of the compiled kernels, "" for those of NumPy; and why it is the latter."""
    choice = os.environ.get("POSTIL_KERNELS", "auto") or "auto"
    if choice not in CHOICES:
        raise ConfigurationError("POSTIL_KERNELS", expected=" or ".join(CHOICES), got=repr(choice))
    if choice == "plain":
        return "", "POSTIL_KERNELS=plain"
    try:
        return importlib.import_module("postil.kernels.library").instruction_set(), ""
    except ImportError as error:  # not built, or its run-time part (cffi) is missing
        if choice == "auto":
            warnings.warn(
                f"the compiled kernels cannot be used ({error}): the results are the same, but training and tagging "
                "are several times slower; install a C compiler and then Postil again, or set POSTIL_KERNELS=plain",
                SlowKernelsWarning,
                stacklevel=2,
            )
            return "", str(error)
        what, expected = "the compiled kernels cannot be used", "an installation with a C compiler"
        raise ConfigurationError(what, expected=expected, got=str(error), where="POSTIL_KERNELS") from None


_INSTRUCTIONS, _REASON = _chosen()
PREFIX = "compiled" if _INSTRUCTIONS else "plain"
"""Prefix of the modules that kernels are imported from: ``plain_x``, or its twin ``compiled_x``."""
IN_USE = f"compiled ({_INSTRUCTIONS})" if _INSTRUCTIONS else "plain (NumPy)"


class KernelsInUse(NamedTuple):
    """The parts that decide how fast this installation is."""

    kernels: str  # `compiled` with the instruction set, or `plain (NumPy)`
    reason: str  # why the kernels are not the compiled ones; empty if they are
    blas: str  # the library that multiplies matrices for NumPy, with its version if known
    blas_source: str  # how the library was found, or why it was not
    fused: bool  # whether C can call the product of that library, which the fused training step needs

    def __str__(self) -> str:
        """Such as: compiled (AVX2), OpenBLAS 0.3.31 (found next to NumPy), fused training step"""
        kernels = f"{self.kernels}: {self.reason}" if self.reason else self.kernels
        fused = "fused training step" if self.fused else "no fused training step"
        return f"{kernels}, {self.blas} ({self.blas_source}), {fused}"


def in_use() -> KernelsInUse:
    """The kernels and the BLAS that this process uses, and the reason where a faster one is missing."""
    library = blas()
    can_fuse = bool(_INSTRUCTIONS) and library.product is not None
    return KernelsInUse(IN_USE, _REASON, library.name, library.source, can_fuse)
