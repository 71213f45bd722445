"""Raw texts as bytes: lines of plain text and records of JSON Lines, cut into tokens without an object per token.

What is read here is what ``read_text`` and ``read_jsonl`` read. Whatever is not plain, mistakes and records with labels
or tokens above all, is left to them.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, final

import numpy as np

from postil.arrays import Array
from postil.errors import PostilError
from postil.kernels.plain_records import ESCAPED
from postil.text.annotations.records import NOT_ACCEPTED, parse
from postil.text.bulk.passages import Passage
from postil.text.bulk.plain_rows import LONGEST, PlainRows
from postil.text.lines import lines_of
from postil.text.options import ReadOptions
from postil.text.splitting.segmenter import Segments, default_segmenter
from postil.text.splitting.segmenter import lines_of as line_places

_UNWRITABLE = (b"-DOCSTART-", b"\0")  # in a column
_SPECIAL = frozenset(
    {
        "tokens",
        "spans",
        "label",
        "labels",
        "entities",
        "annotations",
        "tags",
        "ner_tags",
        "columns",
        "newdoc",
        "comments",
        "constraints",
    }
    | {"labelling_probabilities", "probabilities", "nbest", "spans_above"}
)
"""Fields of a record that a reader or an answer knows."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class PlainTexts:
    """D texts with N tokens in B sentences."""

    text: bytes  # UTF-8
    documents: Array  # (D, 2) the first byte of each text and the one after its last
    segments: Segments
    fields: Sequence[bytes] | None = None
    """What is written of the other fields of each record, in JSON, with a comma and a space before it."""

    @property
    def rows(self) -> PlainRows:
        """The sentences alone."""
        return PlainRows(self.text, self.segments.cells, self.segments.offsets)

    @property
    def is_writable(self) -> bool:
        """Whether all tokens can be written in a column."""
        return not any(part in self.text for part in _UNWRITABLE)


def read_texts(passage: Passage, options: ReadOptions) -> PlainTexts | None:
    """The texts of a passage; None where there is none, or the readers of sentences have to look at them."""
    reader = _READERS.get(passage.format)
    if reader is None or options.characters or passage.mistake is not None or len(passage.text) > LONGEST:
        return None
    try:
        return reader(passage, options)
    except (PostilError, UnicodeEncodeError):
        return None


def _lines(passage: Passage, options: ReadOptions) -> PlainTexts | None:
    text = passage.text.encode()
    return _cut(text, line_places(text), options, every=False)


def _records(passage: Passage, options: ReadOptions) -> PlainTexts | None:
    texts, fields = [], []
    for number, line in enumerate(lines_of(passage.text), passage.first):
        if not line:
            continue
        record = parse(line, passage.where(number))
        if not is_plain_record(record) or (record.get("answer") in NOT_ACCEPTED and not options.every_record):
            return None
        texts.append(record.pop("text").encode())
        fields.append(_other_fields(record))
    return _placed(texts, options, fields)


def _placed(texts: Sequence[bytes], options: ReadOptions, fields: list[bytes] | None) -> PlainTexts | None:
    """Texts one after the other."""
    ends = list(accumulate(map(len, texts), initial=0))
    documents = np.array(list(pairwise(ends)), np.int64).reshape(-1, 2)
    return _cut(b"".join(texts), documents, options, every=options.every_record, fields=fields)


def texts_of(texts: Sequence[str], options: ReadOptions) -> PlainTexts | None:
    """Texts that are records without any other field; None where the reader of sentences has to look at them."""
    if options.characters:
        return None
    try:
        encoded = [text.encode() for text in texts]
    except UnicodeEncodeError:
        return None
    return _placed(encoded, options, None) if sum(map(len, encoded)) <= LONGEST else None


def is_plain_record(record: dict[str, Any]) -> bool:
    """Whether a JSON object has a text, and otherwise only fields of the user's own."""
    return isinstance(record.get("text"), str) and record.keys().isdisjoint(_SPECIAL)


def _other_fields(fields: dict[str, Any]) -> bytes:
    return f", {json.dumps(fields, ensure_ascii=False).translate(ESCAPED)[1:-1]}".encode() if fields else b""


def _cut(
    text: bytes, documents: Array, options: ReadOptions, every: bool, fields: list[bytes] | None = None
) -> PlainTexts | None:
    """``every``: also texts without tokens."""
    segments = default_segmenter().cells(text, documents=documents, split=options.split)
    if not every:
        filled = np.diff(segments.documents) > 0
        documents = documents[filled]
        segments = segments._replace(documents=np.append(segments.documents[:-1][filled], len(segments.cells)))
        if fields is not None:
            fields = [part for part, keep in zip(fields, filled.tolist(), strict=True) if keep]
    return PlainTexts(text, documents, segments, fields) if len(documents) else None


# Format -> how its texts are found.
_READERS: dict[str, Callable[[Passage, ReadOptions], PlainTexts | None]] = {"text": _lines, "jsonl": _records}
