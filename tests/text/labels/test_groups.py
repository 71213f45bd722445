"""Groups of classes: found from spans that overlap, encoded as labels, and decoded again."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import ConfigurationError, DataError
from postil.text import PartialLabel, Span, read, write
from postil.text.labels.groups import by_group, checked_groups, found_groups, labels_in_group, overlaps
from postil.text.labels.schemes import spans_from_labels

CLASSES = ("PER", "ORG", "some-thing", "9", "ÄRGER")


@st.composite
def spans_of_classes(draw: st.DrawFn) -> tuple[int, list[Span]]:
    """Any spans of which no two of one class overlap, in any order."""
    length = draw(st.integers(1, 9))
    spans = []
    for name in CLASSES:
        cuts = sorted(draw(st.sets(st.integers(0, length), max_size=6)))
        spans += [Span(name, *piece) for piece in pairwise(cuts) if draw(st.booleans())]
    return length, draw(st.permutations(spans))


@given(st.lists(spans_of_classes(), min_size=1, max_size=4))
def test_spans_survive_grouping_encoding_and_decoding(sentences: list[tuple[int, list[Span]]]) -> None:
    annotations, tokens = [spans for _, spans in sentences], [["w"] * length for length, _ in sentences]
    groups = found_groups(annotations)
    assert groups == found_groups([spans[::-1] for spans in reversed(annotations)]), "in whatever order they come"
    assert sorted(name for classes in groups.values() for name in classes) == sorted(
        {span.label for spans in annotations for span in spans}
    )
    labels = [
        [labels_in_group(one, words, classes) for classes in groups.values()]
        for one, words in zip(annotations, tokens, strict=True)
    ]
    for spans, of_groups in zip(annotations, labels, strict=True):
        assert sorted(span for one in of_groups for span in spans_from_labels(one)) == sorted(spans)


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("wxyz")), min_size=1))
def test_two_groups_wherever_two_are_enough(pairs: list[tuple[str, str]]) -> None:
    annotations = [[Span(one, 0, 2), Span(other, 1, 3)] for one, other in pairs]
    assert len(found_groups(annotations)) == 2


def test_groups_are_named_after_their_most_frequent_class_that_overlaps() -> None:
    inside = [Span("ADDRESS", 0, 5), Span("STREET", 0, 2), Span("CITY", 3, 4), Span("CITY", 4, 5)]
    assert found_groups([inside, ["B-PERSON", "I-PERSON", "O"]]) == {
        "address": ["ADDRESS", "PERSON"],
        "city": ["CITY", "STREET"],
    }
    assert found_groups([[Span("a b", 0, 2), Span("A B", 0, 1), Span("1", 1, 2)]]).keys() == {"a_b", "a_b2"}


@pytest.mark.parametrize(
    "groups, message",
    [
        ({"a": ["X"]}, r"groups must be at least two, each with a class \(got a=X\)"),
        ({"a": ["X"], "b": []}, r"groups must be at least two, each with a class \(got a=X, b=\)"),
        ({"a": ["X"], "b": ["X"]}, r"groups must have each class once \(got X twice\)"),
    ],
)
def test_impossible_groups(groups: dict[str, list[str]], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        checked_groups(groups)


def test_spans_that_overlap_in_one_group_and_classes_in_none() -> None:
    spans, tokens = [Span("A", 0, 2), Span("B", 1, 3), Span("C", 1, 2)], ["one", "two", "three"]
    with pytest.raises(
        DataError, match=r"overlapping spans are in one group: .*--group.*got B 'two three' overlaps A 'one two'"
    ):
        by_group([spans], [tokens], {"x": ["A", "B"], "y": ["C"]})
    with pytest.raises(DataError, match=r"a.txt, line 3: a class that is in no group: expected .*A, B.*, got C"):
        by_group([spans], [tokens], {"x": ["A"], "y": ["B"]}, ["a.txt, line 3"])


def test_what_is_known_of_a_label_in_one_of_the_groups() -> None:
    labels = ["B-A", PartialLabel("B-A|B-B"), PartialLabel("?"), PartialLabel("B-A|O"), PartialLabel("B-B|B-C")]
    assert labels_in_group(labels, "vwxyz", ["A"]) == ["B-A", "B-A|O", "?", "B-A|O", "O"]
    spans = [Span("C", 0, 3), Span(PartialLabel("A|B"), 1, 3)]
    assert labels_in_group(spans, "xyz", ["A"]) == ["O", "B-A|O", "I-A|O"]
    assert labels_in_group(spans, "xyz", ["C"]) == ["B-C", "I-C", "I-C"]


# ------------------------------------------------------------------------------------------------ files

NESTED = '{"text": "5 Oak Lane, Ashford", "spans": [[0, 19, "ADDRESS"], [0, 10, "STREET"]]}\n'
FLAT = '{"text": "in Ashford", "spans": [[3, 10, "CITY"]]}\n'


def test_a_reader_keeps_spans_of_different_classes(tmp_path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(FLAT + NESTED)
    flat, nested = read(path, overlaps="group")
    assert (flat.labels, flat.spans) == (["O", "B-CITY"], None)
    assert (nested.labels, nested.spans) == (None, [Span("ADDRESS", 0, 5), Span("STREET", 0, 3)])
    write([flat, nested], tmp_path / "b.jsonl")
    again = list(read(tmp_path / "b.jsonl", overlaps="group"))
    assert [(one.labels, one.spans) for one in again] == [(flat.labels, None), (None, nested.spans)]
    with pytest.raises(DataError, match=r"overlapping spans in CoNLL.*--group.*STREET '5 Oak Lane' overlaps ADDRESS"):
        write([flat, nested], tmp_path / "b.conll")


def test_spans_of_one_class_must_not_overlap(tmp_path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(NESTED.replace("STREET", "ADDRESS"))
    with pytest.raises(DataError, match="ADDRESS 0:10 '5 Oak Lane' overlaps ADDRESS 0:19") as caught:
        list(read(path, overlaps="group"))
    assert "--group" not in str(caught.value)
    path.write_text(NESTED)
    with pytest.raises(DataError, match=r"postil train --group .*STREET 0:10 '5 Oak Lane' overlaps ADDRESS 0:19"):
        list(read(path))


def test_pairs_of_spans_that_overlap() -> None:
    a, b, c = Span("A", 0, 4), Span("B", 3, 5), Span("C", 4, 6)
    assert list(overlaps([c, b, a])) == [(a, b), (b, c)]
