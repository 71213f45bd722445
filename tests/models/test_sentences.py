import pytest

from postil.errors import DataError
from postil.models.sentences import entity, sentences_of, tokens_of
from postil.text import Entity, Sentence


def test_a_text_becomes_sentences_with_places():
    text = "Anna left. Bo stayed."
    found = sentences_of(text)
    assert [sentence.tokens for sentence in found] == [["Anna", "left", "."], ["Bo", "stayed", "."]]
    assert [text[a:b] for a, b in zip(found[1].starts, found[1].ends, strict=True)] == found[1].tokens


def test_tokens_have_the_extra_columns_of_their_sentence():
    assert tokens_of(Sentence(["a", "b"])) == ["a", "b"]
    assert tokens_of(Sentence(["a", "b"], columns=[["X"], ["Y"]])) == [("a", "X"), ("b", "Y")]
    with pytest.raises(DataError, match="a sentence to annotate"):
        tokens_of(["a", "b"])


def test_entities_count_characters_where_there_is_a_text():
    assert entity(Sentence(["New", "York"]), "LOC", 0, 2, 0.5) == Entity(
        text="New York", label="LOC", start=0, end=2, probability=0.5
    )
    (sentence,) = sentences_of("In  New  York.")
    assert entity(sentence, "LOC", 1, 3) == Entity(text="New  York", label="LOC", start=4, end=13, probability=None)
