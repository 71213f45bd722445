"""Model files of CRFsuite itself, read and never written.

    header      "lCRF", size, "FOMC", version, number of features, labels, attributes, and where each part begins
    "FEAT"      size, number, then (type, source, label, weight) of every feature; type 0 has an attribute as its
                source, type 1 a label
    "CQDB"      the names of labels, and another one those of attributes: at ``backward[i]`` stands the record of
                name i, its number, its length with the final zero, and its bytes

All numbers are little-endian, 32 bits wide, the weights 64.
"""

from typing import NamedTuple

import numpy as np

from postil.arrays import Array
from postil.errors import ModelFileError

MAGIC = b"lCRF"
_FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("label", "<u4"), ("weight", "<f8")])
_HEADER, _CHUNK = 48, 12


class CRFsuiteFile(NamedTuple):
    """The content of a file: names and features."""

    labels: list[str]
    attributes: list[str]
    features: Array  # (K,) records of type, source, label and weight, sorted

    @property
    def states(self) -> Array:
        return np.asarray(self.features[self.features["type"] == 0])

    @property
    def steps(self) -> Array:
        return np.asarray(self.features[self.features["type"] == 1])


def parsed(content: bytes, where: object) -> CRFsuiteFile:
    """Read a file; a ModelFileError where it is cut or not one of a first-order model."""
    try:
        return _parsed(content)
    except (ValueError, IndexError) as error:
        raise ModelFileError("damaged CRFsuite model", got=error, where=where) from None


def _parsed(content: bytes) -> CRFsuiteFile:
    if content[:4] != MAGIC or content[8:12] != b"FOMC" or len(content) <= _HEADER:
        raise ValueError("no complete header of a first-order model")
    counts = _numbers(content, 16, 8)
    features_at, labels_at, attributes_at = (int(place) for place in counts[3:6])
    labels, attributes = _names(content, labels_at), _names(content, attributes_at)
    number = int(_numbers(content, features_at + 8, 1)[0])
    if content[features_at : features_at + 4] != b"FEAT":
        raise ValueError("no features")
    features = np.frombuffer(content, _FEATURE, number, features_at + _CHUNK)
    found = CRFsuiteFile(labels, attributes, np.sort(features, order=["type", "source", "label"]))
    _check_range(found.states["source"], len(attributes))
    _check_range(found.steps["source"], len(labels))
    _check_range(features["label"], len(labels))
    if not np.isfinite(features["weight"]).all():
        raise ValueError("a weight is not finite")
    return found


def _check_range(ids: Array, count: int) -> None:
    if len(ids) and int(ids.max()) >= count:
        raise ValueError("a feature of an unknown name")


def _numbers(content: bytes, place: int, count: int) -> Array:
    return np.frombuffer(content, "<u4", count, place)


def _names(content: bytes, begin: int) -> list[str]:
    if content[begin : begin + 4] != b"CQDB":
        raise ValueError("no names")
    _, _, _, size, backward = (int(number) for number in _numbers(content, begin + 4, 5))
    places = _numbers(content, begin + backward, size).tolist() if size else []
    return [_name(content, begin + place) for place in places]


def _name(content: bytes, place: int) -> str:
    length = int(_numbers(content, place + 4, 1)[0])
    name = content[place + 8 : place + 8 + length - 1]
    if len(name) != length - 1:
        raise ValueError("a name is cut")
    return name.decode("utf8", errors="surrogateescape")
