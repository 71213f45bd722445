"""Characters to tokens, sentences and trees: documents, readers, writers, tokeniser, labelling schemes."""

import typing

from postil import lazy
from postil.text.tokenise import Tokens, tokenise  # at once: a module of this name would take its place

if typing.TYPE_CHECKING:
    from postil.text.bracketing import bracketed
    from postil.text.document import Document, Entity, Sentence
    from postil.text.formats import FORMATS, Reading, read, write
    from postil.text.hugging_face import from_datasets
    from postil.text.offsets import utf8_offsets, utf16_offsets
    from postil.text.options import ReadOptions, WriteOptions
    from postil.text.partial import annotated_classes, with_marks
    from postil.text.partial_label import UNKNOWN, PartialLabel
    from postil.text.possible import PossibleLabels, PossibleSpans
    from postil.text.report import Problem, Report, SpanError
    from postil.text.scheme_checks import SchemeReport, SchemeWarning
    from postil.text.schemes import (
        SCHEMES,
        Span,
        TransitionMask,
        labels_from_spans,
        recognise,
        spans_from_labels,
        transition_mask,
        violations,
    )
    from postil.text.segmenter import Segmenter, Segments
    from postil.text.sentence_rules import SentenceRules
    from postil.text.sentences import split_sentences
    from postil.text.token_rules import Rules
    from postil.text.tree import Tree, balanced, right_branching
    from postil.text.treebank import parse_tree, read_trees, tree_of, write_trees
else:
    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            ".bracketing": ["bracketed"],
            ".document": ["Document", "Entity", "Sentence"],
            ".formats": ["FORMATS", "Reading", "read", "write"],
            ".hugging_face": ["from_datasets"],
            ".offsets": ["utf8_offsets", "utf16_offsets"],
            ".options": ["ReadOptions", "WriteOptions"],
            ".partial": ["annotated_classes", "with_marks"],
            ".partial_label": ["UNKNOWN", "PartialLabel"],
            ".possible": ["PossibleLabels", "PossibleSpans"],
            ".report": ["Problem", "Report", "SpanError"],
            ".scheme_checks": ["SchemeReport", "SchemeWarning"],
            ".schemes": [
                "SCHEMES",
                "Span",
                "TransitionMask",
                "labels_from_spans",
                "recognise",
                "spans_from_labels",
                "transition_mask",
                "violations",
            ],
            ".segmenter": ["Segmenter", "Segments"],
            ".sentence_rules": ["SentenceRules"],
            ".sentences": ["split_sentences"],
            ".token_rules": ["Rules"],
            ".tree": ["Tree", "balanced", "right_branching"],
            ".treebank": ["parse_tree", "read_trees", "tree_of", "write_trees"],
        },
    )

__all__ = [
    "Document",
    "Entity",
    "Sentence",
    "FORMATS",
    "Reading",
    "read",
    "write",
    "from_datasets",
    "ReadOptions",
    "WriteOptions",
    "Tree",
    "balanced",
    "right_branching",
    "bracketed",
    "parse_tree",
    "read_trees",
    "tree_of",
    "write_trees",
    "Report",
    "Problem",
    "SpanError",
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
    "UNKNOWN",
    "PartialLabel",
    "annotated_classes",
    "with_marks",
    "PossibleLabels",
    "PossibleSpans",
    "Rules",
    "SentenceRules",
    "Segmenter",
    "Segments",
    "Tokens",
    "split_sentences",
    "tokenise",
    "utf8_offsets",
    "utf16_offsets",
]
