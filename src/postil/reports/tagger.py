"""The report on a tagger."""

from collections.abc import Mapping

from postil.metrics import Calibration, SpanScores, TokenScores
from postil.metrics.significance import Interval
from postil.reports.answers import Answers, Heading
from postil.reports.page import page
from postil.reports.spans import judged_spans, reliability_of, span_header, span_sections
from postil.reports.tokens import token_header, token_reliability, token_sections


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
