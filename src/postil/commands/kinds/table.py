"""Differences between kinds of models in the commands: the only table that decides."""

import argparse
import importlib
from typing import Any, Protocol, cast

from postil.errors import ConfigurationError
from postil.models.config import configured
from postil.models.estimator import Estimator


class Report(Protocol):
    """Scores of one model on one file."""

    def to_dict(self) -> dict[str, Any]: ...


class Kind(Protocol):
    """The interface of the module for a kind of model."""

    def make(self, arguments: argparse.Namespace, parameters: dict[str, Any]) -> Any:
        """An estimator with these parameters and the options of ``postil train`` for this kind."""

    def load(self, path: str, **options: Any) -> Any:
        """A whole file to train or score such a model on, with ``path`` and ``tokens``."""

    def resolve_labels(self, model: Any, file: Any, arguments: argparse.Namespace) -> None:
        """Recognise unknown and alternative labels in a file to score on."""

    def evaluation(self, model: Any, file: Any) -> Report:
        """Scores for the end of a training run."""

    def headline(self, scores: Any) -> str:
        """``evaluation`` in one line."""

    def report(self, model: Any, name: str, file: Any) -> Report:
        """Everything that ``postil evaluate`` reports."""

    def with_novelty(self, report: Any, file: Any, train: Any) -> Report:
        """``report`` with separate scores for what occurs in the training data and what does not."""

    def show(self, report: Any) -> None:
        """``report`` on the terminal."""

    def page(self, model: Any, report: Any, name: str, file: Any) -> str:
        """``report`` with its details as an HTML page, for ``postil evaluate --report``."""


# Kind of model -> module; imported when a model of the kind is used.
_MODULES = {
    "tagger": "postil.commands.kinds.tagging",
    "multi-task-tagger": "postil.commands.kinds.multi_tasking",
    "detector": "postil.commands.kinds.detecting",
    "tree-classifier": "postil.commands.kinds.tree_classifying",
}
# Objective -> kind of model that is trained with it.
_TRAINED_WITH = {"softmax": "tagger", "crf": "tagger", "margin": "detector"}


def kind_of(model: Estimator) -> Kind:
    """The functions for a model."""
    return _kind(model.KIND)


def kind_to_train(preset: str, settings: dict[str, Any]) -> Kind:
    """The functions for the kind of model that a preset with some settings trains."""
    return _kind(_TRAINED_WITH[configured(preset, settings).objective])


def refuse(arguments: argparse.Namespace, option: str, why: str) -> None:
    """Raise ConfigurationError if an option is set that does not apply to the kind of model."""
    if getattr(arguments, option) not in (None, False, [], ()):
        raise ConfigurationError(f"--{option.replace('_', '-')} cannot be used here: {why}")


def _kind(name: str) -> Kind:
    return cast(Kind, importlib.import_module(_MODULES[name]))
