"""Names marked up inside the text, as MUC and Stanford's programs write them.

    MUC         <DOC><DOCNO> 7 </DOCNO><TEXT> <ENAMEX TYPE="PERSON">Anna Berg</ENAMEX> left. </TEXT></DOC>
    Stanford    <PERSON>Anna Berg</PERSON> left.

``ENAMEX``, ``TIMEX`` and ``NUMEX`` are labelled by their ``TYPE``, other elements by their name, and those that make up
the document (DOC, TEXT, HL, P, S …) are not labels. A text is the content of TEXT, else a block between blank lines.
Not all rules of XML hold: a bare & and a < that does not begin a tag stand for themselves, as they do in such files.
"""

import html
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple, final

from postil.errors import DataError
from postil.text.annotations.annotated import AnnotatedSpan, AnnotatedText
from postil.text.lines import NumberedLines
from postil.text.options import ReadOptions, WriteOptions
from postil.text.report import Report

_TAG = re.compile(
    r"""<(/?)([A-Za-z_][\w.:-]*)((?:\s+[\w.:-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>/]+))*)\s*(/?)>"""
    r"|<!--.*?-->|<[?!][^<>]*>"
)
_ATTRIBUTE = re.compile(r"""([\w.:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>/]+))""")
_ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")
_TYPED = {"ENAMEX", "TIMEX", "NUMEX", "TIMEX2", "TIMEX3", "B_ENAMEX", "B_TIMEX", "B_NUMEX"}
_FRAMES = set(
    "doc document docs corpus text body p s para paragraph sentence head header hl headline dateline dd ad so in co "
    "byline preamble trailer slug date_time nwords html br title root xml story article storyid doctype "
    "source_date turn post quote poster postdate".split()
)
_NAMES_OF_DOCUMENTS = {"docno", "docid", "storyid"}
_XML_NAME = re.compile(r"[A-Za-z_][\w.-]*\Z", re.ASCII)
_NOT_IN_NAME = re.compile(r"[^\w.-]+", re.ASCII)
_BLANK_LINE = re.compile(r"(?:\A|(?<=\n))[ \t](?=[ \t]*(?:\n|\Z))")
"""The first blank of a line of blanks, which readers of lines take for an empty one."""


class _OpenElement(NamedTuple):
    """An element that has begun."""

    name: str
    label: str
    start: int
    fields: dict[str, str]
    line: int
    number: int
    """Of the element among those of its text."""


def read_inline_xml(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[AnnotatedText]:
    """The texts of a file with inline markup."""
    reader = _XmlReader(lines, report)
    for first, batch in lines:
        for number, line in enumerate(batch, first):
            yield from reader.take(line, number)
    yield from reader.end(None)


@final
class _XmlReader:
    """Collects the characters and spans of a text until it ends."""

    def __init__(self, lines: NumberedLines, report: Report) -> None:
        self.lines, self.report = lines, report
        self.pieces: list[str] = []
        self.length = 0
        self.line_ends: set[int] = set()  # pieces that end a line of the file
        self.spans: dict[int, AnnotatedSpan] = {}
        self.opened: list[_OpenElement] = []
        self.in_text = False
        self.document: str | None = None
        self.name: list[str] | None = None  # the name of a document that is being read
        self.first = 0
        self.count = 0

    def take(self, line: str, number: int) -> Iterator[AnnotatedText]:
        if not line and not self.in_text:
            yield from self.end(None)
            return
        position = 0
        for tag in _TAG.finditer(line):
            self._characters(line[position : tag.start()], number)
            position = tag.end()
            if tag.group(2):
                yield from self._element(tag, number)
            else:
                self.report.dropped["comments and declarations of XML"] += 1
        self._characters(line[position:], number)
        if self.name is None:
            self.line_ends.add(len(self.pieces))
            self._append("\n", number)

    def _characters(self, text: str, number: int) -> None:
        text = _ENTITY.sub(_character, text)
        if self.name is not None:
            self.name.append(text)
        elif text:
            self._append(text, number)

    def _append(self, text: str, number: int) -> None:
        if not self.pieces:
            self.first = number
        self.pieces.append(text)
        self.length += len(text)

    def _element(self, tag: re.Match[str], number: int) -> Iterator[AnnotatedText]:
        closing, name, attributes, empty = tag.groups()
        frame = name.lower()
        if frame in _NAMES_OF_DOCUMENTS:
            if closing:
                self.document, self.name = "".join(self.name or ()).strip(), None
            elif not empty:
                yield from self.end(None)
                self.name = []
        elif frame in _FRAMES:
            if frame in ("doc", "document", "text"):
                yield from self.end(frame if closing else None)
                self.in_text = frame == "text" and not closing
        elif empty:
            self.report.dropped["empty elements of XML"] += 1
        elif closing:
            if not self.opened or self.opened[-1].name != name:
                expected = f"</{self.opened[-1].name}>" if self.opened else "no end of an element"
                what, where = "an element ends that is not open", self.lines.where(number)
                raise DataError(what, expected=expected, got=f"</{name}>", where=where)
            opened = self.opened.pop()
            if opened.start == self.length or not opened.label.strip():
                self.report.dropped["empty elements of XML"] += 1
            else:
                self.spans[opened.number] = AnnotatedSpan(opened.start, self.length, opened.label, opened.fields)
        else:
            fields = {key: html.unescape(a or b or c) for key, a, b, c in _ATTRIBUTE.findall(attributes)}
            label = name
            if name.upper() in _TYPED:
                label = next((fields.pop(key) for key in list(fields) if key.upper() == "TYPE"), name)
            self.opened.append(_OpenElement(name, label, self.length, fields, number, self.count))
            self.count += 1

    def end(self, frame: str | None) -> Iterator[AnnotatedText]:
        """The text that ends here, if there is one."""
        if self.opened:
            opened = self.opened[-1]
            where = self.lines.where(opened.line)
            raise DataError("an element is never closed", expected=f"</{opened.name}>", got="the end", where=where)
        framed = self.in_text and frame == "text"
        left, right = self._edges(framed)
        text = "".join(self.pieces)[left:right]
        spans = [  # in the text without the line ends around it
            replace(span, start=max(span.start, left) - left, end=min(span.end, right) - left)
            for _, span in sorted(self.spans.items())
        ]
        self.pieces, self.length, self.line_ends, self.spans = [], 0, set(), {}
        if not text.strip() and not framed:
            return
        self.report.dropped["empty elements of XML"] += sum(span.start >= span.end for span in spans)
        spans = [span for span in spans if span.start < span.end]
        document, self.document = self.document, None
        yield AnnotatedText(text, spans, document=document, line=self.first, where=self.lines.where(self.first))

    def _edges(self, framed: bool) -> tuple[int, int]:
        """The characters without the ends of lines around them, of which a frame has one on each side."""
        pieces, most = self.pieces, 1 if framed else len(self.pieces)
        left = 0
        while left < min(most, len(pieces)) and left in self.line_ends:
            left += 1
        right = len(pieces)
        while right > max(left, len(pieces) - most) and right - 1 in self.line_ends:
            right -= 1
        return left, self.length - (len(pieces) - right)


def _character(match: re.Match[str]) -> str:
    entity = match.group()
    if entity.startswith("&#"):
        code = int(entity[3:-1], 16) if entity[2] in "xX" else int(entity[2:-1])
        return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else entity
    return html.unescape(entity)


def write_muc(texts: Iterable[AnnotatedText], options: WriteOptions, report: Report) -> Iterator[str]:
    """Every text in DOC and TEXT, its spans as ENAMEX."""
    for number, text in enumerate(texts, 1):
        name = _escaped(" ".join((text.document or str(number)).split()))
        yield f"<DOC>\n<DOCNO>{name}</DOCNO>\n<TEXT>\n{_marked_up(text, _enamex, report)}\n</TEXT>\n</DOC>\n"


def write_stanford(texts: Iterable[AnnotatedText], options: WriteOptions, report: Report) -> Iterator[str]:
    """Every text with elements named by labels, and a blank line after it."""
    for text in texts:
        # A blank line would end the text, and so would a line end at its beginning or end.
        content = re.sub(r"\n(?=\n)|\A\n|\n\Z", "&#10;", _marked_up(text, _named, report))
        yield f"{content}\n\n"


Tags = Callable[[str, Report], tuple[str, str]]


def _enamex(label: str, report: Report) -> tuple[str, str]:
    return f'<ENAMEX TYPE="{_escaped(label)}">', "</ENAMEX>"


def _named(label: str, report: Report) -> tuple[str, str]:
    name = label if _XML_NAME.match(label) else f"_{_NOT_IN_NAME.sub('_', label)}"
    if name.lower() in _FRAMES | _NAMES_OF_DOCUMENTS or name.upper() in _TYPED:
        name = f"_{name}"
    report.changed["labels that are not valid element names"] += name != label
    return f"<{name}>", f"</{name}>"


def _marked_up(text: AnnotatedText, tags: Tags, report: Report) -> str:
    pieces: list[str] = []
    position = 0
    opened: list[tuple[int, str]] = []  # where an element ends, and its closing tag

    def advance(to: int) -> None:
        nonlocal position
        while opened and opened[-1][0] <= to:
            end, closing = opened.pop()
            pieces.extend((_escaped(text.text[position:end]), closing))
            position = end
        pieces.append(_escaped(text.text[position:to]))
        position = to

    for span in sorted(text.spans or (), key=lambda span: (span.start, -span.end)):
        advance(span.start)
        if opened and span.end > opened[-1][0]:
            report.dropped["spans that cross another one"] += 1
            continue
        opening, closing = tags(span.label, report)
        pieces.append(opening)
        opened.append((span.end, closing))
    advance(len(text.text))
    return _BLANK_LINE.sub(lambda match: f"&#{ord(match.group())};", "".join(pieces))


def _escaped(text: str) -> str:
    return html.escape(text).replace("\r", "&#13;").replace("\0", "&#0;").replace("&#x27;", "'")
