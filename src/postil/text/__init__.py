"""Characters to tokens, sentences and trees: documents, readers, writers, tokeniser, labelling schemes."""

from postil.text.document import Document, Entity, Sentence
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
    "Document",
    "Entity",
    "Sentence",
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
