"""Annotation tools whose files are JSON: Label Studio, doccano, Prodigy.

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
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from postil.errors import DataError
from postil.text.annotations.annotated import AnnotatedSpan, AnnotatedText, placed_tokens
from postil.text.annotations.records import is_list_of, is_number, json_items, json_line, shown, token_objects
from postil.text.lines import NumberedLines, shortened
from postil.text.offsets import MOVED, Claim, realigned
from postil.text.options import ReadOptions, WriteOptions
from postil.text.report import Report
from postil.text.splitting.segmenter import tokenise

_KEPT = ("id", "meta")
_RESULT_KEYS = ("value", "type", "from_name", "to_name", "origin", "id")
_VALUE_KEYS = ("start", "end", "text", "labels")


def read_label_studio(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[AnnotatedText]:
    """The texts of a JSON or JSON-MIN export, of each task its first annotation that was not cancelled."""
    tasks = list(json_items(lines))
    annotated = any(_has_annotation(task) for _, task in tasks)
    for line, task in tasks:
        if annotated and not _has_annotation(task):
            report.dropped["tasks without an annotation"] += 1
        else:
            yield _read_task(task, line, lines.where(line), report)


def _has_annotation(task: dict[str, Any]) -> bool:
    return bool(_annotations(task)) if "data" in task else _regions_field(task) is not None


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
    if "data" not in task:
        return _read_minimal(task, line, where, report)
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

    yield from _array(task(text, number) for number, text in enumerate(texts, 1))


def write_label_studio_min(texts: Iterable[AnnotatedText], options: WriteOptions, report: Report) -> Iterator[str]:
    """Flat objects, as the export JSON-MIN has them."""
    yield from _array(
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


# -------------------------------------------------------------------------------------------------- doccano and Prodigy


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
