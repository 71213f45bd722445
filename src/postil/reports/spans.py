"""Sections about labels that spell spans: names, chunks."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, final
from urllib.parse import urlencode

from postil.html import Markup, element, joined
from postil.html.fragments import folded, note
from postil.html.highlight import Mark, excerpt, lasting_colours, whole
from postil.metrics import Calibration, PrecisionRecall, SpanScores, calibrate, precision_recall, spans_by_length
from postil.metrics.drawn_tables import drawn_table
from postil.metrics.significance import Interval
from postil.metrics.spans import KINDS, Pair
from postil.metrics.tables import (
    by_frequency,
    confusion_table,
    errors_table,
    label_table,
    show_class,
    span_novelty_table,
)
from postil.reports import charts, examples, sections
from postil.reports.answers import LOWEST, Answers, Heading, Place
from postil.reports.sections import Section
from postil.text.labels.schemes import Span

ALL = "all labels"
MISTAKES = KINDS[1:]
MOST_CELLS = 20
"""Labels of a heat map."""
HARDEST = 20
MOST_MARKS = 60
"""Marks of one sentence."""


@final
class Judged(NamedTuple):
    """A span: its label, its probability, and whether it is right."""

    label: str
    probability: float
    is_right: bool


@final
class Mistake(NamedTuple):
    """A pair of spans that differ, how they differ, and their sentence."""

    sentence: int
    pair: Pair
    kind: str


def span_header(heading: Heading, answers: Answers, interval: Interval | None, calibration: Calibration) -> Markup:
    scores, evaluation = scores_of(answers), answers.evaluation
    overall = scores.overall
    cards = {
        "precision": f"{100 * overall.precision:.2f}",
        "recall": f"{100 * overall.recall:.2f}",
        "token accuracy": f"{100 * evaluation.tokens.accuracy:.2f}",
        "calibration error": f"{100 * calibration.expected_error:.2f}",
        "spans gold / predicted": f"{overall.gold:,} / {overall.predicted:,}",
        "sentences / tokens": f"{evaluation.sentences:,} / {evaluation.tokens.tokens:,}",
    }
    return sections.header(heading, "F1", 100 * overall.f1, interval, cards)


def span_sections(
    heading: Heading, answers: Answers, before: Calibration | None, novelty: Mapping[str, SpanScores]
) -> list[Section]:
    """All of them, in the order of the page."""
    scores, judged = scores_of(answers), judged_spans(answers)
    counts = scores.by_label()
    colours = lasting_colours(counts)
    wrong = wrong_pairs(answers)
    return [
        sections.learning(heading),
        sections.label_scores(counts, scores.overall, column="label"),
        confusion(scores),
        sections.reliability(reliability_of(judged), before, answers="spans"),
        curves(scores, likely_spans(answers), colours),
        lengths(answers, novelty),
        mistakes(answers, wrong, colours),
        hardest(answers, wrong, colours),
    ]


def scores_of(answers: Answers) -> SpanScores:
    assert answers.evaluation.spans is not None
    return answers.evaluation.spans


def judged_spans(answers: Answers) -> list[Judged]:
    """Every predicted span."""
    sides = zip(answers.compared.gold_spans, answers.compared.predicted_spans, answers.sure, strict=True)
    return [
        Judged(span.label, probability, span in right)
        for gold, predicted, sure in sides
        for right in [set(gold)]
        for span, probability in zip(predicted, sure, strict=True)
    ]


def likely_spans(answers: Answers) -> list[Judged]:
    """Every span that is probable enough to be looked at, predicted or not; those of which it is known."""
    decided = answers.compared.decided([[span for span, _ in spans] for spans in answers.likely])
    return [
        Judged(span.label, probability, span in right)
        for gold, spans, kept in zip(answers.compared.gold_spans, answers.likely, decided, strict=True)
        for right, known in [(set(gold), set(kept))]
        for span, probability in spans
        if span in known
    ]


def reliability_of(judged: Sequence[Judged]) -> Calibration:
    return calibrate([one.probability for one in judged], [one.is_right for one in judged])


# ------------------------------------------------------------------------------------------------ which labels


def confusion(scores: SpanScores) -> Section:
    """Which labels are taken for which, with what was missed and what is not there at all."""
    cells, counts = scores.confusion(), scores.by_label()
    weights = {label: counts[label].gold + counts[label].predicted - 2 * counts[label].correct for label in counts}
    labels = sections.limited(scores.labels, weights, MOST_CELLS)
    sides: list[str | None] = [*labels, None]
    grid = charts.Grid(
        rows=[show_class(label, "(spurious)") for label in sides],
        columns=[show_class(label, "(missed)") for label in sides],
        counts=lambda i, j: cells.get((sides[i], sides[j]), 0),
        wrong=lambda i, j: i != j,
        link=lambda i, j: _link(sides[i], sides[j]) if i != j else None,
    )
    meaning = "Overlapping spans by label. Shades are shares of a row; click on a mistake to list its examples."
    left_out = len(scores.labels) - len(labels)
    more = note(f"{left_out:,} labels with fewer mistakes are not shown.") if left_out else None
    numbers = folded("As a table", drawn_table(confusion_table(scores)))
    return Section("confusion", "Confusion", joined([note(meaning), charts.heat_map("Confusion", grid), more, numbers]))


def _link(gold: str | None, predicted: str | None) -> str:
    sides = {"gold": gold, "predicted": predicted}
    wanted = {side: show_class(label) for side, label in sides.items() if label is not None}
    if None in sides.values():
        wanted["kind"] = "spurious" if gold is None else "missed"
    return "#" + urlencode(wanted, errors="replace")


def curves(scores: SpanScores, judged: Sequence[Judged], colours: Mapping[str, str]) -> Section:
    """Precision-recall curves of all spans above a probability, for all labels and for the most frequent ones."""
    counts = scores.by_label()
    frequent = by_frequency(counts)[: sections.MOST_CURVES]
    curves = {ALL: _curve(judged, scores.overall.gold)}
    if len(counts) > 1:
        by_label = {label: [one for one in judged if one.label == label] for label in frequent}
        curves |= {show_class(label): _curve(by_label[label], counts[label].gold) for label in frequent}
    marks = {ALL: scores.overall} | {show_class(label): counts[label] for label in frequent}
    meaning = (
        "A ring is the model’s answer. A curve shows all spans above a probability, whether or not the best labelling "
        f"contains them (as with tag --all-above; they may overlap); it ends at a probability of {LOWEST:g}. "
        "The table covers all labels."
    )
    named = {show_class(label): colour for label, colour in colours.items()}
    return sections.precision_and_recall(curves, named | {ALL: "var(--ink)"}, meaning, marks)


def _curve(judged: Sequence[Judged], gold: int) -> PrecisionRecall:
    return precision_recall([one.is_right for one in judged], [one.probability for one in judged], positives=gold)


def lengths(answers: Answers, novelty: Mapping[str, SpanScores]) -> Section:
    """Long and short spans, and if the training data are known, seen and new ones."""
    parts = spans_by_length(answers.compared.gold_spans, answers.compared.predicted_spans)
    by_length = label_table({name: part.overall for name, part in parts.items()}, title="", column="length")
    bars = ("precision", "recall", "F1")
    content = [drawn_table(by_length, bars=bars)]
    if novelty:
        content += [element("h3", "Seen and new"), drawn_table(span_novelty_table(novelty), bars=bars)]
    return Section("lengths", "Short and long, seen and new" if novelty else "Short and long spans", joined(content))


# ------------------------------------------------------------------------------------------------ which mistakes


def wrong_pairs(answers: Answers) -> list[Mistake]:
    """All of them, in the order of the file."""
    pairs = ((sentence, pair, pair.outcome.kind) for sentence, pair in answers.pairs())
    return [Mistake(*pair) for pair in pairs if pair[2] != "correct"]


def mistakes(answers: Answers, wrong: Sequence[Mistake], colours: Mapping[str, str]) -> Section:
    """Counts of all mistakes by kind, and examples of each."""
    groups = {kind: [one for one in wrong if one.kind == kind] for kind in MISTAKES}
    shown = examples.fair_part(groups)
    counts = {kind: examples.Shown(len(groups[kind]), len(shown[kind])) for kind in MISTAKES}
    labels = Counter(name for one in wrong for name in {*_labels(one.pair)})
    listed = _examples([one for kind in MISTAKES for one in shown[kind]], answers, colours)
    overview = drawn_table(errors_table(scores_of(answers)), bars=("percent",))
    browser = examples.browser(listed, counts, labels, figure="probability")
    return Section("mistakes", "Mistakes", joined([overview, key(), browser]))


def key(figures: str = "Numbers are the model’s probabilities of these very spans.") -> Markup:
    """A legend for the marks."""
    style = "--label:var(--label-other);--gold:var(--label-other);--predicted:var(--label-other)"
    entries = [("underlined", "t gold", "chip", "gold"), ("shaded", "t predicted", "chip filled", "predicted")]
    shown = []
    for word, mark, chip, meaning in entries:
        marked = element("span", word, class_=mark, style=style)
        shown.append(element("span", marked, " ", element("small", meaning, class_=chip, style=style)))
    return element("p", *shown, element("span", figures), class_="key")


def _labels(pair: Pair) -> list[str]:
    return [show_class(span.label) for span in pair if span is not None]


def _examples(wrong: Sequence[Mistake], answers: Answers, colours: Mapping[str, str]) -> list[examples.Example]:
    sureness = answers.sureness()
    gold = [Place(one.sentence, one.pair.gold) for one in wrong if one.pair.gold is not None]
    likely = dict(zip(gold, answers.probabilities(gold), strict=True))
    return [_example(one, answers, likely, sureness, colours) for one in wrong]


def _example(
    one: Mistake,
    answers: Answers,
    likely: Mapping[Place, float | None],
    sureness: Mapping[Place, float],
    colours: Mapping[str, str],
) -> examples.Example:
    """``likely`` are the probabilities of gold spans, ``sureness`` those of predicted ones."""
    gold, predicted = one.pair
    marks = []
    if predicted is not None:
        marks.append(Mark(predicted, False, True, sureness[Place(one.sentence, predicted)]))
    if gold is not None:
        marks.append(Mark(gold, True, False, likely[Place(one.sentence, gold)]))
    return examples.Example(
        one.kind,
        gold and gold.label,
        predicted and predicted.label,
        marks[0].figure,
        answers.place(one.sentence, min(mark.span.start for mark in marks)),
        excerpt(answers.tokens[one.sentence], marks, colours),
    )


def hardest(answers: Answers, mistakes: Sequence[Mistake], colours: Mapping[str, str]) -> Section:
    """The sentences with the most mistakes, whole."""
    wrong = Counter(one.sentence for one in mistakes)
    ranked = sorted(wrong, key=lambda i: (-wrong[i], len(answers.tokens[i]), i))[:HARDEST]
    if not ranked:
        return Section("hardest", "Hardest sentences", note("Every sentence is correct."))
    sureness = answers.sureness()
    items = []
    for i in ranked:
        text = whole(answers.tokens[i], sentence_marks(answers, i, sureness), colours)
        items.append(element("li", _facts(answers, i, wrong[i]), text))
    meaning = note(
        f"The {len(ranked)} sentences with the most mistakes, of {len(wrong):,} with any; ✓ marks correct spans."
    )
    return Section("hardest", "Hardest sentences", joined([meaning, element("ol", *items, class_="sentences")]))


def _facts(answers: Answers, sentence: int, wrong: int) -> Markup:
    count = element("b", f"{wrong} mistake{'s' * (wrong > 1)}")
    return element("p", count, element("span", answers.place(sentence, 0)), class_="facts")


def sentence_marks(answers: Answers, sentence: int, sureness: Mapping[Place, float]) -> list[Mark]:
    """All spans of a sentence, from left to right; one mark for both if they agree."""
    gold = set(answers.compared.gold_spans[sentence])
    predicted = set(answers.compared.predicted_spans[sentence])
    spans: list[Span] = sorted(gold | predicted, key=lambda span: (span.start, span.end, span.label))
    return [
        Mark(span, span in gold, span in predicted, sureness.get(Place(sentence, span))) for span in spans[:MOST_MARKS]
    ]
