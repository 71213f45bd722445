"""The classes of sklearn-crfsuite and python-crfsuite, on Postil's kernels: change the import, keep the program.

features/attributes (feature dicts -> numbers) -> problem (features, loss and gradient) -> algorithms -> model (weights,
answers, file); ``CRF`` is sklearn-crfsuite's estimator, ``Trainer``, ``Tagger`` and ``ItemSequence`` are
python-crfsuite's.
"""

import sys

from postil.features.named import ItemSequence
from postil.integrations.crfsuite import _logparser
from postil.integrations.crfsuite import metrics as metrics
from postil.integrations.crfsuite.estimator import CRF
from postil.integrations.crfsuite.tagger import Tagger
from postil.integrations.crfsuite.trainer import BaseTrainer, LinePerIterationTrainer, Trainer

CRFSUITE_VERSION = "0.12"
"""The version of CRFsuite whose training algorithms and defaults these are."""

_MESSAGES = {
    0: "Unknown error occurred",
    1: "Insufficient memory",
    2: "Unsupported operation",
    3: "Incompatible data",
    4: "Internal error",
    5: "Overflow",
    6: "Not implemented",
}


class CRFSuiteError(Exception):
    """An error code of CRFsuite's library, for programs that catch it. Postil's own errors say more."""

    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__(_MESSAGES.get(code + 2**31, "Unexpected error"))  # CRFsuite's codes begin at INT_MIN


def install() -> None:
    """Make ``import pycrfsuite`` mean this module, for packages that import it themselves. Call it before they do."""
    sys.modules["pycrfsuite"] = sys.modules["pycrfsuite._pycrfsuite"] = sys.modules[__name__]
    sys.modules["pycrfsuite._logparser"] = _logparser


__all__ = [
    "CRF",
    "Trainer",
    "BaseTrainer",
    "LinePerIterationTrainer",
    "Tagger",
    "ItemSequence",
    "CRFSUITE_VERSION",
    "CRFSuiteError",
    "install",
]
