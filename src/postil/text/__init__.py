"""Characters to tokens, sentences and trees: readers, writers, labelling schemes."""

from postil.text.schemes import (
    SCHEMES,
    SchemeReport,
    SchemeWarning,
    Span,
    TransitionMask,
    labels_from_spans,
    recognise,
    spans_from_labels,
    transition_mask,
    violations,
)

__all__ = [
    "SCHEMES",
    "SchemeReport",
    "SchemeWarning",
    "Span",
    "TransitionMask",
    "labels_from_spans",
    "recognise",
    "spans_from_labels",
    "transition_mask",
    "violations",
]
