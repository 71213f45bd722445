"""What the commands do with classifiers of trees."""

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np

from postil.commands.answering import OPTIONS
from postil.commands.kinds import Mark, unwanted
from postil.commands.labelled import tell
from postil.errors import ConfigurationError, DataError
from postil.metrics import Interval, TreeScores, significance
from postil.models.settings import parsed
from postil.models.tree_classifier import NodeLabel, TreeClassifier
from postil.models.tree_config import TreeConfig
from postil.text import Sentence, Tree, bracketed, read
from postil.text.bracketing import decoded
from postil.text.document import Rest
from postil.text.formats import FORMATS
from postil.text.lines import shortened
from postil.text.output import Target, write_text
from postil.text.tree import shaped
from postil.text.treebank import Bracketing, tree_of

RESAMPLES = 1000  # of the bootstrap


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
    """Read a whole file of trees; options for other formats do not concern it."""
    with read(path, encoding=encoding) as reading:
        if reading.format != "trees":
            got = f"what looks like {FORMATS[reading.format].title}"
            raise DataError("no trees", expected="bracketed trees: (LABEL (LABEL word) …)", got=got, where=path)
        return TreeFile(reading.name, list(reading))


# --------------------------------------------------------------------------------------------------------------- train


def new_fitting(arguments: argparse.Namespace, checkpoint: Path) -> tuple[TreeClassifier, Any, dict[str, TreeFile]]:
    """A classifier, its training, and the files on which to score it in the end."""
    unwanted(arguments, "gazetteer", "classifiers of trees have none")
    unwanted(arguments, "warm_start", "classifiers of trees begin fresh")
    unwanted(arguments, "feature_columns", "trees have no columns")
    unwanted(arguments, "annotates", "nodes of trees may be without a label")
    settings = dict(parsed(text, TreeConfig) for text in arguments.settings)
    classifier = make(arguments, settings)
    classifier.check()
    train = _together([load(path, arguments.encoding) for path in arguments.train])
    held_out = {name: load(path, arguments.encoding) for name in ("dev", "test") if (path := getattr(arguments, name))}
    _check_data(train, held_out, classifier.config.loss)
    dev = held_out["dev"].trees if "dev" in held_out else None
    fitting = classifier.fitting(train.trees, None, dev, checkpoint=checkpoint, resume=arguments.resume)
    return classifier, fitting, held_out


def _together(files: Sequence[TreeFile]) -> TreeFile:
    return TreeFile(", ".join(file.path for file in files), [s for file in files for s in file.sentences])


def make(arguments: argparse.Namespace, parameters: Mapping[str, Any]) -> TreeClassifier:
    given = {name: value for name in ("composition", "binarise") if (value := getattr(arguments, name)) is not None}
    common = {name: getattr(arguments, name) for name in ("vectors", "seed", "threads", "minutes")}
    return TreeClassifier(**{**parameters, **given, **common})


def _check_data(train: TreeFile, held_out: Mapping[str, TreeFile], loss: str) -> None:
    """What cannot work is an error; what is probably not meant is told."""
    known = _learnt_labels(train, loss)
    if not known:
        what = "no labels at the roots" if loss == "root" else "no labels"
        raise DataError(what, expected="trees such as (3 (2 good) (2 film))", got=_first(train), where=train.path)
    if len(known) == 1:
        tell(f"{train.path}: every label is {next(iter(known))!r}")
    for file in held_out.values():
        _check_roots(file)
        unseen = sorted(_learnt_labels(file, loss) - known)
        if unseen:
            tell(f"{file.path}: {len(unseen)} of its labels do not occur in {train.path}: {', '.join(unseen[:5])}")


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


def settle(classifier: TreeClassifier, file: TreeFile, arguments: argparse.Namespace) -> None:
    """A node without a label is unknown: no mark is needed."""


def evaluation(classifier: TreeClassifier, file: TreeFile) -> TreeScores:
    return classifier.evaluate(file.trees)


def headline(found: TreeScores) -> str:
    figures = found.as_dict()
    binary = figures["root_binary_accuracy"]
    sides = f", good or bad {binary:.2f}" if binary is not None else ""
    return f"root accuracy {_percent(figures['root_accuracy'])}  (all nodes {figures['node_accuracy']:.2f}{sides})"


@final
@dataclass(frozen=True)
class TreeReport:
    """A classifier's scores on a file of trees, with the luck in them."""

    model: str
    data: str
    scores: TreeScores
    interval: Interval

    def as_dict(self) -> dict[str, Any]:
        return self.scores.as_dict() | {"interval": self.interval.as_dict()}


def report(classifier: TreeClassifier, name: str, file: TreeFile) -> TreeReport:
    if not any(label is not None for tree in file.trees for label in tree.labels):
        raise DataError("no labels", expected="trees such as (3 (2 good) (2 film))", got=_first(file), where=file.path)
    scores = evaluation(classifier, file)
    counts = scores.root_counts if scores.roots.tokens else scores.node_counts
    rng = np.random.default_rng(0)
    interval = significance.bootstrap_interval(counts, significance.accuracy, rng=rng, resamples=RESAMPLES)
    return TreeReport(name, file.path, scores, interval)


def page(classifier: TreeClassifier, found: TreeReport, name: str, file: TreeFile) -> str:
    from postil.reports import Drawn, Heading, tree_page

    trees = classifier.trees(file.trees)
    drawn = [
        Drawn(tree.with_labels([n.label for n in nodes]), tree.labels, max(nodes[-1].probabilities.values()), place)
        for tree, nodes, place in zip(trees, classifier.predict_nodes(trees), file.places, strict=True)
    ]
    heading = Heading.of(classifier, model_name=name, data_name=file.path)
    return tree_page(heading, found.scores, found.interval, drawn)


def beside_training(found: TreeReport, file: TreeFile, train: TreeFile) -> TreeReport:
    raise ConfigurationError("--train: a classifier of trees has no scores of seen and new entities")


def show(found: TreeReport) -> None:
    from postil.commands.terminal import trees as tree_display

    tree_display.show(found)


def _percent(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"


# ----------------------------------------------------------------------------------------------------------------- tag


@final
@dataclass(frozen=True, slots=True)
class Classified(Rest):
    """What a classifier says about a sentence."""

    tree: Tree
    """The user's tree, or one of the chosen shape, with predicted labels."""
    phrases: list[NodeLabel]
    """One for each node of ``tree``."""

    def lost(self) -> Mapping[str, int]:
        return {}


def marker(classifier: TreeClassifier, arguments: argparse.Namespace) -> Mark:
    unwanted(arguments, "scores", "a classifier of trees has probabilities", instead="--output jsonl --probabilities")
    for option in ("nbest", *OPTIONS):
        unwanted(arguments, option, "a classifier of trees decides about each phrase alone")
    if arguments.output == "conll":
        raise ConfigurationError("--output conll", expected="trees or jsonl from a classifier of trees")
    if arguments.probabilities and arguments.output != "jsonl":
        raise ConfigurationError("--probabilities", expected="--output jsonl", got="--output trees")
    return partial(_marked, classifier=classifier, shape=arguments.tree or classifier.config.tree)


def _marked(block: list[Sentence], classifier: TreeClassifier, shape: Any) -> list[Sentence]:
    trees = [own_tree(sentence, shape) for sentence in block]
    pairs = [tree.binarised_with_places(classifier.config.binarise) for tree in trees]
    nodes = classifier.predict_nodes([binary for binary, _ in pairs])
    for sentence, tree, found, (_, places) in zip(block, trees, nodes, pairs, strict=True):
        phrases = [found[place] for place in places]
        sentence.rest = Classified(tree.with_labels([phrase.label for phrase in phrases]), phrases)
    return block


def own_tree(sentence: Sentence, shape: Any) -> Tree:
    """The tree that a sentence was read with, or one of this shape over its tokens."""
    if isinstance(sentence.rest, Bracketing):
        return sentence.rest.tree
    # Tokens of treebanks are often given with their escapes; a model knows them without.
    return shaped([decoded(token) for token in sentence.tokens], shape)


def write(
    marked: Iterable[Sentence], classifier: TreeClassifier, arguments: argparse.Namespace, target: Target
) -> None:
    lines = _objects(marked, arguments.probabilities) if arguments.output == "jsonl" else _trees(marked)
    write_text(target, (f"{line}\n" for line in lines))


def _trees(marked: Iterable[Sentence]) -> Iterator[str]:
    for sentence in marked:
        yield from (comment for comment in sentence.comments if comment.startswith("#"))
        yield bracketed(_classified(sentence).tree)


def _objects(marked: Iterable[Sentence], with_phrases: bool) -> Iterator[str]:
    for sentence in marked:
        found = _classified(sentence)
        yield json.dumps(_object(sentence, found, with_phrases), ensure_ascii=False)


def _object(sentence: Sentence, found: Classified, with_phrases: bool) -> dict[str, Any]:
    label, probabilities = found.phrases[-1]
    fields: dict[str, Any] = {"text": _text(sentence)} if sentence.text is not None else {}
    fields |= {
        "tokens": found.tree.tokens,
        "label": label,
        "probability": round(probabilities[label], 6),
        "probabilities": {name: round(value, 6) for name, value in probabilities.items()},
        "tree": bracketed(found.tree),
    }
    if with_phrases:
        fields["phrases"] = [
            {"start": start, "end": end, "label": name, "probability": round(given[name], 6)}
            for (start, end), (name, given) in zip(found.tree.spans, found.phrases, strict=True)
        ]
    return fields


def _text(sentence: Sentence) -> str:
    assert sentence.text is not None and sentence.starts is not None and sentence.ends is not None
    return sentence.text[sentence.starts[0] : sentence.ends[-1]]


def _classified(sentence: Sentence) -> Classified:
    assert isinstance(sentence.rest, Classified)
    return sentence.rest
