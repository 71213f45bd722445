"""Text from right to left, in a real browser: where words stand on the page."""

import pytest

from oracles.visitors import BROWSERS
from postil.html import element
from postil.html.fragments import page_of
from postil.html.highlight import Effect, Mark, effects_text, lasting_colours, marked_text
from postil.text import Entity

pytestmark = [pytest.mark.extra("playwright"), pytest.mark.extra(*BROWSERS)]
TEXT = "דוד לוי גר כאן\nAnna lives here\nराम दिल्ली"
NAMES = ("דוד לוי", "Anna", "राम")


@pytest.fixture
def boxes(browser):
    """The left and right edge of each element that a selector finds on a page."""
    opened = []

    def found(content, selector):
        opened.append(browser.new_page(viewport={"width": 900, "height": 600}))
        opened[-1].set_content(page_of("x", content))
        edges = "all => all.map(e => e.getBoundingClientRect()).map(box => [box.left, box.right])"
        return opened[-1].locator(selector).evaluate_all(edges)

    yield found
    for page in opened:
        page.close()


def test_each_line_has_its_own_direction(boxes):
    entities = [
        Entity(text=name, label="PER", start=TEXT.index(name), end=TEXT.index(name) + len(name)) for name in NAMES
    ]
    text = marked_text(TEXT, [Mark(one, False, True, 0.5) for one in entities], lasting_colours({"PER"}))
    ((left, right),) = boxes(text, "p.excerpt")
    hebrew, english, hindi = boxes(text, ".t.predicted")
    assert hebrew[1] == pytest.approx(right, abs=2)
    assert english[0] == hindi[0] == pytest.approx(left, abs=2)
    chips = boxes(text, ".chip")
    assert chips[0][1] <= hebrew[0] and chips[1][0] >= english[1], "a chip follows its name"


def test_words_of_an_explanation_are_in_the_order_of_the_text(boxes):
    words = [Effect(word, (1.0,)) for word in ("דוד", "לוי", "גר")]
    first, second, third = boxes(effects_text(words, chip=element("small", "PER", class_="chip")), ".effect")
    assert first[0] > second[0] > third[0]
    english = [Effect(word, (1.0,)) for word in ("Anna", "lives")]
    first, second = boxes(effects_text(english), ".effect")
    assert first[0] < second[0]
