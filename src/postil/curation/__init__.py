"""Better labels: evaluate models without held-out data, find labelling errors, and suggest what to label next."""

from postil.curation.comparison import ModelComparison, compare
from postil.curation.cross_validation import CrossValidation, crossval
from postil.curation.diagnosis import Diagnosis, doctor
from postil.curation.extension import Extending, Extension, extend
from postil.curation.learning_curve import LearningCurve, curve
from postil.curation.preannotation import Doubt, Option, Suggestion
from postil.curation.suggestion import suggest

__all__ = [
    "CrossValidation",
    "Diagnosis",
    "Doubt",
    "Extending",
    "Extension",
    "LearningCurve",
    "ModelComparison",
    "Option",
    "Suggestion",
    "compare",
    "crossval",
    "curve",
    "doctor",
    "extend",
    "suggest",
]
