"""Predictions against gold: counts that add up, and the ratios derived from them."""

import typing

from postil import lazy

if typing.TYPE_CHECKING:
    from postil.metrics.calibration import Calibration, calibrate
    from postil.metrics.counts import Counts
    from postil.metrics.detection import (
        DetectionScores,
        PrecisionRecall,
        Threshold,
        average_precision,
        best_threshold,
        precision_recall,
        score_detection,
    )
    from postil.metrics.evaluation import Evaluation, evaluate
    from postil.metrics.files import Known, known_from, spans_by_novelty, tokens_by_novelty
    from postil.metrics.roles import RoleScores, score_roles
    from postil.metrics.significance import Comparison, Interval, bootstrap_interval, compare_systems
    from postil.metrics.spans import SpanScores, align, compare_spans, score_spans, sentence_counts, spans_by_length
    from postil.metrics.tables import Table
    from postil.metrics.tokens import TokenScores, score_tokens, sentence_token_counts
    from postil.metrics.trees import TreeScores, score_trees
else:
    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            ".calibration": "Calibration calibrate",
            ".counts": "Counts",
            ".detection": "DetectionScores PrecisionRecall Threshold average_precision best_threshold precision_recall "
            "score_detection",
            ".evaluation": "Evaluation evaluate",
            ".files": "Known known_from spans_by_novelty tokens_by_novelty",
            ".roles": "RoleScores score_roles",
            ".significance": "Comparison Interval bootstrap_interval compare_systems",
            ".spans": "SpanScores align compare_spans score_spans sentence_counts spans_by_length",
            ".tables": "Table",
            ".tokens": "TokenScores score_tokens sentence_token_counts",
            ".trees": "TreeScores score_trees",
        },
    )

__all__ = ["Counts", "SpanScores", "align", "compare_spans", "score_spans", "sentence_counts", "spans_by_length"]
__all__ += ["TokenScores", "score_tokens", "sentence_token_counts", "TreeScores", "score_trees"]
__all__ += ["Known", "known_from", "spans_by_novelty", "tokens_by_novelty"]
__all__ += ["Calibration", "calibrate", "DetectionScores", "PrecisionRecall", "precision_recall"]
__all__ += ["Threshold", "average_precision", "best_threshold", "score_detection"]
__all__ += ["Interval", "bootstrap_interval", "Comparison", "compare_systems", "Evaluation", "evaluate", "Table"]
__all__ += ["RoleScores", "score_roles"]
