"""Answers of tree classifiers: a label for every phrase, as trees or as JSON Lines."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, final

from postil.errors import ConfigurationError
from postil.models.decoding.tree_labels import NodeLabel
from postil.models.tree_classifier import TreeClassifier
from postil.tagging.general_path import Annotate
from postil.tagging.options import TAGGER_OPTIONS, TaggingOptions
from postil.text import Sentence, Tree, bracketed
from postil.text.document import Rest
from postil.text.output import Target, write_text
from postil.text.trees.tree import shaped
from postil.text.trees.treebank import Bracketing, decoded


@final
@dataclass(frozen=True, slots=True)
class Classified(Rest):
    """A sentence's tree and what the classifier says about its phrases."""

    tree: Tree
    """The tree of the input, or one of the chosen shape, with predicted labels."""
    phrases: list[NodeLabel]
    """One for each node of ``tree``."""

    def lost(self) -> Mapping[str, int]:
        return {}


def annotator(classifier: TreeClassifier, options: TaggingOptions) -> Annotate:
    options.refuse("keep_gold", why="a tree classifier writes no columns")
    options.refuse("offsets", why="phrases are counted in tokens")
    options.refuse("scores", why="a tree classifier has probabilities instead")
    options.refuse(*TAGGER_OPTIONS, why="a tree classifier decides about each phrase alone")
    if options.output in ("conll", "conllu"):
        raise ConfigurationError("output of a tree classifier", expected="must be trees or jsonl", got=options.output)
    if options.probabilities and options.output != "jsonl":
        raise ConfigurationError("probabilities", expected="needs output jsonl", got="trees")
    return partial(_annotate, classifier=classifier, shape=options.tree or classifier.config.tree)


def _annotate(block: list[Sentence], classifier: TreeClassifier, shape: Any) -> list[Sentence]:
    trees = [tree_over(sentence, shape) for sentence in block]
    pairs = [tree.binarised_with_places(classifier.config.binarise) for tree in trees]
    predicted = classifier.predict_nodes([binary for binary, _ in pairs])
    for sentence, tree, nodes, (_, places) in zip(block, trees, predicted, pairs, strict=True):
        phrases = [nodes[place] for place in places]
        sentence.rest = Classified(tree.with_labels([phrase.label for phrase in phrases]), phrases)
    return block


def tree_over(sentence: Sentence, shape: Any) -> Tree:
    """The tree that a sentence was read with, or else a tree of this shape over its tokens."""
    if isinstance(sentence.rest, Bracketing):
        return sentence.rest.tree
    # Tokens of treebanks often come with their escapes; models are trained without them.
    return shaped([decoded(token) for token in sentence.tokens], shape)


def write(sentences: Iterable[Sentence], classifier: TreeClassifier, options: TaggingOptions, target: Target) -> None:
    lines = _objects(sentences, options.probabilities) if options.output == "jsonl" else _trees(sentences)
    write_text(target, (f"{line}\n" for line in lines))


def _trees(sentences: Iterable[Sentence]) -> Iterator[str]:
    for sentence in filter(len, sentences):
        yield from (comment for comment in sentence.comments if comment.startswith("#"))
        yield bracketed(_classified(sentence).tree)


def _objects(sentences: Iterable[Sentence], with_phrases: bool) -> Iterator[str]:
    for sentence in sentences:
        fields = _object(sentence, _classified(sentence), with_phrases) if sentence.tokens else _empty(sentence)
        yield json.dumps(fields, ensure_ascii=False)


def _empty(sentence: Sentence) -> dict[str, Any]:
    """The line of a record without tokens: every record has one."""
    return {"text": sentence.text or "", "tokens": [], "label": None}


def _object(sentence: Sentence, classified: Classified, with_phrases: bool) -> dict[str, Any]:
    label, probabilities = classified.phrases[-1]
    fields: dict[str, Any] = {"text": _text(sentence)} if sentence.text is not None else {}
    fields |= {
        "tokens": classified.tree.tokens,
        "label": label,
        "probability": round(probabilities[label], 6),
        "probabilities": {name: round(value, 6) for name, value in probabilities.items()},
        "tree": bracketed(classified.tree),
    }
    if with_phrases:
        fields["phrases"] = [
            {"start": start, "end": end, "label": name, "probability": round(distribution[name], 6)}
            for (start, end), (name, distribution) in zip(classified.tree.spans, classified.phrases, strict=True)
        ]
    return fields


def _text(sentence: Sentence) -> str:
    assert sentence.text is not None and sentence.starts is not None and sentence.ends is not None
    return sentence.text[sentence.starts[0] : sentence.ends[-1]]


def _classified(sentence: Sentence) -> Classified:
    assert isinstance(sentence.rest, Classified)
    return sentence.rest
