"""``fit`` warns of labels that break their scheme, in the training data and in dev."""

import warnings

import pytest

from postil import Detector, MultiTaskTagger, Tagger, crossval
from postil.text import SchemeWarning

TOKENS = ["Anna", "Berg", "lives", "in", "Oslo", "."]
RIGHT = ["B-PER", "I-PER", "O", "O", "B-LOC", "O"]
SMALL = {"hidden": 4, "epochs": 1}


def labels_with(broken: list[str], count: int = 1) -> list[list[str]]:
    return [RIGHT] * 6 + [broken] * count + [RIGHT] * 6


BROKEN = {
    "zero": (["B-PER", "I-PER", "0", "O", "B-LOC", "O"], "token 3: '0' is not a label of this scheme"),
    "lower case": (["B-PER", "I-PER", "o", "O", "B-LOC", "O"], "token 3: 'o' is not a label of this scheme"),
    "S in BIO": (["B-PER", "I-PER", "O", "O", "S-LOC", "O"], "token 5: 'S-LOC' is not a label of this scheme"),
    "leading I": (["I-PER", "I-PER", "O", "O", "B-LOC", "O"], "token 1: 'I-PER' after the start of the sentence"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_label_is_counted_and_shown(name):
    y, place = labels_with(BROKEN[name][0], 2), BROKEN[name][1]
    message = rf"^y: 2 labels in 2 sentences violate the BIO scheme, first in sentence 7, {place}; read by conlleval"
    with pytest.warns(SchemeWarning, match=message) as caught:
        Tagger(**SMALL).fit([TOKENS] * len(y), y)
    assert len(caught) == 1 and caught[0].filename == __file__


def test_dev_as_well_and_every_estimator_of_labels():
    broken = labels_with(BROKEN["zero"][0])
    X, y = [TOKENS] * len(broken), [RIGHT] * len(broken)
    with pytest.warns(SchemeWarning, match="^y_dev: 1 label in 1 sentence violates the BIO scheme"):
        Tagger(**SMALL).fit(X, y, dev=([[], *X], [[], *broken]))
    with pytest.warns(SchemeWarning, match="^y: 1 label"):
        Detector(label="PER", **SMALL).fit(X, broken)
    with pytest.warns(SchemeWarning) as caught:
        MultiTaskTagger(**SMALL).fit({"names": X}, {"names": broken}, {"names": (X, broken)})
    assert [str(one.message).partition(":")[0] for one in caught] == ["y of 'names'", "y_dev of 'names'"]


def test_spans_that_become_labels_without_spans_are_not_silent():
    """0 for O outnumbers the labels of spans, which then are nothing but names."""
    y = [["B-PER", "I-PER", "0", "0", "B-LOC", "0"]] * 6
    message = "^y: 18 labels mark spans, first in sentence 1, token 1: 'B-PER', but 18 labels do not, such as '0'; all"
    with pytest.warns(SchemeWarning, match=message):
        tagger = Tagger(**SMALL).fit([TOKENS] * len(y), y)
    assert tagger.model.codec.scheme == "none"
    with pytest.warns(SchemeWarning, match="such as 'b-per'|first in sentence 1, token 1: 'b-per'"):
        Tagger(**SMALL).fit([TOKENS] * 6, [["b-per", "i-per", "x", "x", "b-loc", "x"]] * 6)


def test_one_warning_for_all_folds():
    y = labels_with(BROKEN["zero"][0])
    with pytest.warns(SchemeWarning) as caught:
        crossval(Tagger(**SMALL), [TOKENS] * len(y), y, folds=2)
    assert len(caught) == 1


@pytest.mark.parametrize(
    "labels",
    [RIGHT, ["NOUN", "NOUN", "VERB", "ADP", "E-NUM", "PUNCT"] * 1, ["I-PER", "I-PER", "O", "O", "I-LOC", "O"]],
)
def test_right_labels_and_parts_of_speech_pass_in_silence(labels):
    y = [labels] * 6 if labels[0] != "NOUN" else [["NOUN", "NOUN", "VERB", "ADP", "NOUN", "."]] * 30 + [labels]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Tagger(**SMALL).fit([TOKENS] * len(y), y)


def test_labels_that_are_all_the_same_cause_a_warning():
    with pytest.warns(SchemeWarning, match="^y: every token has the label 'O', and so does every answer"):
        Tagger(**SMALL).fit([["Anna", "sleeps"], ["so", "does", "Bo"]], [["O", "O"], ["O", "O", "O"]])
