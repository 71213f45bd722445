"""Contributions as text and table: sign, side and colour say the same."""

from oracles.pages import read_page, table_rows
from postil.html import element
from postil.html.highlight import Effect, effects_table, effects_text, key, signed


def test_signs():
    assert [signed(value) for value in (1.234, -1.234, 0.0, -0.001, None)] == [
        "+1.23",
        "−1.23",
        "0.00",
        "0.00",
        "too far",
    ]
    assert signed(-0.00004, 4) == "0.0000" and signed(-0.00006, 4) == "−0.0001"


def test_words_that_matter_have_a_figure_and_a_side():
    words = [Effect("<b>", (2.0,)), Effect("x", (None, -1.0), True), Effect("y", (0.01,)), Effect("z", ())]
    page = read_page(effects_text(words, chip=element("small", "LOC", class_="chip")))
    assert page.one("p").text.split() == ["<b>+2.00", "x−1.00", "LOC", "y", "z"]
    assert page.one("span", class_="support").text == "<b>+2.00"
    assert page.one("span", class_="oppose").text == page.one("span", class_="explained").text == "x−1.00"


def test_no_effect_at_all():
    assert read_page(effects_text([Effect("a", (0.0,)), Effect("b", (0.0,), True)])).one("p").text.split() == ["a", "b"]
    assert not list(read_page(effects_table("w", ("v",), [Effect("a", (0.0,))])).all("span"))


def test_bars_lie_on_the_side_of_their_sign_and_are_as_long_as_their_share():
    table = read_page(
        effects_table("word", ("left out", "gradient"), [Effect("a", (2.0, -1.0)), Effect("b", (None, 0.5))])
    )
    assert table_rows(table.one("table")) == [
        ["word", "left out", "", "gradient", ""],
        ["a", "+2.00", "", "−1.00", ""],
        ["b", "too far", "", "+0.50", ""],
    ]
    bars = [(bar.attributes["class"], bar.attributes["style"]) for bar in table.all("span")]
    assert bars == [("support", "--share:1.000"), ("oppose", "--share:0.500"), ("support", "--share:0.250")]


def test_the_key_names_the_label():
    assert read_page(key("A<B")).one("p").text == "+ supports A<B, − opposes it."
