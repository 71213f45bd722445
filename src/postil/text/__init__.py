# ruff: noqa: F403 - the type checker takes every public name
"""Characters to tokens, sentences and trees: documents, readers, writers, tokeniser, labelling schemes."""

import typing

from postil import lazy

if typing.TYPE_CHECKING:
    from postil.errors import SchemeWarning as SchemeWarning
    from postil.text.annotations.libraries import *
    from postil.text.annotations.tables import *
    from postil.text.document import *
    from postil.text.formats import *
    from postil.text.labels.partial import *
    from postil.text.labels.schemes import *
    from postil.text.offsets import *
    from postil.text.options import *
    from postil.text.report import *
    from postil.text.splitting.rules import *
    from postil.text.splitting.segmenter import *
    from postil.text.trees.tree import *
    from postil.text.trees.treebank import *
else:
    _MODULES = {
        "postil.errors": "SchemeWarning",
        ".annotations.libraries": "from_datasets",
        ".annotations.tables": "read_spans",
        ".document": "Document Entity Frame Sentence frames_of",
        ".formats": "FORMATS Reading read write",
        ".labels.partial": "PossibleLabels PossibleSpans annotated_classes with_marks",
        ".labels.schemes": "SCHEMES UNKNOWN PartialLabel SchemeReport Span TransitionMask labels_from_spans "
        "recognise spans_from_labels transition_mask violations",
        ".offsets": "utf8_offsets utf16_offsets",
        ".options": "ReadOptions WriteOptions",
        ".report": "Problem Report SpanError",
        ".splitting.rules": "TokenRules SentenceRules",
        ".splitting.segmenter": "Segmenter Segments Tokens split_sentences tokenise",
        ".trees.tree": "Tree balanced right_branching",
        ".trees.treebank": "bracketed parse_tree read_trees tree_of write_trees",
    }
    __all__ = " ".join(_MODULES.values()).split()
    __getattr__, __dir__ = lazy.exports(__name__, _MODULES)
