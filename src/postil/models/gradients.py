"""The list of checked gradients: the mathematics, raw text, and the losses of whole models, as ``fit`` makes them (B4).

Every model is checked on the features, network and batch that its fit makes; only the sizes are small. A slope along
random directions feels every entry of a parameter, so a few for each are enough here; layers and objectives are checked
entry by entry.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from functools import reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeAlias, get_args, get_type_hints

import numpy as np

from postil import graph, network
from postil.errors import ConfigurationError
from postil.features.inputs import InputFeatures
from postil.gradcheck import Report, Sampling, examine
from postil.gradcheck.checks import (
    Examine,
    GradientCheck,
    Rng,
    checks_of_mathematics,
    row,
    sentences,
)
from postil.gradcheck.requirements import Requirement, differentiable, of, requirements_of
from postil.graph import Node, Parameter
from postil.models import PRESETS, Detector, MultiTaskTagger, Tagger, TaggerConfig, TreeClassifier, TreeConfig
from postil.models import config as tree_config
from postil.models.config import configured, configured_tree
from postil.models.explaining import flow
from postil.models.fitting.masked_words import MaskedWords
from postil.models.laboratory import without_gradient
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


def required() -> dict[str, Requirement]:
    """Everything differentiable in the package, in each of its modes, by name."""
    found = [Requirement(name) for name in estimator_requirements()]
    for thing in differentiable(networks_of_estimators()):
        found += requirements_of(thing)
    return {requirement.name: requirement for requirement in found}


def gaps(checks: Iterable[GradientCheck], requirements: Iterable[str] | None = None) -> list[str]:
    """The requirements, by default all of the package, that no check covers."""
    covered = {name for check in checks for name in check.covers}
    return [name for name in (required() if requirements is None else requirements) if name not in covered]


# ----------------------------------------------------------------------------------- what must be checked of estimators
# Every preset with every kind of input, and every setting that no preset uses.


BY_DEFAULT = "forms"
"""The input that most people train on: words and nothing else."""
PARTIAL_LABELS = "partial labels"
TREES = "trees"
# Fields that say how parameters begin, how trees are made of other things, or what the training loop does.
_NOT_ABOUT_THE_LOSS = {
    *("initialiser", "optimiser", "binarise", "tree"),
    *("schedule", "warm_up", "final_share", "tau"),
}


def estimator_requirements() -> Iterator[str]:
    """The names of all requirements of estimators."""
    for estimator in sentence_estimators():
        for preset in presets_of(estimator):
            yield from (model(estimator, preset, inputs) for inputs in inputs_of(estimator, preset))
    yield from (model(MultiTaskTagger, preset, BY_DEFAULT) for preset in MultiTaskTagger._rows())
    for composition in COMPOSITIONS:
        yield from (model(TreeClassifier, composition, inputs) for inputs in tree_inputs())
    yield from (setting(TaggerConfig, name, value) for name, value in unused_settings(TaggerConfig))
    yield from (setting(TreeConfig, name, value) for name, value in unused_settings(TreeConfig))


def sentence_estimators(base: Any = SentenceEstimator) -> list[type[SentenceEstimator]]:
    """All kinds of models over sentences."""
    below = [kind for child in base.__subclasses__() for kind in sentence_estimators(child)]
    return below if not hasattr(base, "KIND") else [base, *below]


def networks_of_estimators() -> list[type]:
    """The classes of the networks that estimators train."""
    estimators: list[Any] = [*sentence_estimators(), MultiTaskTagger, TreeClassifier]
    returned = [get_type_hints(estimator._network)["return"] for estimator in estimators]
    return [network for hint in returned for network in get_args(hint) or [hint]]


def model(estimator: type, preset: str, inputs: str) -> str:
    return f"{estimator.__name__} {preset}: {inputs}"


def setting(config: type, name: str, value: Any) -> str:
    return f"{config.__name__}: {name}={value}"


def presets_of(estimator: type[SentenceEstimator]) -> list[str]:
    """The presets that a kind of model can be made of."""
    return [preset for preset in PRESETS if _is_possible(estimator, preset)]


def _is_possible(estimator: type[SentenceEstimator], preset: str) -> bool:
    try:
        config_of(estimator, preset)
    except ConfigurationError:
        return False
    return True


def config_of(estimator: Any, preset: str) -> TaggerConfig:
    """The settings of a model of this kind and preset; an error if there is none."""
    label = {"label": "PER"} if "label" in inspect.signature(estimator).parameters else {}
    config: TaggerConfig = estimator(preset=preset, **label).config
    return config


def inputs_of(estimator: type[SentenceEstimator], preset: str) -> list[str]:
    """All kinds of input; only the default one if a kind of model puts its own objective in place of the preset's.

    A detector of a tagger's preset is made of a tagger's layers and a detector's objective, both checked in full.
    """
    is_own = config_of(estimator, preset).objective == configured(preset, {}).objective
    return sentence_inputs() if is_own else [BY_DEFAULT]


def sentence_inputs() -> list[str]:
    """Words alone, words with each optional feature (every keyword of ``InputFeatures.build``), partial labels."""
    keywords = inspect.signature(InputFeatures.build).parameters.values()
    optional = [parameter.name for parameter in keywords if parameter.kind is parameter.KEYWORD_ONLY]
    return [BY_DEFAULT, *optional, PARTIAL_LABELS]


def tree_inputs() -> list[str]:
    """Trees as they are learned by default; with vectors, learned or fixed; with the loss elsewhere or weighted."""
    switches = [f"{name}={not default}" for name, default in _switches(TreeConfig)]
    losses = [f"loss={name}" for name in tree_config.LOSSES if name != TreeConfig.loss]
    return [TREES, "vectors", *switches, *losses, f"class_weights={tree_config.BALANCED}"]


def _switches(config: Any) -> list[tuple[str, Any]]:
    return [(field.name, field.default) for field in fields(config) if get_type_hints(config)[field.name] is bool]


def unused_settings(config: type) -> Iterator[tuple[str, Any]]:
    """(name, value) of settings that change the loss and that no preset has: each needs a separate check.

    These are choices, switches, ensembles, and amounts that may be 0: not 0 where all presets have 0, and 0 where none
    has.
    """
    rows = _configs(config)
    for name, rule in rules(config).items():
        used = {getattr(row, name) for row in rows}
        if name not in _NOT_ABOUT_THE_LOSS and name != "loss":
            yield from ((name, value) for value in rule.choices or () if value not in used)
    if config is TaggerConfig:  # the switches of trees are checked with every composition
        yield from ((name, not default) for name, default in _switches(config))
    if config is TaggerConfig:
        yield "ensemble", 2
    for name, rule in rules(config).items():
        used = {getattr(row, name) for row in rows}
        if rule.low == 0 and name not in _NOT_ABOUT_THE_LOSS and (used == {0} or 0 not in used):
            yield name, _small_amount(config, name) if used == {0} else 0


def _small_amount(config: type, name: str) -> float:
    """A value of a setting that is 0 in every preset: 2 if it counts something."""
    return 2 if get_type_hints(config)[name] is int else 0.01


def _configs(config: type) -> list[Any]:
    if config is TreeConfig:
        return [tree_config.configured_tree(composition, {}) for composition in COMPOSITIONS]
    return [config_of(kind, preset) for kind in sentence_estimators() for preset in presets_of(kind)]


# ------------------------------------------------------------------------------------------------ models over sentences


SAMPLING = Sampling(every_entry_up_to=0, entries=0, directions=2)
# Wider steps than usual: a parameter far from the loss moves it by so little that rounding would hide it.
EPSILONS = (1e-3, 1e-4)
# Where a layer norm has a few units of nearly the same value, the loss bends too much within a wide step.
EPSILONS_OF_NORMS = (1e-4, 1e-5)
_NOISE = 3  # the seed of dropout and sampled pairs: the same at every evaluation
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


class Loss(NamedTuple):
    """A training loss: the loss of one shard as a function of the parameters."""

    parameters: dict[str, Parameter]
    node: Callable[[], Node]


class Data(NamedTuple):
    """Labelled sentences, and the other arguments of an estimator."""

    X: list[list[Any]]
    y: list[list[str]]
    arguments: dict[str, Any] = {}
    options: dict[str, Any] = {}


def model_checks() -> Iterator[GradientCheck]:
    for kind in (Tagger, Detector):
        for preset in presets_of(kind):
            equations = "B1 B2 E4" if kind is Detector else _EQUATIONS.get(preset, "A4 A8")
            for inputs in _known(inputs_of(kind, preset)):
                title = f"{kind.KIND} {preset}, {_TITLES.get(inputs, inputs)}"
                yield row(title, equations, model(kind, preset, inputs), _examined(kind, preset, inputs))
    for preset in MultiTaskTagger._rows():
        covers = model(MultiTaskTagger, preset, BY_DEFAULT)
        yield row(f"two tasks, {preset}", _EQUATIONS.get(preset, "A4 A8"), covers, _examined_tasks(preset))
    yield row("hidden words of raw text, accurate", "E4 A7", of(MaskedWords), _examined_masking("accurate"))
    for name, value in unused_settings(TaggerConfig):
        kind, preset = (Detector, "margin") if name in _OF_DETECTORS else (Tagger, "fast")
        covers = setting(TaggerConfig, name, value)
        run = _examined(kind, preset, BY_DEFAULT, {name: value})
        yield row(f"{kind.KIND} with {name}={value}", "E9" if name == "l2" else "A12", covers, run)
    yield row("scores of given token vectors", "E6", of(ScoringNetwork.scores_of), _scores_of)
    yield row("loss of a sentence, every layer a node", "E8", of(flow.loss_graph), _examined_flow(flow.loss_graph))
    for mode, labels in (("", None), ("labels", _LABELS[0])):
        title = f"loss of a sentence {'with given labels' if mode else 'with its own labels'}, every layer a node"
        run = _examined_flow(flow.sentence_loss, labels)
        yield row(title, "E8", of(flow.sentence_loss, mode), run)


def _known(inputs: list[str]) -> list[str]:
    """Those for which there are sentences here; a new kind of input is a gap in the list until there are."""
    return [name for name in inputs if name in SENTENCE_INPUTS]


def _examined(kind: Any, preset: str, inputs: str, settings: Mapping[str, Any] | None = None) -> Examine:
    def run(rng: Rng) -> Report:
        loss = sentence_loss(kind, preset, inputs, settings or {}, rng)
        return _report(loss.node, loss.parameters, config_of(kind, preset), rng)

    return run


def _report(loss: Callable[[], Node], parameters: dict[str, Parameter], config: TaggerConfig, rng: Rng) -> Report:
    epsilons = EPSILONS_OF_NORMS if config.encoder == "convolutions" else EPSILONS
    zero = without_gradient(config, parameters)
    return examine(loss, parameters=parameters, rng=rng, sampling=SAMPLING, epsilons=epsilons, expect_zero=zero)


def _examined_tasks(preset: str) -> Examine:
    """The sum of the losses of a batch of each of two tasks, of spans and of words."""

    def run(rng: Rng) -> Report:
        estimator = MultiTaskTagger(preset=preset, **small_sizes(config_of(MultiTaskTagger, preset)))
        cases = [["upper" if word.istitle() else "lower" for word in words] for words in _WORDS]
        fitting = estimator.fitting(_WORDS, {"names": _LABELS, "case": cases})
        network = _without_kinks(fitting.model.network, rng)
        shards = [examples.batch(np.arange(len(_WORDS))).shards[0] for examples in fitting.training_sets.values()]

        def loss() -> Node:
            losses: list[Node] = [network.loss(shard, rng=np.random.default_rng(_NOISE)) for shard in shards]
            return reduce(graph.add, losses)

        return _report(loss, network.parameters(), config_of(MultiTaskTagger, preset), rng)

    return run


def _examined_masking(preset: str) -> Examine:
    """The loss of an encoder that predicts hidden words: their clusters, capitals and ends."""

    def run(rng: Rng) -> Report:
        with TemporaryDirectory() as folder:
            data = _with_lexicons(Path(folder))
            tagger = Tagger(preset=preset, **data.arguments, **small_sizes(config_of(Tagger, preset)))
            fitting = tagger.pretraining(data.X * 12)  # rare words would be unknown
        model = _without_kinks(fitting.training.model, rng)
        shards = fitting.training.batches(0, rng)[0].shards

        def loss() -> Node:
            losses: list[Node] = [model.loss(shard, rng=np.random.default_rng(_NOISE)) for shard in shards]
            return reduce(graph.add, losses)

        # Maps to labels are not learned from raw text.
        learnt = {name: p for name, p in model.parameters().items() if not re.search(r"\.(output|crf)", name)}
        return _report(loss, learnt, config_of(Tagger, preset), rng)

    return run


def _examined_flow(loss: Callable[..., Node], labels: list[str] | None = None) -> Examine:
    """The flow graph of a fitted tagger's loss on one sentence."""

    def run(rng: Rng) -> Report:
        sizes = small_sizes(config_of(Tagger, "fast")) | {"activation": "tanh", "epochs": 1}
        tagger = Tagger(preset="fast", **sizes).fit(_WORDS, _LABELS)
        network = tagger.model.network
        example = flow.sentence_example(tagger, _WORDS[0], _LABELS[0])

        def node() -> Node:
            return loss(network, example) if loss is flow.loss_graph else loss(tagger, _WORDS[0], labels)

        return examine(node, parameters=network.parameters(), rng=rng, sampling=SAMPLING, epsilons=EPSILONS)

    return run


def sentence_loss(kind: Any, preset: str, inputs: str, settings: Mapping[str, Any], rng: Rng) -> Loss:
    """The loss of a model's first batch, as ``fit`` begins with it."""
    with TemporaryDirectory() as folder:
        data = SENTENCE_INPUTS[inputs](Path(folder))
        label = {"label": "PER"} if kind is Detector else {}
        sizes = small_sizes(config_of(kind, preset))
        estimator = kind(preset=preset, **label, **data.arguments, **{**sizes, **settings})
        return first_loss(estimator.fitting(data.X, data.y, **data.options), rng)


def first_loss(fitting: Any, rng: Rng) -> Loss:
    """The loss of the first shard of the first epoch."""
    network = _without_kinks(fitting.model.network, rng)
    shard = fitting.training.batches(0, rng)[0].shards[0]
    return Loss(network.parameters(), lambda: network.loss(shard, rng=np.random.default_rng(_NOISE)))


def _without_kinks(network: Any, rng: Rng) -> Any:
    """The network with other values than 0: a bias of 0 puts a ReLU whose inputs were all dropped just at its kink."""
    for parameter in network.parameters().values():
        if not parameter.value.any():
            parameter.value = rng.normal(scale=0.3, size=parameter.shape).astype(parameter.dtype)
    return network


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


def _forms(folder: Path) -> Data:
    return Data(_WORDS, _LABELS)


def _with_columns(folder: Path) -> Data:
    return Data([[(word, "NNP" if word.istitle() else "X") for word in words] for words in _WORDS], _LABELS)


def _with_gazetteer(folder: Path) -> Data:
    path = folder / "names.txt"
    path.write_text("PER\tAnna Bell\nLOC\tOslo\n", encoding="utf8")
    return Data(_WORDS, _LABELS, {"gazetteers": [path]})


def _with_lexicons(folder: Path) -> Data:
    path = folder / "clusters.txt"
    path.write_text("0000\tAnna\n0001\tOslo\n11\tlives\n", encoding="utf8")
    return Data(_WORDS, _LABELS, {"clusters": path}, {})


def _with_vectors(folder: Path) -> Data:
    return Data(_WORDS, _LABELS, {"vectors": vector_file(folder)})


def _with_named_features(folder: Path) -> Data:
    """Dicts: a string, a number, a list and, at one token, nothing but the word."""
    X = [
        [
            {"word": word, "title": word.istitle(), "length": len(word) / 4, "first": [word[0], f"{t}"]}
            for t, word in enumerate(words)
        ]
        for words in _WORDS[:-1]
    ]
    return Data([*X, [{"word": word} for word in _WORDS[-1]]], _LABELS, {"word_key": "word"})


def _with_partial_labels(folder: Path) -> Data:
    """A token of which nothing is known, and one of two classes."""
    labels = [["B-PER", "I-PER", "?", "O", "PER|LOC"], *_LABELS[1:3], ["O|B-PER", "B-PER", "?"]]
    return Data(_WORDS, labels, options={"partial": True})


def vector_file(folder: Path) -> Path:
    """Vectors of some words of the sentences here, and of the trees in ``trees.py``."""
    path = folder / "vectors.txt"
    lines = ["anna 0.5 -1", "oslo 0.1 2", "lives -0.3 0.4", "not 0.7 0.2", "good -0.4 1.1", "bad 0.9 -0.6"]
    path.write_text("\n".join(lines) + "\n", encoding="utf8")
    return path


SentenceInputs: TypeAlias = Callable[[Path], Data]
SENTENCE_INPUTS: dict[str, SentenceInputs] = {
    BY_DEFAULT: _forms,
    "use_columns": _with_columns,
    "gazetteer": _with_gazetteer,
    "lexicons": _with_lexicons,
    "vectors": _with_vectors,
    "named": _with_named_features,
    PARTIAL_LABELS: _with_partial_labels,
}


# --------------------------------------------------------------------------------------------------------- explanations


def _scores_of(rng: Rng) -> Report:
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


# ------------------------------------------------------------------------------------------------------------- raw text


def pretraining_checks() -> Iterator[GradientCheck]:
    yield row("skip-gram with negative samples", "E8", of(negative_sampling), _negative_sampling)
    yield row("ranking of windows", "E4 B2 A6", of(window_ranking), _ranking)


def _negative_sampling(rng: Rng) -> Report:
    """Also with a negative that is the true word and counts for nothing."""
    wanted = np.array([1, 0, -1, 0, 0])
    return examine(lambda X, Y: negative_sampling(X, Y, wanted), rng.normal(size=(4, 6)), rng.normal(size=(5, 6)))


def _ranking(rng: Rng) -> Report:
    """Units on all pieces of the hard tanh, windows with and without a cost."""
    shapes = {"windows": (16, 3, 4), "corrupt": (16, 4), "W": (3, 4, 5), "b": (5,), "u": (5,)}
    return examine(window_ranking, *(rng.normal(size=shape) for shape in shapes.values()))


# ---------------------------------------------------------------------------------------------------------------- trees


def tree_checks() -> Iterator[GradientCheck]:
    yield row("word vectors in the width of phrases", "D1", of(TreeNetwork.mapped), _mapped)
    for name in network.COMPOSITIONS:
        for inputs in tree_inputs():
            covers, run = model(TreeClassifier, name, inputs), _examined_tree(name, inputs, {})
            yield row(f"tree classifier {name}, {inputs}", "D1 D2 D3", covers, run)
    for name, value in unused_settings(TreeConfig):
        covers, run = setting(TreeConfig, name, value), _examined_tree("concatenation", TREES, {name: value})
        yield row(f"tree classifier with {name}={value}", "E9" if name == "l2" else "D3", covers, run)


def _mapped(rng: Rng) -> Report:
    config = configured_tree("sum", {"word_dim": 2, "hidden": 3})
    made = TreeNetwork(config, 3, word_counts=np.arange(4), vectors=None, rng=rng)
    assert made.leaf_map is not None
    return examine(made.mapped, rng.normal(size=(5, 2)), parameters=made.leaf_map.parameters())


_TREES: list[Any] = [
    ("3", ("2", "the"), ("3", ("2", "not"), ("1", "bad"))),
    ("1", ("1", ("2", "not"), ("3", "good")), ("2", ("2", "the"), ("2", "the"))),
    ("3", "good"),
]


def _examined_tree(composition: str, inputs: str, settings: Mapping[str, Any]) -> Examine:
    def run(rng: Rng) -> Report:
        loss = tree_loss(composition, inputs, settings, rng)
        return examine(loss.node, parameters=loss.parameters, rng=rng, sampling=SAMPLING, epsilons=EPSILONS)

    return run


def tree_loss(composition: str, inputs: str, settings: Mapping[str, Any], rng: Rng) -> Loss:
    """The loss of a tree classifier's first batch, as ``fit`` begins with it. ``inputs``: one of ``tree_inputs()``."""
    name, _, value = inputs.partition("=")
    chosen = {name: value == "True" if value in ("True", "False") else value} if value else {}
    with TemporaryDirectory() as folder:
        needs_vectors = inputs == "vectors" or name == "learn_vectors"
        vectors = vector_file(Path(folder)) if needs_vectors else None
        # As by default, words and phrases have one width; vectors, of width 2, need a map.
        sizes = {**small_sizes(configured_tree(composition, {})), "word_dim": 3, "hidden": 3}
        classifier = TreeClassifier(composition=composition, vectors=vectors, **{**sizes, **chosen, **settings})
        return first_loss(classifier.fitting(_TREES), rng)
