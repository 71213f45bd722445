"""Texts with spans: every format of an annotation tool writes what it reads again, up to what it counts as lost."""

import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import DataError
from postil.text import Tokens
from postil.text.annotations.annotated import REFUSED, AnnotatedSpan, AnnotatedText, align, placed_tokens, texts_of
from postil.text.document import Sentence
from postil.text.formats import FORMATS, Reading, read, write, write_annotated
from postil.text.labels.schemes import Span
from postil.text.options import ReadOptions, WriteOptions
from postil.text.report import Report

LETTERS = st.one_of(
    st.sampled_from("ab \t\n\r<&>\"'\\|[]_*;é😀\u2028\x85,"),
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
)
LABELS = st.text(st.sampled_from("PERLOC_-"), min_size=1, max_size=4).filter(lambda label: label not in ("_", "?"))
STREAMS = [name for name, row in FORMATS.items() if row.has_spans and not row.opens]


@st.composite
def annotated(draw: st.DrawFn) -> AnnotatedText:
    """A text with spans that may overlap, touch, repeat and begin inside of words."""
    text = draw(st.text(LETTERS, min_size=1, max_size=30).filter(lambda text: text.strip()))
    places = st.tuples(st.integers(0, len(text)), st.integers(0, len(text))).map(sorted).filter(lambda p: p[0] < p[1])
    spans = [AnnotatedSpan(start, end, draw(LABELS)) for start, end in draw(st.lists(places, max_size=4))]
    return AnnotatedText(text, [span for span in spans if text[span.start : span.end].strip()])


TEXTS = st.lists(annotated(), min_size=1, max_size=3)


def through(texts: list[AnnotatedText], format: str) -> tuple[list[AnnotatedText], Report]:
    stream, report = io.BytesIO(), Report(format)
    write_annotated(texts, stream, format, report)
    stream.seek(0)
    return list(Reading(stream, format, ReadOptions()).texts(ReadOptions())), report


def content(texts: list[AnnotatedText]) -> list[Any]:
    return [(text.text, sorted((s.start, s.end, s.label) for s in text.spans or ())) for text in texts]


@pytest.mark.slow
@pytest.mark.parametrize("format", ["jsonl", "doccano", "prodigy", "label-studio", "label-studio-min"])
@given(TEXTS)
def test_texts_and_overlapping_spans_come_back(format: str, texts: list[AnnotatedText]) -> None:
    again, report = through(texts, format)
    assert content(again) == content(texts)
    assert not +report.dropped


@given(TEXTS)
def test_brat(tmp_path_factory: pytest.TempPathFactory, texts: list[AnnotatedText]) -> None:
    """Line ends at the edges of a span have no place in brat; nothing else is lost."""
    folder = tmp_path_factory.mktemp("brat") / "out"
    report = Report("brat")
    write_annotated(texts, folder, "brat", report)
    again = list(Reading(folder, None, ReadOptions()).texts(ReadOptions()))
    wanted = [
        AnnotatedText(text.text, [trimmed(span, text.text, "\r\n") for span in text.spans or ()]) for text in texts
    ]
    assert content(again) == content(wanted)
    assert not +report.dropped


def trimmed(span: AnnotatedSpan, text: str, blanks: str) -> AnnotatedSpan:
    covered = text[span.start : span.end]
    left = len(covered) - len(covered.lstrip(blanks))
    return AnnotatedSpan(span.start + left, span.start + len(covered.rstrip(blanks)), span.label)


TAGGED = [
    Sentence(["Anna", "Berg", "saw", "😀", "Oslo"], ["B-PER", "I-PER", "O", "O", "B-LOC"]),
    Sentence(["Nobody", "left"], ["O", "O"]),
]


@pytest.mark.parametrize("format", [*STREAMS, "datasets", "csv"])
def test_sentences_with_tokens_pass_through_every_format(format: str) -> None:
    stream = io.BytesIO()
    write(TAGGED, stream, format)
    stream.seek(0)
    again = list(read(stream, format))
    assert [(s.tokens, s.labels) for s in again] == [(s.tokens, s.labels) for s in TAGGED]


@pytest.mark.parametrize("format", [name for name in STREAMS if name not in ("doccano", "prodigy")])
def test_formats_are_recognised(format: str) -> None:
    stream = io.BytesIO()
    write(TAGGED, stream, format)
    stream.seek(0)
    assert read(stream).format == format


def test_other_dialects_are_recognised_as_what_reads_them() -> None:
    for format, row in FORMATS.items():
        if row.like is not None:
            stream = io.BytesIO()
            write([Sentence(["Anna", "left"], ["B-PERSON", "O"])], stream, format)
            stream.seek(0)
            assert read(stream).format == row.like, format


def test_labels_without_a_scheme_become_spans_of_one_token() -> None:
    [text] = texts_of([Sentence(["a", "b"], ["NOUN", "O"])], WriteOptions(scheme="none"), Report())
    assert text.spans == [AnnotatedSpan(0, 1, "NOUN")]


def test_what_sentences_lose_is_counted() -> None:
    report = Report()
    sentence = Sentence(["a", "b", ""], ["B-X", "?", "B-Y"], [("c",)] * 3, comments=["# d"])
    [text] = texts_of([sentence], WriteOptions(scheme="bio"), report)
    assert text.spans == [AnnotatedSpan(0, 1, "X")]
    assert +report.dropped == {
        "marks of unknown labels (? and A|B)": 1,
        "spans of empty tokens": 1,
    }
    write([sentence], io.BytesIO(), "prodigy", report := Report(), scheme="bio")
    assert +report.dropped == {
        "marks of unknown labels (? and A|B)": 1,
        "spans of empty tokens": 1,
        "extra columns of tokens": 3,
        "comments": 1,
    }


@pytest.mark.parametrize("format", STREAMS)
def test_discontinuous_spans_and_fields_are_counted(format: str) -> None:
    span = AnnotatedSpan(0, 5, "X", {"own": 1}, ((0, 1), (4, 5)))
    _, report = through([AnnotatedText("a b c", [span], fields={"other": 2})], format)
    assert report.changed["discontinuous spans, taken from their first to their last character"] == 1


GARBAGE = st.one_of(
    st.text(LETTERS, max_size=60),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "text",
                        "data",
                        "annotations",
                        "result",
                        "value",
                        "type",
                        "labels",
                        "start",
                        "end",
                        "label",
                        "tokens",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    ).map(lambda value: __import__("json").dumps([value] if isinstance(value, dict) else value)),
)


@pytest.mark.slow
@pytest.mark.parametrize("format", [*STREAMS, "datasets", "csv"])
@given(GARBAGE)
def test_hostile_files_are_read_or_refused_with_one_line(format: str, garbage: str) -> None:
    try:
        list(read(io.BytesIO(garbage.encode()), format))
    except DataError as error:
        assert str(error).startswith("stream") and "\n" not in str(error)


@pytest.mark.filterwarnings("ignore::postil.errors.RepairWarning")
@pytest.mark.parametrize("format", [*STREAMS, "datasets", "csv"])
@given(st.data())
def test_damaged_files_are_read_or_refused_with_one_line(format: str, data: st.DataObject) -> None:
    stream = io.BytesIO()
    write(TAGGED, stream, format)
    text = stream.getvalue().decode()
    at = data.draw(st.integers(0, len(text) - 1))
    damaged = text[:at] + data.draw(st.sampled_from(["", '"', "]", "\n", "\t", "<", "9" * 400, "x"])) + text[at + 1 :]
    try:
        list(read(io.BytesIO(damaged.encode()), format))
    except DataError as error:
        assert str(error).startswith("stream") and "\n" not in str(error)


@pytest.mark.parametrize("format", ["label-studio", "doccano"])
def test_deep_json_is_refused(format: str) -> None:
    deep = '[{"text": ' + "[" * 100_000
    with pytest.raises(DataError, match="stream, line 1: "):
        list(read(io.BytesIO((deep if format == "label-studio" else deep[1:]).encode()), format))


def test_a_folder_is_not_read_from_a_stream(tmp_path: Path) -> None:
    from postil.errors import ConfigurationError

    with pytest.raises(ConfigurationError, match="input of the format brat must be a path"):
        read(io.BytesIO(b""), "brat")


# ------------------------------------------------ Spans onto tokens, against a reference that looks at every character


@st.composite
def texts_and_spans(draw: st.DrawFn) -> tuple[Tokens, list[AnnotatedSpan]]:
    """Tokens of one to three letters with blanks or nothing between them, and spans anywhere."""
    text, starts, ends = "", [], []
    for size, gap in draw(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 2)), min_size=1, max_size=6)):
        starts.append(len(text))
        ends.append(len(text) + size)
        text += "x" * size + " " * gap
    spans = []
    for label in draw(st.lists(st.sampled_from("AB"), max_size=4)):
        start = draw(st.integers(0, len(text) - 1))
        spans.append(AnnotatedSpan(start, draw(st.integers(start + 1, len(text))), label))
    return placed_tokens(text, list(zip(starts, ends, strict=True))), spans


def touched(text: Tokens, span: AnnotatedSpan) -> list[int]:
    """Tokens that share a character with the span."""
    characters = set(range(span.start, span.end))
    tokens = zip(text.starts, text.ends, strict=True)
    return [number for number, (start, end) in enumerate(tokens) if characters & set(range(start, end))]


def is_aligned(text: Tokens, span: AnnotatedSpan) -> bool:
    return span.start in text.starts and span.end in text.ends


@given(texts_and_spans())
def test_every_span_is_taken_or_listed(case: tuple[Tokens, list[AnnotatedSpan]]) -> None:
    text, spans = case
    report = Report()
    found = align(spans, text, "f, line 1", ReadOptions(), report)
    odd = [span for span in spans if not is_aligned(text, span)]
    misaligned = [problem for problem in report.problems if "does not fit" in problem.what]
    assert len(misaligned) == len(odd)
    assert len(found) + len(report.problems) == len(spans)
    assert all(problem.action == REFUSED for problem in report.problems)


@given(texts_and_spans())
def test_snapping_takes_the_tokens_that_are_touched(case: tuple[Tokens, list[AnnotatedSpan]]) -> None:
    text, spans = case
    for span in spans:
        report = Report()
        tokens = touched(text, span)
        expected = [Span(span.label, tokens[0], tokens[-1] + 1)] if tokens else []
        assert align([span], text, "f, line 1", ReadOptions(misaligned="snap"), report) == expected
        assert report.changed.total() == (bool(tokens) and not is_aligned(text, span))
        assert report.dropped.total() == (not tokens)


@given(texts_and_spans(), st.sampled_from(["longest", "first"]))
def test_no_token_is_taken_twice_and_nothing_could_be_added(
    case: tuple[Tokens, list[AnnotatedSpan]], overlaps: str
) -> None:
    text, spans = case
    report = Report()
    found = align(spans, text, "f, line 1", ReadOptions(misaligned="drop", overlaps=overlaps), report)  # type: ignore[arg-type]
    taken = [token for span in found for token in range(span.start, span.end)]
    assert len(taken) == len(set(taken))
    assert found == sorted(found, key=lambda span: span.start)
    fitting = [touched(text, span) for span in spans if is_aligned(text, span)]
    assert all(set(tokens) & set(taken) for tokens in fitting)
    assert len(found) + report.dropped.total() == len(spans)
    if fitting:
        best = max(fitting, key=len) if overlaps == "longest" else fitting[0]
        assert set(best) <= set(taken)
