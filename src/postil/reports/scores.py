"""The reports on scores: of taggers, of detectors and of tree classifiers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, final
from urllib.parse import urlencode

import numpy as np

from postil import metrics
from postil.html import element, joined
from postil.html.fragments import figure, note
from postil.html.highlight import lasting_colours
from postil.metrics import tables
from postil.metrics.evaluation import Compared, Evaluation, evaluate_compared
from postil.metrics.significance import Interval
from postil.metrics.spans import KINDS
from postil.metrics.trees import length_table
from postil.models.decoding.posteriors import Posteriors
from postil.models.detector import Detector
from postil.models.sentences import tokens_of
from postil.models.tagger import Tagger
from postil.reports import sections
from postil.reports.sections import Heading, Mistake, Section, page
from postil.text import Sentence, Span, Tree
from postil.text.trees.tree_drawing import LONGEST_DRAWN, colours_of_trees, drawn_tree

ALL = "all labels"
RATIOS = ("precision", "recall", "F1")
MOST_CELLS = 20
"""Labels of a confusion table."""
MOST_TREES = 24
LOWEST = 0.01
"""Spans that are less probable are looked at only if they are predicted: almost all spans are, and wrong."""

# ------------------------------------------------------------------------------------------------ answers


def line_of(sentences: Sequence[Sentence]) -> Callable[[int, int], str]:
    """The place of a token, if sentences know it: the line of their first token."""

    def place(sentence: int, token: int) -> str:
        line = sentences[sentence].line
        return f"line {line}, token {token + 1}" if line else f"sentence {sentence + 1}, token {token + 1}"

    return place


@final
@dataclass(frozen=True, kw_only=True)
class Answers:
    """A tagger's answers on labelled sentences.

    ``sure`` holds the probability of every predicted span (labels with a scheme) or of every token's label (without).
    ``likely`` holds every span with at least the probability LOWEST, predicted or not, of each sentence.
    ``place`` names the place of a token (sentence, token) in the file.
    """

    tokens: Sequence[Sequence[str]]
    compared: Compared
    evaluation: Evaluation
    sure: Sequence[Sequence[float]]
    likely: Sequence[Mapping[Span, float]]
    place: Callable[[int, int], str]

    @classmethod
    def of(
        cls,
        tagger: Tagger,
        sentences: Sequence[Sentence],
        compared: Compared,
        place: Callable[[int, int], str] | None = None,
    ) -> Self:
        """Ask the tagger for its probabilities; ``compared`` are its predictions and the labels of the sentences."""
        X = [tokens_of(sentence) for sentence in sentences]
        likely: list[dict[Span, float]] = [{} for _ in X]
        if compared.scheme == "none":
            sure = [row.tolist() for row in tagger.predict_with_probabilities(X)[1]]
        else:
            # Copies are annotated: the sentences keep their gold labels.
            copies = [Sentence(tokens=sentence.tokens, columns=sentence.columns) for sentence in sentences]
            sure = []
            for spans, entities in zip(compared.predicted_spans, tagger.annotate(copies), strict=True):
                known = {Span(one.label, one.start, one.end): one.probability or 0.0 for one in entities}
                sure.append([known[span] for span in spans])
            for posterior in Posteriors(tagger.model).of(X):
                for i, found in zip(posterior.which, posterior.spans_above(LOWEST), strict=True):
                    likely[i] = dict(found)
        return cls(
            tokens=[sentence.tokens for sentence in sentences],
            compared=compared,
            evaluation=evaluate_compared(compared),
            sure=sure,
            likely=likely,
            place=place or line_of(sentences),
        )


# ------------------------------------------------------------------------------------------------ taggers


def tagger_page(
    heading: Heading,
    answers: Answers,
    *,
    interval: Interval | None = None,
    before: metrics.Calibration | None = None,
    span_novelty: Mapping[str, metrics.SpanScores] | None = None,
    word_novelty: Mapping[str, metrics.TokenScores] | None = None,
) -> str:
    """The whole page.

    ``interval`` of the main score; ``before``: the reliability without calibration, drawn with that of the answers;
    ``span_novelty`` and ``word_novelty``: scores of what occurs in the training data and what does not.
    """
    evaluation, spans = answers.evaluation, answers.evaluation.spans
    tokens = evaluation.tokens
    counts = tokens.by_label() if spans is None else spans.by_label()
    colours = lasting_colours(counts)
    judged = [  # every predicted span, or the label of every token
        Judged(span.label, probability, span in right)
        for i, sure in enumerate(answers.sure)
        for gold, predicted in [answers.compared.spans_of(i)]
        for right in [set(gold)]
        for span, probability in zip(predicted, sure, strict=True)
    ]
    calibration = metrics.calibrate([min(one.probability, 1.0) for one in judged], [one.is_right for one in judged])
    error = f"{100 * calibration.expected_error:.2f}"
    parts = [
        sections.learning(heading),
        sections.label_scores(counts, None if spans is None else spans.overall, column="label"),
        confusion(tokens if spans is None else spans),
        sections.reliability(calibration, before, answers="labels" if spans is None else "spans"),
    ]
    if spans is None:
        cards = {
            "right / tokens": f"{tokens.correct:,} / {tokens.tokens:,}",
            "calibration error": error,
            "labels": f"{len(counts):,}",
            "sentences": f"{evaluation.sentences:,}",
        }
        header = sections.header(heading, "token accuracy", 100 * tokens.accuracy, interval, cards)
        if word_novelty:
            drawn = tables.drawn_table(tables.token_novelty_table(word_novelty), bars=("accuracy",))
            parts.append(Section("novelty", "Seen and unseen words", drawn))
    else:
        overall = spans.overall
        cards = {
            "precision": f"{100 * overall.precision:.2f}",
            "recall": f"{100 * overall.recall:.2f}",
            "token accuracy": f"{100 * tokens.accuracy:.2f}",
            "calibration error": error,
            "spans gold / predicted": f"{overall.gold:,} / {overall.predicted:,}",
            "sentences / tokens": f"{evaluation.sentences:,} / {tokens.tokens:,}",
        }
        header = sections.header(heading, "F1", 100 * overall.f1, interval, cards)
        parts += [curves(spans, likely_spans(answers), colours), lengths(answers, span_novelty or {})]
    parts.append(mistakes(answers, colours))
    return page(f"{heading.model} on {heading.data}", header, parts)


@final
class Judged(NamedTuple):
    """A span or a label, its probability, and whether it is right."""

    label: str
    probability: float
    is_right: bool


def likely_spans(answers: Answers) -> list[Judged]:
    """Every span that is probable enough to be looked at, predicted or not, and known to be right or wrong."""
    decided = answers.compared.decided(list(map(list, answers.likely)))
    return [
        Judged(span.label, probability, span in right)
        for gold, spans, kept in zip(answers.compared.gold_spans, answers.likely, decided, strict=True)
        for right, known in [(set(gold), set(kept))]
        for span, probability in spans.items()
        if span in known
    ]


def confusion(scores: metrics.SpanScores | metrics.TokenScores) -> Section:
    """A table of the labels with the most mistakes, shaded by shares of a row, with what was missed and is spurious."""
    counts, of_spans = scores.by_label(), isinstance(scores, metrics.SpanScores)
    cells: Mapping[tuple[Any, Any], int] = (
        scores.confusion() if isinstance(scores, metrics.SpanScores) else scores.confusion
    )
    weights = {label: counts[label].gold + counts[label].predicted - 2 * counts[label].correct for label in counts}
    heaviest = {*sorted(counts, key=lambda label: (-weights[label], label))[:MOST_CELLS]}
    sides: list[str | None] = [label for label in counts if label in heaviest]
    left_out = len(counts) - len(sides)
    sides += [None] * of_spans
    missed, spurious = "(missed)", "(spurious)"
    names = [element("th", element("bdi", tables.show_class(label, missed)), scope="col") for label in sides]
    rows = [element("thead", element("tr", element("th", "gold \\ predicted"), *names))]
    for gold in sides:
        name, total = tables.show_class(gold, spurious), sum(cells.get((gold, label), 0) for label in sides)
        row = [element("th", element("bdi", name), scope="row")]
        for predicted in sides:
            if not (count := cells.get((gold, predicted), 0)):
                row.append(element("td"))
                continue
            shown = f"{count:,}"
            if is_wrong := gold != predicted:  # the address of the filters that list these mistakes
                named = {"gold": gold, "predicted": predicted}
                wanted = {side: tables.show_class(label) for side, label in named.items() if label is not None}
                wanted |= {} if len(wanted) == 2 else {"kind": "spurious" if gold is None else "missed"}
                shown = element("a", shown, href="#" + urlencode(wanted, errors="replace"))
            told = f"gold {name}, predicted {tables.show_class(predicted, missed)}: {count / total:.1%} of the row"
            style = f"--share:{count / total:.3f}"
            row.append(element("td", shown, title=told, class_="wrong" if is_wrong else "right", style=style))
        rows.append(element("tr", *row))
    above = (
        "Overlapping spans by label. " * of_spans + "Shades are shares of a row; click on a mistake for its examples."
    )
    parts = [
        note(above),
        element("div", element("table", *rows, class_="heat"), class_="scroll"),
        note(f"{left_out:,} labels with fewer mistakes are not shown.") if left_out else None,
    ]
    if not isinstance(scores, metrics.SpanScores):
        listed = tables.drawn_table(tables.mistakes_table(scores.mistakes(), ""))
        parts += [element("h3", "Confused most often"), listed]
    return Section("confusion", "Confusion", joined(parts))


def curves(scores: metrics.SpanScores, judged: Sequence[Judged], colours: Mapping[str, str]) -> Section:
    """Precision-recall curves of all spans above a probability, for all labels and for the most frequent ones."""

    def curve(some: Sequence[Judged], gold: int) -> metrics.PrecisionRecall:
        return metrics.precision_recall(
            [one.is_right for one in some], [one.probability for one in some], positives=gold
        )

    counts = scores.by_label()
    frequent = tables.by_frequency(counts)[: sections.MOST_CURVES]
    curves = {ALL: curve(judged, scores.overall.gold)}
    if len(counts) > 1:
        by_label = {label: [one for one in judged if one.label == label] for label in frequent}
        curves |= {tables.show_class(label): curve(by_label[label], counts[label].gold) for label in frequent}
    marks = {ALL: scores.overall} | {tables.show_class(label): counts[label] for label in frequent}
    meaning = (
        "A ring is the model’s answer. A curve shows all spans above a probability, whether or not the best labelling "
        f"contains them (as with tag --all-above; they may overlap); it ends at a probability of {LOWEST:g}. "
        "The table covers all labels."
    )
    named = {tables.show_class(label): colour for label, colour in colours.items()}
    return sections.precision_and_recall(curves, named | {ALL: "var(--ink)"}, meaning, marks)


def lengths(answers: Answers, novelty: Mapping[str, metrics.SpanScores]) -> Section:
    """Long and short spans, and if the training data are known, seen and new ones."""
    parts = metrics.spans_by_length(answers.compared.gold_spans, answers.compared.predicted_spans)
    by_length = tables.label_table({name: part.overall for name, part in parts.items()}, title="", column="length")
    content = [tables.drawn_table(by_length, bars=RATIOS)]
    if novelty:
        content += [element("h3", "Seen and new"), tables.drawn_table(tables.span_novelty_table(novelty), bars=RATIOS)]
    return Section("lengths", "Short and long, seen and new" if novelty else "Short and long spans", joined(content))


def mistakes(answers: Answers, colours: Mapping[str, str]) -> Section:
    """Counts of all mistakes by kind, and examples of each with the probabilities of both sides."""
    spans, wrong = answers.evaluation.spans, []
    for i, sure in enumerate(answers.sure):
        probable = dict(zip(answers.compared.spans_of(i)[1], sure, strict=True))
        for pair in answers.compared.pairs(i):
            if pair.gold != pair.predicted:
                kind = " → ".join(span.label for span in pair if span is not None)
                of_gold = None
                if spans is not None:
                    kind, of_gold = pair.outcome.kind, pair.gold and answers.likely[i].get(pair.gold)
                wrong.append(Mistake(i, kind, *pair, of_gold, pair.predicted and probable[pair.predicted]))
    if spans is None:
        top = [sections.key("Numbers are the model’s probabilities of these labels.")]
    else:
        top = [tables.drawn_table(tables.errors_table(spans), bars=("percent",))]
        top.append(
            sections.key(f"Numbers are the model’s probabilities of these very spans: below {LOWEST:g} without one.")
        )
    kinds = () if spans is None else KINDS[1:]
    browser = sections.mistake_browser(wrong, answers.tokens, answers.place, colours, kinds=kinds)
    return Section("mistakes", "Mistakes", joined([*top, browser]))


# ------------------------------------------------------------------------------------------------ detectors


def detector_page(
    heading: Heading,
    detector: Detector,
    sentences: Sequence[Sentence],
    *,
    place: Callable[[int, int], str] | None = None,
) -> str:
    """The whole page, for sentences with labels: how scores rank the tokens, and what the threshold makes of them."""
    truth = [numbers.astype(bool) for numbers in detector.model.codec.numbers([s.labels or [] for s in sentences])]
    scores = detector.decision([tokens_of(sentence) for sentence in sentences])
    every = np.concatenate(truth), np.concatenate(scores)
    label = detector.label
    results = metrics.score_detection(*every, detector.threshold, label=label, sentences=len(sentences))
    counts = results.counts
    cards = {
        "F1 at the threshold": f"{100 * counts.f1:.2f}",
        "precision": f"{100 * counts.precision:.2f}",
        "recall": f"{100 * counts.recall:.2f}",
        "detects": label,
        "sentences / tokens": f"{results.sentences:,} / {results.tokens:,}",
    }
    header = sections.header(heading, "average precision", 100 * results.average_precision, None, cards)
    missed, spurious = counts.gold - counts.correct, counts.predicted - counts.correct
    rows = [(f"is {label}", counts.correct, missed), ("is not", spurious, results.tokens - counts.gold - spurious)]
    decisions = [
        note(
            f"Tokens that score above {results.threshold:.4f} are detected; this threshold was chosen on held-out data."
        ),
        tables.drawn_table(metrics.Table("", ("token", "detected", "not detected"), rows)),
    ]
    meaning = "Every point is a threshold; the ring is the model’s. The area below the curve is the average precision."
    wrong = []
    for i, (true, figures) in enumerate(zip(truth, scores, strict=True)):
        for t in np.flatnonzero(true != (figures > results.threshold)).tolist():
            span, score = Span(label, t, t + 1), float(figures[t])
            one = (
                Mistake(i, "missed", span, None, score) if true[t] else Mistake(i, "spurious", None, span, None, score)
            )
            wrong.append(one)
    browser = sections.mistake_browser(
        wrong,
        [sentence.tokens for sentence in sentences],
        place or line_of(sentences),
        lasting_colours([label]),
        kinds=("missed", "spurious"),
        figure="score",
    )
    parts = [
        sections.learning(heading),
        Section("decisions", "Decisions", joined(decisions)),
        sections.precision_and_recall({label: metrics.precision_recall(*every)}, {}, meaning, {label: counts}),
        Section("mistakes", "Mistakes", joined([sections.key("Numbers are the model’s scores."), browser])),
    ]
    return page(f"{heading.model} on {heading.data}", header, parts)


# ------------------------------------------------------------------------------------------------ tree classifiers


@final
class Drawn(NamedTuple):
    """A tree with predicted labels, the gold labels of its nodes, and the probability of the label of its root."""

    tree: Tree
    gold: Sequence[str | None]
    probability: float
    place: str

    @property
    def is_wrong(self) -> bool:
        return self.gold[-1] is not None and self.gold[-1] != self.tree.root_label

    def caption(self) -> str:
        gold = f", gold {self.gold[-1]}" if self.is_wrong else ""
        return f"{self.place}: {self.tree.root_label} ({self.probability:.2f}){gold}"


def tree_page(heading: Heading, scores: metrics.TreeScores, interval: Interval, answers: Sequence[Drawn]) -> str:
    """The whole page: scores, and trees drawn in the colours of their labels.

    The mistakes at the root of which the model was surest; right trees if there are not enough of them.
    """
    short = [one for one in answers if len(one.tree.tokens) <= LONGEST_DRAWN]
    chosen = sorted(short, key=lambda one: (not one.is_wrong, -one.probability))[:MOST_TREES]
    colours = colours_of_trees([one.tree for one in chosen])
    order = "The most confident mistakes at the root come first, right ones after them."
    if not any(one.is_wrong for one in chosen):
        order = "The label at the root is right in all of these trees."
    drawn = [figure(one.caption(), drawn_tree(one.tree, one.gold, colours)) for one in chosen]
    meaning = note(f"{order} A ring marks a phrase with another gold label.")
    trees = joined([meaning, *(element("div", one, class_="scroll") for one in drawn)])
    cards = {"node accuracy": f"{100 * scores.nodes.accuracy:.2f}"}
    if scores.root_binary is not None:
        cards["good or bad"] = f"{100 * scores.root_binary.accuracy:.2f}"
    cards["trees / labelled nodes"] = f"{scores.trees:,} / {scores.nodes.tokens:,}"
    headline = "root accuracy" if scores.roots.tokens else "node accuracy"
    parts = [
        sections.learning(heading),
        sections.label_scores(scores.roots.by_label(), None, column="label of the root"),
        Section("confusion", "Confusion at the roots", tables.drawn_table(tables.confusion_table(scores.roots, ""))),
        Section("nodes", "Confusion at all nodes", tables.drawn_table(tables.confusion_table(scores.nodes, ""))),
        Section("lengths", "Phrases by length", tables.drawn_table(length_table(scores), bars=("accuracy",))),
        sections.reliability(scores.root_calibration, None, answers="roots"),
        Section("trees", "Trees", trees),
    ]
    header = sections.header(heading, headline, 100 * scores.main_score, interval, cards)
    return page(f"{heading.model} on {heading.data}", header, parts)
