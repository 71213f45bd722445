"""The page of a search: every trial, hostile names escaped."""

from postil.curation.halving import SearchResult, Trial
from postil.reports.search import search_page, trials_table

BASE, BEST = Trial(0, {}, 9, (0.5, 0.6)), Trial(3, {"hidden": 64}, 9, (0.7, 0.8))
RESULT = SearchResult("fast", [BEST, BASE], BEST, BASE, {3: {0: 0.4, 3: 0.5}, 9: {0: 0.55, 3: 0.75}}, 6, 1.0, True)


def test_the_page_has_every_trial():
    page = search_page(RESULT, "<b>data</b>")
    assert "hidden=64" in page and "fast, as it was" in page and "&lt;b&gt;data" in page and "<b>data" not in page
    assert page.count("<polyline") == 2


def test_the_table():
    assert trials_table(RESULT, 1).rows == [(75.0, 2, 9, "hidden=64")]
