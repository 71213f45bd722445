"""Splits, and every occurrence of a form."""

from hypothesis import given
from hypothesis import strategies as st

from postil.curation.corpus import Split, occurrences

X = [["New", "York", "Times", "in", "New", "York"], ["old", "New", "York"]]
Y = [["B-ORG", "I-ORG", "I-ORG", "O", "B-LOC", "I-LOC"], ["O", "O", "O"]]


def test_a_form_inside_a_longer_entity_is_another_name():
    found = occurrences([Split.of("X", X, Y)], {("New", "York"), ("Times",)})
    assert [(one.sentence, one.start, one.label) for one in found["New", "York"]] == [(0, 4, "LOC"), (1, 1, "")]
    assert found["Times",] == []


def test_unknown_labels_are_no_evidence():
    found = occurrences([Split.of("X", X, [Y[0], ["O", "?", "O"]])], {("New", "York")})
    assert [one.sentence for one in found["New", "York"]] == [0]


@given(
    st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=8), min_size=1, max_size=5),
    st.sets(st.tuples(st.sampled_from("abc"), st.sampled_from("abc"))),
)
def test_all_occurrences_are_found(sentences, forms):
    split = Split.of("X", sentences, [["O"] * len(tokens) for tokens in sentences])
    found = occurrences([split], forms)
    for form in forms:
        expected = [
            (i, t)
            for i, tokens in enumerate(sentences)
            for t in range(len(tokens) - 1)
            if tuple(tokens[t : t + 2]) == form
        ]
        assert [(one.sentence, one.start) for one in found[form]] == expected


def test_places_classes_and_excerpts():
    split = Split.of("X", X, Y)
    assert split.place(1, 0) == "sentence 2, token 1"
    assert split.classes == {"ORG": 1, "LOC": 1}
    assert split.excerpt(0, 4, 6, words=2) == "… Times in [New York]"
    speech = Split.of("X", [["a", ("b", "col")]], [["DET", "NOUN"]])
    assert speech.tokens == [["a", "b"]] and speech.classes == {"DET": 1, "NOUN": 1}
