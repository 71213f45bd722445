"""The base of every estimator: scikit-learn's conventions, the fitted model, the model file."""

import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeAlias

from postil.errors import ConfigurationError, not_fitted
from postil.features.inputs import InputFeatures, Sentences
from postil.features.vectors import VectorSources
from postil.models import storage
from postil.models.config import PRESETS, TaggerConfig, configured
from postil.models.decoding.codec import LabelCodec, Tasks, known_tasks
from postil.models.model import FittedModel
from postil.models.networks.network import MAIN, SentenceNetwork, network_of
from postil.models.settings import CommonParameters, Declared, checked
from postil.text.labels.partial import Annotates, Labels
from postil.text.splitting.segmenter import Segmenter


class Estimator(Declared):
    """An estimator."""

    KIND: ClassVar[str]
    """The name of this kind of model in a model file."""
    _HAS_TASKS: ClassVar[bool] = False
    """Whether models of this kind have a head for each of several tasks."""
    _PARTS: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """The fitted estimators that its models may have inside: the name and the kind of each."""
    _PASSES: ClassVar[Mapping[str, float]] = MappingProxyType({})
    """How often an epoch goes through the sentences of each task; empty: see ``batch_shares``."""
    _LABELS: ClassVar[Any]
    """The class of its labels; its ``from_json`` reads what their ``as_json`` has written into a model file."""
    _model: FittedModel | None = None
    # Every kind of estimator has these parameters.
    vectors: VectorSources | None
    segmenter: Segmenter | None
    seed: int
    threads: int
    minutes: float | None

    @classmethod
    def _check_model(cls, model: FittedModel) -> None:
        """Refuse a model of a file that does not have what this estimator asks of it."""

    @abstractmethod
    def _configured(self, settings: Mapping[str, Any]) -> Any:
        """The config of these settings and the estimator's own parameters."""

    @classmethod
    @abstractmethod
    def _network(cls, config: Any, features: InputFeatures, labels: Mapping[str, Any], vectors: Any, rng: Any) -> Any:
        """The network for these features and the labels of each task; without ``rng`` all its parameters are zeros."""

    # -------------------------------------------------------------------------------------------- estimator rules

    def __sklearn_tags__(self) -> Any:
        """Asked by scikit-learn only, which is therefore there to be imported.

        No "classifier": scikit-learn would then stratify by y, and refuse sequences of labels.
        """
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=True), input_tags=InputTags(two_d_array=False))

    def __sklearn_is_fitted__(self) -> bool:
        return self._model is not None

    def check(self) -> None:
        """Refuse impossible parameters. ``fit`` does this too; a command does it before it reads its files."""
        self._configured(self.settings)
        for name in ("seed", "threads", "minutes"):
            checked(CommonParameters, name, getattr(self, name))
        if self.segmenter is not None:
            storage.check_segmentation(self.segmenter)
        gazetteers = getattr(self, "gazetteers", ())
        if isinstance(gazetteers, str | os.PathLike):
            raise ConfigurationError("gazetteers", expected="a list of files", got=repr(gazetteers))

    def _repr_html_(self) -> str:
        """HTML for notebooks: the data it was fitted to, its score on dev, and its labels."""
        from postil.html.fragments import fragment  # only for what is shown
        from postil.metrics.tables import Cell, Table, drawn_table, headline

        if self._model is None:
            return fragment(headline(repr(self), "", "not fitted yet"))
        data = self.model.about.get("data", {})
        size = ", ".join(f"{data[what]:,} {what}" for what in ("sentences", "trees", "tokens") if what in data)
        scores = [row["score"] for row in self.history_ if row.get("score") is not None]
        best = f"{100 * max(scores):.2f} on dev" if scores else ""
        rows: list[tuple[Cell, ...]] = [
            (task, " ".join(map(str, one.classes_))) for task, one in self.by_task().items()
        ]
        return fragment(headline(repr(self), best, size), drawn_table(Table("", ("task", "labels"), rows)))

    @property
    def config(self) -> Any:
        """The settings of the fitted model; before ``fit``, those that a training run would begin with."""
        return self._model.config if self._model is not None else self._configured(self.settings)

    @property
    def history_(self) -> list[dict[str, Any]]:
        """Epoch, mean loss and score on dev (None without dev) of every epoch."""
        history: list[dict[str, Any]] = self.model.about["training"]["history"]
        return history

    @property
    def model(self) -> FittedModel:
        """The fitted model: settings, features, network, labels, decoding; an error before ``fit``."""
        if self._model is None:
            raise not_fitted(f"this {self.KIND} is not fitted yet: call fit(X, y) first, or load a model file")
        return self._model

    def by_task(self, tasks: Tasks = None) -> dict[str, Any]:
        """The estimator of each task, or of these; a model of one task is its own, and has none to choose."""
        if self._HAS_TASKS:
            return {task: self._head(self.model.of_task(task)) for task in known_tasks(tasks, self.model.heads)}
        if tasks is not None:
            raise ConfigurationError("tasks cannot be chosen here: the model has one task")
        return {self.model.task: self}

    def _head(self, model: FittedModel) -> Any:
        """The estimator of one task, which answers with this model."""
        return self._with_model(model)

    def _with_model(self, model: FittedModel) -> Self:
        """An estimator with the same parameters that answers with this model."""
        other = type(self)(**self.get_params())
        other._model = model
        return other

    # -------------------------------------------------------------------------------------------- model file

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, atomically: it is either the old file or the new one, never a partial one."""
        storage.save(self, Path(path))

    def __getstate__(self) -> dict[str, Any]:
        state = {"parameters": self._given()}
        return state | ({"model": storage.to_bytes(self)} if self._model is not None else {})

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        type(self).__init__(self, **state["parameters"])
        if "model" in state:
            self._model = storage.from_bytes(state["model"]).model


# ------------------------------------------------------------------------- The arguments of a training run on sentences


Corpora: TypeAlias = Mapping[str, Sentences] | Sentences
"""Sentences; for several tasks those of each task, or the same for all."""
Data: TypeAlias = tuple[Sentences, Labels]


@dataclass(frozen=True)
class FitData:
    """The arguments of ``fit``: see there."""

    X: Corpora
    y: Labels | Mapping[str, Sequence[Sequence[str]]]
    dev: Data | Mapping[str, Data] | None = None
    _: KW_ONLY
    warm_start: Estimator | None = None
    freeze_encoder: bool = False
    partial: bool | None = None
    annotates: Annotates | Mapping[str, Annotates] = None
    unlabelled: Corpora | None = None
    teachers: Sequence[Any] | Mapping[str, Sequence[Any]] = ()
    checkpoint: Path | None = None
    resume: bool = False
    verbose: bool = False


# -------------------------------------------------------------------------------------------------- estimators of words


class Trainee(Estimator):
    """An estimator that learns from sentences; its ``settings`` are fields of TaggerConfig on top of a preset.

    This is what a training run needs of it; ``fit`` is in ``sentence_estimator``.
    """

    _CONFIG: ClassVar[type] = TaggerConfig
    _ROW: ClassVar[str] = "preset"
    _LABELS: ClassVar[Any] = LabelCodec
    clusters: str | os.PathLike[str] | None
    gazetteers: Sequence[str | os.PathLike[str]]
    pretrained: str | os.PathLike[str] | None
    preset: str

    @property
    def _word_key(self) -> str | None:
        """The key of the word in the feature dicts that the fitted model takes; None if it takes words."""
        key: str | None = self.model.config.word_key
        return key

    @classmethod
    def _rows(cls) -> dict[str, TaggerConfig]:
        rows = {preset: configured(preset, {}) for preset in PRESETS}
        return {preset: config for preset, config in rows.items() if config.objective != "margin"}

    def _configured(self, settings: Mapping[str, Any]) -> TaggerConfig:
        config = configured(self.preset, {"ensemble": 1, **settings} if self._HAS_TASKS else settings)
        if config.objective == "margin":
            raise ConfigurationError("objective of a tagger", expected="softmax or crf", got="margin: see Detector")
        if self._HAS_TASKS and config.ensemble > 1:
            raise ConfigurationError("an ensemble of several tasks is not supported yet", expected="ensemble=1")
        if self._HAS_TASKS and config.word_key is not None:
            raise ConfigurationError("feature dicts for several tasks are not supported yet", expected="word_key=None")
        return config

    @classmethod
    def _network(
        cls, config: TaggerConfig, features: InputFeatures, labels: Mapping[str, Any], vectors: Any, rng: Any
    ) -> SentenceNetwork:
        return network_of(config, features, labels, vectors, rng, has_tasks=cls._HAS_TASKS)

    def _by_task(self, data: FitData) -> tuple[FitData, bool]:
        """The data of each task, and whether the tasks are groups of classes."""
        if self._HAS_TASKS:
            return data, False
        given = {name: getattr(data, name) for name in ("dev", "annotates", "unlabelled")}
        of_task: dict[str, Any] = {name: {MAIN: one} for name, one in given.items() if one is not None}
        teachers: Any = {MAIN: data.teachers} if data.teachers else {}
        return replace(data, **of_task | {"X": {MAIN: data.X}, "y": {MAIN: data.y}}, teachers=teachers), False

    def _labels_of(self, y: Labels) -> Any:
        """The labels to learn, from the training labels of a task."""
        return LabelCodec.of(y)
