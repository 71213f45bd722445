"""Schemes: reading odd sequences, writing, recognising, and masks against enumeration of all short sequences (E1)."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import ConfigurationError, DataError
from postil.text.labels import schemes
from postil.text.labels.schemes import Span, labels_from_spans, spans_from_labels

SPAN_SCHEMES = tuple(schemes.LETTERS)
CLASSES = ("PER", "some-thing", "lower", "-", "B-B", "")


@st.composite
def spans_and_length(draw: st.DrawFn) -> tuple[list[Span], int]:
    """Disjoint spans in order, often touching and often of one class, and a length that holds them."""
    spans, position = [], 0
    for label in draw(st.lists(st.sampled_from(CLASSES), max_size=6)):
        start = position + draw(st.integers(0, 2))
        position = start + draw(st.integers(1, 4))
        spans.append(Span(label, start, position))
    return spans, position + draw(st.integers(0, 3))


garbage = st.lists(
    st.builds(
        lambda prefix, name: f"{prefix}-{name}" if name else prefix,
        st.sampled_from(["O", "B", "I", "E", "S", "L", "U", "M", "W", "X", "b", ""]),
        st.sampled_from(["PER", "LOC", "some-thing", ""]),
    ),
    max_size=12,
)


@pytest.mark.parametrize(
    ("scheme", "labels"),
    [
        ("bio", "B-PER I-PER B-LOC B-LOC O"),
        ("iob1", "I-PER I-PER I-LOC B-LOC O"),
        ("iobes", "B-PER E-PER S-LOC S-LOC O"),
        ("bilou", "B-PER L-PER U-LOC U-LOC O"),
        ("bmewo", "B-PER E-PER W-LOC W-LOC O"),
    ],
)
def test_the_example_of_the_docstring(scheme: str, labels: str) -> None:
    spans = [Span("PER", 0, 2), Span("LOC", 2, 3), Span("LOC", 3, 4)]
    assert spans_from_labels(labels.split(), scheme) == spans
    assert labels_from_spans(spans, 5, scheme) == labels.split()


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("O I-PER", [("PER", 1, 2)]),
        ("I-PER I-LOC", [("PER", 0, 1), ("LOC", 1, 2)]),
        ("B-PER I-PER B-PER", [("PER", 0, 2), ("PER", 2, 3)]),
        ("B-PER I-LOC I-LOC", [("PER", 0, 1), ("LOC", 1, 3)]),
        ("E-PER E-PER", [("PER", 0, 1), ("PER", 1, 2)]),
        ("E-PER I-PER", [("PER", 0, 1), ("PER", 1, 2)]),
        ("S-PER I-PER", [("PER", 0, 1), ("PER", 1, 2)]),
        ("B-PER S-PER", [("PER", 0, 1), ("PER", 1, 2)]),
        ("B-PER E-LOC", [("PER", 0, 1), ("LOC", 1, 2)]),
        ("B-PER X-PER", [("PER", 0, 2)]),
        ("B-PER NOUN O-PER", [("PER", 0, 1)]),
        ("B I O I", [("", 0, 2), ("", 3, 4)]),
    ],
)
def test_odd_sequences_are_read_by_the_chunk_rules(labels: str, expected: list[tuple[str, int, int]]) -> None:
    assert spans_from_labels(labels.split(), "iobes") == expected


@given(spans_and_length(), st.sampled_from(SPAN_SCHEMES))
def test_spans_survive_labels(case: tuple[list[Span], int], scheme: str) -> None:
    spans, length = case
    labels = labels_from_spans(spans, length, scheme)
    assert len(labels) == length
    assert spans_from_labels(labels, scheme) == spans
    assert schemes.violations(labels, scheme) == []
    assert labels_from_spans(reversed(spans), length, scheme) == labels


@given(spans_and_length(), st.sampled_from(SPAN_SCHEMES), st.sampled_from(SPAN_SCHEMES))
def test_conversion_there_and_back(case: tuple[list[Span], int], source: str, target: str) -> None:
    labels = labels_from_spans(*case, source)
    assert schemes.convert(schemes.convert(labels, source, target), target, source) == labels


@given(garbage, st.sampled_from(SPAN_SCHEMES))
def test_any_labels_have_a_reading_and_its_spelling_is_valid(labels: list[str], scheme: str) -> None:
    spans = spans_from_labels(labels, scheme)
    assert all(one.end <= other.start for one, other in pairwise(spans))
    repaired = schemes.convert(labels, scheme, scheme)
    assert spans_from_labels(repaired, scheme) == spans
    assert schemes.violations(repaired, scheme) == []


@given(garbage, st.sampled_from(["iob1", "bio", "iobes"]))
def test_unbroken_labels_are_those_that_their_own_spans_spell(labels: list[str], scheme: str) -> None:
    """Violations against an independent definition: valid is what can be written."""
    letters = {"iob1": "BI", "bio": "BI", "iobes": "BIES"}[scheme]
    normal = [label for label in labels if label == "O" or (label.partition("-")[0] in tuple(letters))]
    assert (schemes.violations(normal, scheme) == []) == (schemes.convert(normal, scheme, scheme) == normal)


@pytest.mark.parametrize(
    ("scheme", "labels", "expected"),
    [
        ("bio", "O I-PER I-PER", [1]),
        ("bio", "I-PER I-LOC B-LOC", [0, 1]),
        ("bio", "B-PER E-PER S-LOC", [1, 2]),
        ("iob1", "B-PER I-PER B-LOC", [0, 2]),
        ("iob1", "I-PER B-PER O", []),
        ("iobes", "B-PER O", [1]),
        ("iobes", "S-PER B-PER", [1]),
        ("iobes", "I-PER", [0]),
        ("bilou", "B-PER L-PER U-PER", []),
        ("bio", "NOUN O-PER X-PER I-PER", [0, 1, 2]),
        ("none", "NOUN I-PER", []),
        ("bio", "", []),
    ],
)
def test_violations(scheme: str, labels: str, expected: list[int]) -> None:
    assert schemes.violations(labels.split(), scheme) == expected


@pytest.mark.parametrize(
    ("sentences", "expected"),
    [
        (["O B-PER I-PER O"], "bio"),
        (["O I-PER I-PER O"], "iob1"),
        (["I-PER B-PER O", "I-LOC"], "iob1"),
        (["B-PER E-PER S-LOC O"], "iobes"),
        (["S-LOC", "O S-LOC"], "iobes"),
        (["B-PER L-PER U-LOC O"], "iobes"),
        (["B-PER M-PER E-PER W-LOC O"], "iobes"),
        (["B I O O", "B B"], "bio"),
        (["B M E S", "S B E"], "iobes"),
        (["DET NOUN VERB"], "none"),
        (["DT NN -LRB- NN -RRB- ."], "none"),
        (["O O", "O"], "bio"),
        ([], "bio"),
        (["B-PER I-PER O", "O I-PER O", "B-LOC O B-LOC"], "bio"),
        (["B-PER I-PER O", "NOUN B-PER"], "bio"),
        (["B-some-thing I-some-thing"], "bio"),
        (["b-per i-per"], "none"),
        (["A B B B", "B B"], "none"),
        (["N S S O S", "S I"], "none"),
    ],
)
def test_recognise(sentences: list[str], expected: str) -> None:
    assert schemes.recognise([sentence.split() for sentence in sentences]) == expected


@given(st.lists(spans_and_length(), min_size=1, max_size=5), st.sampled_from(SPAN_SCHEMES))
def test_a_recognised_scheme_is_never_broken_by_its_own_sentences(
    cases: list[tuple[list[Span], int]], scheme: str
) -> None:
    sentences = [labels_from_spans(*case, scheme) for case in cases]
    assert schemes.inspect(sentences, schemes.recognise(sentences)).broken == 0


@pytest.mark.parametrize("scheme", SPAN_SCHEMES)
def test_mask_accepts_exactly_the_valid_sequences(scheme: str) -> None:
    """Every sequence of up to four labels: the mask admits it if and only if it is what its spans spell."""
    letters = dict.fromkeys(schemes.LETTERS[scheme])
    labels = ["O", *(f"{letter}-{name}" for name in ("X", "Y") for letter in letters)]
    mask = schemes.transition_mask(labels, scheme)
    for length in (1, 2, 3, 4):
        for path in product(range(len(labels)), repeat=length):
            words = [labels[i] for i in path]
            admitted = (
                mask.start[path[0]] and mask.end[path[-1]] and all(mask.transitions[i, j] for i, j in pairwise(path))
            )
            assert bool(admitted) == (schemes.convert(words, scheme, scheme) == words), words


def test_mask_without_a_scheme_admits_everything() -> None:
    mask = schemes.transition_mask(["NOUN", "VERB", "I-PER"], "none")
    assert mask.transitions.shape == (3, 3)
    assert all(part.dtype == np.bool_ and part.all() for part in mask)
    assert schemes.transition_mask([], "bio").transitions.shape == (0, 0)


def test_mask_refuses_foreign_labels() -> None:
    with pytest.raises(
        ConfigurationError, match=r"not of the BIO scheme: expected O or a class after B, I, got 'S-PER'"
    ):
        schemes.transition_mask(["O", "B-PER", "S-PER"], "bio")


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([Span("PER", 0, 2), Span("LOC", 1, 3)], r"spans overlap: expected a start of 2 or more, got \('LOC', 1, 3\)"),
        ([Span("PER", 2, 5)], "out of range: expected 0 <= start < end <= 4"),
        ([Span("PER", 2, 2)], "is empty or out of range"),
        ([Span("PER", -1, 2)], "out of range"),
    ],
)
def test_impossible_spans(spans: list[Span], message: str) -> None:
    with pytest.raises(DataError, match=message):
        labels_from_spans(spans, 4)


def test_names_of_schemes() -> None:
    with pytest.raises(ConfigurationError, match=r"unknown labelling scheme: expected iob1 or bio or .* got 'iob3'"):
        spans_from_labels([], "iob3")
    with pytest.raises(ConfigurationError, match="without a scheme have no spans"):
        schemes.convert(["NOUN"], "none", "bio")
    assert schemes.convert(["NOUN"], "none", "none") == ["NOUN"]


# --------------------------------------------------------------------------------------------------------------------


BROKEN = [["O", "O"], ["O", "I-PER", "I-LOC"], ["B-PER"], ["I-PER"]]


def test_breaks_are_counted_in_one_warning() -> None:
    with pytest.warns(schemes.SchemeWarning) as caught:
        schemes.check(BROKEN, "bio", where="gold.txt")
    assert len(caught) == 1
    assert str(caught[0].message) == (
        "gold.txt: 3 labels in 2 sentences violate the BIO scheme, first in sentence 2, token 2: "
        "'I-PER' after 'O'; read by conlleval's rules"
    )
    assert schemes.inspect(BROKEN, "bio") == ("bio", 3, 2, (1, 1), "'I-PER' after 'O'")


@pytest.mark.parametrize(
    ("labels", "scheme", "words"),
    [
        ("I-PER", "bio", "'I-PER' after the start of the sentence"),
        ("O B-PER", "iobes", "'B-PER' at the end of the sentence"),
        ("O X-PER", "bio", "'X-PER' is not a label of this scheme"),
    ],
)
def test_the_first_break_in_words(labels: str, scheme: str, words: str) -> None:
    assert schemes.inspect([labels.split()], scheme).example == words
