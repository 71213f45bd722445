"""The report on a detector: how well its scores rank the tokens, and what the threshold makes of them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from postil.html import Markup, joined
from postil.html.fragments import note
from postil.html.highlight import Mark, excerpt, lasting_colours
from postil.metrics import DetectionScores, PrecisionRecall, Table, precision_recall, score_detection
from postil.metrics.drawn_tables import drawn_table
from postil.models.detector import Detector
from postil.models.sentences import tokens_of
from postil.reports import examples, sections
from postil.reports.answers import Heading, line_of
from postil.reports.sections import Section, page
from postil.reports.spans import key
from postil.text import Sentence
from postil.text.labels.schemes import Span

MISTAKES = ("missed", "spurious")


@final
class WrongToken(NamedTuple):
    """A token on the wrong side of the threshold."""

    sentence: int
    token: int
    score: float


def detector_page(
    heading: Heading,
    detector: Detector,
    sentences: Sequence[Sentence],
    *,
    place: Callable[[int, int], str] | None = None,
) -> str:
    """The whole page, for sentences with labels."""
    labels = [sentence.labels or [] for sentence in sentences]
    truth = [numbers.astype(bool) for numbers in detector.model.codec.numbers(labels)]
    scores = detector.decision([tokens_of(sentence) for sentence in sentences])
    every = np.concatenate(truth), np.concatenate(scores)
    results = score_detection(*every, detector.threshold, label=detector.label, sentences=len(sentences))
    tokens = [sentence.tokens for sentence in sentences]
    parts = [
        sections.learning(heading),
        _decisions(results),
        _curve(precision_recall(*every), results),
        _mistakes(tokens, truth, scores, results, place or line_of(sentences)),
    ]
    return page(f"{heading.model} on {heading.data}", _header(heading, results), parts)


def _header(heading: Heading, results: DetectionScores) -> Markup:
    cards = {
        "F1 at the threshold": f"{100 * results.counts.f1:.2f}",
        "precision": f"{100 * results.counts.precision:.2f}",
        "recall": f"{100 * results.counts.recall:.2f}",
        "detects": results.label,
        "sentences / tokens": f"{results.sentences:,} / {results.tokens:,}",
    }
    return sections.header(heading, "average precision", 100 * results.average_precision, None, cards)


def _decisions(results: DetectionScores) -> Section:
    counts = results.counts
    missed, spurious = counts.gold - counts.correct, counts.predicted - counts.correct
    passed = results.tokens - counts.gold - spurious
    rows = [(f"is {results.label}", counts.correct, missed), ("is not", spurious, passed)]
    meaning = note(
        f"Tokens that score above {results.threshold:.4f} are detected; this threshold was chosen on held-out data."
    )
    decisions = drawn_table(Table("", ("token", "detected", "not detected"), rows))
    return Section("decisions", "Decisions", joined([meaning, decisions]))


def _curve(curve: PrecisionRecall, results: DetectionScores) -> Section:
    meaning = "Every point is a threshold; the ring is the model’s. The area below the curve is the average precision."
    return sections.precision_and_recall({results.label: curve}, {}, meaning, {results.label: results.counts})


def _mistakes(
    tokens: Sequence[Sequence[str]],
    truth: Sequence[NDArray[np.bool_]],
    scores: Sequence[NDArray[np.float64]],
    results: DetectionScores,
    place: Callable[[int, int], str],
) -> Section:
    groups: dict[str, list[WrongToken]] = {kind: [] for kind in MISTAKES}
    for sentence, (true, given) in enumerate(zip(truth, scores, strict=True)):
        for token in np.flatnonzero(true != (given > results.threshold)):
            kind = "missed" if true[token] else "spurious"
            groups[kind].append(WrongToken(sentence, int(token), float(given[token])))
    shown = examples.fair_part(groups)
    counts = {kind: examples.Shown(len(groups[kind]), len(shown[kind])) for kind in MISTAKES}
    colours = lasting_colours([results.label])
    listed = [_example(kind, one, tokens, results.label, place, colours) for kind in MISTAKES for one in shown[kind]]
    labels = Counter({results.label: sum(map(len, groups.values()))})
    legend = key("Numbers are the model’s scores.")
    browser = examples.browser(listed, counts, labels, figure="score")
    return Section("mistakes", "Mistakes", joined([legend, browser]))


def _example(
    kind: str,
    one: WrongToken,
    tokens: Sequence[Sequence[str]],
    label: str,
    place: Callable[[int, int], str],
    colours: Mapping[str, str],
) -> examples.Example:
    is_gold = kind == "missed"
    mark = Mark(Span(label, one.token, one.token + 1), is_gold, not is_gold, one.score)
    text = excerpt(tokens[one.sentence], [mark], colours)
    return examples.Example(
        kind, label if is_gold else None, None if is_gold else label, one.score, place(one.sentence, one.token), text
    )
