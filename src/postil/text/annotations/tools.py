"""Files of annotation tools: JSON of Label Studio, doccano and Prodigy; brat standoff.

Label Studio has a JSON export (tasks with annotations and their results) and JSON-MIN (one flat object a task):

    JSON      [{"id": 1, "data": {"text": "…"}, "annotations": [{"result": [{"type": "labels", "from_name": "label",
               "to_name": "text", "value": {"start": 0, "end": 4, "text": "Anna", "labels": ["PER"]}}]}]}]
    JSON-MIN  [{"id": 1, "text": "…", "label": [{"start": 0, "end": 4, "text": "Anna", "labels": ["PER"]}]}]

Offsets count characters, but many exports count UTF-16 units or line ends twice: a span is where its ``text`` is.

Files of doccano and Prodigy are JSON Lines, which `records` reads in all their dialects:

    doccano       {"id": 1, "text": "Anna left.", "label": [[0, 4, "PER"]]}
      relations   {"id": 1, "text": "…", "entities": [{"id": 7, "label": "PER", "start_offset": 0, "end_offset": 4}]}
      before 1.5  {"id": 1, "text": "…", "annotations": [{"label": 2, "start_offset": 0, "end_offset": 4, "user": 1}]}
    Prodigy       {"text": "Anna left.", "tokens": [{"text": "Anna", "start": 0, "end": 4, "id": 0, "ws": true}, …],
                   "spans": [{"start": 0, "end": 4, "token_start": 0, "token_end": 0, "label": "PER"}],
                   "answer": "accept"}    (token_end is the last token of the span, not the one after it)

brat: a text (NAME.txt) and its annotations (NAME.ann) side by side, in a folder that may have folders.

    T1	PER 0 9	Anna Berg
    T2	LOC 15 20;25 32	South America       a discontinuous span: its fragments
    A1	Negation T1                         an attribute of a span
    #1	AnnotatorNotes T1	says who        a note

A span must not contain a line end: it is written as the fragments before and after, which are joined when read.
"""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from postil.errors import ConfigurationError, DataError
from postil.files import naming
from postil.reading import open_regular
from postil.text.annotations.annotated import AnnotatedSpan, AnnotatedText, grouped, placed_tokens
from postil.text.annotations.records import is_list_of, is_number, json_items, json_line, shown, token_objects
from postil.text.lines import Lines, NumberedLines, shortened, unknown_encoding
from postil.text.offsets import MOVED, Claim, realigned
from postil.text.options import ReadOptions, WriteOptions
from postil.text.output import Target
from postil.text.report import Report
from postil.text.splitting.segmenter import tokenise

_KEPT = ("id", "meta")
_RESULT_KEYS = ("value", "type", "from_name", "to_name", "origin", "id")
_VALUE_KEYS = ("start", "end", "text", "labels")


def read_label_studio(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[AnnotatedText]:
    """The texts of a JSON or JSON-MIN export, of each task its first annotation that was not cancelled."""
    tasks = list(json_items(lines))
    has_annotation = [bool(_annotations(one)) if "data" in one else _regions_field(one) is not None for _, one in tasks]
    for (line, task), is_annotated in zip(tasks, has_annotation, strict=True):
        if any(has_annotation) and not is_annotated:
            report.dropped["tasks without an annotation"] += 1
        else:
            read = _read_task if "data" in task else _read_minimal
            yield read(task, line, lines.where(line), report)


def _annotations(task: dict[str, Any]) -> list[dict[str, Any]]:
    """The annotations of a task that count."""
    found: Any = task.get("annotations", task.get("completions"))  # the second: versions before 1.0
    found = found if isinstance(found, list) else []
    return [one for one in found if isinstance(one, dict) and not one.get("was_cancelled")]


def _regions_field(task: dict[str, Any]) -> str | None:
    """The field of JSON-MIN that holds the spans; its name is that of the labels in the project."""
    for name, value in task.items():
        if isinstance(value, list) and value and all(isinstance(one, dict) and "start" in one for one in value):
            return name
    return next((name for name in ("label", "ner") if task.get(name) == []), None)


def _read_task(task: dict[str, Any], line: int, where: str, report: Report) -> AnnotatedText:
    data = task["data"]
    if not isinstance(data, dict):
        raise DataError("data of a task", expected='{"text": "…"}', got=shown(data), where=where)
    annotations = _annotations(task)
    given, predictions = ([] if task.get(name) is None else task[name] for name in ("annotations", "predictions"))
    cancelled = len(given) - len(annotations) if isinstance(given, list) else 0
    report.dropped["annotations that were cancelled"] += max(0, cancelled)
    report.dropped["predictions"] += len(predictions) if isinstance(predictions, list) else 0
    report.dropped["further annotations of a task"] += max(0, len(annotations) - 1)
    results = annotations[0].get("result") if annotations else []
    results = [] if results is None else results
    if not isinstance(results, list):
        raise DataError("result of an annotation", expected="a list", got=shown(results), where=where)
    # The text is the field that the results point to, ``text``, or the only field that holds a string.
    strings = {key: value for key, value in data.items() if isinstance(value, str)}
    names = [result.get("to_name") for result in results if isinstance(result, dict)]
    candidates = [name for name in (*names, "text") if isinstance(name, str) and name in strings]
    if not candidates and len(strings) != 1:
        got = ", ".join(strings) or "no text"
        raise DataError("the text is missing", expected='"data": {"text": "…"}', got=shortened(got), where=where)
    name = candidates[0] if candidates else next(iter(strings))
    values: list[tuple[Any, dict[str, Any]]] = []
    for result in results:
        kind = result.get("type") if isinstance(result, dict) else None
        if kind == "labels":
            values.append((result.get("value"), {k: one for k, one in result.items() if k not in _RESULT_KEYS}))
        else:
            report.dropped["relations" if kind == "relation" else f"results of type {kind}"] += 1
    fields = {key: value for key, value in data.items() if key != name} | {k: task[k] for k in _KEPT if task.get(k)}
    spans = _placed(values, strings[name], where, report) if annotations else None
    return AnnotatedText(strings[name], spans, fields=fields, line=line, where=where)


def _read_minimal(task: dict[str, Any], line: int, where: str, report: Report) -> AnnotatedText:
    name, field = _regions_field(task), "text"
    if not isinstance(task.get(field), str):
        strings = [key for key, value in task.items() if isinstance(value, str) and not key.endswith("_at")]
        if len(strings) != 1:
            raise DataError("the text is missing", expected='{"text": "…"}', got=shown(task), where=where)
        field = strings[0]
    text: str = task[field]
    spans = None if name is None else _placed([(value, {}) for value in task[name]], text, where, report)
    fields = {key: value for key, value in task.items() if key not in ("text", field, name)}
    return AnnotatedText(text, spans, fields=fields, line=line, where=where)


def _placed(values: list[tuple[Any, dict[str, Any]]], text: str, where: str, report: Report) -> list[AnnotatedSpan]:
    """A span for each label of each value, where its text is. A value comes with the other keys of its result."""
    claims = []
    for value, _ in values:
        wrong = not isinstance(value, dict) or not is_number(value.get("start")) or not is_number(value.get("end"))
        if wrong or not isinstance(value.get("text", ""), str):
            expected = '{"start": number, "end": number, "text": "…", "labels": ["…"]}'
            raise DataError("not a span", expected=expected, got=shown(value), where=where)
        if not is_list_of(labels := value.get("labels"), str) or not labels or not all(map(str.strip, labels)):
            raise DataError("a span without labels", expected='"labels": ["PER"]', got=shown(value), where=where)
        start, end = value["start"], value["end"]
        claims.append(Claim(start, end, value.get("text", text[max(0, start) : max(0, end)])))
    spans = []
    for (value, others), claim, place in zip(values, claims, realigned(text, claims), strict=True):
        if place is None:
            raise DataError("a span whose text is not there", expected="its text", got=shown(value), where=where)
        report.changed[MOVED] += place != (claim.start, claim.end)
        others = {**others, **{key: one for key, one in value.items() if key not in _VALUE_KEYS}}
        spans += [AnnotatedSpan(*place, label, others) for label in value["labels"]]
    return spans


def write_label_studio(texts: Iterable[AnnotatedText], options: WriteOptions, report: Report) -> Iterator[str]:
    """Tasks with one annotation each, for "Import" of a project with the labels ``label`` on the text ``text``."""
    place = {"from_name": "label", "to_name": "text", "type": "labels"}

    def task(text: AnnotatedText, number: int) -> dict[str, Any]:
        data = {key: value for key, value in text.fields.items() if key not in (*_KEPT, "text")}
        fields = {"id": text.fields.get("id", number), "data": {"text": text.text, **data}}
        fields |= {"meta": text.fields["meta"]} if "meta" in text.fields else {}
        if text.spans is not None:
            values = enumerate(zip(text.spans, _values(text), strict=True))
            results = [{**span.fields, "id": f"s{n}", **place, "value": value} for n, (span, value) in values]
            fields["annotations"] = [{"result": results}]
        return fields

    return _array(task(text, number) for number, text in enumerate(texts, 1))


def write_label_studio_min(texts: Iterable[AnnotatedText], options: WriteOptions, report: Report) -> Iterator[str]:
    """Flat objects, as the export JSON-MIN has them."""
    return _array(
        {**text.fields, "id": text.fields.get("id", number), "text": text.text}
        | ({} if text.spans is None else {"label": _values(text)})
        for number, text in enumerate(texts, 1)
    )


def _array(items: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    between = "[\n"
    for item in items:
        yield between + json.dumps(item, ensure_ascii=False)
        between = ",\n"
    yield "[]\n" if between == "[\n" else "\n]\n"


def _values(text: AnnotatedText) -> list[dict[str, Any]]:
    return [
        {"start": span.start, "end": span.end, "text": text.text[span.start : span.end], "labels": [span.label]}
        for span in text.spans or ()
    ]


def write_doccano(texts: Iterable[AnnotatedText], options: WriteOptions, report: Report) -> Iterator[str]:
    """The lines of a file for doccano's import of sequence labelling, in the dialect of triples."""
    for text in texts:
        fields: dict[str, Any] = {"text": text.text}
        if text.spans is not None:
            fields["label"] = [[span.start, span.end, span.label] for span in text.spans]
        yield json_line(fields | {key: value for key, value in text.fields.items() if key not in ("text", "label")})


def write_prodigy(texts: Iterable[AnnotatedText], options: WriteOptions, report: Report) -> Iterator[str]:
    """The lines of a file for ``prodigy db-in`` or as the source of a recipe."""
    for text in texts:
        tokens = tokenise(text.text) if text.tokens is None else placed_tokens(text.text, text.tokens)
        objects = token_objects(text.text, zip(tokens.starts, tokens.ends, strict=True))
        for one, following in zip(objects, [*tokens.starts[1:], len(text.text)], strict=True):
            one["ws"] = one["end"] < following
        others = {key: value for key, value in text.fields.items() if key not in ("text", "tokens", "spans")}
        fields: dict[str, Any] = {"text": text.text, "tokens": objects, **others}
        if text.spans is not None:
            fields |= {"spans": [], "answer": fields.get("answer", "accept")}
        for span in text.spans or ():
            place = {"start": span.start, "end": span.end}
            if tokens.fits(span.start, span.end):
                first, last = tokens.touched(span.start, span.end)
                place |= {"token_start": first, "token_end": last - 1}
            else:
                report.changed["spans that do not fit the tokens, written without token_start and token_end"] += 1
            others = {k: v for k, v in span.fields.items() if k not in _PRODIGY_KEYS}
            fields["spans"].append({**place, "label": span.label, **others})
        yield json_line(fields)


_PRODIGY_KEYS = ("start", "end", "token_start", "token_end", "label")


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
        text = _read_text(file.with_suffix(".txt"), file, options)
        spans: dict[str, _Span] = {}
        additions: list[str] = []
        with Lines(os.fspath(file), encoding=options.encoding) as annotations:
            for number, line in annotations.numbered():
                if line.startswith("T"):
                    key, _, rest = line.partition("\t")
                    spans[key] = _Span(rest, line, text, annotations.where(number))
                elif line[0] in "AM#":
                    additions.append(line)
                else:
                    report.dropped[_OTHERS.get(line[0], "lines that are not of brat")] += 1
        yield AnnotatedText(
            text,
            _placed_spans(text, spans, additions, report),
            document=str(file.relative_to(path).with_suffix("")) if path.is_dir() else file.stem,
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
        joined = [fragments[0]]  # those with nothing but a line end and other white space between them
        for start, end in fragments[1:]:
            if _SPLIT_SPACE.match(text[joined[-1][1] : start]):
                joined[-1] = (joined[-1][0], end)
            else:
                joined.append((start, end))
        self.claim, self.fragments = Claim(edges[0], edges[-1], covered), tuple(joined)


def _placed_spans(text: str, spans: dict[str, _Span], additions: list[str], report: Report) -> list[AnnotatedSpan]:
    """The spans with the attributes and notes that are about them, where their texts are."""
    for line in additions:
        head, _, note = line.partition("\t")[2].partition("\t")
        name, _, rest = head.partition(" ")
        about, _, value = rest.partition(" ")
        if about not in spans:
            report.dropped["notes and attributes of anything but spans"] += 1
        elif line[0] == "#":
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


def save_brat(texts: Iterable[AnnotatedText], target: Target, options: WriteOptions, report: Report) -> None:
    """Write a new folder, or into an empty one: a pair of files for every document, or none if there is a mistake."""
    if not isinstance(target, str | os.PathLike) or os.fspath(target) == "-":
        raise ConfigurationError("the output", expected="must be a folder for brat", got="a stream")
    folder = Path(target)
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise ConfigurationError("the output", expected="must be a new or an empty folder", where=folder)
    if not folder.resolve().parent.is_dir():
        raise ConfigurationError("the output", expected="must be in an existing folder", where=folder)
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".partial", dir=folder.resolve().parent))
    try:
        taken: set[str] = set()
        for document in grouped(texts, lambda _, text: text.continues):
            # A name that no other document has and that is one in every file system.
            title, number = document[0].document or "", 1
            name = wanted = _NO_FILE_NAME.sub("_", title).strip("._")[:100] or f"{len(taken) + 1:04}"
            while name.lower() in taken:
                number += 1
                name = f"{wanted}-{number}"
            taken.add(name.lower())
            report.changed["names of documents, to be names of files"] += bool(title) and name != title
            with naming(folder):
                _write_pair(partial / name, document, report)
        partial.chmod(0o755)
        if folder.exists():
            folder.rmdir()
        partial.rename(folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


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
