"""What ``postil explain`` says of a classifier of trees: which words and phrases moved the label of a sentence."""

import argparse
import json
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from postil.commands.kinds import unwanted
from postil.commands.terminal.display import make_console, show_table
from postil.commands.tree_classifying import own_tree
from postil.metrics.tables import Table
from postil.models.explaining.tree_explanation import PhraseEffect, TreeExplanation
from postil.models.tree_classifier import TreeClassifier
from postil.text import Sentence, Tree, bracketed

MOST_PHRASES = 10


def explain(classifier: TreeClassifier, sentences: Sequence[Sentence], arguments: argparse.Namespace) -> None:
    """Explain the label of each sentence, the predicted one or ``--label``."""
    for option in ("entity", "span"):
        unwanted(arguments, option, "a classifier of trees explains whole sentences")
    trees = [own_tree(sentence, classifier.config.tree) for sentence in sentences]
    found = [classifier.explain(tree, arguments.label) for tree in trees]
    if arguments.json:
        print(json.dumps({"explanations": [one.as_dict() for one in found]}, indent=2, ensure_ascii=False))
        return
    console = make_console()
    for tree, one in zip(trees, found, strict=True):
        _show(console, classifier, tree, one)


def _show(console: Console, classifier: TreeClassifier, tree: Tree, found: TreeExplanation) -> None:
    labels = [node.label for node in classifier.predict_nodes([tree])[0]]
    console.print(Text(bracketed(tree.binarised(classifier.config.binarise).with_labels(labels))), soft_wrap=True)
    console.print(Text(f"{found.label}: probability {found.probability:.4f}", style="bold green"))
    show_table(console, _words(found))
    if found.phrases:
        show_table(console, _phrases(found))
    console.print()


def _words(found: TreeExplanation) -> Table:
    """Each word with its gradient times input and, where it can be left out, with what it takes away."""
    alone = {phrase.start: phrase.effect for phrase in found.phrases if phrase.end == phrase.start + 1}
    rows = [(word.word, _signed(word.effect), _signed(alone.get(word.position))) for word in found.words]
    note = "gradient: of the logarithm of the probability, times input; left out: what the probability loses"
    return Table("Words", ("word", "gradient", "left out"), rows, note)


def _phrases(found: TreeExplanation) -> Table:
    def strength(phrase: PhraseEffect) -> float:
        return -abs(phrase.effect)

    longer = sorted((phrase for phrase in found.phrases if phrase.end > phrase.start + 1), key=strength)
    rows = [(phrase.text, f"{phrase.start}:{phrase.end}", _signed(phrase.effect)) for phrase in longer[:MOST_PHRASES]]
    note = f"and {len(longer) - MOST_PHRASES:,} that move it less" if len(longer) > MOST_PHRASES else ""
    return Table("Phrases left out", ("phrase", "words", "left out"), rows, note)


def _signed(effect: float | None) -> str:
    return "" if effect is None else f"{effect:+.4f}"
