"""Fragments for notebooks and complete pages around them."""

from oracles.pages import read_page
from postil.html.fragments import SCOPE, columns, figure, folded, fragment, note, page_of, titled


def test_a_fragment_is_one_element_with_its_style():
    page = read_page(fragment("a < b", note("n")))
    (div,) = page.children
    assert div.tag == "div" and div.attributes["class"] == SCOPE
    assert [getattr(child, "tag", child) for child in div.children] == ["style", "a < b", "p"]


def test_a_page_is_complete_and_escapes_its_title():
    html = page_of("<script>alert(1)</script>", "text")
    assert html.startswith("<!DOCTYPE html>\n<html lang")
    page = read_page(html)
    assert page.one("title").text == page.one("h1").text == "<script>alert(1)</script>"
    assert not list(page.all("script"))
    assert "default-src 'none'" in page.one("meta", http_equiv="Content-Security-Policy").attributes["content"]
    assert not list(read_page(page_of(None, "text")).all("h1"))


def test_pieces():
    page = read_page(columns(titled("T", "x"), figure("C", note("n")), folded("more", "a", note("b"))))
    assert page.one("p", class_="title").text == "T" and page.one("figcaption").text == "C"
    assert page.one("details").text == "moreab"
