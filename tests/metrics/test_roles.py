"""The scorer of semantic roles, by the rules of srl-eval.pl, on cases made by hand."""

import pytest

from postil.errors import DataError
from postil.metrics import score_roles
from postil.metrics.roles import arguments_of
from postil.text import Frame


def frame(labels, predicate=1):
    return Frame(predicate, labels.split())


def counts(gold, predicted):
    overall = score_roles([gold], [predicted]).overall
    return overall.correct, overall.predicted, overall.gold


def test_an_argument_is_correct_if_its_role_and_all_its_words_are():
    gold = frame("B-ARG0 B-V B-ARG1 I-ARG1 B-ARGM-TMP")
    assert counts([gold], [gold]) == (3, 3, 3)
    assert counts([gold], [frame("B-ARG0 B-V B-ARG1 O B-ARGM-TMP")]) == (2, 3, 3), "a word is missing"
    assert counts([gold], [frame("B-ARG1 B-V B-ARG2 I-ARG2 O")]) == (0, 2, 3), "other roles"


def test_the_predicate_is_no_argument_nor_its_continuation():
    assert counts([frame("B-ARG0 B-V O B-C-V")], [frame("B-ARG0 O B-V O")]) == (1, 1, 1)


def test_a_continuation_belongs_to_the_argument_before_it():
    gold = frame("B-ARG1 B-V B-C-ARG1 I-C-ARG1")
    assert arguments_of(gold) == [("ARG1", ((0, 1), (2, 4)))]
    assert counts([gold], [gold]) == (1, 1, 1)
    assert counts([gold], [frame("B-ARG1 B-V O O")]) == (0, 1, 1), "one piece is not the whole"
    assert arguments_of(frame("O B-V B-C-ARG1")) == [("ARG1", ((2, 3),))], "none before it: an ARG1 itself"
    several = frame("B-ARG1 B-V B-ARG1 B-C-ARG1")
    assert arguments_of(several) == [("ARG1", ((0, 1),)), ("ARG1", ((2, 3), (3, 4)))]


def test_references_are_roles_of_their_own():
    assert [role for role, _ in arguments_of(frame("B-ARG0 B-V B-R-ARG0"))] == ["ARG0", "R-ARG0"]


def test_predicates_that_one_side_lacks_count_with_their_arguments():
    one, other = frame("B-ARG0 B-V O", 1), frame("O B-ARG1 B-V", 2)
    scores = score_roles([[one, other]], [[one]], tokens=3)
    assert (scores.overall.correct, scores.overall.predicted, scores.overall.gold) == (1, 1, 2)
    assert (scores.predicates.correct, scores.predicates.gold, scores.perfect) == (1, 2, 1)
    assert scores.to_dict()["f1"] == pytest.approx(200 / 3)
    assert scores.to_dict()["labels"]["ARG1"]["support"] == 1


def test_the_same_words_for_another_predicate_are_not_correct():
    assert counts([frame("B-ARG0 B-V O", 1)], [frame("B-ARG0 B-V O", 2)]) == (0, 1, 1)


def test_sentences_must_be_the_same():
    with pytest.raises(DataError, match="number of sentences"):
        score_roles([[]], [])
