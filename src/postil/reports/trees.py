"""The report on a classifier of trees: its scores, and trees drawn in the colours of their labels."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, final

from postil.markup import Markup, element, joined
from postil.markup.highlight import colours_of
from postil.markup.svg import Point, circle, drawing, line, text, title
from postil.metrics import Interval, TreeScores
from postil.metrics.trees import BAD, GOOD, NEUTRAL, label_confusion_table, length_table
from postil.reports import sections
from postil.reports.answers import Heading
from postil.reports.page import Section, figure, note, page, table
from postil.text import Tree

MOST_DRAWN = 24
LONGEST_DRAWN = 60
"""Words; a wider drawing is of no use on a page."""
_LETTER, _GAP, _LEVEL, _RADIUS = 7.4, 14.0, 34.0, 10.0
_DEGREES = dict(zip((*BAD, NEUTRAL, *GOOD), ("#b2182b", "#d6774f", "#8a929b", "#4b93c3", "#2166ac"), strict=True))


@final
class Drawn(NamedTuple):
    """A tree with predicted labels, the gold labels of its nodes, and the probability of the label of its root."""

    tree: Tree
    gold: Sequence[str | None]
    probability: float
    place: str

    @property
    def is_wrong(self) -> bool:
        return self.gold[-1] is not None and self.gold[-1] != self.tree.root_label


def tree_page(heading: Heading, scores: TreeScores, interval: Interval, answers: Sequence[Drawn]) -> str:
    """The whole page."""
    parts = [
        sections.learning(heading),
        sections.label_scores(scores.roots.by_label(), None, column="label of the root"),
        Section("confusion", "Confusion at the roots", table(label_confusion_table(scores.roots, ""))),
        Section("nodes", "Confusion at all nodes", table(label_confusion_table(scores.nodes, ""))),
        Section("lengths", "Phrases by length", table(length_table(scores), bars=("accuracy",))),
        sections.reliability(scores.root_calibration, None, answers="roots"),
        _trees(answers),
    ]
    return page(f"{heading.model} on {heading.data}", _header(heading, scores, interval), parts)


def _header(heading: Heading, scores: TreeScores, interval: Interval) -> Markup:
    binary = {} if scores.root_binary is None else {"good or bad": f"{100 * scores.root_binary.ratio:.2f}"}
    cards = {
        "node accuracy": f"{100 * scores.nodes.accuracy:.2f}",
        **binary,
        "trees / labelled nodes": f"{scores.trees:,} / {scores.nodes.tokens:,}",
    }
    headline = "root accuracy" if scores.roots.tokens else "node accuracy"
    return sections.header(heading, headline, 100 * scores.main_score, interval, cards)


def _trees(answers: Sequence[Drawn]) -> Section:
    """The mistakes at the root of which the model was surest; right trees where there are not enough of them."""
    short = [one for one in answers if len(one.tree.tokens) <= LONGEST_DRAWN]
    chosen = sorted(short, key=lambda one: (not one.is_wrong, -one.probability))[:MOST_DRAWN]
    colours = colours_of_trees([one.tree for one in chosen])
    meaning = note("The most confident mistakes at the root come first. A ring marks a phrase with another gold label.")
    drawn = [figure(_caption(one), drawn_tree(one.tree, one.gold, colours)) for one in chosen]
    return Section("trees", "Trees", joined([meaning, *(element("div", one, class_="scroll") for one in drawn)]))


def _caption(one: Drawn) -> str:
    gold = f", gold {one.gold[-1]}" if one.is_wrong else ""
    return f"{one.place}: {one.tree.root_label} ({one.probability:.2f}){gold}"


def colours_of_trees(trees: Sequence[Tree]) -> Mapping[str, str]:
    """From red to blue where labels are degrees from 0 to 4, else a colour for each of the first labels."""
    labels = sorted({label for tree in trees for label in tree.labels if label is not None})
    return _DEGREES if set(labels) <= set(_DEGREES) else colours_of(labels)


def drawn_tree(tree: Tree, gold: Sequence[str | None], colours: Mapping[str, str]) -> Markup:
    """The tree as a picture: labels in circles of their colour, words below the leaves."""
    points, width = _points(tree)
    height = max(y for _, y in points) + _RADIUS + 26
    edges = [
        line(points[node], points[child], stroke="var(--soft)")
        for node, children in enumerate(tree.children)
        for child in children
    ]
    tokens = tree.tokens
    phrases = [" ".join(tokens[start:end]) for start, end in tree.spans]
    nodes = [_node(*parts, colours) for parts in zip(tree.labels, tree.words, phrases, points, gold, strict=True)]
    return drawing(width, height, " ".join(tree.tokens), *edges, *nodes)


def _points(tree: Tree) -> tuple[list[Point], float]:
    """Leaves in a row, each as wide as its word; a node is centred over its children."""
    xs: list[float] = []
    right = _GAP
    for word, children in zip(tree.words, tree.children, strict=True):
        if word is None:
            xs.append((xs[children[0]] + xs[children[-1]]) / 2)
        else:
            width = max(len(word) * _LETTER, 2 * _RADIUS)
            xs.append(right + width / 2)
            right += width + _GAP
    levels = [0] * len(tree)
    for node in reversed(range(len(tree))):  # parents before their children
        for child in tree.children[node]:
            levels[child] = levels[node] + 1
    return [(x, _RADIUS + 4 + level * _LEVEL) for x, level in zip(xs, levels, strict=True)], right


def _node(
    label: str | None, word: str | None, phrase: str, point: Point, gold: str | None, colours: Mapping[str, str]
) -> Markup:
    is_wrong = gold is not None and gold != label
    tooltip = title(f"{label}{f', gold {gold}' if is_wrong else ''}: {phrase}")
    colour = colours.get(label or "", "var(--label-other)")
    x, y = point
    ring = "var(--wrong)" if is_wrong else None
    disc = circle(point, _RADIUS, tooltip, style=f"fill:{colour}", stroke=ring, stroke_width=3 if is_wrong else None)
    name = text((x, y + 4), (label or "")[:3], style="fill:#fff", pointer_events="none")
    below = text((x, y + _RADIUS + 14), word) if word is not None else None
    return element("g", disc, name, below)
