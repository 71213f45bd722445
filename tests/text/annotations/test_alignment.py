"""Spans onto tokens, against a reference that looks at every character."""

from hypothesis import given
from hypothesis import strategies as st

from postil.text.annotations.alignment import REFUSED, CharacterSpan, TokenisedText, align
from postil.text.labels.schemes import Span
from postil.text.options import ReadOptions
from postil.text.report import Report


@st.composite
def texts_and_spans(draw: st.DrawFn) -> tuple[TokenisedText, list[CharacterSpan]]:
    """Tokens of one to three letters with blanks or nothing between them, and spans anywhere."""
    text, starts, ends = "", [], []
    for size, gap in draw(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 2)), min_size=1, max_size=6)):
        starts.append(len(text))
        ends.append(len(text) + size)
        text += "x" * size + " " * gap
    spans = []
    for label in draw(st.lists(st.sampled_from("AB"), max_size=4)):
        start = draw(st.integers(0, len(text) - 1))
        spans.append(CharacterSpan(start, draw(st.integers(start + 1, len(text))), label))
    return TokenisedText(text, starts, ends, "f, line 1"), spans


def touched(text: TokenisedText, span: CharacterSpan) -> list[int]:
    """Tokens that share a character with the span."""
    characters = set(range(span.start, span.end))
    tokens = zip(text.starts, text.ends, strict=True)
    return [number for number, (start, end) in enumerate(tokens) if characters & set(range(start, end))]


def is_aligned(text: TokenisedText, span: CharacterSpan) -> bool:
    return span.start in text.starts and span.end in text.ends


@given(texts_and_spans())
def test_every_span_is_taken_or_listed(case: tuple[TokenisedText, list[CharacterSpan]]) -> None:
    text, spans = case
    report = Report()
    found = align(spans, text, ReadOptions(), report)
    odd = [span for span in spans if not is_aligned(text, span)]
    misaligned = [problem for problem in report.problems if "does not fit" in problem.what]
    assert len(misaligned) == len(odd)
    assert len(found) + len(report.problems) == len(spans)
    assert all(problem.action == REFUSED for problem in report.problems)


@given(texts_and_spans())
def test_snapping_takes_the_tokens_that_are_touched(case: tuple[TokenisedText, list[CharacterSpan]]) -> None:
    text, spans = case
    for span in spans:
        report = Report()
        tokens = touched(text, span)
        expected = [Span(span.label, tokens[0], tokens[-1] + 1)] if tokens else []
        assert align([span], text, ReadOptions(misaligned="snap"), report) == expected
        assert report.changed.total() == (bool(tokens) and not is_aligned(text, span))
        assert report.dropped.total() == (not tokens)


@given(texts_and_spans(), st.sampled_from(["longest", "first"]))
def test_no_token_is_taken_twice_and_nothing_could_be_added(
    case: tuple[TokenisedText, list[CharacterSpan]], overlaps: str
) -> None:
    text, spans = case
    report = Report()
    found = align(spans, text, ReadOptions(misaligned="drop", overlaps=overlaps), report)  # type: ignore[arg-type]
    taken = [token for span in found for token in range(span.start, span.end)]
    assert len(taken) == len(set(taken))
    assert found == sorted(found, key=lambda span: span.start)
    fitting = [touched(text, span) for span in spans if is_aligned(text, span)]
    assert all(set(tokens) & set(taken) for tokens in fitting)
    assert len(found) + report.dropped.total() == len(spans)
    if fitting:
        best = max(fitting, key=len) if overlaps == "longest" else fitting[0]
        assert set(best) <= set(taken)
