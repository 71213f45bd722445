"""Whole pages: their numbers are those of the metrics, nothing in the data can break them, and they stay small."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import postil
from oracles.corpora import named_entities, parts_of_speech
from oracles.pages import read_page, table_rows
from postil.metrics import bootstrap_interval, calibrate, known_from, spans_by_novelty, tokens_by_novelty
from postil.metrics.evaluation import evaluate_compared, prepare
from postil.reports import Answers, Heading, detector_page, tagger_page
from postil.reports.scores import likely_spans
from postil.text import Sentence, Span, spans_from_labels, with_marks

SPAN_SECTIONS = ["learning", "labels", "confusion", "reliability", "curve", "lengths", "mistakes"]
TOKEN_SECTIONS = ["learning", "labels", "confusion", "reliability", "mistakes"]
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<b>&amp;",
    "a\"b'c",
    "\x00\x1b[31m",
    "\u202eevil",
    "שלום",
    "🙂",
    "\ud800",
    "",
]

HEADING = Heading(model="m.postil", data="d.txt", date="2020-01-02", parameters=1234, about={})


def answers_on(tokens, gold, predicted, sure=None, likely=None):
    """Answers without a model. Without ``sure`` every span or token has a probability by its place."""
    compared = prepare(gold, predicted)
    counted = compared.predicted_spans if compared.scheme != "none" else predicted
    given = sure or [[(0.15 + 0.1 * (i + k)) % 1 for k in range(len(row))] for i, row in enumerate(counted)]
    return Answers(
        tokens=tokens,
        compared=compared,
        evaluation=evaluate_compared(compared),
        sure=given,
        likely=[{} for _ in tokens]
        if compared.scheme == "none"
        else likely or [dict(zip(spans, own, strict=True)) for spans, own in zip(counted, given, strict=True)],
        place=lambda sentence, token: f"line {100 * sentence + token}",
    )


def sections(page):
    return {section.attributes["id"]: section for section in page.all("section")}


def cards(page):
    return {card.one("span", class_="what").text: card.one("strong").text for card in page.all("div", class_="card")}


TOKENS = [["Anna", "Berg", "left", "Oslo", "for", "Red", "Cross", "."], ["Lima", "wins"], ["nothing"]]
GOLD = [["B-PER", "I-PER", "O", "B-LOC", "O", "B-ORG", "I-ORG", "O"], ["B-LOC", "O"], ["O"]]
PREDICTED = [["B-PER", "I-PER", "O", "B-ORG", "O", "B-ORG", "O", "B-PER"], ["O", "O"], ["O"]]


@pytest.fixture(scope="module")
def page():
    return read_page(tagger_page(HEADING, answers_on(TOKENS, GOLD, PREDICTED)))


def test_all_sections_are_there_and_linked(page):
    assert list(sections(page)) == SPAN_SECTIONS
    assert [a.attributes["href"] for a in page.one("nav").all("a")] == [f"#{name}" for name in SPAN_SECTIONS]
    assert page.one("h1").text == "Report on m.postil"


def test_numbers_are_those_of_the_metrics(page):
    scores = evaluate_compared(prepare(GOLD, PREDICTED)).spans
    shown = cards(page)
    assert shown["F1"] == f"{100 * scores.overall.f1:.2f}" == "25.00"
    assert shown["precision"] == "25.00" and shown["recall"] == "25.00"
    rows = {row[0]: row[1:] for row in table_rows(sections(page)["labels"].one("table"))}
    for label, counts in scores.by_label().items():
        ratios = [f"{100 * ratio:.2f}" for ratio in (counts.precision, counts.recall, counts.f1)]
        assert rows[label] == [*ratios, str(counts.gold), str(counts.predicted), str(counts.correct)]
    kinds = {row[0]: row[1] for row in table_rows(next(sections(page)["mistakes"].all("table")))[1:]}
    assert kinds == {kind: str(count) for kind, count in scores.errors().items() if kind != "correct"}


def test_every_mistake_is_listed_with_its_sides_and_probability(page):
    items = sections(page)["mistakes"].one("ol", id="examples").children
    names = ("data-kind", "data-gold", "data-predicted", "data-figure")
    found = Counter(tuple(item.attributes.get(name) for name in names) for item in items)
    assert found == Counter(
        {
            ("type", "LOC", "ORG", "0.2500"): 1,
            ("boundary", "ORG", "ORG", "0.3500"): 1,
            ("spurious", None, "PER", "0.4500"): 1,
            ("missed", "LOC", None, None): 1,  # the gold span is too improbable to be likely
        }
    )
    boundary = next(item for item in items if item.attributes["data-kind"] == "boundary")
    assert boundary.one("p", class_="facts").text == "boundaryline 5"
    assert [chip.text for chip in boundary.all("small")] == ["ORG 0.35", "gold ORG"]


def test_a_cell_of_the_confusion_table_leads_to_its_mistakes(page):
    links = {a.attributes["href"]: a.text for a in sections(page)["confusion"].all("a")}
    assert {"#gold=LOC&predicted=ORG", "#predicted=PER&kind=spurious", "#gold=LOC&kind=missed"} == set(links)


def test_reliability_counts_every_predicted_span(page):
    table = calibrate([0.15, 0.25, 0.35, 0.45], [True, False, False, False])
    section = sections(page)["reliability"]
    assert sum(int(row[1]) for row in table_rows(section.one("table"))[1:]) == 4
    assert f"{100 * table.expected_error:.2f} %" in section.text
    assert cards(page)["calibration error"] == f"{100 * table.expected_error:.2f}"


def test_before_and_after_calibration_stand_side_by_side():
    before = calibrate([0.99], [False])
    found = sections(read_page(tagger_page(HEADING, answers_on(TOKENS, GOLD, PREDICTED), before=before)))["reliability"]
    assert [h.text for h in found.all("h3")] == ["after calibration"]
    assert table_rows(found.one("details").one("table"))[1] == ["90-100", "1", "99.00", "0.00"]
    assert "before calibration: 99.00 %" in found.text
    legend = found.one("ul", class_="legend")
    styles = [sample.attributes["class"] for sample in legend.all("line")]
    assert [li.text for li in legend.all("li")] == ["before calibration", "after calibration", "perfect calibration"]
    assert styles == ["line other", "line", "ideal"]


def test_the_curve_goes_on_behind_what_was_predicted(page):
    """Spans that are probable, but not on the best path, are found too."""
    section = sections(page)["curve"]
    assert table_rows(section.one("table"))[-1] == ["0.150", "25.00", "25.00"]
    likely = [
        [(Span("PER", 0, 2), 0.9), (Span("ORG", 3, 4), 0.6), (Span("LOC", 3, 4), 0.3), (Span("ORG", 5, 7), 0.02)],
        [(Span("LOC", 0, 1), 0.2), (Span("PER", 0, 1), 0.2)],
        [],
    ]
    answers = answers_on(TOKENS, GOLD, PREDICTED, likely=list(map(dict, likely)))
    section = sections(read_page(tagger_page(HEADING, answers)))["curve"]
    assert table_rows(section.one("table"))[1:] == [
        ["0.900", "100.00", "25.00"],
        ["0.300", "66.67", "50.00"],
        ["0.200", "60.00", "75.00"],
        ["0.020", "66.67", "100.00"],
    ]
    names = [o.attributes["value"] for o in section.one("select").all("option")]
    assert names == ["", "all labels", "LOC", "ORG", "PER"]
    told = [ring.one("title").text for ring in section.all("circle", class_="ring")]
    assert told[0] == "all labels: recall 0.250, precision 0.250"  # what the model answers


def test_the_curve_of_likely_spans_leaves_out_what_unknown_labels_leave_open():
    gold = with_marks([["B-PER", "I-PER", "O", "?", "O", "B-ORG", "I-ORG", "O"], ["B-LOC", "O"], ["O"]], TOKENS)
    likely = [[(Span("PER", 0, 2), 0.9), (Span("LOC", 3, 4), 0.8), (Span("LOC", 4, 5), 0.7)], [], []]
    answers = answers_on(TOKENS, gold, PREDICTED, likely=list(map(dict, likely)))
    assert likely_spans(answers) == [("PER", 0.9, True), ("LOC", 0.7, False)]


def test_the_learning_curve_comes_from_the_model_file():
    history = [{"epoch": i, "loss": 1 / i, "score": 0.5 + i / 10} for i in (1, 2, 3)]
    about = {
        "preset": "fast",
        "data": {"sentences": 1000, "tokens": 20_000},
        "training": {"epochs": 3, "best_epoch": 3, "history": history},
    }
    heading = replace(HEADING, about=about)
    page = read_page(tagger_page(heading, answers_on(TOKENS, GOLD, PREDICTED)))
    section = sections(page)["learning"]
    assert table_rows(section.one("table"))[1:] == [
        ["1", "1.0000", "60.00"],
        ["2", "0.5000", "70.00"],
        ["3", "0.3333", "80.00"],
    ]
    assert "kept: 80.00" in section.text
    assert "preset fast · 1,234 parameters · trained on 1,000 sentences, 20,000 tokens · 3 epochs" in page.text
    without = replace(
        HEADING, about={"training": {**about["training"], "history": [{**e, "score": None} for e in history]}}
    )
    assert "no dev file" in tagger_page(without, answers_on(TOKENS, GOLD, PREDICTED))


def test_a_model_without_history_says_so(page):
    assert "no history" in sections(page)["learning"].text


def test_interval_and_novelty():
    answers = answers_on(TOKENS, GOLD, PREDICTED)
    counts, statistic = answers.compared.sentence_counts()
    interval = bootstrap_interval(counts, statistic, rng=np.random.default_rng(0), resamples=50)
    known = known_from(TOKENS[:1], [spans_from_labels(GOLD[0])])
    novelty = spans_by_novelty(TOKENS, answers.compared.gold_spans, answers.compared.predicted_spans, known)
    page = read_page(tagger_page(HEADING, answers, interval=interval, span_novelty=novelty))
    assert f"95 % interval {100 * interval.low:.2f} to {100 * interval.high:.2f}" in page.text
    assert "seen entity" in sections(page)["lengths"].text


def test_labels_without_a_scheme():
    tokens = [["a", "dog", "runs"], ["runs"]]
    gold, predicted = [["DET", "NOUN", "VERB"], ["VERB"]], [["DET", "NOUN", "NOUN"], ["VERB"]]
    words = tokens_by_novelty(tokens, gold, predicted, known_from([["dog"]]))
    answers = answers_on(tokens, gold, predicted, [[0.9, 0.8, 0.7], [1.0]])
    page = read_page(tagger_page(HEADING, answers, word_novelty=words))
    assert list(sections(page)) == [*TOKEN_SECTIONS[:4], "novelty", *TOKEN_SECTIONS[4:]]
    assert cards(page)["token accuracy"] == "75.00"
    (item,) = sections(page)["mistakes"].one("ol", id="examples").children
    assert item.attributes["data-gold"] == "VERB" and item.attributes["data-figure"] == "0.7000"
    matrix, listed = map(table_rows, sections(page)["confusion"].all("table"))
    assert ["VERB", "NOUN", "1"] in listed and ["VERB", "", "1", "1"] in matrix


def test_nothing_predicted_and_nothing_wrong():
    nothing = read_page(tagger_page(HEADING, answers_on(TOKENS, GOLD, [["O"] * len(t) for t in TOKENS])))
    assert "No span is probable enough" in sections(nothing)["curve"].text
    perfect = read_page(tagger_page(HEADING, answers_on(TOKENS, GOLD, GOLD)))
    assert "no mistakes" in sections(perfect)["mistakes"].text


@pytest.mark.parametrize("scheme", ["bio", "none"])
def test_hostile_text_stays_text(scheme):
    labels = [label.replace("-", "_") or "x" for label in HOSTILE]
    tokens = [[word, *HOSTILE] for word in HOSTILE]
    prefix = "B-" if scheme == "bio" else ""
    gold = [[prefix + labels[(i + k) % len(labels)] for k in range(len(row))] for i, row in enumerate(tokens)]
    predicted = [[prefix + labels[(i + k * k) % len(labels)] for k in range(len(row))] for i, row in enumerate(tokens)]
    heading = replace(HEADING, model="<script>x</script>", data="\x00&.txt")
    answers = answers_on(tokens, gold, predicted)
    text = tagger_page(heading, answers)
    text.encode()
    page = read_page(text)
    assert sum(child.tag == "script" for child in page.all()) == 1  # the page's own
    assert not set(text) & {chr(code) for code in (*range(9), 11, 12, *range(14, 32), 0x7F, 0x202E)}
    assert page.one("h1").text == "Report on <script>x</script>"
    assert "</script><script>alert(1)</script>" in page.one("main").text


def big(scheme, count=1_500, labels=400):
    rng = np.random.default_rng(0)
    names = [f"LABEL-{i:03}&" for i in range(labels)]
    prefix = "B-" if scheme == "bio" else ""
    tokens = [["w" * 100 + "&" * 100] * 5] * count
    gold, predicted = (
        [[prefix + names[k] for k in rng.integers(labels, size=5)] for _ in range(count)] for _ in range(2)
    )
    return tokens, gold, predicted


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["bio", "none"])
def test_a_large_report_stays_small_and_its_counts_exact(scheme):
    tokens, gold, predicted = big(scheme)
    text = tagger_page(HEADING, answers_on(tokens, gold, predicted))
    assert len(text.encode()) < 3_000_000
    wrong = sum(one != other for a, b in zip(gold, predicted, strict=True) for one, other in zip(a, b, strict=True))
    page = read_page(text)
    section = sections(page)["mistakes"]
    shown = len(section.one("ol", id="examples").children)
    assert 0 < shown <= 500
    assert f"This page lists {shown:,} of {wrong:,} mistakes" in section.text
    assert "rarer labels are not shown" in sections(page)["labels"].text


# ------------------------------------------------------------------------------------------------ with real models


@pytest.fixture(scope="module")
def tagger(names_model):
    return postil.load(names_model)


def sentences_of(X, y):
    return [Sentence(tokens=tokens, labels=labels) for tokens, labels in zip(X, y, strict=True)]


@pytest.mark.parametrize("scheme", ["bio", "iob1", "iobes"])
def test_probabilities_are_those_of_the_tagger(tagger, scheme):
    X, y = named_entities(30, seed=1, scheme=scheme)
    sentences = sentences_of(X, y)
    compared = prepare(y, tagger.predict(X), scheme, "bio")
    answers = Answers.of(tagger, sentences, compared)
    assert [sentence.labels for sentence in sentences] == y  # they keep their gold labels
    for spans, sure, likely in zip(compared.predicted_spans, answers.sure, answers.likely, strict=True):
        assert [likely[span] for span in spans] == pytest.approx(sure, abs=1e-6)
    for tokens, spans in zip(X, answers.likely, strict=True):
        found = [
            (Span(entity.label, entity.start, entity.end), entity.probability)
            for entity in tagger.spans_above(tokens, 0.01)
        ]
        assert list(spans) == [span for span, _ in found]
        assert list(spans.values()) == pytest.approx([p for _, p in found], abs=1e-6)
    page = read_page(tagger_page(Heading.of(tagger, model_name="m", data_name="d"), answers))
    assert cards(page)["F1"] == f"{100 * tagger.score(*named_entities(30, seed=1)):.2f}"
    assert "sentence 1, token 1" in answers.place(0, 0)


def test_probabilities_of_tokens():
    X, y = parts_of_speech(40)
    tagger = postil.Tagger(hidden=16, epochs=2).fit(X, y)
    answers = Answers.of(tagger, sentences_of(X, y), prepare(y, tagger.predict(X)))
    expected = [row[label] for row, label in zip(tagger.marginals(X[0]), tagger.predict(X[:1])[0], strict=True)]
    assert answers.sure[0] == pytest.approx(expected, abs=1e-5)


def test_the_page_of_a_detector():
    X, y = named_entities(80)
    detector = postil.Detector(label="LOC", hidden=16, epochs=2, word_dim=8).fit(X, y)
    X, y = named_entities(40, seed=3)
    heading = Heading.of(detector, model_name="loc.postil", data_name="d")
    page = read_page(detector_page(heading, detector, sentences_of(X, y)))
    found = detector.evaluate(X, y)
    assert list(sections(page)) == ["learning", "decisions", "curve", "mistakes"]
    assert cards(page)["average precision"] == f"{100 * found.average_precision:.2f}"
    assert cards(page)["F1 at the threshold"] == f"{100 * found.counts.f1:.2f}"
    rows = table_rows(sections(page)["decisions"].one("table"))[1:]
    assert int(rows[0][1]) == found.counts.correct
    assert sum(int(cell) for row in rows for cell in row[1:]) == found.tokens
    wrong = found.counts.gold + found.counts.predicted - 2 * found.counts.correct
    assert len(sections(page)["mistakes"].one("ol", id="examples").children if wrong else []) == wrong
