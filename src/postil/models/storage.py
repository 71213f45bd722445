"""A fitted model as one file: parameters, vocabularies and tables as arrays, everything else as one small JSON object.

The layout is described in docs/internals/model-file.md. A file is checked completely before anything is built from it:
whoever wrote it, it makes a model that answers, or one clear error. What a thing may consist of is checked where the
thing is: vocabularies, gazetteers and labels have ``from_arrays`` or ``from_json``, settings check themselves.
"""

import importlib
import os
import re
import sys
import warnings
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import asdict, fields, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from postil import archive
from postil.archive import is_model_file
from postil.arrays import Array, arrays_under, describe
from postil.errors import (
    ConfigurationError,
    ModelFileError,
    NumericalError,
    PostilError,
    UnicodeVersionWarning,
    format_message,
    similar,
)
from postil.features.inputs import InputFeatures
from postil.features.vectors import CodedVectors
from postil.features.vocabulary import prefixed
from postil.features.words import WordFeatureConfig
from postil.kernels.characters import frozen
from postil.models.decoding.codec import LabelCodec, checked_tasks
from postil.models.decoding.distribution import Decoding, lowest_probabilities
from postil.models.model import BY_CHARACTERS, GROUPS, INPUT, TASKS, FittedModel, new_model
from postil.models.networks.network import MAIN
from postil.text.splitting.segmenter import LEARNED, Segmenter

# Kind of model, as the file names it -> the module and the class of its estimator; imported when a file asks for it.
KINDS = {
    "tagger": ("postil.models.tagger", "Tagger"),
    "multi-task-tagger": ("postil.models.multi_task_tagger", "MultiTaskTagger"),
    "detector": ("postil.models.detector", "Detector"),
    "role-labeller": ("postil.models.role_labeller", "RoleLabeller"),
    "tree-classifier": ("postil.models.tree_classifier", "TreeClassifier"),
}
NEEDS: tuple[str, ...] = ("rules", "packed", "parts")
"""Abilities that a file may ask of its reader, by name; a reader refuses a file that asks for one it lacks."""
RETIRED: frozenset[str] = frozenset()
"""Settings that files of older versions have and that mean nothing any more: ignored."""
_OF_HEAD = ("output", "crf.")  # how the names of a head's parameters begin; the others are shared by all heads
_MEMBER = re.compile(r"member\d+\.")  # of an ensemble
_TABLE = "features/words/vector/table"  # large, and only some rows are needed: these are checked when they are used
_CODED = "features/words/vector/coded/"  # instead of the table
_PACKED = ("/lengths", "/distinct", "/basis")  # how the names of packed arrays end
_NETWORK = "network/"  # parameters that all heads share
_RULES = "rules/"  # and the name of a head
_PARTS = "parts/"  # and the name of an estimator inside the model: the array is a model file
_KEYS = {"kind", "config", "features", "heads", "estimator", "about", "needs"}
_SEGMENTATION, _PATTERNS = "segmentation", "extra_patterns"
_BORROWED = "borrowed"  # estimators inside that are tasks of the model around this one
_OPTIONAL_KEYS = {"unicode", TASKS, _SEGMENTATION, _BORROWED}
# How a training run ran, not what it learned: the same data and seed give the same file.
_NOT_STORED = ("threads", "minutes", "segmenter", "groups")  # the segmenter has its own key, groups are in about
_LONGEST_MESSAGE = 400  # characters
_MOST_OF_RULES, _LONGEST_OF_RULES = 40_000, 40  # characters in the lists of a segmenter, and in one word of them


def save(estimator: Any, path: Path) -> None:
    archive.save(path, *_content(estimator))


def to_bytes(
    estimator: Any, around: FittedModel | None = None, arrays: Mapping[str, Array] = MappingProxyType({})
) -> bytes:
    """The file of a model; ``around``: the model that it will be inside of, and its ``arrays``."""
    return archive.to_bytes(*_content(estimator, around), arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model from a file, or an installed model by its name.

    Parameters
    ----------
    path : str or path
        A model file, or a name such as "english". Arrays stay in the file and are read when they are used.

    Returns
    -------
    Tagger, MultiTaskTagger, Detector, RoleLabeller or TreeClassifier
    """
    path = located(path)
    if not path.exists():
        raise ModelFileError(f"no such model file{hint(str(path))}", where=path)
    return _estimator(*archive.load(path, by_rows=_TABLE.__eq__), where=path)


def from_bytes(content: bytes) -> Any:
    return _estimator(*archive.from_bytes(content, "pickled model", by_rows=_TABLE.__eq__), where="pickled model")


# -------------------------------------------------------------------------------------------------------------- writing


def _content(estimator: Any, around: FittedModel | None = None) -> tuple[dict[str, Array], dict[str, Any]]:
    model = estimator.model
    tasks = {} if around is None else {id(head): task for task, head in around.heads.items()}
    borrowed = {
        name: tasks[id(part.model.head)]
        for name, part in model.parts.items()
        if len(part.model.heads) == 1 and id(part.model.head) in tasks
    }
    for name, parameter in model.network.parameters().items():
        if not _is_finite(parameter.value):
            raise NumericalError("the model cannot be saved", expected="finite parameters", got="others", where=name)
    heads = model.heads if estimator._HAS_TASKS else {MAIN: model.heads[model.task]}
    arrays = _arrays(model)
    for name, array in arrays.items():
        if name.startswith(_NETWORK):  # in half precision, if that changes no number
            with np.errstate(over="ignore"):
                half = array.astype(np.float16)
            arrays[name] = half if np.array_equal(half, array) else array
    arrays |= {name: np.frombuffer(written(arrays), np.uint8) for name, written in _files(model, borrowed).items()}
    abilities = {
        "parts": bool(model.parts),
        "rules": any(head.voters is not None for head in heads.values()),
        "packed": any(name.endswith(_PACKED) for name in arrays),
    }
    metadata = {
        "kind": estimator.KIND,
        "config": asdict(model.config),
        "features": {"columns": len(model.features.columns)},
        "heads": {
            task: {"labels": head.codec.as_json(), "decoding": head.decoding.as_json()} for task, head in heads.items()
        },
        "estimator": {name: _plain(value) for name, value in estimator._given().items() if name not in _NOT_STORED},
        "about": model.about,
        "needs": [name for name in NEEDS if abilities[name]],
    }
    if borrowed:
        metadata[_BORROWED] = borrowed
    if model.features.unicode is not None:
        metadata["unicode"] = model.features.unicode
    if estimator._HAS_TASKS:  # in their order, which JSON objects have not
        metadata[TASKS] = list(heads)
    if model.segmentation is not None:
        check_segmentation(model.segmenter)
        metadata[_SEGMENTATION] = model.segmenter.to_dict()
    return arrays, metadata


def _arrays(model: FittedModel) -> dict[str, Any]:
    """Everything that a model file holds as an array, by its name there, but ``_files``."""
    arrays = {_parameter_name(name): parameter.value for name, parameter in model.network.parameters().items()}
    arrays |= {f"features/{name}": array for name, array in model.features.arrays().items()}
    if isinstance(model.network.vectors, CodedVectors):
        arrays |= prefixed(_CODED, model.network.vectors.arrays())
    elif model.network.vectors is not None:
        arrays[_TABLE] = model.network.vectors
    return arrays


def _files(model: FittedModel, borrowed: Container[str] = ()) -> dict[str, Callable[[Mapping[str, Array]], bytes]]:
    """The arrays that are files themselves, by name: models inside the model, and rules; made of the other arrays."""
    found: dict[str, Any] = {}
    if model.segmentation is not None and model.segmentation.learned is not None:
        found[_SEGMENTATION] = partial(_alone, model.segmentation.learned)
    for name, head in model.heads.items():
        if head.voters is not None:
            found[_RULES + (MAIN if head.network is model.network else name)] = partial(_alone, head.voters)
    for name, part in model.parts.items():
        if name not in borrowed:
            found[_PARTS + name] = partial(to_bytes, part, model)
    return found


def _alone(part: Any, _: object) -> bytes:
    """The file of a part that shares nothing with the model."""
    content: bytes = part.to_bytes()
    return content


def _parameter_name(name: str) -> str:
    if name.startswith("heads."):
        _, task, of_head = name.split(".", 2)
        return f"heads/{task}/{of_head}"
    of_member = _MEMBER.sub("", name)
    return f"heads/{MAIN}/{name}" if of_member.startswith(_OF_HEAD) else _NETWORK + name


def _plain(value: Any) -> Any:
    """A parameter of the estimator in JSON's types."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value


# -------------------------------------------------------------------------------------------------------------- reading


def _estimator(arrays: archive.Arrays, metadata: Mapping[str, Any], where: object, around: Any = None) -> Any:
    """The estimator, or a ModelFileError that names the first thing that is wrong; ``around``: one that it is in."""
    name = metadata.get("kind")
    if not isinstance(name, str) or name not in KINDS:
        raise ModelFileError("another kind of model", expected=" or ".join(KINDS), got=repr(name)[:80], where=where)
    module, class_name = KINDS[name]
    kind = getattr(importlib.import_module(module), class_name)
    try:
        _check_keys(metadata)
        model = _model(kind, arrays, metadata)
        parameters = _with_tuples(_mapping(metadata, "estimator"))
        if "segmenter" in parameters:
            raise ModelFileError("parameters of the estimator", expected=f"no segmenter: it is in {_SEGMENTATION}")
        estimator = kind(**parameters, segmenter=model.segmentation)
        # Whether an estimator could be built again with the stored parameters.
        for name, value in estimator.get_params().items():
            if name in _PARAMETERS:
                _check_shape(value, _PARAMETERS[name], f"parameter {name}", whole=True)
            if isinstance(value, tuple) and name in _PARAMETERS and not all(isinstance(path, str) for path in value):
                raise ConfigurationError(name, expected="names of files", got=repr(value)[:80])
        estimator.check()
        if "label" in parameters and [parameters["label"]] != model.codec.labels:
            label, got = model.codec.labels[0], repr(parameters["label"])[:80]
            raise ConfigurationError("label", expected=repr(label), got=got)
        estimator._model = model
        model.parts.update(_parts(estimator, arrays, metadata, around))
        kind._check_model(model)
        unknown = sorted(set(arrays) - set(_arrays(model)) - set(_files(model)))
        if unknown:
            raise ModelFileError("unknown arrays", expected="those of this kind of model", got=", ".join(unknown)[:200])
    except PostilError as error:
        message = format_message(error.what, error.expected, error.got)
    except (TypeError, LookupError, ValueError, ArithmeticError, RecursionError, MemoryError) as error:
        message = f"it lacks a part or has a wrong one: {error}"
    else:
        version, here = model.features.unicode, frozen().version_name
        # Files of before the tables were frozen have no version: those of Python were used, whatever they were.
        if version not in (None, here):
            what = f"{where}: the model was trained with the tables of Unicode {version}, Postil has those of {here}"
            what += ": words with characters that changed may have other features"
            warnings.warn(what, UnicodeVersionWarning, stacklevel=2)
        return estimator
    raise ModelFileError(f"not a valid model: {message[:_LONGEST_MESSAGE]}", where=where)


def _model(kind: Any, arrays: archive.Arrays, metadata: Mapping[str, Any]) -> FittedModel:
    config = kind._CONFIG(**_known(kind._CONFIG, _mapping(metadata, "config")))
    labels: dict[str, Any] = {}
    decodings: dict[str, Decoding] = {}
    heads, names = _mapping(metadata, "heads"), [MAIN]
    tasks = metadata.get(TASKS)  # in their order
    if isinstance(tasks, list) != kind._HAS_TASKS or not isinstance(tasks, list | None):
        expected = "a list of names" if kind._HAS_TASKS else "none in a model with one task"
        raise ModelFileError(TASKS, expected=expected, got=repr(tasks)[:80])
    if isinstance(tasks, list):
        names = checked_tasks(tasks)
    if sorted(heads) != sorted(names) or any(set(_mapping(heads, name)) != {"labels", "decoding"} for name in names):
        expected = f"{', '.join(map(repr, names))[:80]}, each with labels and decoding"
        raise ModelFileError("wrong heads", expected=expected, got=repr(heads)[:80])
    for name in names:
        head = heads[name]
        labels[name] = kind._LABELS.from_json(_mapping(head, "labels"))
        decodings[name] = Decoding(**_known(Decoding, _mapping(head, "decoding")))
        if isinstance(labels[name], LabelCodec):
            lowest_probabilities(decodings[name].thresholds, labels[name])
    about = dict(_mapping(metadata, "about"))
    _check_shape(about, _ABOUT, "about", whole=False)
    for task, classes in about.get(GROUPS, {}).items() if kind._HAS_TASKS else ():
        if task not in labels or classes != list(labels[task].classes):
            raise ModelFileError("groups of classes", expected="the tasks and their classes", got=repr(task)[:80])
    for epoch in about.get("training", {}).get("history", []):
        _check_shape(epoch, _EPOCH, "history of the training", whole=True)
    coded = arrays_under(_CODED, arrays)
    # the fixed vectors: codes, or a table in single or half precision; None if there are none
    vectors: Any = CodedVectors.from_arrays(coded) if coded else arrays.get(_TABLE)
    if vectors is not None and not coded:
        is_table = vectors.ndim == 2 and vectors.shape[1]
        if not is_table or vectors.dtype not in (np.dtype(np.float32), np.dtype(np.float16)):
            got = f"{vectors.dtype} {vectors.shape}"
            raise ModelFileError("word vectors", expected="a table of float32 or float16", got=got)
    features = _features(config, arrays, _mapping(metadata, "features"), vectors, metadata.get("unicode"))
    for name, of_head in labels.items():
        # Some array of a head has a row for each label: nothing that grows with their square is made before this.
        L, outputs = len(of_head.labels), arrays_under(f"heads/{name}/", arrays)
        sizes = {array.shape[0] for array in outputs.values() if array.ndim}
        if L not in sizes:
            raise ModelFileError("wrong number of labels", expected=f"{L} rows of the output", got=sorted(sizes)[:8])
    segmentation = _segmentation(arrays, metadata, about)
    model = new_model(kind._network, config, labels, features, vectors, None, decodings, about, segmentation)
    for name, parameter in model.network.parameters().items():  # those in half precision are widened
        value = arrays.get(_parameter_name(name))
        if value is None:
            raise ModelFileError("a parameter is missing", expected=_parameter_name(name))
        if value.shape != parameter.shape or value.dtype not in (parameter.dtype, np.dtype(np.float16)):
            expected = f"{parameter.dtype} {parameter.shape}"
            raise ModelFileError(f"parameter {name}", expected=expected, got=describe(value))
        if not _is_finite(value):
            raise ModelFileError(f"parameter {name}", expected="finite numbers", got="others")
        parameter.value = value.astype(parameter.dtype, copy=False)
        parameter.value.flags.writeable = False
    for name, of_head in model.heads.items():
        rules = arrays.get(_RULES + name)
        if rules is not None and isinstance(of_head.codec, LabelCodec):
            from postil.models.voting.reliability import Voters  # few models have rules

            if rules.dtype != np.uint8 or rules.ndim != 1:
                raise ModelFileError("rules", expected="a text", got=describe(rules))
            of_head.voters = Voters.from_bytes(rules.tobytes(), of_head.codec)
    return model


def _parts(estimator: Any, arrays: archive.Arrays, metadata: Mapping[str, Any], around: Any) -> dict[str, Any]:
    """The estimators inside a model: separate files, or tasks of the model ``around``."""
    parts, tasks = {}, _mapping(metadata, _BORROWED) if _BORROWED in metadata else {}
    if not set(tasks) <= set(estimator._PARTS):
        raise ModelFileError(_BORROWED, expected=" or ".join(estimator._PARTS) or "none", got=repr(tasks)[:80])
    for name, kind in estimator._PARTS.items():
        content, where = arrays.get(_PARTS + name), f"the {name} inside"
        if name in tasks:
            if content is not None or around is None or tasks[name] not in around.tasks:
                raise ModelFileError(where, expected="a task of the model around it", got=repr(tasks[name])[:80])
            parts[name] = around.by_task([tasks[name]])[tasks[name]]
        elif content is not None:
            if content.dtype != np.uint8 or content.ndim != 1:
                raise ModelFileError(where, expected="the file of a model as an array of bytes", got="others")
            inner = archive.from_bytes(content.data, where, by_rows=_TABLE.__eq__, around=arrays)
            if inner[1].get("kind") != kind:
                raise ModelFileError(where, expected=f"a {kind}", got=repr(inner[1].get("kind"))[:80])
            parts[name] = _estimator(*inner, where, estimator)
    return parts


def parts_of(arrays: archive.Arrays) -> dict[str, Mapping[str, Any]]:
    """The metadata of the estimators inside a model, by name; the model has been opened before."""
    named = arrays_under(_PARTS, arrays)
    return {name: archive.from_bytes(content.data, around=arrays)[1] for name, content in named.items()}


def _check_keys(metadata: Mapping[str, Any]) -> None:
    needs = metadata.get("needs")
    if not isinstance(needs, list) or not all(isinstance(name, str) for name in needs):
        raise ModelFileError("needs", expected="a list of names", got=repr(needs)[:80])
    missing = [name for name in needs if name not in NEEDS]
    if missing:
        raise ModelFileError(f"it needs {missing[0][:80]!r}, which this version of Postil does not know: update it")
    wrong = (set(metadata) - _OPTIONAL_KEYS) ^ _KEYS
    if wrong:
        raise ModelFileError("wrong metadata", expected=", ".join(sorted(_KEYS)), got=", ".join(sorted(metadata))[:200])
    unicode = metadata.get("unicode", "15.0.0")
    if not isinstance(unicode, str) or not re.fullmatch(r"\d{1,3}\.\d{1,3}\.\d{1,3}", unicode):
        raise ModelFileError("version of Unicode", expected="such as 15.0.0", got=repr(unicode)[:80])


def _mapping(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = content.get(name)
    if not isinstance(found, dict):
        raise ModelFileError(name, expected="a JSON object", got=repr(found)[:80])
    return found


def _segmentation(arrays: Mapping[str, Any], metadata: Mapping[str, Any], about: Mapping[str, Any]) -> Segmenter | None:
    """The rules or the model that the file names; None: the default rules, or characters if ``about`` says so."""
    if _SEGMENTATION not in metadata:
        return None
    settings = _mapping(metadata, _SEGMENTATION)
    if settings.get("rules") == LEARNED:
        content = arrays.get(_SEGMENTATION)
        if content is None or content.ndim != 1 or content.dtype != np.uint8:
            raise ModelFileError(_SEGMENTATION, expected="the file of a model as an array of bytes", got="none")
        others = {name: value for name, value in settings.items() if name != "rules"}
        cuts = importlib.import_module("postil.models.segmentation").LearnedCuts
        return Segmenter(learned=cuts.from_file(others, np.asarray(content).tobytes()))
    if _PATTERNS in settings:  # before any of them is compiled
        raise ModelFileError(_SEGMENTATION, expected="rules without regular expressions", got=_PATTERNS)
    segmenter = Segmenter.from_dict(settings)
    check_segmentation(segmenter)
    if segmenter.characters != (about.get(INPUT) == BY_CHARACTERS):
        expected = "characters, if and only if the input of the model is characters"
        raise ModelFileError(_SEGMENTATION, expected=expected, got=str(segmenter)[:80])
    return segmenter


def check_segmentation(segmenter: object) -> None:
    """Raise if a model file cannot hold these rules: it has no regular expressions, and lists of moderate length.

    An expression from a stranger could take forever; long lists would be slow to compile and to search.
    """
    if not isinstance(segmenter, Segmenter):
        raise ConfigurationError("segmenter", expected="a postil.text.Segmenter or None", got=repr(segmenter)[:80])
    if segmenter.rules.extra_patterns:
        expected = f"rules without {_PATTERNS}: a model file has no regular expressions"
        raise ConfigurationError("segmenter of a model", expected=expected, got=repr(segmenter.rules.extra_patterns))
    words = [word for value in segmenter.to_dict().values() if isinstance(value, list) for word in value]
    size = sum(len(word) * (word.count("|") + 1) for word in words)  # a fused word is repeated for each of its parts
    if size > _MOST_OF_RULES or max(map(len, words), default=0) > _LONGEST_OF_RULES:
        expected = f"words of at most {_LONGEST_OF_RULES} characters, {_MOST_OF_RULES:,} characters together"
        raise ConfigurationError("lists of words of a segmenter", expected=expected, got=f"{len(words)} words")


def _features(
    config: Any, arrays: Mapping[str, Any], metadata: Mapping[str, Any], vectors: Any, unicode: str | None
) -> InputFeatures:
    if set(metadata) != {"columns"}:
        raise ModelFileError("wrong features", expected="columns", got=", ".join(sorted(metadata))[:80])
    words = replace(WordFeatureConfig.of(config), vector_dim=0 if vectors is None else vectors.shape[1])
    stored = arrays_under("features/", {n: array for n, array in arrays.items() if not n.startswith((_TABLE, _CODED))})
    features = InputFeatures.from_arrays(words, metadata["columns"], stored, unicode)
    if vectors is not None and len(vectors) != (V := len(features.words.vocabularies["vector"])):
        raise ModelFileError("word vectors", expected=f"{V} rows, one for each word", got=len(vectors))
    if (getattr(config, "word_key", None) is None) != (features.named is None):
        expected = "none without word_key" if features.named is not None else "their names, with word_key"
        raise ModelFileError("features of dicts", expected=expected, got="the other")
    return features


def _is_finite(array: Array) -> bool:
    """A product is several times as fast as asking every number, and finite where they all are and none is huge."""
    if array.dtype == np.float32 and array.flags.c_contiguous:
        flat = array.reshape(-1)
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(np.dot(flat, flat)):
                return True
    return bool(np.isfinite(array).all())


_JSON_NAMES = {str: "a text", int: "a whole number", float: "a number", list: "a list", tuple: "a list"}
_JSON_NAMES[type(None)] = "null"
# What is shown of a model's origin; its other entries are nobody's concern here.
_NUMBER = (int, float)
_ABOUT: dict[str, Any] = {
    "preset": str,
    "composition": str,
    "input": str,
    GROUPS: {},
    "seed": int,
    "data": {"sentences": int, "tokens": int},
    "versions": {"postil": str, "numpy": str},
    "training": {"epochs": int, "best_epoch": int, "dev_score": (*_NUMBER, type(None)), "history": list},
}
_EPOCH: dict[str, Any] = {"epoch": int, "loss": _NUMBER, "score": (*_NUMBER, type(None))}


def _check_shape(value: Any, expected: Any, where: str, *, whole: bool) -> None:
    """Whether a JSON value is of a type; for an object, whether its known entries are, ``whole``: and all are there."""
    if not isinstance(expected, dict):
        if not isinstance(value, expected) or isinstance(value, bool) or (type(value) is int and abs(value) >= 2**63):
            kinds = expected if isinstance(expected, tuple) else (expected,)
            names = " or ".join(_JSON_NAMES[kind] for kind in kinds)
            raise ModelFileError(where, expected=names, got=repr(value)[:80])
        return
    if not isinstance(value, dict) or (whole and not set(expected) <= set(value)):
        raise ModelFileError(where, expected="a JSON object with " + ", ".join(expected), got=repr(value)[:80])
    for name, kind in expected.items():
        if name in value:
            _check_shape(value[name], kind, f"{where}, {name}", whole=isinstance(kind, dict))


_PARAMETERS: dict[str, Any] = {
    "preset": str,
    "composition": str,
    "label": str,
    "vectors": (str, tuple, type(None)),
    "clusters": (str, type(None)),
    "gazetteers": tuple,
    "pretrained": (str, type(None)),
    "seed": int,
}


def _known(kind: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of fields of a dataclass. Unknown ones are an error; those that came later have their default."""
    unknown = set(values) - {field.name for field in fields(kind)} - RETIRED
    if unknown:
        raise ModelFileError("unknown settings", got=", ".join(sorted(unknown))[:200])
    return _with_tuples({name: value for name, value in values.items() if name not in RETIRED})


def _with_tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    """JSON has no tuples: lists become tuples again."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


# -------------------------------------------------------------------------------- Models that are installed as packages
#
#     [project.entry-points."postil.models"]
#     english = "postil_english:MODEL"
#
# The name is what users say, the object is the path of the model file. ``importlib.metadata`` finds entry points too,
# but takes longer to import than a model takes to load. So the folders of ``sys.path`` are looked through here, and
# it is asked only about what they do not have (packages in zip files, finders of other tools).


GROUP = "postil.models"
ENGLISH = "english"
"""The model that commands use if none is named."""
_ENDINGS = (".dist-info", ".egg-info")


def installed_models() -> dict[str, str]:
    """Name of each installed model -> ``module:object`` that is the path of its file. The first on the path counts."""
    found: dict[str, str] = {}
    for text in _entry_point_files():
        section = ""
        for line in map(str.strip, text.splitlines() if f"[{GROUP}]" in text else ()):
            name, equals, target = line.partition("=")
            if line.startswith("["):
                section = line.strip("[]")
            elif section == GROUP and equals and not line.startswith("#"):
                found.setdefault(name.strip(), target.strip())
    return found


def installed_path(name: str) -> Path | None:
    """The file of an installed model; None if none of that name is installed."""
    target = installed_models().get(name)
    if target is None:
        from importlib.metadata import entry_points

        target = next((point.value for point in entry_points(group=GROUP, name=name)), None)
    if target is None:
        return None
    module, _, attribute = target.partition(":")
    try:
        path = Path(getattr(importlib.import_module(module), attribute))
    except (ImportError, AttributeError, TypeError) as error:
        raise ConfigurationError(f"the installed model {name!r} is broken", got=error, where=target) from None
    if not path.is_file():
        raise ConfigurationError(f"the installed model {name!r} is broken", expected="a model file", where=path)
    return path


def located(model: str | os.PathLike[str]) -> Path:
    """The path of a model: a model file, or else the file of the installed model of that name."""
    if isinstance(model, str) and is_name(model) and not is_model_file(model):
        return installed_path(model) or Path(model)
    return Path(model)


def misspelt(text: str) -> str:
    """The text in quotes, and the name of an installed model that was perhaps meant, for messages."""
    return repr(text) + hint(text)


def hint(text: str) -> str:
    """``; did you mean NAME?`` if the name of an installed model is close to the text, otherwise nothing."""
    return similar(text, installed_models()) if is_name(text) else ""


def is_name(text: str) -> bool:
    """Whether a text could be the name of an installed model: no path, no sentence."""
    return re.fullmatch(r"[\w-]+", text) is not None


def _entry_point_files() -> Iterator[str]:
    for folder in dict.fromkeys(sys.path):
        try:
            names = sorted(os.listdir(folder or "."))  # noqa: PTH208
        except OSError:  # zip files, folders that are not there
            continue
        for name in names:
            if name.endswith(_ENDINGS):
                try:
                    yield Path(folder, name, "entry_points.txt").read_text("utf-8")
                except (OSError, UnicodeDecodeError):
                    continue
