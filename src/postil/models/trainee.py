"""What a training on sentences gets: the arguments of ``fit``, and the estimator that is to be fitted."""

import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, TypeVar

from postil.errors import ConfigurationError
from postil.features.inputs import Token
from postil.models.config import TaggerConfig
from postil.models.estimator import Estimator
from postil.models.parts import LearntLabels, Parts, TrainedNetwork
from postil.text.labels.partial import Annotates

Labels = TypeVar("Labels", bound=LearntLabels)
Network = TypeVar("Network", bound=TrainedNetwork)

Corpora: TypeAlias = Mapping[str, Sequence[Sequence[Token]]] | Sequence[Sequence[Token]]
"""Sentences; for several tasks those of each task, or the same for all."""
Data: TypeAlias = tuple[Sequence[Sequence[Token]], Sequence[Sequence[str]]]


@dataclass(frozen=True)
class FitData:
    """The arguments of ``fit``: see there."""

    X: Corpora
    y: Sequence[Sequence[str]] | Mapping[str, Sequence[Sequence[str]]]
    dev: Data | Mapping[str, Data] | None = None
    _: KW_ONLY
    warm_start: Estimator[Any, Any] | None = None
    freeze_encoder: bool = False
    partial: bool | None = None
    annotates: Annotates | Mapping[str, Annotates] = None
    unlabelled: Corpora | None = None
    teachers: Sequence[Any] | Mapping[str, Sequence[Any]] = ()
    checkpoint: Path | None = None
    resume: bool = False
    verbose: bool = False


class Trainee(Estimator[Labels, Network]):
    """An estimator that learns from sentences; its ``settings`` are fields of TaggerConfig on top of a preset.

    This is what a training needs of it; ``fit`` is in ``sentence_estimator``.
    """

    _CONFIG: ClassVar[type] = TaggerConfig
    _ROW: ClassVar[str] = "preset"
    clusters: str | os.PathLike[str] | None
    gazetteers: Sequence[str | os.PathLike[str]]
    pretrained: str | os.PathLike[str] | None
    preset: str

    @abstractmethod
    def _labels_of(self, y: Sequence[Sequence[str]]) -> Any:
        """What is to be learnt from the training labels of a task."""

    def _check_dev(self, y: Sequence[Sequence[str]]) -> None:
        """Refuse held-out labels by which a model of this kind cannot be judged."""

    def _check_warm_start(self, known: Parts[Any, Any]) -> None:
        """Refuse to go on from a model that has learnt something else."""

    @abstractmethod
    def _head(self, parts: Parts[Any, Any]) -> Any:
        """The estimator of one task, which answers with these parts."""

    def check(self) -> None:
        super().check()
        if isinstance(self.gazetteers, str | os.PathLike):
            raise ConfigurationError("gazetteers", expected="a list of files", got=repr(self.gazetteers))
