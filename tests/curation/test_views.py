"""How a record is shown: words and gaps instead of offsets, with the text around it."""

from postil.curation.views import CONTEXT, about, cut_out, view

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


def test_a_sentence_that_is_cut_out_keeps_its_words():
    text, tokens = cut_out(TEXT, STARTS, ENDS)
    assert text == "Anna  met Bo." and [text[start:end] for start, end in tokens] == ["Anna", "met", "Bo", "."]


def test_doubts_of_a_review_are_shown_and_anything_else_in_their_place_is_not():
    doubts = [{"in the data": "no entity", "models": "Anna = PER", "probability": 0.1}, "odd", {}]
    shown = about({"doubts": doubts, "where": "train.txt, line 3"}, "review.jsonl, line 1")
    assert shown["where"] == "train.txt, line 3"
    assert shown["doubts"] == [{"data": "no entity", "models": "Anna = PER"}, {"data": "", "models": ""}]
    assert about({"doubts": 7}, "pool.txt, line 1") == {"where": "pool.txt, line 1", "doubts": []}
