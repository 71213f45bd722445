"""The classes of sklearn-crfsuite and python-crfsuite, on Postil's kernels: change the import, keep the program.

features/attributes (feature dicts -> numbers) -> problem (features, loss and gradient) -> algorithms -> model (weights,
answers, file); ``CRF`` is sklearn-crfsuite's estimator, ``Trainer``, ``Tagger`` and ``ItemSequence`` are
python-crfsuite's, ``Template`` reads those of CRF++.
"""

from postil.features.attributes import ItemSequence
from postil.integrations.crfsuite import metrics as metrics
from postil.integrations.crfsuite.estimator import CRF
from postil.integrations.crfsuite.tagger import Tagger
from postil.integrations.crfsuite.templates import Template
from postil.integrations.crfsuite.trainer import BaseTrainer, LinePerIterationTrainer, Trainer

CRFSUITE_VERSION = "0.12"
"""The version of CRFsuite whose training algorithms and defaults these are."""

__all__ = [
    "CRF",
    "Trainer",
    "BaseTrainer",
    "LinePerIterationTrainer",
    "Tagger",
    "ItemSequence",
    "Template",
    "CRFSUITE_VERSION",
]
