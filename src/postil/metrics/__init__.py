# ruff: noqa: F403 - the type checker takes every public name
"""Predictions against gold: counts that add up, and the ratios derived from them."""

import typing

from postil import lazy

if typing.TYPE_CHECKING:
    from postil.metrics.calibration import *
    from postil.metrics.counts import *
    from postil.metrics.detection import *
    from postil.metrics.evaluation import *
    from postil.metrics.roles import *
    from postil.metrics.significance import *
    from postil.metrics.spans import *
    from postil.metrics.tables import *
    from postil.metrics.trees import *
else:
    _MODULES = {
        ".calibration": "Calibration calibrate",
        ".counts": "Counts TokenScores score_tokens sentence_token_counts",
        ".detection": "DetectionScores PrecisionRecall Threshold average_precision best_threshold precision_recall "
        "score_detection",
        ".evaluation": "Evaluation Known evaluate known_from spans_by_novelty tokens_by_novelty",
        ".roles": "RoleScores score_roles",
        ".significance": "Comparison Interval bootstrap_interval compare_systems",
        ".spans": "SpanScores align compare_spans score_spans sentence_counts spans_by_length",
        ".tables": "Table",
        ".trees": "TreeScores score_trees",
    }
    __all__ = " ".join(_MODULES.values()).split()
    __getattr__, __dir__ = lazy.exports(__name__, _MODULES)
