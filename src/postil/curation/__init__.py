"""From labels to better labels: how good a model is and will be, what is wrong in the data, what to label next."""

from postil.curation.compare import ModelComparison, compare
from postil.curation.crossval import CrossValidation, crossval
from postil.curation.curve import LearningCurve, curve


__all__ = [
    "CrossValidation",
    
    "LearningCurve",
    "ModelComparison",
    "compare",
    "crossval",
    "curve",
    
]
