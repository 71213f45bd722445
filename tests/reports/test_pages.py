"""One file with everything in it, whatever the texts in it are."""

from oracles.pages import read_page
from postil.html import element
from postil.html.fragments import columns, figure, folded, note
from postil.metrics.tables import Table, drawn_table
from postil.reports.sections import Section, page

WRITTEN = page("a <b>", element("h1", "x & y"), [Section("one", "First & last", element("p", "body"))])


def test_the_page_needs_no_other_file_and_allows_none():
    read = read_page(WRITTEN)
    policy = next(meta for meta in read.all("meta") if "http-equiv" in meta.attributes)
    assert "default-src 'none'" in policy.attributes["content"]
    assert not list(read.all("link")) and not list(read.all("img"))
    assert read.one("style").text.strip() and read.one("script").text.strip()


def test_titles_are_escaped_and_sections_can_be_addressed():
    read = read_page(WRITTEN)
    assert read.one("title").text == "a <b>" and read.one("h1").text == "x & y"
    assert read.one("nav").one("a").attributes["href"] == "#one"
    assert read.one("section", id="one").one("h2").text == "First & last"


def test_tables_show_bars_totals_and_notes():
    content = Table("", ("label", "F1"), [("<x>", 50.0), ("all", 25.0)], note="of 4", has_total=True)
    read = read_page(str(drawn_table(content, bars=("F1",))))
    rows = list(read.one("tbody").all("tr"))
    assert rows[0].one("bdi").text == "<x>" and rows[1].attributes["class"] == "total"
    assert [row.one("td", class_="bar").attributes["style"] for row in rows] == [
        "--share:0.5000",
        "--share:0.2500",
    ]
    assert read.one("p", class_="note").text == "of 4"


def test_pieces():
    drawn = read_page(str(columns(note("why"), figure("what", element("svg")), folded("more", element("p", "hidden")))))
    assert drawn.one("figcaption").text == "what" and drawn.one("summary").text == "more"
