"""A fitted model as one file: parameters and vocabularies as tensors, everything else as one small JSON text."""

import importlib
import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from postil import archive
from postil.arrays import Array
from postil.errors import ModelFileError
from postil.features.inputs import InputFeatures
from postil.features.vocabulary import arrays_under
from postil.features.words import WordFeatureConfig
from postil.models.answers.decoding import Decoding
from postil.models.parts import Parts, TrainedNetwork


class StoredEstimator(Protocol):
    """What a model file needs of an estimator."""

    KIND: ClassVar[str]
    parts: Any

    def get_params(self) -> dict[str, Any]: ...
    def fitted_parts(self) -> Parts[Any, Any]: ...


# Kind of model, as the file names it -> the module and the class of its estimator; imported when a file asks for it.
KINDS = {
    "tagger": ("postil.models.tagger", "Tagger"),
    "detector": ("postil.models.detector", "Detector"),
    "tree-classifier": ("postil.models.tree_classifier", "TreeClassifier"),
}


def save(estimator: StoredEstimator, path: Path) -> None:
    archive.save(path, *_content(estimator))


def to_bytes(estimator: StoredEstimator) -> bytes:
    return archive.to_bytes(*_content(estimator))


def load(path: str | os.PathLike[str]) -> Any:
    """The estimator of a model file; its arrays stay in the file and are read when they are used."""
    return _estimator(*archive.load(path), where=path)


def from_bytes(content: bytes) -> Any:
    return _estimator(*archive.from_bytes(content), where="pickled model")


def estimator_class(kind: object, where: object) -> Any:
    """The class of a kind of model."""
    if kind not in KINDS:
        raise ModelFileError("another kind of model", expected=" or ".join(KINDS), got=kind, where=where)
    module, name = KINDS[str(kind)]
    return getattr(importlib.import_module(module), name)


def _content(estimator: StoredEstimator) -> tuple[dict[str, Array], dict[str, Any]]:
    parts = estimator.fitted_parts()
    arrays = {f"parameters/{name}": parameter.value for name, parameter in parts.network.parameters().items()}
    arrays |= {f"features/{name}": array for name, array in parts.features.arrays().items()}
    if parts.network.vectors is not None:
        arrays["vectors"] = parts.network.vectors
    metadata = {
        "kind": estimator.KIND,
        "config": asdict(parts.config),
        "labelling": parts.labelling.as_json(),
        "decoding": parts.decoding.as_json(),
        "features": {"words": asdict(parts.features.words.config), "columns": len(parts.features.columns)},
        "parameters": _plain(estimator.get_params()),
        "about": parts.about,
    }
    return arrays, metadata


def _estimator(arrays: Mapping[str, Array], metadata: Mapping[str, Any], where: object) -> Any:
    kind = estimator_class(metadata.get("kind"), where)
    try:
        estimator = kind(**_with_tuples(metadata["parameters"]))
        estimator.parts = _parts(kind, arrays, metadata)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"the model file lacks a part or has a wrong one: {error}", where=where) from None
    return estimator


def _parts(kind: Any, arrays: Mapping[str, Array], metadata: Mapping[str, Any]) -> Parts[Any, Any]:
    config = kind._CONFIG(**_known(kind._CONFIG, metadata["config"]))
    labelling = kind._LABELS.from_json(metadata["labelling"])
    words = WordFeatureConfig(**_known(WordFeatureConfig, metadata["features"]["words"]))
    features = InputFeatures.from_arrays(words, metadata["features"]["columns"], arrays_under("features/", arrays))
    network = kind._network(config, features, labelling, arrays.get("vectors"), None)
    _fill(network, arrays_under("parameters/", arrays))
    return Parts(
        config=config,
        labelling=labelling,
        features=features,
        network=network,
        decoding=Decoding(**_known(Decoding, metadata.get("decoding", {}))),  # files of older versions have none
        about=dict(metadata["about"]),
    )


def _fill(network: TrainedNetwork, values: Mapping[str, Array]) -> None:
    parameters = network.parameters()
    if set(parameters) != set(values):
        raise KeyError(f"parameters {sorted(set(parameters) ^ set(values))}")
    for name, parameter in parameters.items():
        if parameter.shape != values[name].shape:
            raise ValueError(f"parameter {name} has shape {values[name].shape}, expected {parameter.shape}")
        parameter.value = values[name]


def _known(kind: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a dataclass. Fields that this version does not know are an error."""
    names = {field.name for field in fields(kind)}
    unknown = set(values) - names
    if unknown:
        raise KeyError(f"unknown settings {sorted(unknown)}")
    return _with_tuples(values)


def _with_tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    """JSON has no tuples: lists become tuples again."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def _plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of the estimator in JSON's types."""

    def plain(value: Any) -> Any:
        if isinstance(value, Path):
            return str(value)
        if isinstance(value, tuple | list):
            return [plain(part) for part in value]
        return value.item() if isinstance(value, np.generic) else value

    return {name: plain(value) for name, value in parameters.items()}
