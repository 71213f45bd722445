"""The exported page, opened from disk in a browser without a network."""

import json
import re

import pytest

import postil
from oracles import corpora
from oracles.visitors import BROWSERS, broken_rules
from postil.export import web

pytestmark = [pytest.mark.extra("playwright"), pytest.mark.extra(*BROWSERS)]
SIZES = {"wide": (1280, 800), "phone": (360, 740)}
HOSTILE = "</script><script>document.title='broken'</script><!--<script>"


class Visitor:
    """A page from disk that notes errors, violations of its policy, and everything that it asks for."""

    def __init__(self, browser, path, size="wide", **options):
        width, height = SIZES[size]
        self.context = browser.new_context(viewport={"width": width, "height": height}, offline=True, **options)
        self.page, self.problems, self.requests = self.context.new_page(), [], []
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.set_default_timeout(30_000)
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready]", state="attached")


@pytest.fixture(scope="module")
def names_page(exported, names_model):
    return exported(names_model, "names.html")


@pytest.fixture
def visit(browser):
    visitors = []

    def opened(path, size="wide", **options):
        visitors.append(Visitor(browser, path, size, **options))
        return visitors[-1].page

    yield opened
    for visitor in visitors:
        visitor.context.close()
        assert visitor.problems == []
        asked = [url for url in visitor.requests if not url.startswith(("file:", "data:"))]
        assert asked == [] and len([url for url in visitor.requests if url.startswith("file:")]) == 1


def entities(page):
    found = page.locator("#answer .entity").evaluate_all("all => all.map(e => e.innerText)")
    return [re.sub(r"\s+", " ", text) for text in found]


@pytest.mark.parametrize("size", SIZES)
def test_entities_are_marked_as_one_types(visit, names_page, size):
    page = visit(names_page, size)
    page.fill("#text", "")
    assert page.inner_text("#answer") == "Type a text above."
    page.type("#text", "Anna lives in Oslo 😀.")
    assert entities(page) == ["AnnaPER", "OsloLOC"]
    page.hover("#answer .entity >> nth=1")
    assert re.fullmatch(r"LOC\nprobability \S+ %\ncharacters 14 to 18", page.inner_text("#tip"))
    assert "6 tokens in 1 sentence" in page.inner_text("#figures")
    assert page.locator("tbody tr .finder").all_inner_texts() == ["Anna", "Oslo"]
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "nothing sticks out"


def test_less_probable_entities_and_hidden_classes_leave(visit, names_page):
    page = visit(names_page)
    page.fill("#text", "Anna lives in Oslo and Zorg met Xyz in Quux, the museums of Blah are old")
    before = entities(page)
    page.fill("#threshold", "1")
    assert len(entities(page)) < len(before)
    page.fill("#threshold", "0")
    assert entities(page) == before
    page.click(".legend button[data-label=PER]")
    assert entities(page) == [one for one in before if one.endswith("LOC")] != before
    page.keyboard.press("Enter")
    assert entities(page) == before, "the button still has the focus"
    page.click(".finder >> nth=1")
    assert page.locator("#answer .chosen").count() == 1


def test_the_page_has_the_answers_of_python(visit, names_page, names_model):
    page, tagger = visit(names_page), web.as_exported(postil.load(names_model))[0]
    X = corpora.named_entities(100, seed=3)[0]
    answers = page.evaluate("X => tagger.tagTokens(X)", X)
    assert [answer["labels"] for answer in answers] == tagger.predict(X)
    for tokens, answer in zip(X, answers, strict=True):
        wanted = [m[label] for m, label in zip(tagger.marginals(tokens), answer["labels"], strict=True)]
        assert answer["probabilities"] == pytest.approx(wanted, abs=1e-5)


def test_labels_of_single_words_stand_below_them(visit, exported, speech_model):
    page = visit(exported(speech_model, "speech.html"))
    page.fill("#text", "Anna lives in Oslo")
    assert page.locator("#answer .word").all_inner_texts() == ["AnnaNAME", "livesVERB", "inX|Y", "OsloNAME"]


def test_words_longer_than_a_line_stay_on_the_page(visit, exported, names_page, speech_model):
    for path, kind in ((exported(speech_model, "speech.html"), ".word"), (names_page, ".entity")):
        page = visit(path, "phone")
        page.fill("#text", f"Anna W{'w' * 200} lives in Oslo")
        assert page.locator(f"#answer {kind}").count() > 0
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "nothing sticks out"


def test_hostile_strings_of_a_model_are_text(visit, exported, tmp_path):
    X, y = corpora.named_entities(60)
    y = [[label.replace("PER", HOSTILE) for label in labels] for labels in y]
    path = tmp_path / "hostile.postil"
    postil.Tagger(hidden=16, epochs=4, rate=0.02).fit(X, y).save(path)
    card = {"title": HOSTILE, "about": HOSTILE, "tables": [], "weaknesses": [HOSTILE]}
    path.with_suffix(".card.json").write_text(json.dumps(card), encoding="utf8")
    page = visit(exported(path, "hostile.html"))
    assert page.title() == HOSTILE and page.inner_text("h1") == HOSTILE
    page.fill("#text", "Anna lives in Oslo")
    assert entities(page)[0] == f"Anna{HOSTILE}"
    assert HOSTILE in page.locator(".legend").inner_text()


def test_the_policy_stops_other_scripts_and_requests(browser, names_page, tmp_path):
    """The policy is what stops them: a script that is not the page's own, and a request by one that is."""
    content = names_page.read_text(encoding="utf8")
    changed = tmp_path / "changed.html"
    changed.write_text(
        content.replace("</main>", "</main><script>document.title='broken'</script>", 1), encoding="utf8"
    )
    visitor = Visitor(browser, changed)
    assert visitor.page.title() != "broken"
    assert any("Content Security Policy" in problem for problem in visitor.problems)
    blocked = visitor.page.evaluate("fetch('data:,x').then(() => 'fetched', () => 'blocked')")
    assert blocked == "blocked"
    visitor.context.close()


@pytest.mark.extra("axe_playwright_python")
def test_no_accessibility_rule_is_broken(browser, names_page):
    for size in SIZES:
        visitor = Visitor(browser, names_page, size, bypass_csp=True)
        assert broken_rules(visitor.page) == []
        visitor.context.close()


def test_a_text_of_a_megabyte_is_labelled_and_drawn_in_part(visit, names_page):
    page = visit(names_page)
    page.fill("#text", "Anna lives in Oslo. " * 50_000)
    page.wait_for_selector("#figures:has-text('250,000 tokens')")
    assert "more characters are labelled, but not drawn" in page.inner_text("#answer")
    page.fill("#text", "Oslo")
    page.wait_for_selector("#figures:has-text('1 token in 1 sentence')")
    assert entities(page) == ["OsloLOC"]
