"""brat: a text (NAME.txt) and its annotations (NAME.ann) side by side, in a folder that may have folders.

    T1	PER 0 9	Anna Berg
    T2	LOC 15 20;25 32	South America       a discontinuous span: its fragments
    A1	Negation T1                         an attribute of a span
    #1	AnnotatorNotes T1	says who        a note

A span must not contain a line end: it is written as the fragments before and after, which are joined when read.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from postil.errors import ConfigurationError, DataError
from postil.files import naming
from postil.reading import open_regular
from postil.text.annotations.annotated import AnnotatedSpan, AnnotatedText, Fragments
from postil.text.lines import Lines, NumberedLines, shortened, unknown_encoding
from postil.text.offsets import MOVED, Claim, realigned
from postil.text.options import ReadOptions, WriteOptions
from postil.text.output import Target
from postil.text.report import Report

_PLACE = re.compile(r"(\S+) (\d{1,18} \d{1,18}(?:;\d{1,18} \d{1,18})*)\Z")
_OTHERS = {"R": "relations", "E": "events", "*": "equivalences", "N": "normalisations"}
_NO_LINE_END = re.compile(r"[^\r\n]+")
_NO_LABEL = re.compile(r"[\s;]+")
_NO_FILE_NAME = re.compile(r"[^\w.-]+")
_SPLIT_SPACE = re.compile(r"\s*[\r\n]\s*\Z")


def read_brat(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[AnnotatedText]:
    """The texts of a folder, in the order of their names, or the one text of an ``.ann`` file."""
    path = Path(lines.name)
    files = sorted(path.rglob("*.ann")) if path.is_dir() else [path]
    if not files:
        raise DataError("no annotations of brat", expected="files NAME.ann and NAME.txt", got="none", where=path)
    if path.is_dir():
        report.dropped["texts without a file of annotations"] += sum(
            not text.with_suffix(".ann").exists() for text in path.rglob("*.txt")
        )
    for file in files:
        name = str(file.relative_to(path).with_suffix("")) if path.is_dir() else file.stem
        yield _read_pair(file, name, options, report)


def _read_pair(file: Path, name: str, options: ReadOptions, report: Report) -> AnnotatedText:
    text = _read_text(file.with_suffix(".txt"), file, options)
    spans: dict[str, _Span] = {}
    additions: list[tuple[str, str]] = []
    with Lines(os.fspath(file), encoding=options.encoding) as lines:
        for number, line in lines.numbered():
            if line.startswith("T"):
                key, _, rest = line.partition("\t")
                spans[key] = _Span(rest, line, text, lines.where(number))
            elif line[0] in "AM#":
                additions.append((line[0], line))
            else:
                report.dropped[_OTHERS.get(line[0], "lines that are not of brat")] += 1
    return AnnotatedText(
        text,
        _placed(text, spans, additions, report),
        document=name,
        lines_are_sentences=True,  # as brat shows them
        line=1,
        where=os.fspath(file),
    )


def _read_text(path: Path, file: Path, options: ReadOptions) -> str:
    """The text with its line ends as they are: offsets count them."""
    encoding = options.encoding or "utf-8"
    try:
        with open_regular(path) as stream:
            return stream.read().decode(encoding)
    except FileNotFoundError:
        raise DataError("the text of the annotations is missing", expected=path.name, where=file) from None
    except UnicodeDecodeError as error:
        what = f"invalid {encoding.upper()} at byte {error.start}"
        raise DataError(what, expected="the right encoding (--encoding)", where=path) from None
    except LookupError:
        raise unknown_encoding(encoding) from None


class _Span:
    """One line of a span: its label, its fragments, the text that it covers, and what other lines add to it."""

    def __init__(self, rest: str, line: str, text: str, where: str) -> None:
        head, *cells = rest.split("\t")
        place = _PLACE.match(head)
        if place is None:
            expected = "T1<tab>LABEL START END<tab>TEXT"
            raise DataError("not a span of brat", expected=expected, got=shortened(line), where=where)
        pairs = [pair.split(" ") for pair in place.group(2).split(";")]
        fragments = tuple((int(start), int(end)) for start, end in pairs)
        edges = [edge for fragment in fragments for edge in fragment]
        if edges != sorted(edges) or any(start >= end for start, end in fragments):
            got = place.group(2)
            raise DataError("a span that is empty or out of order", expected="start < end", got=got, where=where)
        covered = cells[0] if cells else " ".join(text[start:end] for start, end in fragments)
        self.label, self.where, self.fields = place.group(1), where, dict[str, Any]()
        self.claim, self.fragments = Claim(edges[0], edges[-1], covered), _joined(fragments, text)


def _placed(
    text: str, spans: dict[str, _Span], additions: list[tuple[str, str]], report: Report
) -> list[AnnotatedSpan]:
    """The spans with the attributes and notes that are about them, where their texts are."""
    for kind, line in additions:
        head, _, note = line.partition("\t")[2].partition("\t")
        name, _, rest = head.partition(" ")
        about, _, value = rest.partition(" ")
        if about not in spans:
            report.dropped["notes and attributes of anything but spans"] += 1
        elif kind == "#":
            spans[about].fields.setdefault("notes", []).append(note)
        else:
            spans[about].fields.setdefault("attributes", {})[name] = value or True
    places = iter(realigned(text, [span.claim for span in spans.values() if len(span.fragments) == 1]))
    annotated = []
    for span in spans.values():
        claim, fragments = span.claim, span.fragments
        if len(fragments) == 1:
            place = next(places)
            if place is None:
                expected = f"{shortened(claim.covered)} near character {claim.start} of the text"
                raise DataError("a span whose text is not there", expected=expected, where=span.where)
            report.changed[MOVED] += place != (claim.start, claim.end)
            annotated.append(AnnotatedSpan(*place, span.label, span.fields))
            continue
        if fragments[-1][1] > len(text):
            expected = f"at most {len(text)}, the length of the text"
            raise DataError("a span outside its text", expected=expected, got=fragments[-1][1], where=span.where)
        annotated.append(AnnotatedSpan(fragments[0][0], fragments[-1][1], span.label, span.fields, fragments))
    return annotated


def _joined(fragments: Fragments, text: str) -> Fragments:
    """The fragments, joined where nothing but a line end and other white space is between them."""
    joined = [fragments[0]]
    for start, end in fragments[1:]:
        if _SPLIT_SPACE.match(text[joined[-1][1] : start]):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return tuple(joined)


def save_brat(texts: Iterable[AnnotatedText], target: Target, options: WriteOptions, report: Report) -> None:
    """Write a new folder, or into an empty one: a pair of files for every document, none of them if there is a mistake.

    Texts that continue a document, such as the sentences of a corpus, are its lines.
    """
    if not isinstance(target, str | os.PathLike) or os.fspath(target) == "-":
        raise ConfigurationError("the output", expected="must be a folder for brat", got="a stream")
    folder = Path(target)
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise ConfigurationError("the output", expected="must be a new or an empty folder", where=folder)
    if not folder.resolve().parent.is_dir():
        raise ConfigurationError("the output", expected="must be in an existing folder", where=folder)
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".partial", dir=folder.resolve().parent))
    try:
        names: set[str] = set()
        for document in _documents(texts):
            name = _file_name(document[0].document, names, report)
            with naming(folder):
                _write_pair(partial / name, document, report)
        partial.chmod(0o755)
        if folder.exists():
            folder.rmdir()
        partial.rename(folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _documents(texts: Iterable[AnnotatedText]) -> Iterator[list[AnnotatedText]]:
    document: list[AnnotatedText] = []
    for text in texts:
        if document and not text.continues:
            yield document
            document = []
        document.append(text)
    if document:
        yield document


def _file_name(name: str | None, taken: set[str], report: Report) -> str:
    """A name that no other document has and that is one in every file system."""
    wanted = _NO_FILE_NAME.sub("_", name or "").strip("._")[:100] or f"{len(taken) + 1:04}"
    found, number = wanted, 1
    while found.lower() in taken:
        number += 1
        found = f"{wanted}-{number}"
    taken.add(found.lower())
    report.changed["names of documents, to be names of files"] += bool(name) and found != name
    return found


def _write_pair(path: Path, document: list[AnnotatedText], report: Report) -> None:
    text = "\n".join(part.text for part in document)
    lines: list[str] = []
    shift = number = notes = 0
    for part in document:
        for span in part.spans or ():
            if not part.text[span.start : span.end].strip():
                report.dropped["spans of white space"] += 1
                continue
            number += 1
            label = _NO_LABEL.sub("_", span.label)
            report.changed["white space in labels, written as _"] += label != span.label
            pieces = []
            for start, end in span.fragments or ((span.start, span.end),):
                matches = list(_NO_LINE_END.finditer(text, start + shift, end + shift))
                pieces += [match.span() for match in matches] or [(end + shift, end + shift)]
            covered = " ".join(text[start:end] for start, end in pieces).replace("\t", " ")
            lines.append(f"T{number}\t{label} {';'.join(f'{start} {end}' for start, end in pieces)}\t{covered}")
            attributes, remarks = span.fields.get("attributes"), span.fields.get("notes")
            for name, value in attributes.items() if isinstance(attributes, dict) else ():
                notes += 1
                said = "" if value is True else f" {' '.join(str(value).split())}"
                lines.append(f"A{notes}\t{_NO_LABEL.sub('_', name)} T{number}{said}")
            for note in remarks if isinstance(remarks, list) else ():
                notes += 1
                lines.append(f"#{notes}\tAnnotatorNotes T{number}\t{' '.join(str(note).split())}")
        shift += len(part.text) + 1
    path.with_name(f"{path.name}.txt").write_bytes(text.encode())
    path.with_name(f"{path.name}.ann").write_bytes("".join(f"{line}\n" for line in lines).encode())
