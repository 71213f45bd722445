"""Characters to tokens, sentences and trees: documents, readers, writers, tokeniser, labelling schemes."""

import typing

from postil import lazy

if typing.TYPE_CHECKING:
    from postil.errors import SchemeWarning
    from postil.text.annotations.hugging_face import from_datasets
    from postil.text.annotations.tables import read_spans
    from postil.text.document import Document, Entity, Frame, Sentence, frames_of
    from postil.text.formats import FORMATS, Reading, read, write
    from postil.text.labels.partial import PossibleLabels, PossibleSpans, annotated_classes, with_marks
    from postil.text.labels.schemes import (
        SCHEMES,
        UNKNOWN,
        PartialLabel,
        SchemeReport,
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
    from postil.text.splitting.rules import Rules, SentenceRules
    from postil.text.splitting.segmenter import Segmenter, Segments, Tokens, split_sentences, tokenise
    from postil.text.trees.tree import Tree, balanced, right_branching
    from postil.text.trees.treebank import bracketed, parse_tree, read_trees, tree_of, write_trees
else:
    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "postil.errors": "SchemeWarning",
            ".annotations.hugging_face": "from_datasets",
            ".annotations.tables": "read_spans",
            ".document": "Document Entity Frame Sentence frames_of",
            ".formats": "FORMATS Reading read write",
            ".labels.partial": "PossibleLabels PossibleSpans annotated_classes with_marks",
            ".labels.schemes": "SCHEMES UNKNOWN PartialLabel SchemeReport Span TransitionMask labels_from_spans "
            "recognise spans_from_labels transition_mask violations",
            ".offsets": "utf8_offsets utf16_offsets",
            ".options": "ReadOptions WriteOptions",
            ".report": "Problem Report SpanError",
            ".splitting.rules": "Rules SentenceRules",
            ".splitting.segmenter": "Segmenter Segments Tokens split_sentences tokenise",
            ".trees.tree": "Tree balanced right_branching",
            ".trees.treebank": "bracketed parse_tree read_trees tree_of write_trees",
        },
    )

__all__ = ["Document", "Entity", "Sentence", "FORMATS", "Reading", "read", "write", "from_datasets", "read_spans"]
__all__ += ["ReadOptions", "WriteOptions", "Tree", "balanced", "right_branching", "bracketed", "parse_tree"]
__all__ += ["read_trees", "tree_of", "write_trees", "Report", "Problem", "SpanError", "SCHEMES", "SchemeReport"]
__all__ += ["SchemeWarning", "Span", "TransitionMask", "labels_from_spans", "recognise", "spans_from_labels"]
__all__ += ["transition_mask", "violations", "UNKNOWN", "PartialLabel", "annotated_classes", "with_marks"]
__all__ += ["PossibleLabels", "PossibleSpans", "Rules", "SentenceRules", "Segmenter", "Segments", "Tokens"]
__all__ += ["split_sentences", "tokenise", "utf8_offsets", "utf16_offsets", "Frame", "frames_of"]
