from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.pages import read_page
from postil.html import element
from postil.reports.sections import Shown, ShownMistake, browser, fair_part, spread


@given(st.integers(0, 300), st.integers(1, 50))
def test_spread_is_even_and_in_order(count, most):
    found = spread(range(count), most)
    assert len(found) == min(count, most) and found == sorted(set(found))
    gaps = {b - a for a, b in pairwise(found)}
    assert not gaps or max(gaps) - min(gaps) <= 1


@given(st.lists(st.integers(0, 200), min_size=1, max_size=6), st.integers(6, 300))
def test_a_fair_part_gives_small_groups_whole(sizes, most):
    shown = fair_part({str(i): range(size) for i, size in enumerate(sizes)}, most)
    kept = [len(part) for part in shown.values()]
    assert sum(kept) <= most
    limit = max(kept)
    assert kept == [min(size, limit) for size in sizes]  # nobody has more than another who could have as much
    assert limit == max(sizes) or sum(min(size, limit + 1) for size in sizes) > most  # and not one more fits


def test_the_surest_mistakes_stand_first_and_counts_are_of_all():
    examples = [
        ShownMistake("missed", "A", None, 0.1, "line 1", element("p", "x")),
        ShownMistake("type", "A", "", 0.9, "line 2", element("p", "y")),
        ShownMistake("missed", "A", None, None, "line 3", element("p", "z")),
    ]
    counts = {"missed": Shown(12_000, 2), "type": Shown(1, 1), "boundary": Shown(0, 0)}
    page = read_page(browser(examples, counts, Counter({"A": 12_001}), figure="probability"))
    assert [li.attributes["data-kind"] for li in page.one("ol", id="examples").all("li")] == [
        "type",
        "missed",
        "missed",
    ]
    assert "This page lists 3 of 12,001 mistakes" in page.text
    options = [option.text for option in page.one("select", name="kind").all("option")]
    assert options == ["any", "missed (12,000)", "type (1)"]
    assert [o.attributes["value"] for o in page.one("select", name="predicted").all("option")] == ["", "(unnamed)"]
    assert "data-predicted" not in page.one("ol", id="examples").children[1].attributes


@pytest.mark.parametrize("kinds", [{}, {"missed": Shown(0, 0)}])
def test_no_mistakes(kinds):
    assert "no mistakes" in browser([], kinds, Counter(), figure="probability")
