"""Sections about labels without a scheme: parts of speech and the like, judged token by token."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple, final
from urllib.parse import urlencode

from postil.html import Markup, element, joined
from postil.html.fragments import note
from postil.html.highlight import Mark, excerpt, lasting_colours, whole
from postil.metrics import Calibration, SpanScores, TokenScores, calibrate
from postil.metrics.drawn_tables import drawn_table
from postil.metrics.significance import Interval
from postil.metrics.tables import mistakes_table, token_novelty_table
from postil.reports import charts, examples, sections
from postil.reports.answers import Answers, Heading
from postil.reports.sections import Section, page
from postil.reports.spans import (
    HARDEST,
    MOST_CELLS,
    MOST_MARKS,
    judged_spans,
    key,
    reliability_of,
    span_header,
    span_sections,
)
from postil.text.labels.schemes import Span


@final
class WrongToken(NamedTuple):
    """A token with another label than it should have."""

    sentence: int
    token: int
    gold: str
    predicted: str
    probability: float


def token_header(heading: Heading, answers: Answers, interval: Interval | None, calibration: Calibration) -> Markup:
    scores = answers.evaluation.tokens
    cards = {
        "right / tokens": f"{scores.correct:,} / {scores.tokens:,}",
        "calibration error": f"{100 * calibration.expected_error:.2f}",
        "labels": f"{len(scores.by_label()):,}",
        "sentences": f"{answers.evaluation.sentences:,}",
    }
    return sections.header(heading, "token accuracy", 100 * scores.accuracy, interval, cards)


def token_sections(
    heading: Heading, answers: Answers, before: Calibration | None, novelty: Mapping[str, TokenScores]
) -> list[Section]:
    """All of them, in the order of the page."""
    scores = answers.evaluation.tokens
    counts = scores.by_label()
    colours = lasting_colours(counts)
    wrong = wrong_tokens(answers)
    seen = [Section("novelty", "Seen and unseen words", drawn_table(token_novelty_table(novelty), bars=("accuracy",)))]
    return [
        sections.learning(heading),
        sections.label_scores(counts, None, column="label"),
        confusion(scores),
        sections.reliability(token_reliability(answers), before, answers="labels"),
        *(seen if novelty else []),
        mistakes(answers, wrong, colours),
        hardest(answers, wrong, colours),
    ]


def token_reliability(answers: Answers) -> Calibration:
    """Of the label of every token."""
    gold, predicted = (
        [label for labels in side for label in labels] for side in (answers.compared.gold, answers.compared.predicted)
    )
    sure = [probability for row in answers.sure for probability in row]
    return calibrate([min(p, 1.0) for p in sure], [one == other for one, other in zip(gold, predicted, strict=True)])


def wrong_tokens(answers: Answers) -> list[WrongToken]:
    """All of them, in the order of the file."""
    rows = zip(answers.compared.gold, answers.compared.predicted, answers.sure, strict=True)
    return [
        WrongToken(i, t, gold, predicted, probability)
        for i, row in enumerate(rows)
        for t, (gold, predicted, probability) in enumerate(zip(*row, strict=True))
        if gold != predicted
    ]


def confusion(scores: TokenScores) -> Section:
    """A heat map of the labels with the most mistakes, and the most frequent confusions."""
    wrong: Counter[str] = Counter()
    for gold, predicted, count in scores.mistakes():
        wrong.update({gold: count, predicted: count})
    every = list(scores.by_label())
    labels = sections.limited(every, wrong, MOST_CELLS)
    grid = charts.Grid(
        rows=labels,
        columns=labels,
        counts=lambda i, j: scores.confusion[labels[i], labels[j]],
        wrong=lambda i, j: i != j,
        link=lambda i, j: _link(labels[i], labels[j]) if i != j else None,
    )
    left_out = len(every) - len(labels)
    parts = [
        note("Shades are shares of a row; click on a mistake to list its examples."),
        charts.heat_map("Confusion", grid),
        note(f"{left_out:,} labels with fewer mistakes are not shown.") if left_out else None,
        element("h3", "Confused most often"),
        drawn_table(mistakes_table(scores.mistakes(), "")),
    ]
    return Section("confusion", "Confusion", joined(parts))


def _link(gold: str, predicted: str) -> str:
    return "#" + urlencode({"gold": gold, "predicted": predicted}, errors="replace")


def mistakes(answers: Answers, wrong: list[WrongToken], colours: Mapping[str, str]) -> Section:
    """Examples of every confusion."""
    groups: dict[str, list[WrongToken]] = {}
    for one in wrong:
        groups.setdefault(f"{one.gold} → {one.predicted}", []).append(one)
    frequent = sorted(groups, key=lambda name: (-len(groups[name]), name))[: examples.MOST]
    shown = examples.fair_part({name: groups[name] for name in frequent})
    counts = {name: examples.Shown(len(groups[name]), len(shown.get(name, []))) for name in groups}
    labels = Counter(label for one in wrong for label in {one.gold, one.predicted})
    listed = [_example(name, one, answers, colours) for name in frequent for one in shown[name]]
    browser = examples.browser(listed, counts, labels, figure="probability")
    return Section(
        "mistakes", "Mistakes", joined([key("Numbers are the model’s probabilities of these labels."), browser])
    )


def _example(name: str, one: WrongToken, answers: Answers, colours: Mapping[str, str]) -> examples.Example:
    marks = _marks(one)
    text = excerpt(answers.tokens[one.sentence], marks, colours)
    return examples.Example(
        name, one.gold, one.predicted, one.probability, answers.place(one.sentence, one.token), text
    )


def _marks(one: WrongToken) -> list[Mark]:
    return [
        Mark(Span(one.gold, one.token, one.token + 1), True, False),
        Mark(Span(one.predicted, one.token, one.token + 1), False, True, one.probability),
    ]


def hardest(answers: Answers, wrong: list[WrongToken], colours: Mapping[str, str]) -> Section:
    """The sentences with the most wrong labels, whole."""
    by_sentence: dict[int, list[WrongToken]] = {}
    for one in wrong:
        by_sentence.setdefault(one.sentence, []).append(one)
    ranked = sorted(by_sentence, key=lambda i: (-len(by_sentence[i]), len(answers.tokens[i]), i))[:HARDEST]
    if not ranked:
        return Section("hardest", "Hardest sentences", note("Every sentence is correct."))
    items = []
    for i in ranked:
        marks = [mark for one in by_sentence[i][:MOST_MARKS] for mark in _marks(one)]
        count = f"{len(by_sentence[i])} of {len(answers.tokens[i])} tokens wrong"
        facts = element("p", element("b", count), element("span", answers.place(i, 0)), class_="facts")
        items.append(element("li", facts, whole(answers.tokens[i], marks, colours)))
    above = note(f"The {len(ranked)} sentences with the most wrong labels, of {len(by_sentence):,} with any.")
    return Section("hardest", "Hardest sentences", joined([above, element("ol", *items, class_="sentences")]))


# ------------------------------------------------------------------------------------------------ the page


def tagger_page(
    heading: Heading,
    answers: Answers,
    *,
    interval: Interval | None = None,
    before: Calibration | None = None,
    span_novelty: Mapping[str, SpanScores] | None = None,
    word_novelty: Mapping[str, TokenScores] | None = None,
) -> str:
    """The whole page.

    ``interval`` of the main score; ``before``: the reliability without calibration, drawn with that of the answers;
    ``span_novelty`` and ``word_novelty``: scores of what occurs in the training data and what does not.
    """
    title = f"{heading.model} on {heading.data}"
    if answers.evaluation.spans is None:
        header = token_header(heading, answers, interval, token_reliability(answers))
        return page(title, header, token_sections(heading, answers, before, word_novelty or {}))
    header = span_header(heading, answers, interval, reliability_of(judged_spans(answers)))
    return page(title, header, span_sections(heading, answers, before, span_novelty or {}))
