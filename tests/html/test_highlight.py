import json
import subprocess
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.pages import read_page
from postil.commands.console import styles_of
from postil.html.fragments import dark_palette
from postil.html.highlight import COLOURS as PALETTE
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
    labels = [str(i) for i in range(20)]
    colours = lasting_colours(labels)
    assert len({colours[label] for label in sorted(labels)[:PALETTE]}) == PALETTE == len(set(colours.values()))


LABELS = st.lists(
    st.one_of(st.sampled_from(["PER", "LOC", "ORG", "MISC", "constructor", "__proto__"]), st.text(max_size=6)),
    max_size=30,
)


@pytest.mark.extra("node")
@given(st.lists(LABELS, min_size=40, max_size=40))
@settings(max_examples=3, deadline=None)
def test_a_label_has_one_colour_in_python_on_pages_and_in_the_terminal(every):
    scripts = files("postil.html").joinpath("dom.js").read_text("utf8")
    asked = f"{scripts}\nconsole.log(JSON.stringify({json.dumps(every)}.map((one) => one.map((x) => colour(x, one)))))"
    answer = subprocess.run(
        ["node", "--input-type=module", "-"], input=asked, capture_output=True, text=True, check=True
    )
    terminal = dark_palette()
    for labels, shown in zip(every, json.loads(answer.stdout), strict=True):
        colours = lasting_colours(labels)
        assert shown == [colours[label][6:-1] for label in labels]
        assert styles_of(labels) == {x: f"#101418 on {terminal[f'--{colours[x][6:-1]}']}" for x in labels}
        assert all(c == "label-3" for x, c in zip(labels, shown, strict=True) if x == "PER")
