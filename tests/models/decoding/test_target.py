import numpy as np
import pytest

from postil.errors import DataError
from postil.models.decoding.codec import Target


@pytest.mark.parametrize(
    ("labels", "scheme"),
    [
        (["B-LOC", "I-LOC", "O", "B-PER", "B-LOC"], "bio"),
        (["I-LOC", "I-LOC", "O", "I-PER", "I-LOC"], "iob1"),
        (["B-LOC", "E-LOC", "O", "S-PER", "S-LOC"], "iobes"),
        (["LOC", "LOC", "O", "PER", "LOC"], "none"),
    ],
)
def test_a_token_is_true_if_its_class_is_the_label_in_any_scheme(labels, scheme):
    target = Target.of("LOC", [labels])
    assert target.scheme == scheme
    assert [list(numbers) for numbers in target.numbers([labels])] == [[1, 1, 0, 0, 1]]


def test_data_in_another_scheme_are_read_as_well():
    target = Target.of("LOC", [["B-LOC", "I-LOC", "O"]])
    assert [list(numbers) for numbers in target.numbers([["S-LOC", "O"], ["LOC", "S-LO"], []])] == [[1, 0], [1, 0], []]


def test_without_a_scheme_labels_are_not_taken_apart():
    target = Target.of("X-Y", [["X-Y", "NOUN", "VERB", "NOUN"]])
    assert list(target.numbers([["X-Y", "Y", "NOUN"]])[0]) == [1, 0, 0]


def test_neighbouring_detections_are_one_span():
    target = Target("LOC", "bio", threshold=0.5)
    scores = np.array([1.0, 0.6, 0.5, -1.0, 2.0])
    assert target.detected(scores) == ["LOC", "LOC", "O", "O", "LOC"]


def test_labels_without_the_target_or_with_nothing_else_are_refused():
    with pytest.raises(DataError, match="no token has the label to detect: expected one of ORG, PER, got 'LOC'"):
        Target.of("LOC", [["B-PER", "O"], ["B-ORG"]])
    with pytest.raises(DataError, match="every token has the label to detect: expected also tokens without it"):
        Target.of("LOC", [["B-LOC", "I-LOC"]])
