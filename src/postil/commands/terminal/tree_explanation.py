"""Explanations of a tree classifier on the terminal: the words and phrases that moved the label of a sentence."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from postil.commands.terminal.display import make_console, show_table
from postil.metrics.tables import Table
from postil.models.explaining.tree_explanation import PhraseEffect, TreeExplanation
from postil.models.tree_classifier import TreeClassifier
from postil.text import Tree, bracketed

MOST_PHRASES = 10


def show(classifier: TreeClassifier, trees: Sequence[Tree], explanations: Sequence[TreeExplanation]) -> None:
    """Print explanations one after the other."""
    console = make_console()
    for tree, explanation in zip(trees, explanations, strict=True):
        _show(console, classifier, tree, explanation)


def _show(console: Console, classifier: TreeClassifier, tree: Tree, explanation: TreeExplanation) -> None:
    labels = [node.label for node in classifier.predict_nodes([tree])[0]]
    console.print(Text(bracketed(tree.binarised(classifier.config.binarise).with_labels(labels))), soft_wrap=True)
    console.print(Text(f"{explanation.label}: probability {explanation.probability:.4f}", style="bold green"))
    show_table(console, _words(explanation))
    if explanation.phrases:
        show_table(console, _phrases(explanation))
    console.print()


def _words(explanation: TreeExplanation) -> Table:
    """Each word with its gradient times input and the effect of removing it, if it can be removed."""
    alone = {phrase.start: phrase.effect for phrase in explanation.phrases if phrase.end == phrase.start + 1}
    rows = [(word.word, _signed(word.effect), _signed(alone.get(word.position))) for word in explanation.words]
    note = "gradient: of the log-probability, times input; left out: decrease of the probability"
    return Table("Words", ("word", "gradient", "left out"), rows, note)


def _phrases(explanation: TreeExplanation) -> Table:
    def strength(phrase: PhraseEffect) -> float:
        return -abs(phrase.effect)

    longer = sorted((phrase for phrase in explanation.phrases if phrase.end > phrase.start + 1), key=strength)
    rows = [(phrase.text, f"{phrase.start}:{phrase.end}", _signed(phrase.effect)) for phrase in longer[:MOST_PHRASES]]
    note = f"and {len(longer) - MOST_PHRASES:,} with smaller effects" if len(longer) > MOST_PHRASES else ""
    return Table("Phrases left out", ("phrase", "words", "left out"), rows, note)


def _signed(effect: float | None) -> str:
    return "" if effect is None else f"{effect:+.4f}"
