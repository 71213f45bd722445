"""Objects and items that are made when they are first looked at."""

import copy
import pickle

import pytest

from postil.text import Document, Entity
from postil.text.document import LaterItems


def document(calls):
    def source(name):
        calls.append(name)
        return {"sentences": [], "entities": [Entity(text="Anna", label="PER", start=0, end=4)], "layers": {}}[name]

    return Document.later(source, text="Anna")


def test_attributes_are_made_once_and_only_where_looked_at():
    calls = []
    made = document(calls)
    assert made.text == "Anna" and calls == []
    assert made.entities[0].label == "PER" and made.entities is made.entities and calls == ["entities"]
    made.entities.append(1)
    assert len(made.entities) == 2 and made.sentences == [] and calls == ["entities", "sentences"]


def test_a_document_that_is_made_later_is_one_like_any_other():
    complete = Document("Anna", [], [Entity(text="Anna", label="PER", start=0, end=4)])
    assert document([]) == complete and repr(document([])) == repr(complete)
    for copied in (copy.copy(document([])), copy.deepcopy(document([])), pickle.loads(pickle.dumps(document([])))):
        assert copied == complete
    with pytest.raises(AttributeError, match="'Document' object has no attribute 'entitties'"):
        _ = complete.entitties
    with pytest.raises(AttributeError, match="no attribute '_source'"):
        _ = complete._source


def test_items_are_made_once_and_only_where_looked_at():
    made = []
    items = LaterItems(5, lambda i: made.append(i) or [i])
    assert len(items) == 5 and made == []
    assert items[3] == [3] and items[-2] is items[3] and made == [3]
    assert items[1:3] == [[1], [2]] and made == [3, 1, 2]
    assert list(items) == [[i] for i in range(5)] and sorted(made) == list(range(5))
    with pytest.raises(IndexError):
        items[5]


def test_items_are_compared_copied_and_shown_like_a_list():
    items, expected = LaterItems(3, lambda i: (i, str(i))), [(0, "0"), (1, "1"), (2, "2")]
    assert items == expected and expected == items and items == LaterItems(3, lambda i: (i, str(i)))
    assert items != expected[:2] and items != tuple(expected) and repr(items) == repr(expected)
    assert pickle.loads(pickle.dumps(items)) == expected and type(copy.deepcopy(items)) is list
    with pytest.raises(TypeError):
        hash(items)
