"""The list of checked gradients: the mathematics, raw text, and the losses of whole models, as ``fit`` makes them (B4).

Every model is checked on the features, network and batch that its fit makes; only the sizes are small. A slope along
random directions feels every entry of a parameter, so a few for each are enough here; layers and objectives are checked
entry by entry.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, get_type_hints

import numpy as np

from postil.features.inputs import InputFeatures
from postil.gradcheck import GradientReport, Sampling, examine
from postil.gradcheck.checks import GradientCheck, Rng, checks_of_mathematics, of, row, sentences
from postil.gradcheck.examination import EPSILONS
from postil.graph import Node
from postil.models import Detector, MultiTaskTagger, Tagger, TaggerConfig, TreeClassifier, TreeConfig
from postil.models import config as tree_config
from postil.models.config import configured, configured_tree
from postil.models.fitting.masked_words import MaskedWords
from postil.models.laboratory import (
    WIDE_STEPS,
    Loss,
    loss_graph,
    sentence_example,
    sentence_loss,
    summed_loss,
    without_gradient,
)
from postil.models.networks.encoders import ENCODERS
from postil.models.networks.network import ScoringNetwork, TaggerNetwork
from postil.models.networks.tree_network import TreeNetwork
from postil.models.sentence_estimator import SentenceEstimator
from postil.models.settings import rules
from postil.network import COMPOSITIONS
from postil.pretraining import negative_sampling, window_ranking
from postil.text import transition_mask

# ------------------------------------------------------------------------------------------------------------- the list


def gradient_checks() -> list[GradientCheck]:
    """All rows, in the order in which data pass through what they check."""
    return [*checks_of_mathematics(), *pretraining_checks(), *model_checks(), *tree_checks()]


# ----------------------------------------------------------------------------------- what must be checked of estimators
# Every preset with every kind of input, and every setting that no preset uses.


BY_DEFAULT = "forms"
"""The input that most people train on: words and nothing else."""
PARTIAL_LABELS = "partial labels"
TREES = "trees"


def sentence_estimators() -> list[Any]:
    """All kinds of models over sentences."""
    return SentenceEstimator.__subclasses__()


def model(estimator: type, preset: str, inputs: str) -> str:
    return f"{estimator.__name__} {preset}: {inputs}"


def setting(config: type, name: str, value: Any) -> str:
    return f"{config.__name__}: {name}={value}"


def inputs_of(estimator: Any, preset: str) -> list[str]:
    """All kinds of input; only the default one if a kind of model puts its own objective in place of the preset's.

    A detector of a tagger's preset is made of a tagger's layers and a detector's objective, both checked in full.
    """
    is_own = estimator._rows()[preset].objective == configured(preset, {}).objective
    return sentence_inputs() if is_own else [BY_DEFAULT]


def sentence_inputs() -> list[str]:
    """Words alone, words with each optional feature (every keyword of ``InputFeatures.build``), partial labels."""
    keywords = inspect.signature(InputFeatures.build).parameters.values()
    optional = [parameter.name for parameter in keywords if parameter.kind is parameter.KEYWORD_ONLY]
    return [BY_DEFAULT, *optional, PARTIAL_LABELS]


def tree_inputs() -> list[str]:
    """Trees as they are learned by default; with vectors, learned or fixed; with the loss elsewhere or weighted."""
    switches = [f"{name}={not default}" for name, default in _switches(TreeConfig) if name != "exact_vectors"]
    losses = [f"loss={name}" for name in tree_config.LOSSES if name != TreeConfig.loss]
    return [TREES, "vectors", *switches, *losses, f"class_weights={tree_config.BALANCED}"]


def _switches(config: Any) -> list[tuple[str, Any]]:
    return [(field.name, field.default) for field in fields(config) if get_type_hints(config)[field.name] is bool]


def unused_settings(config: type) -> Iterator[tuple[str, Any]]:
    """(name, value) of settings that change the loss and that no preset has: each needs a separate check.

    These are choices, switches, ensembles, and amounts that may be 0: not 0 where all presets have 0, and 0 where none
    has.
    """
    rows: list[Any] = [configured_tree(composition, {}) for composition in COMPOSITIONS]
    if config is TaggerConfig:
        rows = [config for kind in sentence_estimators() for config in kind._rows().values()]
    settings = {name: rule for name, rule in rules(config).items() if rule.in_loss}
    used = {name: {getattr(row, name) for row in rows} for name in settings}
    for name, rule in settings.items():
        if name != "loss":
            yield from ((name, value) for value in rule.choices or () if value not in used[name])
    if config is TaggerConfig:  # the switches of trees are checked with every composition
        yield from ((name, not default) for name, default in _switches(config))
        yield "ensemble", 2
    for name, rule in settings.items():
        if rule.low == 0 and used[name] == {0}:
            yield name, 2 if get_type_hints(config)[name] is int else 0.01  # 2 if it counts something
        elif rule.low == 0 and 0 not in used[name]:
            yield name, 0


# ------------------------------------------------------------------------------------------------ models over sentences


SAMPLING = Sampling(every_entry_up_to=0, entries=0, directions=2)
_EQUATIONS = {
    "average-softmax": "E2 A7",
    "window-softmax": "E3 A7",
    "window-wll": "A12 A7",
    "window-sll": "A12 A8",
    "sentence-wll": "A12 A4 A5 A7",
    "sentence-sll": "A12 A4 A5 A8",
    "linear-crf": "C6 C3 C5",
    "neural-crf": "C2 C3 C5",
}
_TITLES = {"use_columns": "extra columns", "gazetteer": "gazetteers"}
# Fields that only the max-margin objective reads.
_OF_DETECTORS = {"pairs", "margin", "corrupt"}


def model_checks() -> Iterator[GradientCheck]:
    for kind in (Tagger, Detector):
        for preset in kind._rows():
            equations = "B1 B2 E4" if kind is Detector else _EQUATIONS.get(preset, "A4 A8")
            # A new kind of input without sentences here is a gap in the list.
            for inputs in [name for name in inputs_of(kind, preset) if name in SENTENCE_INPUTS]:
                title = f"{kind.KIND} {preset}, {_TITLES.get(inputs, inputs)}"
                run = partial(_sentences, kind=kind, preset=preset, inputs=inputs)
                yield row(title, equations, model(kind, preset, inputs), run)
    for preset in MultiTaskTagger._rows():
        covers, equations = model(MultiTaskTagger, preset, BY_DEFAULT), _EQUATIONS.get(preset, "A4 A8")
        yield row(f"two tasks, {preset}", equations, covers, partial(_two_tasks, preset=preset))
    yield row("hidden words of raw text, accurate", "E4 A7", of(MaskedWords), partial(_masking, preset="accurate"))
    for name, value in unused_settings(TaggerConfig):
        kind, preset = (Detector, "margin") if name in _OF_DETECTORS else (Tagger, "fast")
        run = partial(_sentences, kind=kind, preset=preset, inputs=BY_DEFAULT, settings={name: value})
        covers = setting(TaggerConfig, name, value)
        yield row(f"{kind.KIND} with {name}={value}", "E9" if name == "l2" else "A12", covers, run)
    yield row("scores of given token vectors", "E6", of(ScoringNetwork.scores_of), _scores_of)
    title = "loss of a sentence{}, every layer a node"
    yield row(title.format(""), "E8", of(loss_graph), partial(_flow, loss=loss_graph))
    for mode, labels in (("", None), ("labels", _LABELS[0])):
        name = title.format(" with given labels" if mode else " with its own labels")
        yield row(name, "E8", of(sentence_loss, mode), partial(_flow, loss=sentence_loss, labels=labels))


def _sentences(
    rng: Rng, kind: Any, preset: str, inputs: str, settings: Mapping[str, Any] | None = None
) -> GradientReport:
    return _report(first_sentence_loss(kind, preset, inputs, settings or {}, rng), kind._rows()[preset], rng)


def _report(loss: Loss, config: TaggerConfig, rng: Rng) -> GradientReport:
    return examine(
        loss.node,
        parameters=loss.parameters,
        rng=rng,
        sampling=SAMPLING,
        # Where a layer norm has a few units of nearly the same value, the loss bends too much within a wide step.
        epsilons=EPSILONS if ENCODERS[config.encoder].is_normed else WIDE_STEPS,
        expect_zero=without_gradient(config, loss.parameters),
    )


def _two_tasks(rng: Rng, preset: str) -> GradientReport:
    """The sum of the losses of a batch of each of two tasks, of spans and of words."""
    config = MultiTaskTagger._rows()[preset]
    cases = [["upper" if word.istitle() else "lower" for word in words] for words in _WORDS]
    fitting = MultiTaskTagger(preset=preset, **small_sizes(config)).fitting(_WORDS, {"names": _LABELS, "case": cases})
    shards = [examples.batch(np.arange(len(_WORDS))).shards[0] for examples in fitting.training_sets.values()]
    without_kinks(fitting.model.network, rng)
    return _report(summed_loss(fitting.model.network, shards, noise=3), config, rng)


def _masking(rng: Rng, preset: str) -> GradientReport:
    """The loss of an encoder that predicts hidden words: their clusters, capitals and ends."""
    config = Tagger._rows()[preset]
    with TemporaryDirectory() as folder:
        X, _, arguments, _ = SENTENCE_INPUTS["lexicons"].in_folder(folder)
        tagger = Tagger(preset=preset, **arguments, **small_sizes(config))
        training = tagger.pretraining(X * 12).training  # rare words would be unknown
    without_kinks(training.model, rng)
    parameters, node = summed_loss(training.model, training.batches(rng)[0].shards, noise=3)
    # Maps to labels are not learned from raw text.
    learnt = {name: p for name, p in parameters.items() if not re.search(r"\.(output|crf)", name)}
    return _report(Loss(learnt, node), config, rng)


def _flow(rng: Rng, loss: Callable[..., Node], labels: list[str] | None = None) -> GradientReport:
    """The flow graph of a fitted tagger's loss on one sentence."""
    sizes = small_sizes(Tagger._rows()["fast"]) | {"activation": "tanh", "epochs": 1}
    tagger = Tagger(preset="fast", **sizes).fit(_WORDS, _LABELS)
    network = tagger.model.network
    example = sentence_example(tagger, _WORDS[0], _LABELS[0])

    def node() -> Node:
        return loss(network, example) if loss is loss_graph else loss(tagger, _WORDS[0], labels)

    return examine(node, parameters=network.parameters(), rng=rng, sampling=SAMPLING, epsilons=WIDE_STEPS)


def _scores_of(rng: Rng) -> GradientReport:
    """The derivative by token vectors, of which explanations are made."""
    network = TaggerNetwork(
        configured("window-softmax", {"hidden": 3, "word_dim": 3, "caps_dim": 2}),
        form_sizes=[(7, 3), (3, 2)],
        extra_sizes=[],
        vectors=None,
        word_counts=np.arange(7),
        mask=transition_mask(["O", "B-A", "I-A"], "bio"),
        rng=rng,
    )
    own = {name: p for name, p in network.parameters().items() if not name.startswith("forms.")}
    return examine(network.scores_of, sentences(rng, 5), parameters=own)


def first_sentence_loss(kind: Any, preset: str, inputs: str, settings: Mapping[str, Any], rng: Rng) -> Loss:
    """The loss of a model's first batch, as ``fit`` begins with it."""
    with TemporaryDirectory() as folder:
        X, y, arguments, options = SENTENCE_INPUTS[inputs].in_folder(folder)
        label = {"label": "PER"} if kind is Detector else {}
        sizes = small_sizes(kind._rows()[preset])
        estimator = kind(preset=preset, **label, **arguments, **{**sizes, **settings})
        return first_loss(estimator.fitting(X, y, **options), rng)


def first_loss(fitting: Any, rng: Rng) -> Loss:
    """The loss of the first shard of the first epoch."""
    without_kinks(fitting.model.network, rng)
    return summed_loss(fitting.model.network, fitting.training.batches(rng)[0].shards[:1], noise=3)


def without_kinks(network: Any, rng: Rng) -> None:
    """Give the network other values than 0: a bias of 0 puts a ReLU whose inputs were all dropped just at its kink."""
    for parameter in network.parameters().values():
        if not parameter.value.any():
            parameter.value = rng.normal(scale=0.3, size=parameter.shape).astype(parameter.dtype)


def small_sizes(config: Any) -> dict[str, Any]:
    """The same network with a few units where a preset has hundreds; nothing is switched on or off."""
    dims = [field.name for field in fields(config) if field.name.endswith("_dim") and getattr(config, field.name)]
    sizes: dict[str, Any] = {**dict.fromkeys(dims, 2), "hidden": 4, "epochs": 1}
    if config.word_dim:
        sizes["word_dim"] = 3
    return sizes | ({"layers": min(config.layers, 2), "corrupt": 3} if isinstance(config, TaggerConfig) else {})


# ------------------------------------------------------------------------------------------------------- kinds of input


_WORDS = [["Anna", "Bell", "lives", "in", "Oslo"], ["Oslo"], ["Anna", "lives"], ["in", "Bell", "Anna"]]
_LABELS = [["B-PER", "I-PER", "O", "O", "B-LOC"], ["B-LOC"], ["B-PER", "O"], ["O", "B-PER", "I-PER"]]
# Of some words of the sentences here, and of the trees below.
_VECTORS = "anna 0.5 -1\noslo 0.1 2\nlives -0.3 0.4\nnot 0.7 0.2\ngood -0.4 1.1\nbad 0.9 -0.6\n"


class Data(NamedTuple):
    """Labelled sentences, the other arguments of an estimator and of its fit; a text becomes a file."""

    X: list[list[Any]] = _WORDS
    y: list[list[str]] = _LABELS
    arguments: Mapping[str, Any] = {}
    options: Mapping[str, Any] = {}

    def in_folder(self, folder: str) -> "Data":
        """The same with files in place of their contents."""
        arguments = dict(self.arguments)
        for name in arguments.keys() & {"gazetteers", "clusters", "vectors"}:
            path = Path(folder, f"{name}.txt")
            path.write_text(arguments[name], encoding="utf8")
            arguments[name] = [path] if name == "gazetteers" else path
        return self._replace(arguments=arguments)


_DICTS = [  # a string, a number, a list
    [
        {"word": word, "title": word.istitle(), "length": len(word) / 4, "first": [word[0], f"{t}"]}
        for t, word in enumerate(words)
    ]
    for words in _WORDS[:-1]
]
SENTENCE_INPUTS = {
    BY_DEFAULT: Data(),
    "use_columns": Data([[(word, "NNP" if word.istitle() else "X") for word in words] for words in _WORDS]),
    "gazetteer": Data(arguments={"gazetteers": "PER\tAnna Bell\nLOC\tOslo\n"}),
    "lexicons": Data(arguments={"clusters": "0000\tAnna\n0001\tOslo\n11\tlives\n"}),
    "vectors": Data(arguments={"vectors": _VECTORS}),
    # At the tokens of one sentence there is nothing but the word.
    "named": Data([*_DICTS, [{"word": word} for word in _WORDS[-1]]], arguments={"word_key": "word"}),
    # A token of which nothing is known, and one of two classes.
    PARTIAL_LABELS: Data(
        y=[["B-PER", "I-PER", "?", "O", "PER|LOC"], *_LABELS[1:3], ["O|B-PER", "B-PER", "?"]], options={"partial": True}
    ),
}


# ------------------------------------------------------------------------------------------------------------- raw text


def pretraining_checks() -> Iterator[GradientCheck]:
    def skipgram(rng: Rng) -> GradientReport:
        wanted = np.array([1, 0, -1, 0, 0])  # also a negative that is the true word and counts for nothing
        return examine(lambda X, Y: negative_sampling(X, Y, wanted), rng.normal(size=(4, 6)), rng.normal(size=(5, 6)))

    def ranking(rng: Rng) -> GradientReport:
        """Units on all pieces of the hard tanh, windows with and without a cost."""
        shapes = {"windows": (16, 3, 4), "corrupt": (16, 4), "W": (3, 4, 5), "b": (5,), "u": (5,)}
        return examine(window_ranking, *(rng.normal(size=shape) for shape in shapes.values()))

    yield row("skip-gram with negative samples", "E8", of(negative_sampling), skipgram)
    yield row("ranking of windows", "E4 B2 A6", of(window_ranking), ranking)


# ---------------------------------------------------------------------------------------------------------------- trees


_TREES: list[Any] = [
    ("3", ("2", "the"), ("3", ("2", "not"), ("1", "bad"))),
    ("1", ("1", ("2", "not"), ("3", "good")), ("2", ("2", "the"), ("2", "the"))),
    ("3", "good"),
]


def tree_checks() -> Iterator[GradientCheck]:
    def mapped(rng: Rng) -> GradientReport:
        config = configured_tree("sum", {"word_dim": 2, "hidden": 3})
        made = TreeNetwork(config, 3, word_counts=np.arange(4), vectors=None, rng=rng)
        assert made.leaf_map is not None
        return examine(made.mapped, rng.normal(size=(5, 2)), parameters=made.leaf_map.parameters())

    def check(rng: Rng, composition: str, inputs: str, settings: Mapping[str, Any]) -> GradientReport:
        loss = tree_loss(composition, inputs, settings, rng)
        return examine(loss.node, parameters=loss.parameters, rng=rng, sampling=SAMPLING, epsilons=WIDE_STEPS)

    yield row("word vectors in the width of phrases", "D1", of(TreeNetwork.mapped), mapped)
    for name in COMPOSITIONS:
        for inputs in tree_inputs():
            run = partial(check, composition=name, inputs=inputs, settings={})
            yield row(f"tree classifier {name}, {inputs}", "D1 D2 D3", model(TreeClassifier, name, inputs), run)
    for name, value in unused_settings(TreeConfig):
        run = partial(check, composition="concatenation", inputs=TREES, settings={name: value})
        equations = "E9" if name == "l2" else "D3"
        yield row(f"tree classifier with {name}={value}", equations, setting(TreeConfig, name, value), run)


def tree_loss(composition: str, inputs: str, settings: Mapping[str, Any], rng: Rng) -> Loss:
    """The loss of a tree classifier's first batch, as ``fit`` begins with it. ``inputs``: one of ``tree_inputs()``."""
    name, _, value = inputs.partition("=")
    chosen: dict[str, Any] = {name: value == "True" if value in ("True", "False") else value} if value else {}
    with TemporaryDirectory() as folder:
        needs_vectors = inputs == "vectors" or name == "learn_vectors"
        arguments = Data(arguments={"vectors": _VECTORS} if needs_vectors else {}).in_folder(folder).arguments
        # As by default, words and phrases have one width; vectors, of width 2, need a map.
        sizes = {**small_sizes(configured_tree(composition, {})), "word_dim": 3, "hidden": 3}
        classifier = TreeClassifier(composition=composition, **{**sizes, **arguments, **chosen, **settings})
        return first_loss(classifier.fitting(_TREES), rng)
