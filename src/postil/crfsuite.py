"""``postil.crfsuite``: another name of ``postil.integrations.crfsuite``, so that it can be imported from here."""

import sys

from postil.integrations import crfsuite
from postil.integrations.crfsuite import (
    CRF,
    CRFSUITE_VERSION,
    BaseTrainer,
    ItemSequence,
    LinePerIterationTrainer,
    Tagger,
    Trainer,
)

__all__ = [
    "CRF",
    "Trainer",
    "BaseTrainer",
    "LinePerIterationTrainer",
    "Tagger",
    "ItemSequence",
    "CRFSUITE_VERSION",
]

sys.modules[__name__] = crfsuite  # one module under two names: its classes are the same ones
