"""How good a model is: cross-validation, learning curves, comparisons of two models."""

from postil.evaluation.comparison import Difference, ModelComparison, compare, compare_answers, compared_by
from postil.evaluation.cross_validation import (
    CrossValidation,
    Fold,
    LearningCurve,
    Progress,
    crossval,
    curve,
    documents_of,
    folds,
    groups_of,
    run_all,
    unfitted,
)
from postil.evaluation.expectation import Expected, expected
from postil.models.decoding.promise import Drift

__all__ = ["CrossValidation", "Difference", "Fold", "LearningCurve", "ModelComparison", "Progress"]
__all__ += ["compare", "compare_answers", "compared_by", "crossval", "curve"]
__all__ += ["Drift", "Expected", "expected"]
__all__ += ["documents_of", "folds", "groups_of", "run_all", "unfitted"]
