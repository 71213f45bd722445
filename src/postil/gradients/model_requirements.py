"""What must be checked of the estimators: every preset with every kind of input, and every setting no preset uses."""

import inspect
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, get_args, get_type_hints

from postil.errors import ConfigurationError
from postil.features.inputs import InputFeatures
from postil.models import PRESETS, MultiTaskTagger, TaggerConfig, TreeClassifier, TreeConfig, tree_config
from postil.models.config import configured
from postil.models.sentence_estimator import SentenceEstimator
from postil.models.settings import rules
from postil.network import COMPOSITIONS

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


def sentence_estimators(base: Any = SentenceEstimator) -> list[type[SentenceEstimator[Any, Any]]]:
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


def presets_of(estimator: type[SentenceEstimator[Any, Any]]) -> list[str]:
    """The presets that a kind of model can be made of."""
    return [preset for preset in PRESETS if _is_possible(estimator, preset)]


def _is_possible(estimator: type[SentenceEstimator[Any, Any]], preset: str) -> bool:
    try:
        config_of(estimator, preset)
    except ConfigurationError:
        return False
    return True


def config_of(estimator: Any, preset: str) -> TaggerConfig:
    """The settings of a model of this kind and preset; an error where there is none."""
    label = {"label": "PER"} if "label" in inspect.signature(estimator).parameters else {}
    config: TaggerConfig = estimator(preset=preset, **label).config
    return config


def inputs_of(estimator: type[SentenceEstimator[Any, Any]], preset: str) -> list[str]:
    """All kinds of input; only the default one where a kind of model puts its own objective in place of the preset's.

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
    """Trees as they are learnt by default; with vectors, learnt or fixed; with the loss elsewhere or weighted."""
    switches = [f"{name}={not default}" for name, default in _switches(TreeConfig)]
    losses = [f"loss={name}" for name in tree_config.LOSSES if name != TreeConfig.loss]
    return [TREES, "vectors", *switches, *losses, f"class_weights={tree_config.BALANCED}"]


def _switches(config: Any) -> list[tuple[str, Any]]:
    return [(field.name, field.default) for field in fields(config) if get_type_hints(config)[field.name] is bool]


# ------------------------------------------------------------------------------------------------ settings


def unused_settings(config: type) -> Iterator[tuple[str, Any]]:
    """(name, value) of settings that change the loss and that no preset has: each needs a check of its own.

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
    """A value of a setting that is 0 in every preset: 2 where it counts something."""
    return 2 if get_type_hints(config)[name] is int else 0.01


def _configs(config: type) -> list[Any]:
    if config is TreeConfig:
        return [tree_config.configured_tree(composition, {}) for composition in COMPOSITIONS]
    return [config_of(kind, preset) for kind in sentence_estimators() for preset in presets_of(kind)]
