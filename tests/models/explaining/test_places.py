"""Which tokens are explained. Messages in the words of the command line are tested in commands/test_explain.py."""

import pytest

import postil
from postil.errors import ConfigurationError
from postil.models.explaining.explanation import place_of_span, places_of_entities, places_of_words
from postil.text import Sentence

SENTENCES = [Sentence(["Anna", "lives", "in", "Oslo"]), Sentence(["Oslo"])]


def test_spans_are_counted_through_all_sentences():
    assert place_of_span(SENTENCES, 4, 5, "LOC") == (SENTENCES[1], 0, 1, "LOC")
    for start, end in ((3, 5), (2, 2), (5, 6), (-1, 1)):
        with pytest.raises(ConfigurationError, match="span must satisfy 0 <= START < END <= 5, inside one sentence"):
            place_of_span(SENTENCES, start, end, None)


def test_words_are_found_wherever_they_occur():
    assert [place[1:3] for place in places_of_words(SENTENCES, ["Oslo"], None, "entity")] == [(3, 4), (0, 1)]
    with pytest.raises(ConfigurationError, match="entity must be whole words of"):
        places_of_words(SENTENCES, ["os"], None, "entity")


def test_entities_are_those_that_the_model_finds(names_model, speech_model):
    tagger = postil.load(names_model)
    found = [place[1:] for place in places_of_entities(tagger, [Sentence(["Anna", "lives", "in", "Oslo"])], None)]
    assert found == [(0, 1, "PER"), (3, 4, "LOC")]
    with pytest.raises(ConfigurationError, match="label must be one of LOC, PER"):
        list(places_of_entities(tagger, SENTENCES, "X"))
    with pytest.raises(ConfigurationError, match="need a word to explain"):
        list(places_of_entities(postil.load(speech_model), SENTENCES, None))
