"""Which strings of a corpus are marks, and which classes it annotates."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import DataError
from postil.text import UNKNOWN, PartialLabel, annotated_classes, read, recognise, violations, with_marks
from postil.text.labels.partial import classes_of, count_marks, is_partial, is_unknown, per_sentence, widened


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
