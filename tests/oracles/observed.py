"""Which functions of the package a gradient check really calls, with which arguments, and which lines it runs."""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import postil

PACKAGE = Path(postil.__file__).parent


class Line(NamedTuple):
    """A line of a function; 0 stands for the call itself."""

    file: str
    function: str
    number: int


@contextmanager
def calls(on_call: Callable[[FrameType], bool | None], lines: set[Line]) -> Iterator[None]:
    """Every call inside the block is reported; where the answer is true, the lines of the function are collected."""

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if event == "call" and on_call(frame):
            lines.add(_line(frame.f_code, 0))
            return local
        return None

    def local(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            lines.add(_line(frame.f_code, frame.f_lineno))
        return local

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def is_pullback(code: CodeType) -> bool:
    """By convention the first argument of a pullback is a gradient: dY, dX, dU …"""
    return code.co_argcount > 0 and re.fullmatch(r"d[A-Z]\w*", code.co_varnames[0]) is not None


def pullback_lines(*folders: str) -> set[Line]:
    """Every line of every pullback in these files and folders, but for those that raise."""
    found: set[Line] = set()
    for folder in folders:
        path = PACKAGE / folder
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            source = file.read_text(encoding="utf8")
            raising = {n for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Raise) for n in _span(node)}
            for code in _nested(compile(source, str(file), "exec")):
                if is_pullback(code):
                    found.add(_line(code, 0))
                    found |= {_line(code, n) for n in _numbers(code) - raising}
    return found


def _numbers(code: CodeType) -> set[int]:
    return {n for _, _, n in code.co_lines() if n is not None and n != code.co_firstlineno}


def _span(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _nested(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _nested(constant)


def _line(code: CodeType, number: int) -> Line:
    return Line(str(Path(code.co_filename).relative_to(PACKAGE)), f"{code.co_qualname} ({code.co_firstlineno})", number)
