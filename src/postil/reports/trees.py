"""The report on a classifier of trees: its scores, and trees drawn in the colours of their labels."""

from collections.abc import Sequence
from typing import NamedTuple, final

from postil.html import Markup, element, joined
from postil.html.fragments import figure, note
from postil.metrics import Interval, TreeScores
from postil.metrics.drawn_tables import drawn_table
from postil.metrics.trees import label_confusion_table, length_table
from postil.reports import sections
from postil.reports.answers import Heading
from postil.reports.sections import Section, page
from postil.text import Tree
from postil.text.trees.tree_drawing import LONGEST_DRAWN, colours_of_trees, drawn_tree

MOST_DRAWN = 24


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
        Section("confusion", "Confusion at the roots", drawn_table(label_confusion_table(scores.roots, ""))),
        Section("nodes", "Confusion at all nodes", drawn_table(label_confusion_table(scores.nodes, ""))),
        Section("lengths", "Phrases by length", drawn_table(length_table(scores), bars=("accuracy",))),
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
    """The mistakes at the root of which the model was surest; right trees if there are not enough of them."""
    short = [one for one in answers if len(one.tree.tokens) <= LONGEST_DRAWN]
    chosen = sorted(short, key=lambda one: (not one.is_wrong, -one.probability))[:MOST_DRAWN]
    colours = colours_of_trees([one.tree for one in chosen])
    order = "The most confident mistakes at the root come first, right ones after them."
    if not any(one.is_wrong for one in chosen):
        order = "The label at the root is right in all of these trees."
    meaning = note(f"{order} A ring marks a phrase with another gold label.")
    drawn = [figure(_caption(one), drawn_tree(one.tree, one.gold, colours)) for one in chosen]
    return Section("trees", "Trees", joined([meaning, *(element("div", one, class_="scroll") for one in drawn)]))


def _caption(one: Drawn) -> str:
    gold = f", gold {one.gold[-1]}" if one.is_wrong else ""
    return f"{one.place}: {one.tree.root_label} ({one.probability:.2f}){gold}"
