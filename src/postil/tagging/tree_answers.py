"""Answers of tree classifiers: a label for every phrase, as trees or as JSON Lines."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, final

from postil.errors import ConfigurationError
from postil.models import NodeLabel, TreeClassifier
from postil.tagging.options import TaggingOptions
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


@final
class PhraseAnswers:
    """Annotates sentences with trees and writes them."""

    def __init__(self, classifier: TreeClassifier, options: TaggingOptions) -> None:
        self._classifier, self._options = classifier, options
        if options.output in ("conll", "conllu"):
            expected = "must be trees or jsonl"
            raise ConfigurationError("output of a tree classifier", expected=expected, got=options.output)
        if options.probabilities and options.output != "jsonl":
            raise ConfigurationError("probabilities", expected="needs output jsonl", got="trees")

    def annotate(self, block: list[Sentence]) -> None:
        filled, config = [sentence for sentence in block if sentence.tokens], self._classifier.config
        trees = [tree_over(sentence, self._options.tree or config.tree) for sentence in filled]
        pairs = [tree.binarised_with_places(config.binarise) for tree in trees]
        predicted = self._classifier.predict_nodes([binary for binary, _ in pairs]) if pairs else []
        for sentence, tree, nodes, (_, places) in zip(filled, trees, predicted, pairs, strict=True):
            phrases = [nodes[place] for place in places]
            sentence.rest = Classified(tree.with_labels([phrase.label for phrase in phrases]), phrases)

    def write(self, sentences: Iterable[Sentence], target: Target) -> None:
        is_json = self._options.output == "jsonl"
        lines = _objects(sentences, self._options.probabilities) if is_json else _trees(sentences)
        write_text(target, (f"{line}\n" for line in lines))


def tree_over(sentence: Sentence, shape: Any) -> Tree:
    """The tree that a sentence was read with, or else a tree of this shape over its tokens."""
    if isinstance(sentence.rest, Bracketing):
        return sentence.rest.tree
    # Tokens of treebanks often come with their escapes; models are trained without them.
    return shaped([decoded(token) for token in sentence.tokens], shape)


def _trees(sentences: Iterable[Sentence]) -> Iterator[str]:
    for sentence in sentences:
        if isinstance(sentence.rest, Classified):
            yield from (comment for comment in sentence.comments if comment.startswith("#"))
            yield bracketed(sentence.rest.tree)


def _objects(sentences: Iterable[Sentence], with_phrases: bool) -> Iterator[str]:
    """A line for each record, also for one without tokens."""
    for sentence in sentences:
        fields: dict[str, Any] = {"text": sentence.text or "", "tokens": [], "label": None}
        if isinstance(sentence.rest, Classified):
            tree, phrases = sentence.rest.tree, sentence.rest.phrases
            label, probabilities = phrases[-1]
            if sentence.text is not None and sentence.starts and sentence.ends:
                fields["text"] = sentence.text[sentence.starts[0] : sentence.ends[-1]]
            else:
                del fields["text"]
            fields |= {
                "tokens": tree.tokens,
                "label": label,
                "probability": round(probabilities[label], 6),
                "probabilities": {name: round(value, 6) for name, value in probabilities.items()},
                "tree": bracketed(tree),
            }
            if with_phrases:
                fields["phrases"] = [
                    {"start": start, "end": end, "label": name, "probability": round(distribution[name], 6)}
                    for (start, end), (name, distribution) in zip(tree.spans, phrases, strict=True)
                ]
        yield json.dumps(fields, ensure_ascii=False)
