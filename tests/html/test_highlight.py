from hypothesis import given
from hypothesis import strategies as st

from oracles.pages import read_page
from postil.html.highlight import LONGEST, LONGEST_TOKEN, Mark, excerpt, lasting_colours, whole
from postil.text.labels.schemes import Span

COLOURS = lasting_colours(["PER", "LOC"])


def shown(markup):
    """The words with what marks them, and the chips."""
    page = read_page(markup)
    parts = [(part.text, set(part.attributes["class"].split()) - {"t"}) for part in page.all("span", class_="t")]
    return parts, [chip.text for chip in page.all("small")]


def test_overlapping_spans_are_cut_at_every_edge():
    tokens = "the Red Cross of Norway said".split()
    marks = [Mark(Span("PER", 2, 5), False, True, 0.5), Mark(Span("LOC", 1, 3), True, False, 0.25)]
    parts, chips = shown(excerpt(tokens, marks, COLOURS))
    assert parts == [
        ("the", set()),
        ("Red", {"gold"}),
        ("Cross", {"gold", "predicted"}),
        ("of Norway", {"predicted"}),
        ("said", set()),
    ]
    assert chips == ["gold LOC 0.25", "PER 0.50"]


def test_where_both_agree_one_chip_says_so():
    assert shown(whole(["Oslo"], [Mark(Span("", 0, 1), True, True, 0.999)], COLOURS)) == (
        [("Oslo", {"gold", "predicted"})],
        ["✓ (unnamed) 1.00"],
    )


def test_long_sentences_are_cut_around_the_marks():
    tokens = [f"w{i}" for i in range(1000)]
    text = read_page(excerpt(tokens, [Mark(Span("PER", 500, 502), True, False)], COLOURS)).text
    assert "w500 w501" in text and text.startswith("… ") and text.endswith("…") and "w480" not in text


@given(st.lists(st.text(max_size=200), min_size=1, max_size=300), st.data())
def test_an_excerpt_is_short_and_shows_the_beginning_of_its_marks(tokens, data):
    start = data.draw(st.integers(0, len(tokens) - 1))
    end = data.draw(st.integers(start + 1, len(tokens)))
    page = excerpt(tokens, [Mark(Span("PER", start, end), False, True, 0.5)], COLOURS)
    parts, _ = shown(page.replace("http://", ""))
    assert any("predicted" in classes for _, classes in parts)
    text = "".join(part for part, _ in parts)
    assert len(text) <= LONGEST + 2 * LONGEST_TOKEN


def test_labels_beyond_the_palette_share_a_colour():
    colours = lasting_colours([str(i) for i in range(20)])
    assert colours["0"] != colours["7"] and colours["8"] == colours["19"]
