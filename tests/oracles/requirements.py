"""Requirements that the list of checked gradients must cover, derived from the package itself.

A requirement is a function that returns a node, a layer, an objective or a network, in one of its modes. Modes are read
from the code: every optional argument (with and without), every switch, every choice of a table such as ACTIVATIONS.
If the data, not an argument, select the code path, the module lists the cases in ``MODES``, next to the code. Of
estimators: every preset with every kind of input, and every setting that no preset uses.
"""

import importlib
import inspect
import operator
import pkgutil
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, get_args, get_type_hints

import numpy as np

import postil
from postil.errors import ConfigurationError
from postil.gradcheck.checks import FUSED, GradientCheck, of
from postil.graph import Node, Result
from postil.models import MultiTaskTagger, TaggerConfig, TreeClassifier, TreeConfig
from postil.models.gradients import (
    BY_DEFAULT,
    inputs_of,
    model,
    sentence_estimators,
    setting,
    tree_inputs,
    unused_settings,
)
from postil.models.networks.network import network_of
from postil.network import ACTIVATIONS, COMPOSITIONS, Layer
from postil.network.layer import Finish

# Folders that use models and hold nothing differentiable themselves; a new folder is searched.
_NOT_SEARCHED = set(
    "gradcheck evaluation quality annotation reports export tagging integrations server commands __main__".split()
)
_NODES = (Node, Result)


class Mode(NamedTuple):
    """One way of calling something: with a value of ``argument`` that it ``accepts``."""

    name: str
    argument: str | None = None
    accepts: Callable[[Any], bool] = lambda value: True
    replaces_default: bool = False
    """Whether the argument must be given, so that a call with the default is impossible."""


class Requirement(NamedTuple):
    """Something differentiable in one of its modes; ``calls`` are the functions of which one must be called so."""

    name: str
    calls: tuple[Callable[..., Any], ...] = ()
    mode: Mode = Mode("")


# ------------------------------------------------------------------------------------------------ discovery


def differentiable(networks: Sequence[type] = ()) -> Iterator[Any]:
    """Functions that return a node, layers and what makes them, classes with a loss, and methods from a node to a node.

    ``networks`` are those that estimators train: their requirements are the estimators' presets.
    """
    for module in _modules():
        for name, thing in vars(module).items():
            if name.startswith("_") or getattr(thing, "__module__", None) != module.__name__:
                continue
            if inspect.isfunction(thing):
                made = thing.__annotations__.get("return")
                makes_layer = inspect.isclass(made) and issubclass(made, Layer) and not inspect.isabstract(made)
                if _returns_node(thing) or makes_layer:
                    yield thing
            elif inspect.isclass(thing):
                is_concrete = not inspect.isabstract(thing) and not getattr(thing, "_is_protocol", False)
                computes = any(_returns_node(getattr(thing, name, None)) for name in ("loss", "__call__"))
                if is_concrete and (issubclass(thing, Layer) or computes) and thing not in networks:
                    yield thing
                yield from _methods_on_nodes(thing)


def _modules() -> Iterator[types.ModuleType]:
    for info in pkgutil.walk_packages(postil.__path__, "postil."):
        folder, name = info.name.split(".")[1], info.name.rpartition(".")[2]
        if folder not in _NOT_SEARCHED and name.isidentifier():  # a library of C ends as an extension module does
            yield importlib.import_module(info.name)


def _returns_node(function: Any) -> bool:
    made = getattr(function, "__annotations__", {}).get("return")
    return any(kind in _NODES for kind in (get_args(made) if isinstance(made, types.UnionType) else (made,)))


def _methods_on_nodes(thing: type) -> Iterator[Any]:
    """Methods from a node to a node, such as the scores of given token vectors, which explanations differentiate."""
    if issubclass(thing, Node | Layer):
        return
    for name, method in vars(thing).items():
        is_public = inspect.isfunction(method) and not name.startswith("_") and name != "loss"
        if is_public and _returns_node(method):
            takes = [kind for argument, kind in method.__annotations__.items() if argument != "return"]
            if Node in takes:
                yield method


# ------------------------------------------------------------------------------------------------ modes


def requirements_of(thing: Any) -> Iterator[Requirement]:
    """``thing`` as it is called by default, and in each of its other modes."""
    calls: tuple[Callable[..., Any], ...] = (thing,)  # the functions whose arguments choose its mode
    if inspect.isclass(thing):
        own = vars(thing)
        of_class = thing.__init__ if inspect.isfunction(thing.__init__) else None
        made = [of_class, own.get("forward") or own.get("upward") or own.get("loss")]
        calls = tuple(function for function in made if function is not None)
    modes = [mode for call in calls for mode in _modes(call, thing)]
    if not any(mode.replaces_default for mode in modes):
        yield Requirement(of(thing), calls)
    for mode in modes:
        yield Requirement(of(thing, mode.name), calls, mode)
    declared = getattr(inspect.getmodule(thing), "MODES", {})
    for name in declared.get(thing.__name__, ()):
        yield Requirement(of(thing, name), calls)


def _modes(call: Callable[..., Any], thing: Any) -> Iterator[Mode]:
    """A mode for every other value of a switch or a choice, and for every optional argument that is given."""
    for name, parameter in inspect.signature(call, eval_str=True).parameters.items():
        kind, default = parameter.annotation, parameter.default
        if kind is bool:
            yield Mode(f"{name}={not default}", name, partial(operator.is_, not default))
        elif kind is str:
            others = [choice for choice in _choices(thing, name) if choice != default]
            is_needed = default is inspect.Parameter.empty
            yield from (Mode(f"{name}={choice}", name, partial(operator.eq, choice), is_needed) for choice in others)
        elif Finish in get_args(kind):
            yield from (Mode(f"{name}={activation}", name, partial(_applies, activation)) for activation in FUSED)
        elif default is None and np.random.Generator not in get_args(kind):
            yield Mode(name, name, partial(operator.is_not, None))


def _applies(activation: str, finish: Finish | None) -> bool:
    return finish is not None and finish.activation == activation


def _choices(thing: Any, argument: str) -> tuple[str, ...]:
    if argument in ("activation", "function"):
        return tuple(ACTIVATIONS)
    if argument == "normalise":
        return tuple(inspect.getmodule(thing).NORMALISATIONS)  # type: ignore[union-attr]
    got = f"{argument}: str"
    raise ConfigurationError("choices of an argument", expected="a table of them", got=got, where=of(thing))


# ------------------------------------------------------------------------------------------------ the whole list


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


def estimator_requirements() -> Iterator[str]:
    """The names of all requirements of estimators."""
    for estimator in sentence_estimators():
        for preset in estimator._rows():
            yield from (model(estimator, preset, inputs) for inputs in inputs_of(estimator, preset))
    yield from (model(MultiTaskTagger, preset, BY_DEFAULT) for preset in MultiTaskTagger._rows())
    for composition in COMPOSITIONS:
        yield from (model(TreeClassifier, composition, inputs) for inputs in tree_inputs())
    yield from (setting(TaggerConfig, name, value) for name, value in unused_settings(TaggerConfig))
    yield from (setting(TreeConfig, name, value) for name, value in unused_settings(TreeConfig))


def networks_of_estimators() -> list[type]:
    """The classes of the networks that estimators train."""
    returned = [get_type_hints(make)["return"] for make in (network_of, TreeClassifier._network)]
    networks = [network for hint in returned for network in get_args(hint) or [hint]]
    return [*networks, *(kind for network in networks for kind in network.__subclasses__())]
