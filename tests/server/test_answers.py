"""Counting tokens, and messages that name the document."""

from types import SimpleNamespace

import pytest

from postil.errors import DataError
from postil.server.answers import check_tokens, documents_of
from postil.server.api import DocumentAsked, Tag
from postil.server.requests import Refusal, unfit

TAGGER = SimpleNamespace(kind="tagger")


def test_tokens_are_counted_only_where_characters_do_not_settle_it():
    assert check_tokens([DocumentAsked(text="ab cd"), DocumentAsked(tokens=["x", "y"])], 10) == 7, (
        "characters, as they are few"
    )
    assert check_tokens([DocumentAsked(text="abcde fghij")], 10) == 2
    with pytest.raises(Refusal, match="11 tokens; at most 10"):
        check_tokens([DocumentAsked(text="a " * 11)], 10)
    with pytest.raises(Refusal):
        check_tokens([DocumentAsked(tokens=["a"] * 6), DocumentAsked(tokens=["a"] * 6)], 10)


def test_documents_of_a_request():
    assert documents_of(TAGGER, Tag(text="a", model="m")) == [DocumentAsked(text="a")]
    assert documents_of(TAGGER, Tag(documents=[DocumentAsked(text="a"), DocumentAsked(tokens=[])])) == [
        DocumentAsked(text="a"),
        DocumentAsked(tokens=[]),
    ]


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
