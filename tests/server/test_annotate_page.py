"""The page to annotate in a real browser: by keyboard, by mouse, wide and narrow, with hostile text and kills."""

import json
import re
import signal
import time
from pathlib import Path

import pytest

from oracles import corpora
from oracles.visitors import BROWSERS, SIZES, Visitor, broken_rules, until
from postil.annotation import Journal
from postil.text import Span

pytestmark = [pytest.mark.extra("playwright"), pytest.mark.extra(*BROWSERS)]
X, Y = corpora.named_entities(60)


class Page:
    """The page with what a person does there."""

    def __init__(self, visitor, path, process, address):
        self.visitor, self.page, self.path = visitor, visitor.page, path
        self.process, self.address = process, address
        self.page.goto(address)
        self.page.wait_for_selector("#sentence .word, .done")

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)
        self.page.wait_for_timeout(30)

    @property
    def words(self):
        return self.page.locator("#sentence .word").all_inner_texts()

    @property
    def spans(self):
        """Text, label and look of the spans."""
        found = "all => all.map(e => [e.innerText.replace(/\\s+/g, ' '), e.className.split(' ')[1]])"
        return [tuple(one) for one in self.page.locator("#sentence .entity").evaluate_all(found)]

    @property
    def question(self):
        return re.sub(r"\s+", " ", self.page.inner_text("#question p"))

    def count(self):
        return tuple(int(text) for text in self.page.locator("#progress .big").all_inner_texts())

    def until_count(self, *expected):
        """Wait for the numbers of answers, of spans (None: any) and of skipped records."""
        deadline = time.monotonic() + 30
        while any(one not in (None, other) for one, other in zip(expected, self.count(), strict=True)):
            assert time.monotonic() < deadline, (self.count(), expected)
            self.page.wait_for_timeout(20)

    def answers(self):
        """What is in the file while the server runs."""
        lines = [json.loads(line) for line in self.path.read_text(encoding="utf8").splitlines()]
        return [line for line in lines if line["answer"] == "accept"]


@pytest.fixture
def annotate(browser, start, tmp_path):
    pages = []

    def opened(sentences=X, *words, size="wide", answers="answers.jsonl", options=None, **context):
        pool = tmp_path / "pool.jsonl"
        records = [one if isinstance(one, dict) else {"tokens": list(one)} for one in sentences]
        pool.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf8")
        process, address = start(pool, "-o", tmp_path / answers, *words, command="annotate")
        visitor = Visitor(browser, address.partition("/#")[0], size, **context)
        pages.append(Page(visitor, tmp_path / answers, process, address))
        return pages[-1]

    yield opened
    problems = [problem for page in pages for problem in page.visitor.problems]
    for page in pages:
        page.visitor.context.close()
        if page.process.poll() is None:
            page.process.kill()
    assert [one for one in problems if "net::ERR_CONNECTION" not in one] == [], "but for servers that were killed"


def from_file(path):
    with Journal(path) as journal:
        return list(journal)


# ------------------------------------------------------------------------------------------------ the keyboard


def test_ten_records_by_keyboard_alone(annotate):
    """Spans of several words, all classes, a record without any, one skipped, one undone: nothing but keys."""
    page = annotate(X, "--labels", "PER,LOC", "--every", "0")
    expected = {}
    unique = list(dict.fromkeys(map(tuple, X)))
    gold = {tuple(tokens): labels for tokens, labels in zip(X, Y, strict=True)}
    from postil.text import spans_from_labels

    for number in range(10):
        words = tuple(page.words)
        assert words == unique[number]
        spans = spans_from_labels(gold[words], "bio")
        for span in spans:
            page.press("Home")
            while page.page.evaluate("Number(document.activeElement.dataset.word)") < span.start:
                page.press("ArrowRight")
            page.press(*["Shift+ArrowRight"] * (span.end - span.start - 1), "1" if span.label == "PER" else "2")
        if number == 3:
            page.press("s")
        else:
            page.press("Enter")
            expected[words] = spans
        page.until_count(*_counts(expected, skipped=number >= 3))
    page.press("u")
    page.until_count(*_counts(dict(list(expected.items())[:-1]), skipped=1))
    assert tuple(page.words) == unique[9], "undone: it is shown again, with its spans"
    page.press("Enter")
    page.until_count(*_counts(expected, skipped=1))
    actual = {tuple(one["text"].split(" ")): one["spans"] for one in page.answers()}
    assert {
        words: [Span(s["label"], s["token_start"], s["token_end"] + 1) for s in spans]
        for words, spans in actual.items()
    } == expected


def _counts(expected, skipped):
    return len(expected), sum(map(len, expected.values())), int(skipped)


def test_proposals_are_accepted_rejected_relabelled_and_moved(annotate):
    text = "Anna Berg met Bob in New York today"
    spans = [(0, 4, "PER"), (14, 17, "LOC"), (21, 24, "LOC"), (30, 35, "PER")]
    record = {"text": text, "spans": [{"start": s, "end": e, "label": label} for s, e, label in spans]}
    page = annotate([record, ["next"]], "--labels", "PER,LOC", "--every", "0")
    assert page.spans == [("AnnaPER ?", "asked"), ("BobLOC ?", "asked"), ("NewLOC ?", "asked"), ("todayPER ?", "asked")]
    assert page.question == "Is this right? Anna PER"
    page.press("p")  # the right end to the right
    assert page.spans[0] == ("Anna BergPER", "mine") and page.question == "Anna Berg PER"
    page.press("w", "w")  # there is no room for a second step
    assert page.spans[0] == ("BergPER", "mine")
    page.press("q", "Enter")
    assert page.spans[0] == ("Anna BergPER", "mine") and page.question == "Is this right? Bob LOC"
    page.press("1")
    assert page.spans[1] == ("BobPER", "mine") and page.question == "Is this right? New LOC"
    page.press("p", "o", "p", "ArrowDown")
    assert page.spans[2] == ("New YorkLOC", "mine") and page.question == "Is this right? today PER"
    page.press("r")
    assert len(page.spans) == 3
    page.press("Enter")
    page.until_count(1, 3, 0)
    (answer,) = page.answers()
    assert [(text[s["start"] : s["end"]], s["label"]) for s in answer["spans"]] == [
        ("Anna Berg", "PER"),
        ("Bob", "PER"),
        ("New York", "LOC"),
    ]


def test_progress_counts_answers_and_the_end_page_lead_on(annotate):
    page = annotate([["Anna", "met", "Bo", "Berg"], ["in", "Oslo"]], "--labels", "PER,LOC", "--every", "0")
    page.press("Home", "1", "n")  # Anna is PER; the next capital in no span
    assert page.question.startswith("Label Bo as")
    page.press("Shift+ArrowRight", "1", "Enter")
    page.until_count(1, 2, 0)
    assert re.sub(r"\s+", " ", page.page.inner_text("#counts")) == "PER 2 LOC 0"
    bar = page.page.locator("#progress progress")
    assert (bar.get_attribute("value"), bar.get_attribute("max")) == ("1", "2")
    page.page.click("#answers summary")
    assert "Anna met Bo Berg" in page.page.inner_text("#answers li")
    page.page.evaluate("document.activeElement.blur()")
    page.press("End", "2", "k", "ArrowLeft", "Space")  # every selection is LOC now
    assert [text for text, _ in page.spans] == ["inLOC", "OsloLOC"]
    page.press("Enter")
    page.page.wait_for_selector(".done code:has-text('postil train')")
    assert page.page.inner_text(".done code") == f"postil train {page.path} -o model.postil"
    with page.page.expect_download() as download:
        page.page.click("text='Download'")
    assert download.value.suggested_filename == page.path.name
    assert Path(download.value.path()).read_text(encoding="utf8") == page.path.read_text(encoding="utf8")


def test_undo_takes_back_every_edit_and_then_every_answer(annotate):
    page = annotate([["a", "b", "c"], ["d", "e"], ["f"]], "--labels", "PER,LOC", "--every", "0")
    page.press("ArrowRight", "1", "p", "2")  # the second word, as PER; then longer, then LOC
    assert page.spans == [("b cLOC", "mine")]
    seen = []
    for _ in range(3):
        page.press("u")
        seen.append(page.spans)
    assert seen == [[("b cPER", "mine")], [("bPER", "mine")], []]
    page.press("2", "Enter")
    page.until_count(1, 1, 0)
    page.press("s")
    page.until_count(1, 1, 1)
    assert page.words == ["f"]
    page.press("u")
    page.until_count(1, 1, 0)
    assert page.words == ["d", "e"]
    page.press("u")
    page.until_count(0, 0, 0)
    assert page.words == ["a", "b", "c"] and page.spans == [("bLOC", "sure")]
    page.press("u")
    until(page.page, "document.getElementById('status').textContent === 'there is nothing to undo'")
    assert page.count() == (0, 0, 0)


def test_back_and_forward_and_a_changed_answer(annotate):
    page = annotate([["a"], ["b"], ["c"]], "--labels", "PER,LOC", "--every", "0")
    for key in "12":
        page.press("ArrowRight", key, "Enter")
    page.until_count(2, 2, 0)
    page.press("b", "b")
    until(page.page, "document.querySelector('#sentence').innerText.startsWith('a')")
    assert page.page.inner_text(".past") == "2 answers ago. A change replaces it."
    page.press("b")
    until(page.page, "document.getElementById('status').textContent === 'no earlier answer'")
    page.press("f")
    until(page.page, "document.querySelector('#sentence').innerText.startsWith('b')")
    page.press("ArrowDown", "1", "Enter")
    until(page.page, "document.querySelector('#sentence').innerText.startsWith('c')")
    assert page.count() == (2, 2, 0) and page.page.locator(".past").count() == 0
    assert [one["spans"][0]["label"] for one in page.answers()] == ["PER", "PER"]
    page.press("u")
    until(page.page, "document.querySelector('#sentence').innerText.startsWith('b')")
    assert page.spans == [("bLOC", "sure")] and page.answers()[1]["spans"][0]["label"] == "LOC"


def test_keys_that_come_while_an_answer_is_saved_are_for_the_next_record(annotate):
    page = annotate([["a"], ["b"], ["c"], ["d"]], "--labels", "PER,LOC", "--every", "0")
    for key in ["Home", "1", "Enter", "Home", "2", "Enter", "Home", "1", "Enter"]:
        page.page.keyboard.press(key)
    page.until_count(3, 3, 0)
    assert [(one["text"], one["spans"][0]["label"]) for one in page.answers()] == [
        ("a", "PER"),
        ("b", "LOC"),
        ("c", "PER"),
    ]


def test_letters_can_be_turned_off_and_are_letters_where_one_types(annotate):
    page = annotate([["a"], ["b"]], "--labels", "PER", "--every", "0")
    page.press("c")
    page.page.keyboard.type("snack")
    page.press("Enter")
    until(page.page, "document.querySelectorAll('.choice').length === 2")
    assert page.count() == (0, 0, 0) and page.words == ["a"]
    page.press("ArrowRight", "2")
    assert page.spans == [("asnack", "mine")]
    page.page.uncheck("#letters")
    page.page.focus("[data-word='0']")
    page.press("s", "r")
    assert page.spans == [("asnack", "mine")] and page.words == ["a"]
    page.press("Enter")
    page.until_count(1, 1, 0)


def test_a_screen_reader_hears_what_is_asked(annotate):
    record = {"text": "Anna left", "spans": [{"start": 0, "end": 4, "label": "PER"}]}
    page = annotate([record, {"text": "next one", "spans": []}], "--every", "0")
    live = "document.getElementById('live').textContent"
    until(page.page, f"{live} === 'Anna left. 1 question. Anna: PER, is it?'")
    assert page.page.get_attribute("#live", "aria-live") == "polite"
    page.press("Enter")
    until(page.page, f"{live}.startsWith('accepted. Anna: PER')")
    page.press("Enter")
    until(page.page, f"{live} === 'next one. 0 spans. Enter saves.'")


# ------------------------------------------------------------------------------------------------ mouse and phone


@pytest.mark.parametrize("size", SIZES)
def test_by_mouse(annotate, size):
    page = annotate([["in", "New", "York", "City"], ["b"]], "--labels", "PER,LOC", "--every", "0", size=size)
    page.page.hover("[data-word='1']")
    page.page.mouse.down()
    page.page.hover("[data-word='3']")
    page.page.mouse.up()
    page.page.click(".choice:has-text('LOC')")
    assert page.spans == [("New York CityLOC", "mine")]
    page.page.click("button[aria-label='Move the right end to the left']")
    until(page.page, "document.querySelector('.entity').innerText.replace(/\\s+/g, ' ') === 'New YorkLOC'")
    page.page.click("text=Undo")
    until(page.page, "document.querySelector('.entity').innerText.includes('City')")
    page.page.click("[data-word='0']")
    page.page.click("button[aria-label='Add the word on the right']")
    assert page.question == "Label in New as:"
    page.page.click(".choice:has-text('PER')")
    until(page.page, "document.querySelectorAll('.entity').length === 1")
    assert page.spans == [("in NewPER", "mine")], "what it overlaps is replaced"
    page.page.click("#actions >> text=Save")
    page.until_count(1, 1, 0)
    page.page.fill("#new-class", "ORG")
    page.page.click("text=Add")
    until(page.page, "document.querySelectorAll('.choice').length === 3")
    assert page.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "nothing sticks out"
    page.page.click("#actions >> text=Skip")
    page.page.wait_for_selector(".done")
    page.page.click(".done >> text=Undo")
    until(page.page, "document.querySelector('#sentence')?.innerText === 'b'")


@pytest.mark.extra("axe_playwright_python")
@pytest.mark.parametrize("size", SIZES)
def test_no_accessibility_rule_is_broken(annotate, names_model, size):
    page = annotate(X, "--model", names_model, "--every", "0", size=size, bypass_csp=True)
    assert broken_rules(page.page) == []
    for _ in range(6):
        page.press("Shift+Enter")
    page.until_count(6, None, 0)
    page.page.click("text=By model")
    page.press("ArrowRight", "Shift+ArrowRight")
    assert broken_rules(page.page) == []
    page.press("b")
    page.page.wait_for_selector(".past")
    assert broken_rules(page.page) == []


# ------------------------------------------------------------------------------------------------ safety


def test_markup_in_texts_and_classes_is_never_executed(annotate):
    hostile = [
        "<script>alert(1)</script>",
        "<img/src=x/onerror=alert(2)>",
        '"><svg/onload=alert(3)>',
        "{{7*7}}",
        "javascript:alert(4)",
    ]
    around = {
        "text": "<b>before</b> " * 3 + "Anna left. <i>After</i> it.",
        "where": "<u>x</u>",
        "doubts": [{"in the data": "<s>y</s>"}],
    }
    page = annotate([hostile, around], "--every", "0")
    page.page.on("dialog", lambda dialog: pytest.fail("a script ran"))
    assert page.words == hostile
    page.page.fill("#new-class", "<img/src=x/onerror=alert(5)>")
    page.page.click("text=Add")
    until(page.page, "document.querySelectorAll('.choice').length === 1")
    page.press("ArrowRight", "1", "Enter")
    page.until_count(1, 1, 0)
    page.page.wait_for_timeout(300)
    assert page.page.locator("main img, main script, main b, main i, main u, main s, main svg:not(.curve)").count() == 0
    (answer,) = page.answers()
    assert answer["text"] == " ".join(hostile) and answer["spans"][0]["label"] == "<img/src=x/onerror=alert(5)>"


def test_the_token_does_not_stay_in_the_address(annotate):
    page = annotate([["a"], ["b"]], "--labels", "PER", "--every", "0")
    assert "token" not in page.page.url and "#token=" in page.address
    page.page.reload()
    page.page.wait_for_selector("#sentence .word")
    other = page.visitor.context.new_page()
    asked = []
    other.on("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    other.goto(page.page.url)
    other.wait_for_selector(".error")
    assert asked == ["This server needs its token:"] and "token" in other.inner_text(".error")


def test_no_answer_is_lost_by_a_kill_in_the_middle(annotate):
    """Killed between two keys, again and again: what the page has shown as saved is there, nothing is asked twice."""
    saved = []
    for round_number in range(3):
        page = annotate([[f"word{number}", "x"] for number in range(40)], "--labels", "PER", "--every", "0")
        page.until_count(len(saved), len(saved), 0)
        for _ in range(4):
            words = page.words
            assert words[0] not in saved
            page.press("Home", "1", "Enter")
            page.until_count(len(saved) + 1, len(saved) + 1, 0)
            saved.append(words[0])
        page.press("Home", "1")
        if round_number == 1:
            page.page.keyboard.press("Enter")  # it is on its way
        page.process.send_signal(signal.SIGKILL)
        page.process.wait(30)
        found = [answer.words[0] for answer in from_file(page.path)]
        assert found[: len(saved)] == saved and len(found) <= len(saved) + (round_number == 1)
        saved = found
        page.press("Enter")
        page.page.wait_for_selector("#problem .error")
        assert "nothing was saved" in page.page.inner_text("#problem") or round_number == 1
    assert len(saved) >= 12


def test_an_answer_that_could_not_be_sent_is_still_there_to_send(annotate):
    page = annotate([["a"], ["b"]], "--labels", "PER", "--every", "0")
    page.press("Home", "1")
    page.page.route("**/api/annotation/answer", lambda route: route.abort())
    page.press("Enter")
    page.page.wait_for_selector("#problem .error")
    assert page.spans == [("aPER", "mine")]
    page.page.unroute("**/api/annotation/answer")
    page.press("Enter")
    page.until_count(1, 1, 0)
    assert page.page.locator("#problem .error").count() == 0
    page.visitor.problems[:] = [one for one in page.visitor.problems if "ERR_FAILED" not in one]


# ------------------------------------------------------------------------------------------------ learning


def test_a_model_is_learnt_while_one_answers_and_the_curve_is_drawn(annotate, names_model):
    page = annotate(X, "--model", names_model, "--every", "8", "--set", "epochs=3")
    assert page.page.inner_text("#learning") == "The model retrains after 8 more answers."
    for number in range(1, 9):
        page.press("Shift+Enter")
        page.until_count(number, None, 0)
    page.page.wait_for_selector("svg.curve .curve-line", state="attached")  # a level line has no height
    assert page.page.get_attribute("svg.curve", "aria-label").startswith("Agreement with the model: F1 100.0")
    until(page.page, "document.getElementById('live').textContent === 'A new model is in use.'")
    for number in range(9, 12):
        page.press("Shift+Enter")
        page.until_count(number, None, 0)
    page.page.click("text=By model")
    assert page.page.locator("#curve tbody tr").count() == 2


def test_only_what_is_unsure_is_asked_for(annotate, names_model):
    page = annotate(X, "--model", names_model, "--every", "0", "--sure", "0.5")
    states = set()
    for number in range(1, 12):
        states |= {state for _, state in page.spans}
        page.press("Shift+Enter")
        page.until_count(number, None, 0)
    assert "sure" in states
    sure = annotate(X, "--model", names_model, "--every", "0", "--sure", "1", answers="others.jsonl")
    assert {state for _, state in sure.spans} <= {"asked", "maybe"} and sure.question.startswith("Is this right?")


def test_a_review_shows_the_doubts(browser, start, tmp_path):
    path = tmp_path / "review.jsonl"
    tokens = [{"text": "Anna", "start": 0, "end": 4, "id": 0}]
    doubts = [{"in the data": "nothing", "models": "Anna PER"}]
    record = {"text": "Anna", "tokens": tokens, "spans": [{"start": 0, "end": 4, "label": "PER"}], "sentence": 3}
    path.write_text(json.dumps({**record, "where": "train.txt, line 9", "answer": None, "doubts": doubts}) + "\n")
    process, address = start("--review", path, "-o", tmp_path / "answers.jsonl", command="annotate")
    visitor = Visitor(browser, address.partition("/#")[0])
    page = Page(visitor, tmp_path / "answers.jsonl", process, address)
    assert page.page.inner_text(".doubt") == "In the data: nothing, models predict: Anna PER"
    assert "train.txt, line 9" in page.page.inner_text("main")
    page.page.click("text=Keep the data as they are")
    page.page.wait_for_selector(".done")
    visitor.context.close()
    assert visitor.problems == []


# ------------------------------------------------------------------------------------------------ rules

RULES = """\
[[rule]]
name = "places"
label = "LOC"
list = "places.txt"
"""
PEOPLE = """
[[rule]]
name = "people"
label = "PER"
list = ["Anna", "Boris", "Clara"]
"""


@pytest.fixture
def ruled(annotate, tmp_path):
    """The page with rules, when the first model is there."""

    def opened(**options):
        (tmp_path / "places.txt").write_text("Oslo\nLima\n")
        (tmp_path / "rules.toml").write_text(RULES)
        small = ["--set", "epochs=3", "--set", "hidden=16"]
        page = annotate(X, "--rules", tmp_path / "rules.toml", "--every", "3", *small, **options)
        page.page.wait_for_selector("#rules-report tbody tr")
        page.page.wait_for_selector("#time:has-text('trained in')")
        return page

    return opened


def rules_in(page):
    rows = page.page.locator("#rules-report tbody tr").all_inner_texts()
    return [row.split()[0] for row in rows]


def test_rules_are_changed_beside_the_text_and_the_page_shows_what_changes(ruled, tmp_path):
    page = ruled()
    assert rules_in(page) == ["places"] and page.page.input_value("#rules") == RULES
    assert "1 of 3 worth judging" in page.page.inner_text("#record")
    page.page.fill("#rules", RULES + PEOPLE)
    page.page.click("#retrain")
    page.page.wait_for_selector("#changes li")
    assert (tmp_path / "rules.toml").read_text() == RULES + PEOPLE
    assert rules_in(page) == ["places", "people"]
    told = page.page.inner_text("#changes")
    assert re.search(r"\d+ sentences? changed: \d+ added, \d+ removed, \d+ relabelled", told) and "PER" in told
    for number in range(1, 4):  # then those that are worth judging, and a model that has learned from them
        page.page.click("#actions button:has-text('Save')")
        page.until_count(number, None, 0)
    until(page.page, "document.getElementById('live').textContent === 'A new model is in use.'")
    page.page.click("text=Report by class")
    assert page.page.locator("#judged tbody tr:has-text('all')").count() == 1
    assert len(page.answers()) == 3


def test_a_mistake_in_the_rules_is_shown_on_its_line_and_nothing_is_lost(ruled, tmp_path):
    page = ruled()
    page.page.fill("#rules", (RULES + PEOPLE).replace('label = "PER"', 'lable = "PER"'))
    page.page.click("#retrain")
    page.page.wait_for_selector("#rules-problem .error")
    assert page.page.inner_text("#rules-problem").startswith("line 6: a rule with list: expected")
    selected = "(box => box.value.slice(0, box.selectionStart).split('\\n').length)(document.getElementById('rules'))"
    assert page.page.evaluate(selected) == 6
    assert (tmp_path / "rules.toml").read_text() == RULES and "lable" in page.page.input_value("#rules")
    page.page.select_option("#rules-file", "places.txt")
    assert page.page.input_value("#rules") == "Oslo\nLima\n"
    page.page.select_option("#rules-file", "rules.toml")
    assert "lable" in page.page.input_value("#rules"), "what was typed is still there"


def test_a_file_that_another_editor_has_changed_is_not_overwritten_unasked(ruled, tmp_path):
    page = ruled()
    (tmp_path / "places.txt").write_text("Oslo\nParis\n")
    page.page.select_option("#rules-file", "places.txt")
    page.page.fill("#rules", "Lima\n")
    page.page.click("section[aria-label=Rules] button:has-text('Save')")
    page.page.wait_for_selector("#rules-problem .error")
    assert "places.txt has changed on disk" in page.page.inner_text("#rules-problem")
    assert (tmp_path / "places.txt").read_text() == "Oslo\nParis\n"
    page.page.click("text=Replace it with this text")
    until(page.page, "document.querySelector('#rules-problem').children.length === 0")
    page.page.wait_for_selector("#status:has-text('places.txt saved')")
    assert (tmp_path / "places.txt").read_text() == "Lima\n"
    (tmp_path / "places.txt").write_text("Quito\n")
    page.page.fill("#rules", "Turin\n")
    page.page.click("section[aria-label=Rules] button:has-text('Save')")
    page.page.click("text=Open the file on the disk")
    until(page.page, "document.getElementById('rules').value === 'Quito\\n'")


@pytest.mark.parametrize("size", SIZES)
def test_no_accessibility_rule_is_broken_with_rules(ruled, size):
    page = ruled(size=size, bypass_csp=True)
    page.page.fill("#rules", RULES + PEOPLE)
    page.page.click("#retrain")
    page.page.wait_for_selector("#changes li")
    page.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert broken_rules(page.page) == []
    assert page.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.page.fill("#rules", "[[rule]]")
    page.page.click("#retrain")
    page.page.wait_for_selector("#rules-problem .error")
    assert broken_rules(page.page) == []
