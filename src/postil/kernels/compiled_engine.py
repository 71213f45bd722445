"""The engine of engine.c: a network as named arrays, and the scores of words that stand in cells of a text."""

from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError
from postil.kernels.checking import SECTION_TYPES
from postil.kernels.library import ffi, lib

CACHED_BYTES = 256 << 20
"""Limit of the cached word rows in the first workspace. Memory is allocated as new words arrive."""
_CACHED_BY_OTHERS = 64 << 20
_NO_MEMORY, _NOT_UTF8, _NOT_FINITE = 1, 6, 9  # codes of engine/postil.h
_FLOATS = ffi.typeof("float[]")


@final
class CompiledEngine:
    """A network that no longer changes. Any number of threads may use it; each call has its own workspace."""

    def __init__(
        self,
        sections: Mapping[str, Array],
        widths: Sequence[int],
        product: tuple[int, bool] | None,
        touched: Array | None = None,
    ) -> None:
        """``widths``: the number of labels of each head; ``product``: see ``threads.blas_product``.

        ``touched``: see ``archive.Rows.lent``, of the section "vectors".
        """
        self._widths = list(widths)
        self._product = (ffi.NULL, False) if product is None else (ffi.cast("void *", product[0]), product[1])
        self._kept: list[Any] = []  # what C points to
        directory = ffi.new("engine_section[]", len(sections))
        for row, (name, array) in zip(directory, sections.items(), strict=True):
            array = np.ascontiguousarray(array)
            text = ffi.new("char[]", name.encode())
            buffer = ffi.from_buffer(array) if array.size else ffi.NULL
            self._kept += [text, buffer]
            row.name, row.values, row.type = text, buffer, SECTION_TYPES[array.dtype.name]
            row.rows, row.columns = len(array), int(np.prod(array.shape[1:]))
            row.count = array.size
        marks = ffi.NULL if touched is None else ffi.from_buffer("uint8_t[]", touched, require_writable=True)
        self._kept += [directory, marks]
        opened = ffi.new("engine_model **")
        code = lib.engine_open(directory, len(sections), marks, opened)
        if code:
            self._raise(code)
        self._model = ffi.gc(opened[0], lib.engine_close)
        self._free: list[Any] = []  # workspaces; a list's append and pop are safe for threads
        self._made = 0

    def scores(
        self, text: bytes, cells: Array, offsets: Array, heads: Sequence[int], extra: tuple[Array, Array] | None = None
    ) -> list[Array] | None:
        """The scores (N, L) of some heads, for words in cells (N, 2) of a text in UTF-8 and sentences (B + 1,).

        ``extra``: rows that are added to the first layer, as wide as those of words, and which of them, (E, N).
        None if the words are not UTF-8 or the scores not finite: the flow graph says what is wrong.
        """
        N, B = len(cells), len(offsets) - 1
        scores = [np.empty((N, self._widths[head]), np.float32) for head in heads]
        pointers = ffi.new("float *[]", len(self._widths))
        kept = []
        for head, array in zip(heads, scores, strict=True):
            kept.append(ffi.from_buffer(_FLOATS, array))
            pointers[head] = kept[-1]
        words = ffi.from_buffer("int64_t[]", np.ascontiguousarray(cells, np.int64))
        sentences = ffi.from_buffer("int64_t[]", np.ascontiguousarray(offsets, np.int64))
        more: list[Any] = [ffi.NULL, 0, ffi.NULL, 0]
        if extra is not None:
            rows, ids = np.ascontiguousarray(extra[0], np.float32), np.ascontiguousarray(extra[1], np.int64)
            more = [ffi.from_buffer(_FLOATS, rows), len(rows), ffi.from_buffer("int64_t[]", ids), len(ids)]
        workspace = self._workspace()
        try:
            code = lib.engine_score(workspace, text, len(text), words, N, sentences, B, *more, pointers)
        finally:
            self._free.append(workspace)
        if code in (_NOT_UTF8, _NOT_FINITE):
            return None
        if code:
            self._raise(code)
        return scores

    def _workspace(self) -> Any:
        try:
            return self._free.pop()
        except IndexError:
            pass
        made = ffi.new("engine_workspace **")
        cached = _CACHED_BY_OTHERS if self._made else CACHED_BYTES
        self._made += 1
        code = lib.engine_workspace_new(self._model, *self._product, cached, made)
        if code:
            self._raise(code)
        return ffi.gc(made[0], lib.engine_workspace_free)

    @staticmethod
    def _raise(code: int) -> None:
        if code == _NO_MEMORY:
            raise MemoryError("no memory for the network's layers")
        raise ConfigurationError("engine", expected="arrays that belong together", got=f"code {code}")
