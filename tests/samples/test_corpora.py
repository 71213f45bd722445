from itertools import pairwise

import numpy as np

from postil.samples.corpora import BAD, CLASSES, GOOD, NEITHER, made_up_sentences, made_up_trees
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


# ------------------------------------------------------------------------------------------------ opinions as trees

OPINIONS = made_up_trees(6000, np.random.default_rng(0))
NEGATIONS = {"not", "never", "hardly", "from"}


def test_every_node_of_an_opinion_has_a_label_and_every_tree_is_binary():
    assert all(tree.is_binary and set(tree.labels) <= {GOOD, BAD, NEITHER} for tree in OPINIONS)
    assert {tree.root_label for tree in OPINIONS} == {GOOD, BAD}


def test_no_word_alone_tells_the_label():
    good, all_ = ({}, {})
    for tree in OPINIONS:
        for word in set(tree.tokens):
            all_[word] = all_.get(word, 0) + 1
            good[word] = good.get(word, 0) + (tree.root_label == GOOD)
    for word, count in all_.items():
        assert abs(good[word] / count - 0.5) < 4 * 0.5 / count**0.5, word  # four standard errors


def test_a_negation_turns_its_phrase_around_and_nothing_else_does():
    for tree in OPINIONS[:500]:
        for label, _, children in tree:
            if not children or tree.labels[children[1]] == NEITHER or tree.labels[children[0]] in (GOOD, BAD):
                continue
            start, end = tree.spans[children[0]]
            negated = tree.tokens[end - 1] in NEGATIONS and start < end
            assert (label != tree.labels[children[1]]) == negated


def test_the_second_of_two_opinions_counts():
    both = [tree for tree in OPINIONS if "but" in tree.tokens]
    assert len(both) > 500
    for tree in both:
        first, second = tree.children[-1]
        assert tree.labels[first] != tree.root_label == tree.labels[second]


def test_a_third_of_the_negations_are_new():
    def pairs(trees):
        words = (tree.tokens for tree in trees)
        return {pair for tokens in words for pair in pairwise(tokens) if pair[0] in NEGATIONS}

    new = pairs(made_up_trees(6000, np.random.default_rng(1), new_pairs=True)) - {("far", "from")}
    known = {pair for pair in pairs(OPINIONS) if pair[1] != "a"}
    assert len(known) / len({pair for pair in new if pair[1] != "a"}) == 2 / 3


def test_trees_of_one_seed_are_the_same():
    assert made_up_trees(5, np.random.default_rng(3)) == made_up_trees(5, np.random.default_rng(3))
