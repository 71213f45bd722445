"""Which words and phrases moved the label of a sentence.

Two answers, which agree where the network is nearly linear:

- *gradient times input* of a word: ∂ log p(label) / ∂x · x, what the label's log-probability gains from the word's
  vector as far as the slope at this point tells (E6); one downward pass for all words;
- *left out*: p(label) minus its value without the phrase. The phrase and the node above it are removed from the tree,
  so that the phrase's sister takes its parent's place, and the tree is computed again.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias, final

import numpy as np

from postil import graph
from postil.arrays import Array
from postil.errors import DataError, printable
from postil.graph import gradients
from postil.html import Markup, element, joined
from postil.html.fragments import columns, figure, fragment, note
from postil.html.highlight import Effect, effects_table, effects_text, key, signed
from postil.models.model import FittedModel
from postil.models.networks.tree_network import TreeInputs
from postil.objectives import softmax_cross_entropy
from postil.text.trees.tree import Tree
from postil.text.trees.tree_drawing import LONGEST_DRAWN, drawn_tree

MOST_PHRASES = 10  # longer phrases in the table of an explanation
DIGITS = 4
EFFECT_COLOURS = {"+": "var(--right)", "\u2212": "var(--wrong)"}
_NODES_AT_ONCE = 500_000  # of trees with something left out

RootProbabilities: TypeAlias = Callable[[Sequence[Tree]], Array]
"""Trees -> (B, C) the probabilities of the labels that a root can get."""


@final
@dataclass(frozen=True)
class WordEffect:
    """A word, its place in the sentence, and the gradient times input."""

    word: str
    position: int
    effect: float


@final
@dataclass(frozen=True)
class PhraseEffect:
    """The words ``start:end``, their node in post-order, and by how much p(label) is higher with them than without."""

    text: str
    start: int
    end: int
    node: int
    effect: float


@final
@dataclass(frozen=True)
class TreeExplanation:
    """Why ``label`` has its ``probability`` at the root: the effect of every word and of every phrase but the whole."""

    label: str
    probability: float
    words: tuple[WordEffect, ...]
    phrases: tuple[PhraseEffect, ...]
    tree: Tree = field(repr=False, compare=False)

    def __str__(self) -> str:
        """The label, and below it the effects of words (gradient, left out) and of longer phrases (left out)."""
        alone, longer = self.left_out()
        rows = [(printable(word.word), word.effect, alone.get(word.position)) for word in self.words]
        phrases = [(printable(phrase.text), phrase.effect) for phrase in longer[:MOST_PHRASES]]
        width = max(map(len, [*(word for word, _, _ in rows), *(text for text, _ in phrases)]))
        lines = [f"  {word:<{width}} {slope:>+9.4f} {_signed(fell)}" for word, slope, fell in rows]
        below = [f"  {text:<{width}} {'':>9} {_signed(fell)}" for text, fell in phrases]
        return "\n".join([f"{printable(self.label)}: probability {self.probability:.4f}", *lines, *below])

    def drawn(self) -> Markup:
        """The explanation as HTML: the sentence, the tree with the effect of each phrase, tables."""
        alone, longer = self.left_out()
        words = [Effect(word.word, (alone.get(word.position), word.effect)) for word in self.words]
        phrases = [Effect(phrase.text, (phrase.effect,)) for phrase in longer[:MOST_PHRASES]]
        others = f"{len(longer) - MOST_PHRASES:,} phrases with smaller effects are not listed."
        probability = f": probability {self.probability:.4f}"
        return joined(
            [
                element("p", element("strong", element("bdi", self.label)), probability, class_="answer"),
                self._drawn_tree() if 1 < len(words) <= LONGEST_DRAWN else effects_text(words, DIGITS),
                columns(
                    effects_table("word", ("left out", "gradient"), words, DIGITS),
                    effects_table("phrase", ("left out",), phrases, DIGITS) if phrases else None,
                ),
                key(self.label),
                note(others) if len(longer) > MOST_PHRASES else None,
            ]
        )

    def _repr_html_(self) -> str:
        return fragment(self.drawn())

    def left_out(self) -> tuple[dict[int, float], list[PhraseEffect]]:
        """The effects of words that can be left out, by position; and longer phrases, the strongest effects first."""
        alone = {phrase.start: phrase.effect for phrase in self.phrases if phrase.end == phrase.start + 1}
        longer = [phrase for phrase in self.phrases if phrase.end > phrase.start + 1]
        return alone, sorted(longer, key=lambda phrase: -abs(phrase.effect))

    def _drawn_tree(self) -> Markup:
        """The tree with a sign at each phrase: whether the label is more probable with it than without."""
        effects = [phrase.effect for phrase in self.phrases]
        small = 0.5 * 10.0**-DIGITS
        signs = ["0" if abs(effect) < small else "+" if effect > 0 else "\u2212" for effect in effects]
        tree = self.tree.with_labels([*signs, self.label])
        notes = [*(signed(effect, DIGITS) for effect in effects), f"{self.probability:.4f}"]
        picture = drawn_tree(tree, [None] * len(tree), EFFECT_COLOURS, notes)
        return figure("With each phrase, the label is more (+) or less (\u2212) probable than without it", picture)

    def to_dict(self) -> dict[str, Any]:
        """The explanation as a dict, ready for JSON."""
        parts = {"words": list(map(asdict, self.words)), "phrases": list(map(asdict, self.phrases))}
        return {"label": self.label, "probability": self.probability, **parts}


def _signed(effect: float | None) -> str:
    return "" if effect is None else f"{effect:>+9.4f}"


def explained(model: FittedModel, probabilities: RootProbabilities, tree: Tree, label: str | None) -> TreeExplanation:
    """The explanation of ``label``, by default of the most probable one, for a binary tree."""
    labels = model.codec
    (now,) = probabilities([tree])
    chosen = labels.at_roots[int(now.argmax())] if label is None else label
    if chosen not in labels.at_roots:
        known = ", ".join(labels.at_roots)
        raise DataError("label to explain", expected=f"one of {known}", got=repr(label))
    column = labels.at_roots.index(chosen)
    phrases = range(len(tree) - 1)  # all but the root
    size = max(1, _NODES_AT_ONCE // len(tree))  # in blocks, so that memory does not grow with their number
    blocks = [phrases[i : i + size] for i in range(0, len(phrases), size)]
    without = [p for some in blocks for p in probabilities([without_phrase(tree, node) for node in some])[:, column]]
    columns = np.array([labels.labels.index(name) for name in labels.at_roots])  # the labels that compete at a root
    # Gradient times input of the words of a batch of one tree.
    network, batch = model.network, TreeInputs.of([tree], model.features.words).selected(np.zeros(1, np.int64))
    words = network.word_vectors(batch.words, batch.vectors)
    scores = network.output(graph.take_rows(network.composition(network.mapped(words), batch.plan), batch.plan.roots))
    loss = softmax_cross_entropy(graph.getitem(scores, (slice(None), columns)), np.array([column]))
    dwords = graph.dense(gradients(loss, words)[words])
    effects = -(dwords * words.value).sum(axis=1)[np.argsort(batch.plan.nodes[: batch.plan.leaves])]
    tokens, spans = tree.tokens, tree.spans
    return TreeExplanation(
        label=chosen,
        probability=float(now[column]),
        words=tuple(WordEffect(word, i, float(effects[i])) for i, word in enumerate(tokens)),
        phrases=tuple(
            PhraseEffect(" ".join(tokens[slice(*spans[node])]), *spans[node], node, float(now[column] - without[node]))
            for node in phrases
        ),
        tree=tree,
    )


def without_phrase(tree: Tree, node: int) -> Tree:
    """The binary tree without the phrase at ``node``, which is not the root: its sister takes its parent's place."""
    parent = next(i for i, pair in enumerate(tree.children) if node in pair)
    (sister,) = (child for child in tree.children[parent] if child != node)
    dropped, todo = {parent}, [node]
    while todo:  # the node and all nodes beneath it
        dropped.add(todo[-1])
        todo += tree.children[todo.pop()]
    kept = [i for i in range(len(tree)) if i not in dropped]
    new = {old: i for i, old in enumerate(kept)}
    new[parent] = new[sister]
    return Tree(
        [tree.labels[i] for i in kept],
        [tree.words[i] for i in kept],
        [tuple(new[child] for child in tree.children[i]) for i in kept],
    )
