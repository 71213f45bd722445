"""Feature dicts as python-crfsuite reads them, by the fast path and by the general one."""

import collections
import gc
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.features import flattened
from postil.crfsuite import ItemSequence
from postil.errors import DataError
from postil.features import named as attributes
from postil.features.named import AttributeTable

ITEMS = [
    {"word": "Rome", "title": True, "len": 4, "share": 0.5},
    {},
    {"near": {"left": ["a", "b"], "deep": {"x": "y", "z": 2}}, "set": {"s"}},
    ["word=Rome", "title"],
    {"bytes": "не".encode(), b"key": 1, "солнце": "не светит"},
    {"no": False, "zero": 0, "one": 1},
]
EXPECTED = [
    {"word:Rome": 1.0, "title": 1.0, "len": 4.0, "share": 0.5},
    {},
    {"near:left:a": 1.0, "near:left:b": 1.0, "near:deep:x:y": 1.0, "near:deep:z": 2.0, "set:s": 1.0},
    {"word=Rome": 1.0, "title": 1.0},
    {"bytes:не": 1.0, "key": 1.0, "солнце:не светит": 1.0},
    {"no": 0.0, "zero": 0.0, "one": 1.0},
]


def named(table, sequences):
    """What a table encoded, as dicts again."""
    attributes, offsets = table.encoded(sequences)
    names = [*table.ids]
    values = np.ones(len(attributes.ids)) if attributes.values is None else attributes.values
    rows = [
        [(names[i], v) for i, v in zip(attributes.ids[a:b], values[a:b], strict=True)]
        for a, b in pairwise(attributes.offsets)
    ]
    return [rows[a:b] for a, b in pairwise(offsets)]


def test_items_are_flattened_as_python_crfsuite_does():
    assert [dict(flattened(item)) for item in ITEMS] == EXPECTED
    sequence = ItemSequence(ITEMS)
    assert sequence.items() == EXPECTED and len(sequence) == 6 and repr(sequence) == "<ItemSequence of size 6>"


@pytest.mark.extra("pycrfsuite")
def test_items_are_those_of_the_real_library():
    import pycrfsuite

    assert pycrfsuite.ItemSequence(ITEMS).items() == ItemSequence(ITEMS).items()


values = st.one_of(st.text(max_size=3), st.booleans(), st.integers(-2, 2), st.floats(-2, 2), st.binary(max_size=2))
dicts = st.dictionaries(st.text(max_size=3), values, max_size=4)
nested = st.dictionaries(st.text(max_size=2), st.one_of(values, st.lists(st.text(max_size=2), max_size=2)), max_size=3)
lists = st.lists(st.text(max_size=3), max_size=4)


@given(st.one_of(*(st.lists(st.lists(kind, max_size=4), max_size=4) for kind in (dicts, nested, lists, dicts | lists))))
def test_every_path_encodes_the_same(sequences):
    expected = [[list(flattened(item)) for item in sequence] for sequence in sequences]
    table = AttributeTable(grows=True)
    assert named(table, sequences) == expected
    assert named(table, sequences) == expected, "from the table"
    assert named(AttributeTable(grows=True), [ItemSequence(s) for s in sequences]) == expected
    names = [*table.ids]
    ready = [ItemSequence(s) for s in sequences]
    frozen = AttributeTable(names, grows=False)
    with_dicts, with_sequences = frozen.encoded(sequences)[0], frozen.encoded(ready)[0]
    for one, other in zip(with_dicts, with_sequences, strict=True):
        assert (one is None) == (other is None) and (one is None or np.array_equal(one, other))


def test_true_and_1_and_a_name_are_one_attribute():
    table = AttributeTable(grows=True)
    attributes, _ = table.encoded([[{"a": True}, {"a": 1}, {"a": 1.0}, {"x": "y"}, {"x:y": True}]])
    assert attributes.ids.tolist() == [0, 0, 0, 1, 1] and attributes.values is None


def test_a_trained_table_knows_nothing_new():
    table = AttributeTable(["a", "b:c"], grows=False)
    attributes, _ = table.encoded([[{"a": 0.5, "b": "c"}, {"b": "d", "a": False}]])
    assert attributes.ids.tolist() == [0, 1, -1, -1] and attributes.values.tolist() == [0.5, 1, 1, 1]
    assert [*table.ids] == ["a", "b:c"]


@pytest.mark.parametrize("value", [None, (1, 2), object(), float("nan"), float("inf")])
def test_a_value_that_is_none_of_these_is_refused(value):
    for make in (ItemSequence, lambda items: AttributeTable(grows=True).encoded([items])):
        with pytest.raises(DataError, match="'key': value of a feature"):
            make([{"key": value}])


def test_a_name_that_is_no_text_is_refused():
    with pytest.raises(DataError, match="name of a feature: expected a string, got 3"):
        AttributeTable(grows=True).encoded([[{3: "x"}]])


@pytest.mark.slow
def test_what_is_remembered_of_endless_text_is_bounded(monkeypatch):
    monkeypatch.setattr(attributes, "MOST_REMEMBERED", 500)
    table = AttributeTable(["word:1", "near:last:2"], grows=False)

    def items(first, count):
        return [
            {"word": str(i), "near": {"last": str(i), "list": [str(i)]}, str(i): {"x": 1}} for i in range(first, count)
        ]

    table.encoded([items(0, 2000)])
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for first in range(2000, 12_000, 100):
            table.encoded([items(first, first + 100)])
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 300_000, "40,000 features would take 6 MB"
    assert table.encoded([items(1, 3)])[0].ids.tolist() == [0, -1, -1, -1, -1, 1, -1, -1]


def test_kinds_of_dicts_lists_and_numbers_without_a_hash_are_read_like_others():
    class Own(dict):
        pass

    class Words(list):
        pass

    items = [Own(a=Own(b="c"), d=Words(["e"]), f=np.array(2.0), g=collections.Counter(h=3)), {"a": Own(b="c")}]
    expected = [list(flattened(item)) for item in items]
    assert named(AttributeTable(grows=True), [items]) == [expected]
    assert [list(row.items()) for row in ItemSequence(items).items()] == expected


def test_a_list_of_what_is_no_name_is_refused():
    for item in ([["a"]], {"near": [["a"]]}, {"near": [3]}):
        for make in (ItemSequence, lambda items: AttributeTable(grows=True).encoded([items])):
            with pytest.raises(DataError, match="name of a feature: expected a string"):
                make([item])
