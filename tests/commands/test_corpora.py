import numpy as np

from postil.commands.corpora import CLASSES, made_up_sentences
from postil.text import spans_from_labels, violations


def entities(sentences):
    return {
        (span.label, s.tokens[span.start : span.end]) for s in sentences for span in spans_from_labels(list(s.labels))
    }


TRAIN = made_up_sentences(1500, np.random.default_rng(0))
TEST = made_up_sentences(500, np.random.default_rng(1), new_names=True)


def test_labels_are_valid_and_of_every_class():
    assert all(len(s.tokens) == len(s.labels) and not violations(list(s.labels), "bio") for s in TRAIN)
    assert {label for label, _ in entities(TRAIN)} == set(CLASSES)


def test_the_same_seed_gives_the_same_sentences():
    assert made_up_sentences(20, np.random.default_rng(5)) == made_up_sentences(20, np.random.default_rng(5))
    assert made_up_sentences(20, np.random.default_rng(5)) != made_up_sentences(20, np.random.default_rng(6))


def test_one_name_is_a_person_a_place_and_an_organisation():
    alone = [{words[0] for label, words in entities(TRAIN) if label == name and len(words) == 1} for name in CLASSES]
    assert len(set.intersection(*alone)) >= 5
    assert ("PER", ("Paris", "Hilton")) in entities(made_up_sentences(20_000, np.random.default_rng(2)))


def test_no_symbol_of_the_grammar_is_left_over():
    words = {word for s in TRAIN + TEST for word in s.tokens}
    assert not [word for word in words if len(word) > 1 and word.isalpha() and word.isupper()]


def test_test_data_have_names_that_training_data_lack():
    known, tested = ({word for _, words in entities(part) for word in words} for part in (TRAIN, TEST))
    assert len(tested - known) >= 20 and len(tested & known) >= 50
