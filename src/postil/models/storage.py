"""A fitted tagger as one file: parameters and vocabularies as tensors, everything else as one small JSON text."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from postil import archive
from postil.arrays import Array
from postil.errors import ModelFileError
from postil.features.inputs import InputFeatures
from postil.features.vocabulary import arrays_under
from postil.features.words import WordFeatureConfig
from postil.models.config import TaggerConfig
from postil.models.labelling import Labelling
from postil.models.network import TaggerNetwork
from postil.models.parts import TaggerParts

if TYPE_CHECKING:
    from postil.models.tagger import Tagger

KIND = "tagger"


def save(tagger: "Tagger", path: Path) -> None:
    archive.save(path, *_content(tagger))


def to_bytes(tagger: "Tagger") -> bytes:
    return archive.to_bytes(*_content(tagger))


def load(path: Path) -> "Tagger":
    """The tagger of a model file; its arrays stay in the file and are read when they are used."""
    return _tagger(*archive.load(path), where=path)


def from_bytes(content: bytes) -> "Tagger":
    return _tagger(*archive.from_bytes(content), where="pickled tagger")


def _content(tagger: "Tagger") -> tuple[dict[str, Array], dict[str, Any]]:
    parts = tagger.fitted_parts()
    arrays = {f"parameters/{name}": parameter.value for name, parameter in parts.network.parameters().items()}
    arrays |= {f"features/{name}": array for name, array in parts.features.arrays().items()}
    if parts.network.vectors is not None:
        arrays["vectors"] = parts.network.vectors
    metadata = {
        "kind": KIND,
        "config": asdict(parts.config),
        "labelling": parts.labelling.as_json(),
        "features": {"words": asdict(parts.features.words.config), "columns": len(parts.features.columns)},
        "parameters": _plain(tagger.get_params()),
        "about": parts.about,
    }
    return arrays, metadata


def _tagger(arrays: Mapping[str, Array], metadata: Mapping[str, Any], where: object) -> "Tagger":
    from postil.models.tagger import Tagger

    if metadata.get("kind") != KIND:
        raise ModelFileError("another kind of model", expected=KIND, got=metadata.get("kind"), where=where)
    try:
        tagger = Tagger(**_with_tuples(metadata["parameters"]))
        tagger.parts = _parts(arrays, metadata)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"the model file lacks a part or has a wrong one: {error}", where=where) from None
    return tagger


def _parts(arrays: Mapping[str, Array], metadata: Mapping[str, Any]) -> TaggerParts:
    config = TaggerConfig(**_known(TaggerConfig, metadata["config"]))
    labelling = Labelling(metadata["labelling"]["scheme"], tuple(metadata["labelling"]["classes"]))
    words = WordFeatureConfig(**_known(WordFeatureConfig, metadata["features"]["words"]))
    features = InputFeatures.from_arrays(words, metadata["features"]["columns"], arrays_under("features/", arrays))
    network = TaggerNetwork(
        config,
        form_sizes=features.form_sizes(),
        extra_sizes=features.extra_sizes(config.column_dim, config.gazetteer_dim),
        vectors=arrays.get("vectors"),
        word_counts=features.words.counts,
        mask=labelling.mask,
        rng=None,
    )
    _fill(network, arrays_under("parameters/", arrays))
    return TaggerParts(
        config=config, labelling=labelling, features=features, network=network, about=dict(metadata["about"])
    )


def _fill(network: TaggerNetwork, values: Mapping[str, Array]) -> None:
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
