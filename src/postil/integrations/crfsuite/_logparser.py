"""``pycrfsuite._logparser`` under its name: pickles of sklearn-crfsuite's estimators refer to its classes."""

from postil.integrations.crfsuite.trainer import LabelScore as LabelScore
from postil.integrations.crfsuite.trainer import TrainingLog


class TrainLogParser(TrainingLog):
    """The log of a training run, as CRFsuite's own trainers leave it in an estimator."""
