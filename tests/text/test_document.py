"""Documents: what notebooks and ``print`` show of them, and their dicts."""

import json

import pytest

from oracles.pages import read_page
from postil.text import Document, Entity, Sentence
from postil.text.document import LONGEST_SHOWN

TEXT = "Ann & <b>Bo</b> met\nin Oslo."
HOSTILE = '"><script>alert(1)</script>'


def document(*entities, text=TEXT):
    return Document(
        text,
        [],
        [
            Entity(text=text[start:end], label=label, start=start, end=end, probability=p)
            for label, start, end, p in entities
        ],
    )


def shown(html):
    """The text around the chips, and the chips."""
    page = read_page(html)
    text = page.one("p", class_="excerpt")
    chips = [chip.text for chip in text.all("small")]
    words = "".join(child.text for child in text.children if getattr(child, "tag", "") == "span")
    return words, chips


@pytest.mark.parametrize("render", [Document._repr_html_, Document.to_html])
def test_the_text_is_whole_and_entities_are_marked(render):
    words, chips = shown(render(document(("PER", 0, 3, 0.98), (HOSTILE, 23, 27, None))))
    assert words == TEXT
    assert chips == ["PER 0.98", HOSTILE]
    page = read_page(render(document(("PER", 0, 3, 0.98))))
    assert [span.text for span in page.all("span", class_="predicted")] == ["Ann"]
    assert not list(page.all("script"))


def test_overlapping_and_impossible_entities():
    entities = (("A", 0, 9, None), ("B", 6, 12, None), ("C", 5, 5, None), ("D", 7, 900, None), ("E", -3, 2, None))
    words, chips = shown(document(*entities)._repr_html_())
    assert words == TEXT and chips == ["A", "B"]


def test_labels_of_single_words():
    sentence = Sentence(["Time", "flies"], ["NOUN", "VERB"], text="Time flies", starts=[0, 5], ends=[4, 10])
    answer = Document("Time flies", [sentence])
    assert shown(answer._repr_html_()) == ("Time flies", ["NOUN", "VERB"])
    assert str(answer) == "Time/NOUN flies/VERB"


def test_nothing_was_found():
    sentence = Sentence(["Time", "flies"], ["O", "O"], text="Time flies", starts=[0, 5], ends=[4, 10])
    answer = Document("Time flies", [sentence])
    assert read_page(answer._repr_html_()).one("p", class_="note").text == "No entities."
    assert str(answer) == "Time flies" and shown(Document("")._repr_html_()) == ("", [])


def test_labels_have_colours_of_their_own_that_last():
    one = read_page(document(("LOC", 0, 3, None), ("PER", 4, 5, None))._repr_html_())
    other = read_page(document(("LOC", 0, 3, None))._repr_html_())
    styles = [chip.attributes["style"] for chip in one.all("small")]
    assert len(set(styles)) == 2 and other.one("small").attributes["style"] == styles[0]


def test_a_very_long_text_is_cut_in_a_notebook_only():
    text = "word " * LONGEST_SHOWN
    answer = document(("A", 0, 4, None), ("B", len(text) - 5, len(text) - 1, None), text=text)
    assert shown(answer._repr_html_()) == (text[:LONGEST_SHOWN], ["A"])
    assert "more characters" in read_page(answer._repr_html_()).one("p", class_="note").text
    assert shown(answer.to_html()) == (text, ["A", "B"])


def test_a_page_has_its_title():
    page = read_page(document().to_html(title="A < B"))
    assert page.one("title").text == page.one("h1").text == "A < B"
    assert document().to_html().startswith("<!DOCTYPE html>")


def test_print_shows_entities_and_no_control_characters():
    answer = document(("PER", 0, 3, 0.981), ("LOC\x1b[31m", 23, 27, None), text=TEXT + "\x1b[2J")
    assert str(answer).splitlines() == [
        "Ann & <b>Bo</b> met",
        r"in Oslo.\x1b[2J",
        "  Ann   PER          0:3    0.98",
        r"  Oslo  LOC\x1b[31m  23:27",
    ]


def test_the_dict_is_ready_for_json():
    sentence = Sentence(["Ann"], ["B-PER"], text="Ann", starts=[0], ends=[3])
    answer = Document(
        "Ann", [sentence, Sentence(["x"])], [Entity(text="Ann", label="PER", start=0, end=3, probability=0.5)]
    )
    assert json.loads(json.dumps(answer.to_dict())) == {
        "text": "Ann",
        "entities": [{"text": "Ann", "label": "PER", "start": 0, "end": 3, "probability": 0.5}],
        "sentences": [
            {"tokens": [{"text": "Ann", "start": 0, "end": 3, "label": "B-PER"}]},
            {"tokens": [{"text": "x", "start": None, "end": None, "label": None}]},
        ],
    }
