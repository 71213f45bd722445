"""Inline XML: MUC's frames and types, Stanford's names, entities, nesting, mistakes."""

import io

import pytest

from oracles.annotated import written
from postil.errors import DataError
from postil.text.annotations.annotated import AnnotatedSpan, AnnotatedText
from postil.text.annotations.inline_xml import read_inline_xml
from postil.text.formats import read
from postil.text.lines import Lines
from postil.text.options import ReadOptions
from postil.text.report import Report


def texts(content: str) -> tuple[list[AnnotatedText], Report]:
    report = Report()
    return list(read_inline_xml(Lines(io.BytesIO(content.encode())), ReadOptions(), report)), report


def test_documents_of_muc() -> None:
    content = (
        "<DOC>\n<DOCID> nyt-7 </DOCID>\n<TEXT>\n<p>\n"
        'At AT&T, <ENAMEX TYPE="PERSON" STATUS="OPT">Anna\nBerg</ENAMEX> paid\n'
        '<NUMEX TYPE="MONEY">&lt;5 &#8364;</NUMEX> <TIMEX TYPE=DATE>today</TIMEX> if 3 < 4 <b/>\n'
        "</TEXT>\n</DOC>\n"
    )
    [text], report = texts(content)
    assert text.document == "nyt-7"
    assert [(text.text[s.start : s.end], s.label) for s in text.spans or ()] == [
        ("Anna\nBerg", "PERSON"),
        ("<5 €", "MONEY"),
        ("today", "DATE"),
    ]
    assert text.spans is not None and text.spans[0].fields == {"STATUS": "OPT"}
    assert "AT&T" in text.text and "3 < 4" in text.text
    assert +report.dropped == {"empty elements of XML": 1}
    assert read(io.BytesIO(content.encode())).format == "muc"


def test_lines_of_stanford() -> None:
    content = "<PERSON>Anna <TITLE>Dr.</TITLE></PERSON> left.\n\n<LOCATION>Oslo</LOCATION> is far.\n"
    content = content.replace("TITLE", "RANK")
    [one, two], _ = texts(content)
    assert one.spans == [AnnotatedSpan(0, 8, "PERSON"), AnnotatedSpan(5, 8, "RANK")]
    assert (two.text, two.spans, two.line) == ("Oslo is far.", [AnnotatedSpan(0, 4, "LOCATION")], 3)
    first = next(read(io.BytesIO(content.encode()), overlaps="longest"))
    assert first.labels == ["B-PERSON", "I-PERSON", "O", "O"]


def test_what_is_written() -> None:
    spans = [AnnotatedSpan(0, 4, 'A"B'), AnnotatedSpan(2, 8, "X"), AnnotatedSpan(5, 8, "P")]
    text = AnnotatedText("Anna\n<&\r", spans, document="d")
    content, report = written("muc", [text])
    assert content == (
        '<DOC>\n<DOCNO>d</DOCNO>\n<TEXT>\n<ENAMEX TYPE="A&quot;B">Anna</ENAMEX>\n'
        '<ENAMEX TYPE="P">&lt;&amp;&#13;</ENAMEX>\n</TEXT>\n</DOC>\n'
    )
    assert +report.dropped == {"spans that cross another one": 1}
    content, report = written("stanford", [text])
    assert content == ("<_A_B>Anna</_A_B>\n<_P>&lt;&amp;&#13;</_P>\n\n")
    assert +report.changed == {"labels that are not valid element names": 2}
    assert +report.dropped == {"spans that cross another one": 1, "names of documents": 1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\n<PERSON>Anna\n\nleft", "stream, line 2: an element is never closed: expected </PERSON>, got the end"),
        ("<PERSON>Anna</LOCATION>", "stream, line 1: an element ends that is not open: expected </PERSON>"),
        ("Anna</PERSON>", "stream, line 1: an element ends that is not open"),
    ],
)
def test_mistakes_have_a_line(content: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        texts(content)
    assert message in str(caught.value)


def test_long_lines_of_brackets_are_read_in_linear_time() -> None:
    texts("<a " * 20_000)
    texts("<a b=" * 20_000 + "\n\n" + "<" * 50_000)
    texts("<a" + " b=c" * 20_000)
