"""What raw text taught, in one file: word vectors and word clusters, each as its own arrays."""

import os
from collections.abc import Callable, Mapping
from typing import TypeVar

from postil import archive
from postil.arrays import Array
from postil.errors import ModelFileError
from postil.features.vocabulary import arrays_under

PARTS = ("vectors", "clusters")
_KIND = "pretrained"
_T = TypeVar("_T")


def save_pretrained(path: str | os.PathLike[str], **parts: Mapping[str, Array]) -> None:
    """Write the file that ``postil train --pretrained`` takes, beside its place, and rename it."""
    arrays = {f"{part}/{name}": array for part in PARTS for name, array in parts[part].items()}
    archive.save(path, arrays, {"kind": _KIND})


def holds_model(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a model, with vectors and clusters inside, rather than vectors and clusters alone."""
    _, metadata = archive.load(path)
    return metadata.get("kind") != _KIND


def load_part(path: str | os.PathLike[str], part: str, made: Callable[[Mapping[str, Array]], _T]) -> _T:
    """What ``made`` makes of the arrays of a part, which it checks."""
    arrays, metadata = archive.load(path)
    if metadata.get("kind") != _KIND:
        raise ModelFileError("not a file of `postil pretrain --with-clusters`", where=path)
    try:
        return made(arrays_under(f"{part}/", arrays))
    except ModelFileError as error:
        raise ModelFileError(str(error), where=path) from None
