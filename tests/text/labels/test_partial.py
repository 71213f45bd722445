"""Which strings of a corpus are marks, and which classes it annotates."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.examples import examples
from oracles.partial import compatible_labellings, valid_labellings
from postil.errors import ConfigurationError, DataError
from postil.text import (
    UNKNOWN,
    PartialLabel,
    PossibleLabels,
    PossibleSpans,
    Span,
    annotated_classes,
    labels_from_spans,
    read,
    recognise,
    spans_from_labels,
    violations,
    with_marks,
)
from postil.text.document import Sentence
from postil.text.labels.partial import (
    classes_of,
    count_marks,
    iobes_labels,
    is_partial,
    is_unknown,
    peek_scheme,
    per_sentence,
    relabel,
    widened,
)
from postil.text.labels.schemes import convert, looks_like_mark
from postil.text.report import Report


def marks(sequences, tokens=None, **options):
    tokens = tokens or [["word"] * len(labels) for labels in sequences]
    found = with_marks(sequences, tokens, **options)
    return {str(label) for labels in found for label in labels if isinstance(label, PartialLabel)}


def test_where_labels_spell_spans_marks_are_marks():
    assert marks([["B-PER", "?", "PER|ORG", "B-PER|O", "O"]]) == {"?", "PER|ORG", "B-PER|O"}
    assert marks([["B-PER", "?"]], partial=False) == set()
    assert marks([["B-PER", "?"]], known=["?"]) == set()


def test_a_question_mark_is_the_tag_of_question_marks_or_unknown():
    tags, words = [["PRP", "VBP", "?"]], ["you", "know"]
    assert marks(tags, [[*words, "?"]]) == set()
    assert marks(tags, [[*words, "what"]]) == {"?"}
    assert marks(tags, [[(*words[:1], "x"), ("know", "y"), ("what", "z")]]) == {"?"}
    assert marks(tags, [[*words, "?"]], partial=True) == {"?"}
    assert with_marks(tags) == tags  # without tokens nobody can tell


def test_a_bar_is_part_of_a_tag_unless_both_sides_are_tags():
    assert marks([["NOUN", "VERB", "NOUN|VERB"]]) == {"NOUN|VERB"}
    assert marks([["NOUN", "N|soort|ev", "LET"]]) == set()
    assert marks([["Case=Nom", "Number=Sing", "Case=Nom|Number=Sing", "_"]]) == set()
    assert marks([["PP$", "|", "a|", "||"]], partial=True) == set()
    assert marks([["N|a", "N|b"]]) == set()


@given(
    st.lists(st.lists(st.sampled_from(["NOUN", "PP$", "Case=Nom|Number=Sing", "N|soort", ".", "|", "O|"])), max_size=5)
)
def test_labels_without_a_scheme_stay_as_they_are(sequences):
    assert with_marks(sequences, [["x"] * len(labels) for labels in sequences]) == sequences
    assert marks(sequences) == set()


def test_schemes_are_recognised_beside_marks():
    unknown = PartialLabel("?")
    assert recognise([["B-PER", unknown, "I-PER", "O"]]) == "bio"
    assert recognise([["S-PER", "O", unknown, "E-LOC"]]) == "iobes"
    assert recognise([["I-PER", "O", unknown, "I-LOC", "B-LOC"]]) == "iob1"
    assert recognise([[PartialLabel("B-PER|B-LOC"), "O"]]) == "bio"
    assert recognise([["O", unknown]]) == "bio"
    assert recognise([["NOUN", unknown]]) == "none"
    assert recognise([[unknown]]) == "none"


def test_beside_a_mark_nothing_breaks_a_scheme():
    unknown = PartialLabel("?")
    assert violations([unknown, "I-PER", "O", "I-PER"], "bio") == [3]
    assert violations(["B-PER", unknown, "E-PER"], "iobes") == []


def test_counts_and_classes():
    labels = with_marks([["B-PER", "?", "PER|ORG", "B-LOC|O"], ["?"]], partial=True)
    assert count_marks(labels) == {"unknown": 2, "several": 2}
    assert classes_of(labels) == {"PER", "ORG", "LOC"}
    assert [is_unknown(row) for row in labels] == [False, True]
    assert is_partial(labels[0]) and not is_partial(["?"])
    assert PartialLabel(UNKNOWN).alternatives == ()


# ------------------------------------------------------------------------------------------------ annotated classes


def sentences(text):
    return list(read(io.BytesIO(text.encode())))


@pytest.mark.parametrize("between", ["\t", " "])
@pytest.mark.parametrize("header", ["# annotates = PER LOC", "# annotates: PER, LOC"])
def test_a_comment_says_what_a_file_annotates(header, between):
    rows = [
        header,
        f"Anna{between}B-PER",
        "",
        f"Oslo{between}B-LOC",
        "",
        "# annotates = PER",
        f"Anna{between}B-PER",
        "",
    ]
    found = sentences("\n".join(rows))
    assert annotated_classes(found) == [("PER", "LOC"), ("PER", "LOC"), ("PER",)]


def test_the_header_is_no_row_of_a_file_with_as_many_columns():
    found = sentences("# annotates = PER\nAnna NNP X B-PER\n\n")
    assert found[0].tokens == ["Anna"] and annotated_classes(found) == [("PER",)]


def test_a_json_object_says_what_it_annotates():
    found = sentences('{"text": "Anna", "spans": [], "annotates": ["LOC"]}\n{"text": "Anna", "spans": []}\n')
    assert annotated_classes(found) == [("LOC",), None]
    with pytest.raises(DataError, match="annotates is not a list of classes"):
        annotated_classes(sentences('{"text": "Anna", "spans": [], "annotates": "LOC"}\n'))


def test_outside_means_one_of_the_other_classes():
    assert widened([["B-PER", "O"]], [("PER",)], ["LOC", "ORG", "PER"], "bio") == [["B-PER", "O|LOC|ORG"]]
    assert widened([["B-PER", "O"]], [None], ["LOC", "PER"], "bio") == [["B-PER", "O"]]
    assert widened([["PER", "O"]], [("PER",)], ["LOC", "O", "PER"], "none") == [["PER", "O|LOC"]]
    with pytest.raises(DataError, match=r"not annotated there: expected one of PER, as annotates says, got 'LOC'"):
        widened([["B-LOC"]], [("PER",)], ["LOC", "PER"], "bio")


def test_one_list_or_one_for_each_sentence():
    assert per_sentence(["PER"], 2) == [("PER",), ("PER",)]
    assert per_sentence([["PER"], None], 2) == [("PER",), None]
    for wrong in ("PER", [["PER"]]):
        with pytest.raises(DataError, match="annotates"):
            per_sentence(wrong, 2)


# ------------------------------------------------------------------------------------------------ JSON Lines


def test_spans_with_several_labels_and_unknown_stretches():
    (found,) = sentences(
        '{"text": "Anna Berg of Lima", "spans": [{"start": 0, "end": 9, "label": ["PER", "ORG"]}, [13, 17, "?"]]}\n'
    )
    assert found.labels == ["B-PER|B-ORG", "I-PER|I-ORG", "O", "?"]
    assert [isinstance(label, PartialLabel) for label in found.labels] == [True, True, False, True]
    (one,) = sentences('{"text": "Anna", "spans": [{"start": 0, "end": 4, "label": ["PER"]}]}\n')
    assert one.labels == ["B-PER"]
    for wrong in ("[]", "[1]", '[""]'):
        with pytest.raises(DataError, match="not a span"):
            sentences(f'{{"text": "Anna", "spans": [{{"start": 0, "end": 4, "label": {wrong}}}]}}\n')


# ---------------------------------------------------------------------------------------- Marks in the place of labels


@pytest.mark.parametrize(
    ("mark", "alternatives"), [("?", ()), ("B-PER|O", ("B-PER", "O")), ("PER | ORG", ("PER", "ORG")), ("X", ("X",))]
)
def test_alternatives(mark, alternatives):
    assert PartialLabel(mark).alternatives == alternatives


def test_a_mark_is_a_string():
    assert PartialLabel("A|B") == "A|B" and isinstance(PartialLabel("?"), str) and len({PartialLabel("?"), "?"}) == 1


def test_what_could_be_a_mark():
    assert looks_like_mark("?") and looks_like_mark("A|B") and looks_like_mark("A | B|C")
    assert not any(map(looks_like_mark, ["", "O", "??", "|", "A|", "|A", "A||B", "A| "]))


# -------------------------------------- What partial annotation leaves open, against the enumeration of all labellings


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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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
    ("bio", ["O", "I-X", PartialLabel("?")], ["B-X", "S-X"]),
    ("bio", [PartialLabel("?"), "I-X", "I-Y"], ["E-X", "S-X"]),
    ("iobes", ["O", "I-X", PartialLabel("?")], ["B-X", "S-X"]),
    ("iobes", ["O", "E-X", "O", PartialLabel("?")], ["S-X"]),
    ("iob1", ["O", "B-X", PartialLabel("?")], ["B-X", "S-X"]),
]


@pytest.mark.parametrize(("scheme", "labels", "second"), BROKEN)
def test_broken_labels_stand_for_their_classes(scheme, labels, second):
    possible = PossibleLabels(INNER, "iobes", scheme)(labels)
    assert possible.any(axis=1).all()
    assert {INNER[i] for i in np.flatnonzero(possible[1])} == {*second}


def test_where_nothing_agrees_labels_stand_for_their_classes():
    possible = PossibleLabels(INNER, "iobes", "bio")(["O", PartialLabel("I-X|I-Y"), "O"])
    assert [INNER[i] for i in np.flatnonzero(possible[1])] == ["S-X", "S-Y"]


# ---------------------------------------------- Labels in another scheme: what breaks the scheme is counted or refused


SENTENCES = [Sentence(["Oslo", "is"], ["B-LOC", "O"]), Sentence(["far"], ["O"])]


def test_relabelling_counts_what_breaks_the_scheme() -> None:
    report = Report()
    broken = Sentence(["a", "b", "c"], ["I-X", "I-Y", "O"], line=5)
    (found,) = relabel([broken], "bio", "iobes", report, name="f")
    assert found.labels == ["S-X", "S-Y", "O"]
    assert +report.changed == {"labels that violate the BIO scheme, read by conlleval's rules": 2}


def test_relabelling_strictly() -> None:
    broken = Sentence(["a", "b"], ["O", "I-Y"], line=5)
    with pytest.raises(DataError) as caught:
        list(relabel([broken], "bio", "bio", Report(), name="f", strict=True))
    assert (
        str(caught.value)
        == "f, line 5, token 2: a label violates the BIO scheme: expected a label that may follow, got I-Y after O"
    )


def test_marks_have_no_spelling_in_another_scheme() -> None:
    sentences = lambda: [Sentence(["a", "b"], ["B-X", "?"], line=5)]  # noqa: E731
    (kept,) = relabel(sentences(), "bio", "bio", Report(), name="f")
    assert kept.labels == ["B-X", "?"]
    with pytest.raises(DataError) as caught:
        list(relabel(sentences(), "bio", "iobes", Report(), name="f"))
    assert str(caught.value) == (
        "f, line 5: marks of unknown labels in another scheme: expected a sentence without marks, or BIO"
    )


def test_labels_without_spans_cannot_be_relabelled() -> None:
    with pytest.raises(ConfigurationError) as caught:
        list(relabel([], "none", "bio", Report(), name="f"))
    assert str(caught.value) == (
        "f: cannot turn labels of scheme 'none' into 'bio': expected a span scheme such as BIO on both sides"
    )


def test_the_scheme_is_peeked_without_losing_a_sentence() -> None:
    scheme, sentences = peek_scheme(iter(SENTENCES))
    assert (scheme, list(sentences)) == ("bio", SENTENCES)
    assert peek_scheme([Sentence(["a"])])[0] == "none"
