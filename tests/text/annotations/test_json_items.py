"""The items of a JSON array with their lines; brackets in strings mean nothing."""

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import DataError
from postil.text.annotations.json_items import json_items
from postil.text.lines import Lines

VALUES = st.recursive(
    st.none() | st.integers() | st.text(st.sampled_from('{}[]",\\a\n'), max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(st.text(max_size=3), VALUES, max_size=3), max_size=4)


def items(text: str) -> list[tuple[int, Any]]:
    return list(json_items(Lines(io.BytesIO(text.encode()))))


@given(OBJECTS, st.sampled_from([None, 1]))
def test_arrays_are_read_as_json_reads_them(values: list[Any], indent: int | None) -> None:
    assert [value for _, value in items(json.dumps(values, indent=indent))] == values


@given(OBJECTS)
def test_lines_are_read_as_well(values: list[Any]) -> None:
    lines = "\n".join(map(json.dumps, values))
    assert items(lines) == list(enumerate(values, 1))


def test_lines_are_those_of_the_file() -> None:
    assert [line for line, _ in items('\n[\n{"a":\n1},\n\n{}, {}\n]\n')] == [3, 6, 6]


@pytest.mark.parametrize(
    "text", ['[{"a": 1', "[{]", '[{"a"}]', "[{}{}]", "[{},]", "[{}]]", "[1]", '[{"a": "\\ud800"}]']
)
def test_mistakes_have_a_line(text: str) -> None:
    with pytest.raises(DataError, match=r"^stream, line 1: "):
        items(text)
