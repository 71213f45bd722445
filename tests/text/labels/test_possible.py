"""What partial annotation leaves open, against the enumeration of all labellings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.examples import examples
from oracles.partial import compatible_labellings, valid_labellings
from postil.text import PartialLabel, PossibleLabels, PossibleSpans, Span, labels_from_spans, spans_from_labels
from postil.text.labels.possible import iobes_labels, mended, respelt
from postil.text.labels.schemes import convert

CLASSES = ("X", "Y")
INNER = iobes_labels(CLASSES)
BIO = ["O", "B-X", "I-X", "B-Y", "I-Y"]
LETTERS_OF = {"bio": "BI", "iob1": "BI", "iobes": "BIES"}


@st.composite
def spans_of(draw, length):
    spans, start = [], 0
    while start < length:
        end = draw(st.integers(start + 1, length))
        label = draw(st.sampled_from([None, *CLASSES]))
        if label:
            spans.append(Span(label, start, end))
        start = end
    return spans


@st.composite
def partial_annotations(draw, scheme):
    """A true labelling, some of whose labels have been made unknown or one of several."""
    length = draw(st.integers(1, 5))
    truth = labels_from_spans(draw(spans_of(length)), length, scheme)
    labels = ["O", *(f"{letter}-{name}" for name in CLASSES for letter in LETTERS_OF[scheme])]
    partial = []
    for label in truth:
        kind = draw(st.sampled_from(["known", "known", "unknown", "labels", "classes"]))
        others = draw(st.lists(st.sampled_from(labels), min_size=1, max_size=2))
        name = label.partition("-")[2] or "O"
        mark = {
            "unknown": "?",
            "labels": "|".join([label, *others]),
            "classes": "|".join([name, draw(st.sampled_from(CLASSES))]),
        }
        partial.append(label if kind == "known" else PartialLabel(mark[kind]))
    return truth, partial


def is_mark(labels):
    return [isinstance(label, PartialLabel) for label in labels]


@pytest.mark.parametrize(("inner", "scheme"), [("iobes", "bio"), ("iobes", "iobes"), ("bio", "bio")])
@examples(2)
@given(data=st.data())
def test_the_mask_allows_exactly_the_labellings_that_agree(inner, scheme, data):
    truth, partial = data.draw(partial_annotations(scheme))
    labels = INNER if inner == "iobes" else BIO
    possible = PossibleLabels(labels, inner, scheme)(partial)
    expected = compatible_labellings(labels, inner, scheme, partial, is_mark(partial))
    assert tuple(labels.index(label) for label in convert(truth, scheme, inner)) in expected
    assert valid_labellings(labels, inner, len(partial), [*possible]) == expected


@pytest.mark.parametrize("inner", ["iobes", "bio"])
@examples(2)
@given(data=st.data())
def test_the_mask_of_iob1_is_the_smallest_that_loses_nothing(inner, data):
    _, partial = data.draw(partial_annotations("iob1"))
    labels = INNER if inner == "iobes" else BIO
    possible = PossibleLabels(labels, inner, "iob1")(partial)
    expected = compatible_labellings(labels, inner, "iob1", partial, is_mark(partial))
    projection = np.zeros_like(possible)
    for path in expected:
        projection[np.arange(len(path)), list(path)] = True
    assert (possible == projection).all()


def test_sets_per_token_cannot_express_all_of_iob1():
    """A first A and then an O, or no A and then I-X: but not A and then I-X, which would be one span."""
    partial = [PartialLabel("?"), PartialLabel("I-X|O")]
    possible = PossibleLabels(INNER, "iobes", "iob1")(partial)
    more = valid_labellings(INNER, "iobes", 2, [*possible])
    assert more > compatible_labellings(INNER, "iobes", "iob1", partial, is_mark(partial))


@pytest.mark.parametrize("scheme", ["bio", "iob1", "iobes"])
@examples(2)
@given(data=st.data())
def test_certain_and_possible_spans_are_those_of_all_and_of_some_labellings(scheme, data):
    _, partial = data.draw(partial_annotations(scheme))
    paths = compatible_labellings(INNER, "iobes", scheme, partial, is_mark(partial))
    all_spans = [set(spans_from_labels([INNER[i] for i in path], "iobes")) for path in paths]
    found = PossibleSpans.reader(CLASSES, scheme)(partial)
    assert set(found.certain()) == set.intersection(*all_spans)
    length = len(partial)
    every = [Span(c, a, b) for c in CLASSES for a in range(length) for b in range(a + 1, length + 1)]
    assert {span for span in every if found.has(span)} == set.union(*all_spans)


def test_a_known_sequence_leaves_nothing_open():
    labels = ["B-X", "I-X", "O", "B-Y"]
    possible = PossibleLabels(INNER, "iobes", "bio")(labels)
    assert [INNER[int(row.argmax())] for row in possible] == ["B-X", "E-X", "O", "S-Y"]
    assert (possible.sum(axis=1) == 1).all()


def test_without_a_scheme_sets_are_sets():
    possible = PossibleLabels(["NOUN", "VERB", "X"], "none", "none")
    found = possible(["VERB", PartialLabel("NOUN|X"), PartialLabel("?")])
    assert found.tolist() == [[False, True, False], [True, False, True], [True, True, True]]


BROKEN = [
    ("bio", ["O", "I-X", PartialLabel("?")], ["O", "B-X", "?"]),
    ("bio", [PartialLabel("?"), "I-X", "I-Y"], ["?", "I-X", "B-Y"]),
    ("iobes", ["B-X", "O", PartialLabel("?")], ["S-X", "O", "?"]),
    ("iobes", ["O", "I-X", PartialLabel("?")], ["O", "B-X", "?"]),
    ("iobes", [PartialLabel("?"), "I-X", PartialLabel("?")], ["?", "I-X", "?"]),
    ("iobes", [PartialLabel("?"), "E-X", "O"], ["?", "E-X", "O"]),
    ("iob1", ["O", "B-X", PartialLabel("?")], ["O", "I-X", "?"]),
]


@pytest.mark.parametrize(("scheme", "labels", "expected"), BROKEN)
def test_broken_labels_are_read_as_conlleval_does_where_their_neighbours_are_known(scheme, labels, expected):
    assert mended(labels, scheme) == expected
    possible = PossibleLabels(INNER, "iobes", scheme)
    assert possible(labels).any(axis=1).all()


def test_where_nothing_agrees_labels_stand_for_their_classes():
    possible = PossibleLabels(INNER, "iobes", "bio")(["O", PartialLabel("I-X|I-Y"), "O"])
    assert [INNER[i] for i in np.flatnonzero(possible[1])] == ["S-X", "S-Y"]


def test_known_labels_beside_unknown_ones_in_another_scheme():
    unknown = PartialLabel("?")
    assert respelt(["B-X", unknown, "O"], "bio", "iobes") == ["B-X|S-X", "?", "O"]
    assert respelt(["B-X", "I-X", unknown], "bio", "bilou") == ["B-X", "I-X|L-X", "?"]
    assert respelt(["S-X", unknown, PartialLabel("X|Y")], "iobes", "bio") == ["B-X", "?", "I-X|B-X|I-Y|B-Y"]
    assert respelt(["B-X", "B-X", unknown], "bio", "iob1") == ["I-X", "B-X", "?"]


@pytest.mark.parametrize("target", ["bio", "iob1", "iobes"])
@pytest.mark.parametrize("source", ["bio", "iob1", "iobes"])
@examples(0.5)
@given(data=st.data())
def test_another_spelling_loses_no_labelling(source, target, data):
    _, partial = data.draw(partial_annotations(source))
    other = respelt(partial, source, target)
    before = compatible_labellings(INNER, "iobes", source, partial, is_mark(partial))
    after = compatible_labellings(INNER, "iobes", target, other, is_mark(other))
    assert before <= after
