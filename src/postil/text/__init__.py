"""Characters to tokens, sentences and trees: documents, readers, writers, tokeniser, labelling schemes."""

import typing

from postil import lazy

if typing.TYPE_CHECKING:
    from postil.errors import SchemeWarning
    from postil.text.annotations.hugging_face import from_datasets
    from postil.text.document import Document, Entity, Sentence
    from postil.text.formats import FORMATS, Reading, read, write
    from postil.text.labels.partial import annotated_classes, with_marks
    from postil.text.labels.partial_label import UNKNOWN, PartialLabel
    from postil.text.labels.possible import PossibleLabels, PossibleSpans
    from postil.text.labels.scheme_checks import SchemeReport
    from postil.text.labels.schemes import (
        SCHEMES,
        Span,
        TransitionMask,
        labels_from_spans,
        recognise,
        spans_from_labels,
        transition_mask,
        violations,
    )
    from postil.text.offsets import utf8_offsets, utf16_offsets
    from postil.text.options import ReadOptions, WriteOptions
    from postil.text.report import Problem, Report, SpanError
    from postil.text.splitting.segmenter import Segmenter, Segments
    from postil.text.splitting.sentence_rules import SentenceRules
    from postil.text.splitting.sentences import split_sentences
    from postil.text.splitting.token_rules import Rules
    from postil.text.splitting.tokenise import Tokens, tokenise
    from postil.text.trees.bracketing import bracketed
    from postil.text.trees.tree import Tree, balanced, right_branching
    from postil.text.trees.treebank import parse_tree, read_trees, tree_of, write_trees
else:
    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "postil.errors": ["SchemeWarning"],
            ".annotations.hugging_face": ["from_datasets"],
            ".document": ["Document", "Entity", "Sentence"],
            ".formats": ["FORMATS", "Reading", "read", "write"],
            ".labels.partial": ["annotated_classes", "with_marks"],
            ".labels.partial_label": ["UNKNOWN", "PartialLabel"],
            ".labels.possible": ["PossibleLabels", "PossibleSpans"],
            ".labels.scheme_checks": ["SchemeReport"],
            ".labels.schemes": [
                "SCHEMES",
                "Span",
                "TransitionMask",
                "labels_from_spans",
                "recognise",
                "spans_from_labels",
                "transition_mask",
                "violations",
            ],
            ".offsets": ["utf8_offsets", "utf16_offsets"],
            ".options": ["ReadOptions", "WriteOptions"],
            ".report": ["Problem", "Report", "SpanError"],
            ".splitting.segmenter": ["Segmenter", "Segments"],
            ".splitting.sentence_rules": ["SentenceRules"],
            ".splitting.sentences": ["split_sentences"],
            ".splitting.token_rules": ["Rules"],
            ".splitting.tokenise": ["Tokens", "tokenise"],
            ".trees.bracketing": ["bracketed"],
            ".trees.tree": ["Tree", "balanced", "right_branching"],
            ".trees.treebank": ["parse_tree", "read_trees", "tree_of", "write_trees"],
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
