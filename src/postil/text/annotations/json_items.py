"""The items of one large JSON array, each with the number of its line; one object a line is read as well."""

import re
from collections.abc import Iterator
from typing import Any

from postil.errors import DataError
from postil.text.annotations.records import decode
from postil.text.lines import NumberedLines, shortened

_EXPECTED = "an array of objects: [{…}, {…}]"
_EDGE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
"""A string, in which brackets mean nothing, or a bracket."""


def json_items(lines: NumberedLines, brackets: str = "{") -> Iterator[tuple[int, Any]]:
    """Number of the first line and value of each object of a JSON array or of JSON Lines; of lists for ``{[``."""
    text = "\n".join(line for _, batch in lines for line in batch)
    position = _skip(text, 0)
    is_array = text[position : position + 1] == "["
    position = _skip(text, position + is_array)
    line, counted, several = 1, 0, False
    while position < len(text) and text[position] != "]":
        line += text.count("\n", counted, position)
        counted = position
        where = lines.where(line)
        if text[position] not in brackets:
            raise DataError("not a JSON object", expected=_EXPECTED, got=shortened(text[position:]), where=where)
        end = _end_of_item(text, position)
        yield line, decode(text[position:end], where, _EXPECTED)
        position = _skip(text, end)
        several = text[position : position + 1] == ","
        if is_array and not several and text[position : position + 1] != "]":
            where = lines.where(line + text.count("\n", counted, position))
            raise DataError("not valid JSON: no comma between objects", expected=_EXPECTED, where=where)
        position = _skip(text, position + several)
    _check_end(text, position, is_array, several, lines)


def _check_end(text: str, position: int, is_array: bool, comma: bool, lines: NumberedLines) -> None:
    where = lines.where(1 + text.count("\n", 0, position))
    if is_array and (position >= len(text) or comma):
        raise DataError("not valid JSON: the array has no end", expected=_EXPECTED, where=where)
    rest = text[position + is_array :].strip()
    if rest:
        raise DataError("not valid JSON: text after the array", expected=_EXPECTED, got=shortened(rest), where=where)


def _skip(text: str, position: int) -> int:
    while text[position : position + 1] in (" ", "\t", "\n", "\r"):
        position += 1
    return position


def _end_of_item(text: str, start: int) -> int:
    """The end of the object or list that begins at ``start``.

    It is that of the text if the item has none: the decoder says what is wrong.
    """
    depth = 0
    for match in _EDGE.finditer(text, start):
        edge = match.group()
        depth += 1 if edge in ("{", "[") else -1 if edge in ("}", "]") else 0
        if not depth:
            return match.end()
    return len(text)
