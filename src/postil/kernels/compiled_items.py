"""The kernels of items.c: feature dicts -> scores and labels, under a model file of CRFsuite that is read in place.

They have no twin: without a compiler, and for items that are not plain lists, dicts, strings and numbers, the general
way through ``features/named.py`` gives the same.
"""

import marshal
from typing import Any, Self, final

import numpy as np

from postil.arrays import Array
from postil.kernels.library import DOUBLES, ffi, finish, lib, pointer

_MARSHAL = 4  # the version of the format that items.c reads; every Python since 3.4 writes it
_FILE, _INTEGERS, _SMALL, _DOUBLE = map(ffi.typeof, ("crf_file *", "int64_t[]", "int32_t[]", "double *"))
_new, _unpack, _dumps, _score_items = ffi.new, ffi.unpack, marshal.dumps, lib.score_items


def item_bytes(items: list[Any] | tuple[Any, ...]) -> bytes | None:
    """A copy of items for ``CrfFile.answers``; None if they are not plain."""
    try:
        content = _dumps(items, _MARSHAL)
    except ValueError:  # objects of other classes
        return None
    return None if _score_items(ffi.NULL, content, len(content), len(items), ffi.NULL, ffi.NULL) else content


def items_of(content: bytes) -> Any:
    """The items whose copy this is."""
    return marshal.loads(content)


@final
class CrfFile:
    """A model file of CRFsuite in memory, checked completely. Threads may share it."""

    def __init__(self, content: bytes, file: Any, arrays: tuple[Array, Array, Array]) -> None:
        self._file, self._kept = file, (content, arrays)
        self.transitions = arrays[1]
        self._L = len(self.transitions)

    @classmethod
    def opened(cls, content: bytes, A: int, L: int) -> Self | None:
        """A file with A attributes and L labels; None if it is damaged, or not in the order that CRFsuite writes."""
        firsts, transitions, edge = np.empty(A + 1, np.int32), np.zeros((L, L)), np.zeros(L)
        file = _new(_FILE)
        file.edge = pointer(edge, DOUBLES)
        memory = pointer(firsts, _SMALL), pointer(transitions, DOUBLES)
        code = lib.open_crf(content, len(content), A, L, *memory, file)
        return None if code else cls(content, file, (firsts, transitions, edge))

    def answers(self, items: list[Any] | tuple[Any, ...] | bytes, T: int) -> tuple[Array, list[int]] | None:
        """The scores (T, L) of T items and the most probable label of each; None if the items are not plain."""
        if type(items) is not bytes:
            try:
                items = _dumps(items, _MARSHAL)
            except ValueError:
                return None
        unary, path = np.empty((T, self._L)), _new(_INTEGERS, T)
        code = _score_items(self._file, items, len(items), T, pointer(unary, DOUBLES), path)
        if code:
            if code == lib.NOT_PLAIN:
                return None
            finish(code, "score_items")
        return unary, _unpack(path, T)

    def moments(self, unary: Array) -> tuple[float, Array] | None:
        """log Z and the marginals (T, L) under scores (T, L) of ``answers``; None if they need log space."""
        marginals, log_partition = np.empty(unary.shape), _new(_DOUBLE)
        memory = pointer(unary, DOUBLES), len(unary), pointer(marginals, DOUBLES), log_partition
        code = lib.item_marginals(self._file, *memory)
        if code:
            if code == lib.NOT_FINITE:
                return None
            finish(code, "item_marginals")
        return log_partition[0], marginals

    def path_score(self, unary: Array, path: list[int]) -> float:
        """The score of a path of T labels below L."""
        score: float = lib.item_path_score(self._file, pointer(unary, DOUBLES), len(path), path)
        return score
