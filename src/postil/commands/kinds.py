"""What the commands do differently for each kind of model: the one place that decides."""

import argparse
import importlib
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeAlias, cast

from postil.errors import ConfigurationError
from postil.models.config import configured
from postil.models.estimator import Estimator
from postil.text import Sentence
from postil.text.output import Target

Mark: TypeAlias = Callable[[list[Sentence]], list[Sentence]]
"""Puts labels and all that the options ask for on sentences, in place."""


class Report(Protocol):
    """Scores of one model on one file."""

    def as_dict(self) -> dict[str, Any]: ...


class Kind(Protocol):
    """What the module of a kind of model offers."""

    def make(self, arguments: argparse.Namespace, parameters: dict[str, Any]) -> Any:
        """An estimator with these parameters and the kind's own options of ``postil train``."""

    def load(self, path: str, **options: Any) -> Any:
        """A whole file that such a model learns from or is scored on, with ``path`` and ``tokens``."""

    def settle(self, model: Any, file: Any, arguments: argparse.Namespace) -> None:
        """Make out what the labels of a file to be scored on leave open."""

    def evaluation(self, model: Any, file: Any) -> Report:
        """Scores for the end of a training."""

    def headline(self, found: Any) -> str:
        """``evaluation`` in one line."""

    def report(self, model: Any, name: str, file: Any) -> Report:
        """All that ``postil evaluate`` says."""

    def beside_training(self, report: Any, file: Any, train: Any) -> Report:
        """``report`` with scores apart for what the training data had and had not."""

    def show(self, report: Any) -> None:
        """``report`` on the terminal."""

    def page(self, model: Any, report: Any, name: str, file: Any) -> str:
        """``report`` and what lies behind it as an HTML page, for ``postil evaluate --report``."""

    def marker(self, model: Any, arguments: argparse.Namespace) -> Mark:
        """For ``postil tag``; options that the kind of model cannot meet are refused."""

    def write(self, marked: Iterable[Sentence], model: Any, arguments: argparse.Namespace, target: Target) -> None:
        """Sentences that ``marker`` has marked."""


# Kind of model -> module; imported when a model of the kind is used.
_MODULES = {
    "tagger": "postil.commands.tagging",
    "detector": "postil.commands.detecting",
    "tree-classifier": "postil.commands.tree_classifying",
}
# Objective -> kind of model that learns by it.
_LEARNT_BY = {"softmax": "tagger", "crf": "tagger", "margin": "detector"}


def kind_of(model: Estimator[Any, Any]) -> Kind:
    """What to do with a model."""
    return _kind(model.KIND)


def kind_to_train(preset: str, settings: dict[str, Any]) -> Kind:
    """What a preset with some settings makes."""
    return _kind(_LEARNT_BY[configured(preset, settings).objective])


def unwanted(arguments: argparse.Namespace, option: str, why: str, *, instead: str | None = None) -> None:
    """Refuse an option that has no meaning for this kind of model."""
    if getattr(arguments, option):
        raise ConfigurationError(f"--{option.replace('_', '-')}: {why}", expected=instead)


def _kind(name: str) -> Kind:
    return cast(Kind, importlib.import_module(_MODULES[name]))
