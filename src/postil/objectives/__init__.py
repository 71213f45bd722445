# ruff: noqa: F403 - the type checker takes every public name
"""Objectives: scores to a loss with its gradient, or to labels."""

import typing

from postil import lazy

if typing.TYPE_CHECKING:
    from postil.kernels.plain_chain import LOGARITHMIC as LOGARITHMIC
    from postil.kernels.plain_chain import SCALED as SCALED
    from postil.objectives.crf import *
    from postil.objectives.losses import l2 as l2
    from postil.objectives.losses import log_softmax as log_softmax
    from postil.objectives.losses import max_margin as max_margin
    from postil.objectives.losses import softmax as softmax
    from postil.objectives.losses import softmax_cross_entropy as softmax_cross_entropy
    from postil.objectives.mentions import *
    from postil.objectives.spans import *
else:
    _MODULES = {
        "postil.kernels.plain_chain": "LOGARITHMIC SCALED",
        ".crf": "CRF ChainScores Lattice LossGradient Posterior RankedPath forward_backward k_best log_probabilities "
        "loss_and_gradient offset_scores path_scores viterbi",
        ".losses": "l2 log_softmax max_margin softmax softmax_cross_entropy",
        ".mentions": "Change Mention given_mentions mention_loss",
        ".spans": "EntityLabels SpanOfKind Windows entities_of forced_spans log_odds log_odds_and_gradient "
        "outside_spans span_probabilities span_windows summed_log_odds window_probabilities without_spans "
        "without_transition_scores",
    }
    __all__ = " ".join(_MODULES.values()).split()
    __getattr__, __dir__ = lazy.exports(__name__, _MODULES)
