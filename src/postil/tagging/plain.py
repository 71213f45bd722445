"""Well-formed passages as places of words among bytes, without an object for each word.

Reads what the readers of sentences (``FORMATS``) read. Anything unusual, above all mistakes and records with labels or
tokens, is left to them: ``read_plain`` then returns None.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.errors import PostilError
from postil.kernels import TokenCells
from postil.kernels.plain_records import ESCAPED
from postil.text import plain
from postil.text.annotations.records import NOT_ACCEPTED, is_plain_record, parse
from postil.text.columns.conll import columns_of, read_conll
from postil.text.document import Sentence
from postil.text.lines import lines_of
from postil.text.options import ReadOptions
from postil.text.passages import Passage
from postil.text.report import Report
from postil.text.splitting.segmenter import Segmenter
from postil.text.splitting.segmenter import lines_of as line_places

LONGEST = 1 << 24
"""Characters. Longer passages have very long sentences, or none that ends."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class PlainSentences:
    """N tokens in B sentences; of D raw texts, or of rows that list their tokens."""

    text: bytes  # UTF-8
    cells: Array  # (N, 2) first byte and end of each token
    offsets: Array  # (B + 1,) of the sentences among the tokens
    heads: Sequence[tuple[int, Sentence]] = ()
    """Rows: sentences with comments or document marks, and for each a sentence of one token that has the same."""
    documents: Array | None = None  # (D, 2) first byte and end of each raw text; None: rows of tokens
    document_tokens: Array | None = None  # (D + 1,) of the raw texts among the tokens
    fields: Sequence[bytes] | None = None
    """Records: the other fields of each as JSON, with a comma and a space before them."""


def read_plain(passage: Passage, options: ReadOptions, segmenter: Segmenter) -> PlainSentences | None:
    """The sentences of a passage; None if there are none, or if a reader of sentences has to look at it."""
    if passage.mistake is not None or len(passage.text) > LONGEST or passage.format not in _READERS:
        return None
    try:
        return _READERS[passage.format](passage, options, segmenter)
    except (PostilError, UnicodeEncodeError):
        return None


# ------------------------------------------------------------------------------------------------ raw texts


def _read_lines(passage: Passage, options: ReadOptions, segmenter: Segmenter) -> PlainSentences | None:
    text = passage.text.encode()
    return _segmented(text, line_places(text), options, segmenter, every=False)


def _read_records(passage: Passage, options: ReadOptions, segmenter: Segmenter) -> PlainSentences | None:
    texts, fields = [], []
    for number, line in enumerate(lines_of(passage.text), passage.first):
        if not line:
            continue
        record = parse(line, passage.where(number))
        if not is_plain_record(record) or (record.get("answer") in NOT_ACCEPTED and not options.every_record):
            return None
        texts.append(record.pop("text").encode())
        fields.append(_other_fields(record))
    return _placed(texts, options, segmenter, fields)


def _other_fields(fields: dict[str, Any]) -> bytes:
    return f", {json.dumps(fields, ensure_ascii=False).translate(ESCAPED)[1:-1]}".encode() if fields else b""


def plain_texts(texts: Sequence[str], options: ReadOptions, segmenter: Segmenter) -> PlainSentences | None:
    """Texts as records without other fields; None if a reader of sentences has to look at them."""
    try:
        encoded = [text.encode() for text in texts]
    except UnicodeEncodeError:
        return None
    return _placed(encoded, options, segmenter, None) if sum(map(len, encoded)) <= LONGEST else None


def _placed(
    texts: Sequence[bytes], options: ReadOptions, segmenter: Segmenter, fields: list[bytes] | None
) -> PlainSentences | None:
    """Texts one after the other."""
    ends = accumulate(map(len, texts), initial=0)
    documents = np.array(list(pairwise(ends)), np.int64).reshape(-1, 2)
    return _segmented(b"".join(texts), documents, options, segmenter, every=options.every_record, fields=fields)


def _segmented(
    text: bytes,
    documents: Array,
    options: ReadOptions,
    segmenter: Segmenter,
    *,
    every: bool,
    fields: list[bytes] | None = None,
) -> PlainSentences | None:
    """``every``: also texts without tokens."""
    if options.characters:
        return None
    cells, offsets, of_documents = segmenter.cells(text, documents=documents, split=options.split)
    if not every:
        has_tokens = np.diff(of_documents) > 0
        documents, of_documents = documents[has_tokens], np.append(of_documents[:-1][has_tokens], len(cells))
        if fields is not None:
            fields = [one for one, is_kept in zip(fields, has_tokens.tolist(), strict=True) if is_kept]
    return PlainSentences(text, cells, offsets, (), documents, of_documents, fields) if len(documents) else None


# ------------------------------------------------------------------------------------------------ rows of tokens


def _read_columns(passage: Passage, options: ReadOptions, segmenter: Segmenter) -> PlainSentences | None:
    if options.features != () or options.strict or options.comment != "auto":
        return None
    columns, text = columns_of(passage, options), passage.text.encode()
    found = kernels.token_cells(text, columns) if columns is not None else None
    if found is None or not len(found.tokens):
        return None
    heads = found.heads.tolist()
    # The reader gets the first row of each sentence that has a head.
    ends = [text.find(b"\n", row) for _, _, row in heads]
    rows = [text[head : end if end >= 0 else None] for (_, head, _), end in zip(heads, ends, strict=True)]
    short = replace(passage, text=b"\n\n".join(rows).decode(), opening=passage.opening or passage)
    return _rows(text, found, list(read_conll(short, options, Report())) if heads else [])


def _read_token_lines(passage: Passage, options: ReadOptions, segmenter: Segmenter) -> PlainSentences | None:
    text = passage.text.encode()
    found = kernels.line_cells(text)
    if found is None or not len(found.tokens) or np.diff(found.offsets).max() > plain.MOST_TOKENS:
        return None
    return _rows(text, found, [])


def _read_conllu(passage: Passage, options: ReadOptions, segmenter: Segmenter) -> PlainSentences | None:
    if options.features != () or options.label not in ("auto", None):
        return None
    from postil.tagging.plain_conllu import comment_sentences, word_cells  # other formats are more common

    text = passage.text.encode()
    found = word_cells(text)
    if found is None:
        return None
    return _rows(text, found, list(comment_sentences([text[a:b].decode() for _, a, b in found.heads.tolist()])))


def _rows(text: bytes, found: TokenCells, heads: list[Sentence]) -> PlainSentences | None:
    """None if there is more before a sentence than comments and marks."""
    if len(heads) != len(found.heads) or any(len(sentence) != 1 for sentence in heads):
        return None
    for sentence in heads:
        sentence.labels = ["O"]
    return PlainSentences(text, found.tokens, found.offsets, list(zip(found.heads[:, 0].tolist(), heads, strict=True)))


_READERS: dict[str, Callable[[Passage, ReadOptions, Segmenter], PlainSentences | None]] = {
    "text": _read_lines,
    "jsonl": _read_records,
    "conll": _read_columns,
    "conllu": _read_conllu,
    "tokens": _read_token_lines,
}
