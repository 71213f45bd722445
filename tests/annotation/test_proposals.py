"""What a person sees before anything is said: by a model, by the pool, by an earlier answer."""

import pytest

import postil
from oracles import corpora
from postil.annotation.annotation import (
    CONTEXT,
    MAYBE,
    about,
    predicted,
    proposals,
    proposals_of_model,
    view,
)
from postil.text import Span

X, Y = corpora.named_entities(40)


@pytest.fixture(scope="module")
def tagger():
    return postil.Tagger(hidden=8, epochs=2, rate=0.02).fit(X, Y)


def spanned(proposal):
    return Span(proposal["label"], proposal["start"], proposal["end"])


def test_a_model_proposes_its_best_labelling_and_what_else_is_probable(tagger):
    states = set()
    for tokens in X:
        proposed = proposals_of_model(tagger, tokens, 0.6, lambda span: True)
        best = predicted(tagger, tokens, lambda span: True)
        assert {spanned(one) for one in proposed if one["state"] != "maybe"} == set(best)
        for one in proposed:
            assert one["state"] == "maybe" or (one["state"] == "sure") == (one["probability"] >= 0.6)
            assert one["probability"] >= MAYBE or one["state"] != "maybe"
            states.add(one["state"])
        places = [place for one in proposed for place in range(one["start"], one["end"])]
        assert places == sorted(set(places)), "in their order, and none overlaps another"
    assert states == {"sure", "asked", "maybe"}


def test_classes_that_are_not_wanted_are_not_proposed(tagger):
    classes = {
        one["label"]
        for tokens in X
        for one in proposals_of_model(tagger, tokens, 0.9, lambda span: span.label == "PER")
    }
    assert classes == {"PER"}


def test_a_pool_proposes_its_labels_and_is_sure_of_the_probable_ones():
    spans = Span("PER", 0, 1), Span("LOC", 2, 3), Span("LOC", 3, 4)
    given = dict(zip(spans, (0.95, 0.5, None), strict=True))
    assert [(spanned(one), one["state"]) for one in proposals(given, 0.9)] == list(
        zip(spans, ("sure", "asked", "asked"), strict=True)
    )


def test_an_earlier_answer_is_settled():
    assert proposals({Span("PER", 0, 1): None}, 0.9, "sure") == [
        {"label": "PER", "start": 0, "end": 1, "probability": None, "state": "sure"}
    ]


# ------------------------------------------------ what is shown


TEXT = "Before. Anna  met Bo. After."
STARTS, ENDS = [8, 14, 18, 20], [12, 17, 20, 21]


def test_words_gaps_and_what_stands_around_them_make_up_the_text():
    shown = view(TEXT, STARTS, ENDS)
    assert shown["words"] == ["Anna", "met", "Bo", "."] and shown["gaps"] == ["  ", " ", ""]
    together = "".join(word + gap for word, gap in zip(shown["words"], [*shown["gaps"], ""], strict=True))
    assert shown["before"] + together + shown["after"] == TEXT


def test_only_some_of_a_long_text_is_shown_around_a_sentence():
    shown = view("x" * 1000 + "Anna" + "y" * 1000, [1000], [1004])
    assert shown["words"] == ["Anna"] and shown["before"] == "x" * CONTEXT and shown["after"] == "y" * CONTEXT


def test_doubts_of_a_review_are_shown_and_anything_else_in_their_place_is_not():
    doubts = [{"in the data": "no entity", "models": "Anna = PER", "probability": 0.1}, "odd", {}]
    shown = about({"doubts": doubts, "where": "train.txt, line 3"}, "review.jsonl, line 1")
    assert shown["where"] == "train.txt, line 3"
    assert shown["doubts"] == [{"data": "no entity", "models": "Anna = PER"}, {"data": "", "models": ""}]
    assert about({"doubts": 7}, "pool.txt, line 1") == {"where": "pool.txt, line 1", "doubts": []}
