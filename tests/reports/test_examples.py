from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.pages import read_page
from postil.reports.sections import Mistake, fair_part, mistake_browser, spread
from postil.text import Span


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


def browsed(wrong, **options):
    return mistake_browser(wrong, [["x", "y"]] * 1000, lambda i, t: f"line {i}", {}, **options)


def test_the_surest_mistakes_stand_first_and_counts_are_of_all():
    missed = [Mistake(i, "missed", Span("A", 0, 1), None, 0.1 if i else None) for i in range(600)]
    wrong = [*missed, Mistake(700, "type", Span("A", 0, 1), Span("", 0, 1), None, 0.9)]
    page = read_page(browsed(wrong, kinds=("missed", "boundary", "type")))
    items = list(page.one("ol", id="examples").all("li"))
    assert [li.attributes["data-kind"] for li in items] == ["type", *["missed"] * 499]
    assert "data-figure" not in items[-1].attributes and "line 0" in items[-1].text
    assert "This page lists 500 of 601 mistakes" in page.text
    options = [option.text for option in page.one("select", name="kind").all("option")]
    assert options == ["any", "missed (600)", "type (1)"]
    assert [o.attributes["value"] for o in page.one("select", name="predicted").all("option")] == ["", "(unnamed)"]
    assert "data-predicted" not in items[1].attributes


@pytest.mark.parametrize("kinds", [(), ("missed",)])
def test_no_mistakes(kinds):
    assert "no mistakes" in browsed([], kinds=kinds)
