from xml.etree import ElementTree

import numpy as np
import pytest

from postil.html.svg import Curve, Plot, curve_chart, round_numbers
from postil.metrics import calibrate
from postil.reports.charts import line_chart, reliability_chart, short


def parsed(drawing):
    """Charts are well-formed XML, with a title for readers who do not see them."""
    root = ElementTree.fromstring(drawing)
    assert root.find("title").text == root.attrib["aria-label"]
    return root


def numbers(root, tag, *names):
    return [tuple(float(found.attrib[name]) for name in names) for found in root.iter(tag)]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]), (0, 97, [0, 20, 40, 60, 80]), (55.2, 56.1, [55.2, 55.4, 55.6, 55.8, 56])],
)
def test_round_numbers(low, high, expected):
    assert round_numbers(low, high) == pytest.approx(expected)


def test_round_numbers_of_a_point():
    assert round_numbers(3, 3) == [3]


def test_a_plot_turns_values_into_places():
    plot = Plot(width=100, height=100, xs=(0, 10), ys=(0, 1), left=10, right=10, top=10, bottom=10)
    assert plot.point((0, 0)) == (10, 90) and plot.point((10, 1)) == (90, 10) and plot.point((5, 0.5)) == (50, 50)
    assert Plot(xs=(3, 3)).x(3) == Plot().x(0.5)  # a single epoch stands in the middle


@pytest.mark.parametrize(
    "points", [[(1, 2.0)], [(1, 0.0), (2, 0.0)], [(1, -3.0), (2, 5.0)], [(i, 1 / i) for i in range(1, 200)]]
)
def test_line_charts_keep_inside_their_frame(points):
    root = parsed(line_chart("Loss", points, x_name="epoch", y_name="loss", marked=points[-1], mark="best"))
    width, height = (float(x) for x in root.attrib["viewBox"].split()[2:])
    for x, y in numbers(root, "circle", "cx", "cy"):
        assert 0 <= x <= width and 0 <= y <= height


def test_a_falling_loss_falls():
    root = parsed(line_chart("Loss", [(1, 3.0), (2, 2.0), (3, 1.0)], x_name="epoch", y_name="loss"))
    heights = [y for _, y in numbers(root, "circle", "cx", "cy")]
    assert heights == sorted(heights) and len(set(heights)) == 3  # y grows downwards in SVG


def test_a_reliability_diagram_shows_every_bin_with_answers():
    table = calibrate([0.05, 0.55, 0.58, 0.95], [False, True, False, True])
    root = parsed(reliability_chart("Reliability", {"spans": table}))
    told = [circle.find("title").text for circle in root.iter("circle")]
    assert told == [
        "spans: 1 answers, predicted 0.050, observed 0.000",
        "spans: 2 answers, predicted 0.565, observed 0.500",
        "spans: 1 answers, predicted 0.950, observed 1.000",
    ]
    bars = numbers(root, "rect", "height")
    assert np.argmax(bars) == 5 and len(bars) == 10


def test_reliability_before_and_after():
    one, other = calibrate([0.9], [False]), calibrate([0.5], [True])
    root = parsed(reliability_chart("Reliability", {"before": one, "after": other}))
    assert [circle.attrib["class"] for circle in root.iter("circle")] == ["dot other", "dot"]


def test_curves_carry_their_names():
    root = parsed(
        curve_chart("PR", [Curve("<all>", [(0.1, 1), (0.9, 0.2)], "red", (0.5, 0.5))], x_name="R", y_name="P")
    )
    assert [g.attrib["data-curve"] for g in root.iter("g")] == ["<all>"]


def test_short_counts():
    assert [short(n) for n in (0, 9999, 10_000, 123_456, 2_500_000)] == ["0", "9999", "10k", "123k", "2.5M"]
