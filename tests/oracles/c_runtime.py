"""The exported C runtime, compiled once per process and called through ctypes."""

import copy
import ctypes
import functools
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler (cc, gcc or clang)")
WARNINGS = "-std=c99 -Wall -Wextra -pedantic -Werror".split()


class _Span(ctypes.Structure):
    _fields_ = [("begin", ctypes.c_int32), ("end", ctypes.c_int32)]


class _Entity(ctypes.Structure):
    _fields_ = [(n, ctypes.c_int32) for n in ("begin", "end", "first", "last", "label", "sentence")] + [
        ("probability", ctypes.c_double)
    ]


class _Layer(ctypes.Structure):
    _fields_ = [
        ("task", ctypes.c_char_p),
        ("labels", ctypes.POINTER(ctypes.c_int32)),
        ("probabilities", ctypes.POINTER(ctypes.c_double)),
        ("whole", ctypes.POINTER(ctypes.c_double)),
        ("entities", ctypes.POINTER(_Entity)),
        ("count", ctypes.c_int32),
        ("number", ctypes.c_int32),
    ]


class _Result(ctypes.Structure):
    _fields_ = [
        ("tokens", ctypes.POINTER(_Span)),
        ("sentences", ctypes.POINTER(ctypes.c_int32)),
        ("layers", ctypes.POINTER(_Layer)),
        *[(name, ctypes.c_int32) for name in ("N", "B", "T", "unused")],
    ]


class Node(ctypes.Structure):
    _fields_ = [(n, ctypes.c_int32) for n in ("left", "right", "begin", "end", "label", "unused")] + [
        ("probabilities", ctypes.POINTER(ctypes.c_double))
    ]


class _Tree(ctypes.Structure):
    _fields_ = [("nodes", ctypes.POINTER(Node)), ("count", ctypes.c_int32), ("labels", ctypes.c_int32)]


class Layer(NamedTuple):
    """The answers of one task."""

    labels: list[str]
    probabilities: list[float]
    whole: list[float]
    entities: list[tuple[int, int, str, float]]
    """First byte, end, label, probability."""


class Tagged(NamedTuple):
    tokens: list[tuple[int, int]]
    sentences: list[int]
    layers: dict[str, Layer]


class RuntimeFailure(Exception):
    """A function returned a code; the number is the first argument."""


@functools.cache
def sources() -> Path:
    """A folder with postil.c and postil.h."""
    from postil.export.amalgamation import amalgamation, header

    folder = Path(tempfile.mkdtemp(prefix="postil-c-"))
    (folder / "postil.c").write_text(amalgamation(), encoding="utf-8")
    (folder / "postil.h").write_text(header(), encoding="utf-8")
    return folder


@functools.cache
def library() -> Any:
    folder = sources()
    assert COMPILER is not None
    command = [COMPILER, *WARNINGS, "-O1", "-shared", "-fPIC", "postil.c", "-o", "libpostil.so", "-lm"]
    subprocess.run(command, cwd=folder, check=True, timeout=300)
    lib = ctypes.CDLL(str(folder / "libpostil.so"))
    for name in ("postil_label", "postil_entity_label", "postil_error", "postil_task", "postil_about"):
        getattr(lib, name).restype = ctypes.c_char_p
    lib.postil_workspace_size.restype = ctypes.c_size_t
    return lib


class Runtime:
    """One opened model with one workspace; ``max_bytes`` 0: it grows."""

    def __init__(self, content: bytes, max_bytes: int = 0) -> None:
        self._lib, self._model, self._workspace = library(), ctypes.c_void_p(), ctypes.c_void_p()
        self._content = content
        self._call("postil_open_memory", content, ctypes.c_size_t(len(content)), ctypes.byref(self._model))
        self._call("postil_workspace_new", self._model, ctypes.c_size_t(max_bytes), ctypes.byref(self._workspace))

    def _call(self, name: str, *arguments: Any) -> None:
        code = getattr(self._lib, name)(*arguments)
        if code:
            raise RuntimeFailure(code, self._lib.postil_error(code).decode())

    def beside(self) -> "Runtime":
        """Another workspace of the same model, for another thread. Closed without the model."""
        other = copy.copy(self)
        other._workspace = ctypes.c_void_p()
        other._call("postil_workspace_new", self._model, ctypes.c_size_t(0), ctypes.byref(other._workspace))
        return other

    def close(self, model: bool = True) -> None:
        self._lib.postil_workspace_free(self._workspace)
        if model:
            self._lib.postil_close(self._model)

    def tag(self, text: str | bytes) -> Tagged:
        content = text.encode() if isinstance(text, str) else text
        result = _Result()
        self._call(
            "postil_tag", self._model, self._workspace, content, ctypes.c_size_t(len(content)), ctypes.byref(result)
        )
        return self._read(result)

    def tag_tokens(self, tokens: Sequence[str]) -> Tagged:
        content = [token.encode("utf-8", "surrogatepass") for token in tokens]
        strings = (ctypes.c_char_p * len(content))(*content)
        result = _Result()
        self._call("postil_tag_tokens", self._model, self._workspace, strings, None, len(content), ctypes.byref(result))
        return self._read(result)

    def tree(self, brackets: str) -> list[tuple[str, list[float]]]:
        """The label and the probabilities of every node, children first."""
        content, result = brackets.encode(), _Tree()
        self._call(
            "postil_tree", self._model, self._workspace, content, ctypes.c_size_t(len(content)), ctypes.byref(result)
        )
        return [
            (self._lib.postil_label(self._model, 0, node.label).decode(), node.probabilities[: result.labels])
            for node in result.nodes[: result.count]
        ]

    def _read(self, result: _Result) -> Tagged:
        N, B = result.N, result.B
        layers = {}
        for number in range(result.T):
            layer = result.layers[number]
            labels = [self._lib.postil_label(self._model, number, label).decode() for label in layer.labels[:N]]
            entities = [
                (e.begin, e.end, self._lib.postil_entity_label(self._model, number, e.label).decode(), e.probability)
                for e in layer.entities[: layer.count]
            ]
            layers[layer.task.decode()] = Layer(labels, layer.probabilities[:N], layer.whole[:B], entities)
        tokens = [(span.begin, span.end) for span in result.tokens[:N]]
        return Tagged(tokens, result.sentences[: B + 1] if B else [0], layers)
