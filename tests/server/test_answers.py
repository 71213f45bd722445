"""Counting tokens, and messages that name the document."""

import pytest

from postil.errors import DataError
from postil.server.answers import check_tokens, documents_of, unfit
from postil.server.failures import Refusal


def test_tokens_are_counted_only_where_characters_do_not_settle_it():
    assert check_tokens([{"text": "ab cd"}, {"tokens": ["x", "y"]}], 10) == 7, "characters, as they are few"
    assert check_tokens([{"text": "abcde fghij"}], 10) == 2
    with pytest.raises(Refusal, match="11 tokens; at most 10"):
        check_tokens([{"text": "a " * 11}], 10)
    with pytest.raises(Refusal):
        check_tokens([{"tokens": ["a"] * 6}, {"tokens": ["a"] * 6}], 10)


def test_documents_of_a_request():
    assert documents_of({"text": "a", "model": "m", "options": {}}) == [{"text": "a"}]
    assert documents_of({"documents": [{"text": "a"}, {"tokens": []}]}) == [{"text": "a"}, {"tokens": []}]


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("request, line 3", "document 2: wrong (x)"),
        ("line 1", "document 0: wrong (x)"),
        ("/home/me/secret.postil", "wrong (x)"),
        (None, "wrong (x)"),
    ],
)
def test_messages_name_documents_and_never_paths(where, message):
    assert unfit(DataError("wrong", got="x", where=where)).message == message
