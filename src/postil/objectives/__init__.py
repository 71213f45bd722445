"""Objectives: scores to a loss with its gradient, or to labels."""

from postil.kernels.plain_chain import LOGARITHMIC, SCALED
from postil.objectives.crf import (
    CRF,
    ChainScores,
    Lattice,
    LossGradient,
    Posterior,
    RankedPath,
    forward_backward,
    k_best,
    log_probabilities,
    loss_and_gradient,
    offset_scores,
    path_scores,
    viterbi,
)
from postil.objectives.losses import l2, log_softmax, max_margin, softmax, softmax_cross_entropy
from postil.objectives.mentions import Change, Mention, given_mentions, mention_loss
from postil.objectives.spans import (
    EntityLabels,
    SpanOfKind,
    Windows,
    entities_of,
    forced_spans,
    log_odds,
    log_odds_and_gradient,
    outside_spans,
    span_probabilities,
    span_windows,
    summed_log_odds,
    window_probabilities,
    without_spans,
    without_transition_scores,
)

__all__ = ["softmax", "log_softmax", "softmax_cross_entropy", "max_margin", "l2"]
__all__ += ["CRF", "offset_scores", "ChainScores", "Lattice", "path_scores", "log_probabilities"]
__all__ += ["Posterior", "forward_backward", "SCALED", "LOGARITHMIC", "loss_and_gradient", "LossGradient"]
__all__ += ["viterbi", "k_best", "RankedPath"]
__all__ += ["EntityLabels", "Windows", "span_windows", "window_probabilities", "span_probabilities"]
__all__ += ["forced_spans", "outside_spans", "SpanOfKind", "without_spans", "entities_of"]
__all__ += ["log_odds", "log_odds_and_gradient", "summed_log_odds", "without_transition_scores"]
__all__ += ["Mention", "Change", "given_mentions", "mention_loss"]
