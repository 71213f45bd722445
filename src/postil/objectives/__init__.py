"""Objectives: scores to a loss with its gradient, or to labels."""

import typing

from postil import lazy

if typing.TYPE_CHECKING:
    from postil.kernels.forward_backward import LOGARITHMIC, SCALED
    from postil.objectives.crf import (
        LossGradient,
        Posterior,
        forward_backward,
        log_probabilities,
        loss_and_gradient,
        path_scores,
    )
    from postil.objectives.crf_decoding import RankedPath, k_best, viterbi
    from postil.objectives.crf_forbidden import SpanOfKind, entities_of, without_spans
    from postil.objectives.crf_objective import CRF, offset_scores
    from postil.objectives.crf_odds import log_odds, log_odds_and_gradient, summed_log_odds, without_transition_scores
    from postil.objectives.crf_spans import (
        EntityLabels,
        Windows,
        forced_spans,
        outside_spans,
        span_probabilities,
        span_windows,
        window_probabilities,
    )
    from postil.objectives.cross_entropy import log_softmax, softmax, softmax_cross_entropy
    from postil.objectives.lattice import ChainScores, Lattice
    from postil.objectives.margin import max_margin
    from postil.objectives.regularisation import l2
else:
    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "postil.kernels.forward_backward": ["LOGARITHMIC", "SCALED"],
            ".crf": [
                "LossGradient",
                "Posterior",
                "forward_backward",
                "log_probabilities",
                "loss_and_gradient",
                "path_scores",
            ],
            ".crf_decoding": ["RankedPath", "k_best", "viterbi"],
            ".crf_forbidden": ["SpanOfKind", "entities_of", "without_spans"],
            ".crf_objective": ["CRF", "offset_scores"],
            ".crf_odds": ["log_odds", "log_odds_and_gradient", "summed_log_odds", "without_transition_scores"],
            ".crf_spans": [
                "EntityLabels",
                "Windows",
                "forced_spans",
                "outside_spans",
                "span_probabilities",
                "span_windows",
                "window_probabilities",
            ],
            ".cross_entropy": ["log_softmax", "softmax", "softmax_cross_entropy"],
            ".lattice": ["ChainScores", "Lattice"],
            ".margin": ["max_margin"],
            ".regularisation": ["l2"],
        },
    )

__all__ = [
    "softmax",
    "log_softmax",
    "softmax_cross_entropy",
    "max_margin",
    "l2",
    "CRF",
    "offset_scores",
    "ChainScores",
    "Lattice",
    "path_scores",
    "log_probabilities",
    "Posterior",
    "forward_backward",
    "SCALED",
    "LOGARITHMIC",
    "loss_and_gradient",
    "LossGradient",
    "viterbi",
    "k_best",
    "RankedPath",
    "EntityLabels",
    "Windows",
    "span_windows",
    "window_probabilities",
    "span_probabilities",
    "forced_spans",
    "outside_spans",
    "SpanOfKind",
    "without_spans",
    "entities_of",
    "log_odds",
    "log_odds_and_gradient",
    "summed_log_odds",
    "without_transition_scores",
]
