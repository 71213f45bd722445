from hypothesis import given
from hypothesis import strategies as st

from oracles.pages import read_page
from postil.html import Markup, element, escaped, joined

ANY_TEXT = st.text(st.characters(exclude_categories=[]))


def test_elements():
    assert element("p", "a < b & c", class_="note") == '<p class="note">a &lt; b &amp; c</p>'
    assert element("p", element("b", "x"), None, 3) == "<p><b>x</b>3</p>"
    assert element("input", type="text", hidden=True, disabled=False, name=None) == '<input type="text" hidden>'
    assert element("g", data_kind="a", x=1.0, y=2.345, z=0.1) == '<g data-kind="a" x="1" y="2.35" z="0.1"></g>'


def test_what_is_markup_is_not_escaped_again():
    assert joined([Markup("<b>"), "<b>"]) == "<b>&lt;b&gt;"
    assert isinstance(element("p"), Markup)


def test_control_characters_become_visible():
    assert escaped("\x00\x1b\x7f\x85") == "␀␛␡\ufffd"
    assert escaped("a\tb\nc") == "a\tb\nc"
    assert escaped("\u202eabc\u2066") == "\ufffdabc\ufffd"  # would turn around what follows
    assert escaped("שלום 🙂") == "שלום 🙂"


@given(ANY_TEXT, ANY_TEXT)
def test_any_text_stays_inside_its_element(content, attribute):
    text = element("p", content, title=attribute)
    text.encode()  # also with lone surrogates
    (paragraph,) = read_page(text.replace("http://", "").replace("https://", "")).children
    assert paragraph.tag == "p" and set(paragraph.attributes) == {"title"}
    assert all(isinstance(child, str) for child in paragraph.children)


@given(st.text(st.characters(categories=["L", "N", "P", "S"])))
def test_printable_text_can_be_read_back(content):
    (paragraph,) = read_page(element("p", content, title=content)).children
    assert paragraph.text == content and paragraph.attributes["title"] == content
