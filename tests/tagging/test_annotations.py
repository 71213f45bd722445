"""Where entities stand in the text of their sentence."""

from postil.tagging.general_path import add_to_spans, character_spans, record_of
from postil.text import Entity, Sentence


class Counted(list):
    """Tokens that know how often they were walked through."""

    walks = 0

    def __iter__(self):
        self.walks += 1
        return super().__iter__()


def test_places_of_tokens_are_characters_with_a_space_between():
    sentence = Sentence(["Anna", "left", "New", "York"])
    entities = [Entity(text="Anna", label="PER", start=0, end=1), Entity(text="New York", label="LOC", start=2, end=4)]
    assert character_spans(sentence, entities) == [(0, 4, "PER"), (10, 18, "LOC")]
    add_to_spans(sentence, entities, "probability", [0.5, 0.7])
    assert record_of(sentence).span_fields == {
        (0, 4, "PER"): {"text": "Anna", "probability": 0.5},
        (10, 18, "LOC"): {"text": "New York", "probability": 0.7},
    }
    assert character_spans(sentence, []) == []


def test_a_sentence_is_not_walked_through_again_for_every_entity():
    def walks(count):
        sentence = Sentence(Counted(["a"] * count))
        character_spans(sentence, [Entity(text="a", label="X", start=t, end=t + 1) for t in range(count)])
        return sentence.tokens.walks

    assert walks(50) == walks(5) > 0
