"""Drawing primitives: well-formed, escaped, in the right places. Scales and ticks are in reports/test_charts.py."""

from xml.etree import ElementTree

import pytest

from postil.html import svg


def parsed(markup):
    return ElementTree.fromstring(str(markup))


def test_a_drawing_names_itself_and_escapes_what_is_in_it():
    drawn = parsed(svg.drawing(100, 50.5, "a < b", svg.text((1, 2), "c & d")))
    assert drawn.attrib["viewBox"] == "0 0 100 50.5" and drawn.attrib["aria-label"] == "a < b"
    assert drawn.find("title").text == "a < b" and drawn.find("text").text == "c & d"


def test_primitives_stand_where_they_should():
    assert parsed(svg.line((1, 2), (3, 4), class_="axis")).attrib == {
        "x1": "1",
        "y1": "2",
        "x2": "3",
        "y2": "4",
        "class": "axis",
    }
    assert parsed(svg.polyline([(1, 2), (3.25, 4)])).attrib["points"] in ("1.0,2.0 3.2,4.0", "1.0,2.0 3.3,4.0")
    circle = parsed(svg.circle((5, 6), 7, svg.title("seven")))
    assert (circle.attrib["cx"], circle.attrib["cy"], circle.attrib["r"]) == ("5", "6", "7")
    assert circle.find("title").text == "seven"
    box = parsed(svg.rectangle((1, 2), 30, 40))
    assert (box.attrib["x"], box.attrib["width"], box.attrib["height"]) == ("1", "30", "40")


def test_texts_turn_around_their_place():
    assert parsed(svg.text((1, 2), "x", turned=-90)).attrib["transform"] == "rotate(-90 1 2)"
    assert "transform" not in parsed(svg.text((1, 2), "x")).attrib


def test_an_empty_range_is_drawn_in_the_middle():
    plot = svg.Plot(width=100, height=100, xs=(3.0, 3.0), left=0, right=0, top=0, bottom=0)
    assert plot.point((3.0, 0.25)) == pytest.approx((50, 75))
