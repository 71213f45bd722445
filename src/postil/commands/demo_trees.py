"""The part of ``postil demo`` that is about trees: opinions that a bag of words cannot learn."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.padding import Padding
from rich.text import Text
from rich.tree import Tree as Branches

from postil.commands import train
from postil.commands.console import command, quote
from postil.commands.kinds import tree_classifying
from postil.commands.parser import command_parser
from postil.models.decoding.tree_labels import NodeLabel
from postil.models.storage import load as load_model
from postil.models.tree_classifier import TreeClassifier
from postil.objectives import softmax
from postil.samples.corpora import BAD, GOOD, made_up_trees
from postil.text import Tree, parse_tree, write_trees
from postil.text.output import write_text

SIZES = {"train": 1000, "dev": 200, "test": 500}
KINDS = {
    **{f"opinions-{name}.trees": "trees" for name in SIZES},
    "opinions.postil": "model",
    "opinions.html": "report",
}
"""The files that the tour writes, and what they are."""
DRAWN = "( ( not) ( ( bad) ( ( at) ( all))))"
SAID = ("( ( never) ( dull))", "( ( hardly) ( ( a) ( ( good) ( film))))")
STYLES = {GOOD: "#101418 on #9fdc9f", BAD: "#101418 on #f2a3a3"}


def show(console: Console, folder: Path, seed: int, sizes: Mapping[str, int] = SIZES) -> int:
    """Train, show the results, write a report; everything is left in the folder."""
    parts = _write_treebank(folder, seed, sizes)
    _say(console, "A sentence is a tree of phrases, each with a label. A negation reverses a phrase:")
    console.print(Padding(branches(_turned_around(parts["train"])), (0, 0, 0, 3)))
    code = _learn(console, folder, seed)
    if code:
        return code
    classifier = load_model(folder / "opinions.postil")
    _show_scores(console, classifier, parts)
    _show_phrases(console, classifier)
    _show_report(console, classifier, folder)
    return 0


def _say(console: Console, text: Text | str) -> None:
    console.print(Text.assemble("   ", text), soft_wrap=True)


def _path(folder: Path, part: str) -> Path:
    return folder / f"opinions-{part}.trees"


def _write_treebank(folder: Path, seed: int, sizes: Mapping[str, int]) -> dict[str, list[Tree]]:
    rng = np.random.default_rng(seed)
    parts = {name: made_up_trees(size, rng, new_pairs=name == "test") for name, size in sizes.items()}
    for name, trees in parts.items():
        write_trees(trees, _path(folder, name))
    return parts


def _turned_around(trees: Sequence[Tree]) -> Tree:
    """The first short sentence with a negation."""
    return next((tree for tree in trees if "not" in tree.words and len(tree) < 14), trees[0])


def _learn(console: Console, folder: Path, seed: int) -> int:
    files = [str(_path(folder, "train")), "--dev", str(_path(folder, "dev"))]
    words = [*files, "-o", str(folder / "opinions.postil")]
    _say(console, Text(f"$ {command()} train {' '.join(map(quote, words))}", style="bold"))
    return train.run(command_parser("train").parse_args([*words, "--seed", str(seed)]))


def _show_scores(console: Console, classifier: TreeClassifier, parts: dict[str, list[Tree]]) -> None:
    bag = bag_of_words_accuracy(parts["train"], parts["test"])
    figures = {
        f"the tree classifier ({classifier.composition})": classifier.score(parts["test"]),
        "a bag of words": bag,
    }
    _say(console, "Accuracy on the sentences of the test file:")
    for name, share in figures.items():
        _say(console, Text.assemble(f"{name:>34}  ", (f"{share:6.1%}", "bold")))
    _say(
        console, "Each word is equally frequent in good and bad opinions: counting words is no better than guessing.\n"
    )


def _show_phrases(console: Console, classifier: TreeClassifier) -> None:
    tree = parse_tree(DRAWN)
    (nodes,) = classifier.predict_nodes([tree])
    _say(console, "The label of each phrase with its probability:")
    console.print(Padding(branches(tree, nodes), (0, 0, 0, 3)))
    for text in SAID:
        (nodes,) = classifier.predict_nodes([parse_tree(text)])
        _say(console, _phrase(nodes[-1].label, " ".join(parse_tree(text).tokens), nodes[-1]))
    console.print()


def _show_report(console: Console, classifier: TreeClassifier, folder: Path) -> None:
    path, name = folder / "opinions.html", str(folder / "opinions.postil")
    file = tree_classifying.load(str(_path(folder, "test")))
    write_text(path, [tree_classifying.page(classifier, tree_classifying.report(classifier, name, file), name, file)])
    _say(console, Text.assemble("Open ", (str(path.resolve()), "bold green"), " for the report with drawn trees.\n"))


# ------------------------------------------------------------------------------------------------ pictures and figures


def branches(tree: Tree, nodes: Sequence[NodeLabel] | None = None) -> Branches:
    """A small tree for the terminal, the root on top; with the labels of ``nodes`` instead of its labels.

    The inside of a phrase without an opinion is left out.
    """
    spans, tokens = tree.spans, tree.tokens
    drawn: list[Branches] = []
    for i, (label, _, children) in enumerate(tree):
        node = None if nodes is None else nodes[i]
        shown = label if node is None else node.label
        drawn.append(Branches(_phrase(shown, " ".join(tokens[slice(*spans[i])]), node), guide_style="dim"))
        if shown in STYLES:
            drawn[i].children.extend(drawn[child] for child in children)
    return drawn[-1]


def _phrase(label: str | None, words: str, node: NodeLabel | None) -> Text:
    if label not in STYLES:
        return Text(words, "dim")
    style = STYLES[label]
    figure = "" if node is None else f" {node.probabilities[node.label]:.2f}"
    return Text.assemble((f" {words} ", style), (f"{label}{figure} ", f"{style} bold"))


def bag_of_words_accuracy(trees: Sequence[Tree], test: Sequence[Tree], steps: int = 300) -> float:
    """Roots of ``test`` that a softmax over the counts of words gets right, after learning from the roots of ``trees``.

    Batch gradient descent on the mean cross-entropy; the problem is convex.
    """
    labels = sorted({str(tree.root_label) for tree in trees})
    columns = {word: i for i, word in enumerate(sorted({word for tree in trees for word in tree.tokens}))}
    X, gold = _counts(trees, columns), np.array([labels.index(str(tree.root_label)) for tree in trees])
    W = np.zeros((len(columns), len(labels)))
    for _ in range(steps):
        W -= 0.5 * X.T @ (softmax(X @ W) - np.eye(len(labels))[gold]) / len(X)
    predicted = (_counts(test, columns) @ W).argmax(axis=1)
    return float(np.mean([labels[i] == tree.root_label for i, tree in zip(predicted, test, strict=True)]))


def _counts(trees: Sequence[Tree], columns: dict[str, int]) -> np.ndarray:
    """(B, V) how often each word occurs in each tree."""
    X = np.zeros((len(trees), len(columns)))
    for row, tree in zip(X, trees, strict=True):
        for word, count in Counter(tree.tokens).items():
            if word in columns:
                row[columns[word]] = count
    return X
