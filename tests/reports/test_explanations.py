"""The page of explanations."""

from oracles.pages import read_page
from postil.html import element
from postil.reports.data import LONGEST_TITLE, explanation_page


def test_a_section_for_each_explanation():
    page = read_page(explanation_page("<m>", [("A as <B>", element("p", "one")), ("x" * 100, element("p", "two"))]))
    assert page.one("h1").text == "Explanations by <m>"
    assert [h2.text for h2 in page.all("h2")] == ["A as <B>", "x" * (LONGEST_TITLE - 1) + "…"]
    assert [link.attributes["href"] for link in page.one("nav").children] == ["#explanation-1", "#explanation-2"]


def test_nothing_to_explain():
    assert "Nothing was found" in read_page(explanation_page("m", [])).one("header").text
