"""What every estimator shares: scikit-learn's rules, the fitted parts, the model file."""

import os
from abc import abstractmethod
from collections.abc import Mapping
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from postil.errors import ConfigurationError, not_fitted
from postil.features.vectors import VectorSources
from postil.models import storage
from postil.models.parts import LearntLabels, Parts, TrainedNetwork
from postil.models.settings import Declared

Labels = TypeVar("Labels", bound=LearntLabels)
Network = TypeVar("Network", bound=TrainedNetwork)


class Estimator(Declared, Generic[Labels, Network]):
    """An estimator."""

    KIND: ClassVar[str]
    """The name of this kind of model in a model file."""
    _HAS_TASKS: ClassVar[bool] = False
    """Whether models of this kind have a head for each of several tasks."""
    _LABELS: ClassVar[Any]
    """The class of its labels; its ``from_json`` reads what their ``as_json`` has written into a model file."""
    _parts: Parts[Labels, Network] | None = None
    # Every kind of estimator has these parameters.
    vectors: VectorSources | None
    seed: int
    threads: int
    minutes: float | None

    @abstractmethod
    def _configured(self, settings: Mapping[str, Any]) -> Any:
        """The config of these settings and the estimator's own parameters."""

    @staticmethod
    @abstractmethod
    def _network(config: Any, features: Any, labels: Labels, vectors: Any, rng: Any) -> Network:
        """The network for these features and labels; without ``rng`` all its parameters are zeros."""

    # -------------------------------------------------------------------------------------------- estimator rules

    def __sklearn_tags__(self) -> Any:
        """Asked by scikit-learn only, which is therefore there to be imported.

        No "classifier": scikit-learn would then stratify by y, and refuse sequences of labels.
        """
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=True), input_tags=InputTags(two_d_array=False))

    def __sklearn_is_fitted__(self) -> bool:
        return self.parts is not None

    def check(self) -> None:
        """Refuse impossible parameters. ``fit`` does this too; a command does it before it reads its files."""
        self._configured(self.settings)
        for name, smallest in (("seed", 0), ("threads", 1)):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < smallest:
                raise ConfigurationError(name, expected=f"a whole number, at least {smallest}", got=repr(value))
        if self.minutes is not None and not self.minutes > 0:
            raise ConfigurationError("minutes", expected="a positive number", got=self.minutes)

    @property
    def config(self) -> Any:
        """The settings of the fitted model; before ``fit``, those that a training would begin with."""
        return self.parts.config if self.parts is not None else self._configured(self.settings)

    @property
    def history_(self) -> list[dict[str, Any]]:
        """Epoch, mean loss and score on dev (None without dev) of every epoch of the training."""
        history: list[dict[str, Any]] = self.fitted_parts().about["training"]["history"]
        return history

    @property
    def parts(self) -> Parts[Labels, Network] | None:
        """What was learnt; None before ``fit``."""
        return self._parts

    @parts.setter
    def parts(self, parts: Parts[Labels, Network] | None) -> None:
        self._parts = parts

    def fitted_parts(self) -> Parts[Labels, Network]:
        """What was learnt; an error if nothing was."""
        if self.parts is None:
            raise not_fitted(f"this {self.KIND} is not fitted yet: call fit(X, y) first, or load a model file")
        return self.parts

    def _with_parts(self, parts: Parts[Labels, Network]) -> Self:
        """An estimator with the same parameters that answers with these parts."""
        other = type(self)(**self.get_params())
        other.parts = parts
        return other

    # -------------------------------------------------------------------------------------------- model file

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, atomically: it is either the old file or the new one, never a partial one."""
        storage.save(self, Path(path))

    def __getstate__(self) -> dict[str, Any]:
        state = {"parameters": self._given()}
        return state | ({"model": storage.to_bytes(self)} if self.parts is not None else {})

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        type(self).__init__(self, **state["parameters"])
        if "model" in state:
            self.parts = storage.from_bytes(state["model"]).parts
