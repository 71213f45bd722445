"""Tree classifiers in the commands: how they are made, scored and shown."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.text import Text

from postil.commands.console import make_console, show_table
from postil.commands.kinds.table import refuse
from postil.commands.notices import warn
from postil.errors import ConfigurationError, DataError
from postil.metrics import TreeScores, significance
from postil.metrics.files import RESAMPLES, TreeFileScores
from postil.metrics.tables import calibration_table, label_table
from postil.metrics.trees import label_confusion_table, length_table
from postil.models.config import TreeConfig
from postil.models.settings import parsed
from postil.models.tree_classifier import TreeClassifier
from postil.text import Sentence, Tree, bracketed, read
from postil.text.formats import FORMATS
from postil.text.lines import shortened
from postil.text.trees.treebank import tree_of


class TreeFile(NamedTuple):
    """The trees of a file."""

    path: str
    sentences: list[Sentence]

    @property
    def trees(self) -> list[Tree]:
        return [tree_of(sentence) for sentence in self.sentences]

    @property
    def places(self) -> list[str]:
        return [f"line {sentence.line}" for sentence in self.sentences]

    @property
    def tokens(self) -> list[list[str]]:
        return [sentence.tokens for sentence in self.sentences]


def load(path: str, encoding: str | None = None, **_: Any) -> TreeFile:
    """Read a whole file of trees. Options of other formats are ignored."""
    with read(path, encoding=encoding) as reading:
        if reading.format != "trees":
            got = f"what looks like {FORMATS[reading.format].title}"
            raise DataError(
                "not a file of trees", expected="bracketed trees: (LABEL (LABEL word) …)", got=got, where=path
            )
        return TreeFile(reading.name, list(reading))


# --------------------------------------------------------------------------------------------------------------- train


def new_fitting(arguments: argparse.Namespace, checkpoint: Path) -> tuple[TreeClassifier, Any, dict[str, TreeFile]]:
    """The classifier, its training, and the files to score it on at the end."""
    refuse(arguments, "gazetteer", "tree classifiers use no gazetteers")
    refuse(arguments, "warm_start", "tree classifiers always start from scratch")
    refuse(arguments, "feature_columns", "trees have no columns")
    refuse(arguments, "annotates", "a node without a label is unknown anyway")
    settings = dict(parsed(text, TreeConfig) for text in arguments.settings)
    classifier = make(arguments, settings)
    classifier.check()
    train = _joined([load(path, arguments.encoding) for path in arguments.train])
    held_out = {name: load(path, arguments.encoding) for name in ("dev", "test") if (path := getattr(arguments, name))}
    _check_data(train, held_out, classifier.config.loss)
    dev = held_out["dev"].trees if "dev" in held_out else None
    fitting = classifier.fitting(train.trees, None, dev, checkpoint=checkpoint, resume=arguments.resume)
    return classifier, fitting, held_out


def _joined(files: Sequence[TreeFile]) -> TreeFile:
    return TreeFile(", ".join(file.path for file in files), [s for file in files for s in file.sentences])


def make(arguments: argparse.Namespace, parameters: Mapping[str, Any]) -> TreeClassifier:
    common = {name: getattr(arguments, name) for name in ("seed", "threads", "minutes")}
    return TreeClassifier(**{**parameters, **common, "vectors": arguments.vectors or None})


def _check_data(train: TreeFile, held_out: Mapping[str, TreeFile], loss: str) -> None:
    """Refuse what cannot work, warn of what is probably a mistake."""
    known = _learnt_labels(train, loss)
    if not known:
        what = "no labels at the roots" if loss == "root" else "no labels"
        raise DataError(what, expected="trees such as (3 (2 good) (2 film))", got=_first(train), where=train.path)
    if len(known) == 1:
        warn(f"{train.path}: every label is {next(iter(known))!r}")
    for file in held_out.values():
        _check_roots(file)
        if [bracketed(tree) for tree in file.trees] == [bracketed(tree) for tree in train.trees]:
            warn(f"{file.path}: the same trees as in {train.path}: scores on training data are too good")
        unseen = sorted(_learnt_labels(file, loss) - known)
        if unseen:
            warn(f"{file.path}: {len(unseen)} of its labels do not occur in {train.path}: {', '.join(unseen[:5])}")


def _learnt_labels(file: TreeFile, loss: str) -> set[str]:
    return {
        label
        for tree in file.trees
        for label in (tree.labels if loss == "all" else [tree.root_label])
        if label is not None
    }


def _check_roots(file: TreeFile) -> None:
    if all(tree.root_label is None for tree in file.trees):
        expected = "at least one tree with a label at its root"
        raise DataError("no labels at the roots", expected=expected, got=_first(file), where=file.path)


def _first(file: TreeFile) -> str:
    return shortened(bracketed(file.trees[0]))


# ------------------------------------------------------------------------------------------------------------ evaluate


def resolve_labels(classifier: TreeClassifier, file: TreeFile, arguments: argparse.Namespace) -> None:
    """Nothing to do: a node without a label is unknown, without any mark."""


def evaluation(classifier: TreeClassifier, file: TreeFile) -> TreeScores:
    return classifier.evaluate(file.trees)


def report(classifier: TreeClassifier, name: str, file: TreeFile) -> TreeFileScores:
    if not any(label is not None for tree in file.trees for label in tree.labels):
        raise DataError("no labels", expected="trees such as (3 (2 good) (2 film))", got=_first(file), where=file.path)
    scores = evaluation(classifier, file)
    counts = scores.root_counts if scores.roots.tokens else scores.node_counts
    rng = np.random.default_rng(0)
    interval = significance.bootstrap_interval(counts, significance.accuracy, rng=rng, resamples=RESAMPLES)
    return TreeFileScores(name, file.path, scores, interval)


def page(classifier: TreeClassifier, scores: TreeFileScores, name: str, file: TreeFile) -> str:
    from postil.reports import Drawn, Heading, tree_page

    trees = classifier.trees(file.trees)
    drawn = [
        Drawn(tree.with_labels([n.label for n in nodes]), tree.labels, max(nodes[-1].probabilities.values()), place)
        for tree, nodes, place in zip(trees, classifier.predict_nodes(trees), file.places, strict=True)
    ]
    heading = Heading.of(classifier, model_name=name, data_name=file.path)
    return tree_page(heading, scores.scores, scores.interval, drawn)


def with_novelty(scores: TreeFileScores, file: TreeFile, train: TreeFile) -> TreeFileScores:
    raise ConfigurationError("--train cannot be used here: a tree classifier has no separate scores for seen entities")


# ------------------------------------------------------------------------------------------------ on a terminal


def headline(scores: TreeScores) -> str:
    """The scores in one line."""
    return scores.summary()


def show(report: TreeFileScores) -> None:
    """The score first, then its details."""
    console, scores, interval = make_console(), report.scores, report.interval
    console.print(Text(f"{report.model} against {report.data}"), soft_wrap=True)
    console.print(f"{scores.trees:,} trees, {scores.roots.tokens:,} labelled roots, {scores.nodes.tokens:,} nodes\n")
    console.print(Text(headline(scores), style="bold green"))
    of = "root" if scores.roots.tokens else "node"
    level, low, high = 100 * interval.level, 100 * interval.low, 100 * interval.high
    console.print(f"{of} accuracy: {level:.0f} % interval {low:.2f} to {high:.2f}")
    for name, part, calibration in (
        ("Roots", scores.roots, scores.root_calibration),
        ("All nodes", scores.nodes, scores.node_calibration),
    ):
        if part.tokens:
            show_table(console, label_table(part.by_label(), title=name, column="label"))
            show_table(console, label_confusion_table(part, f"{name}: confusion"))
            table = calibration_table(calibration)
            show_table(console, table._replace(title=f"{name}: {table.title.lower()}"))
    show_table(console, length_table(scores))
