"""From labels to better labels: how good a model is and will be, what is wrong in the data, what to label next."""

from postil.curation.comparison import ModelComparison, compare
from postil.curation.cross_validation import CrossValidation, crossval
from postil.curation.diagnosis import Diagnosis, doctor
from postil.curation.extension import Extending, Extension, extend
from postil.curation.learning_curve import LearningCurve, curve

__all__ = [
    "CrossValidation",
    "Diagnosis",
    "Extending",
    "Extension",
    "LearningCurve",
    "ModelComparison",
    "compare",
    "crossval",
    "curve",
    "doctor",
    "extend",
]
