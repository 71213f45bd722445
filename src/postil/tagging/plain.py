"""Well-formed passages as places of words among bytes, without an object for each word.

Reads what the readers of sentences (``FORMATS``) read. Anything unusual, above all mistakes and records with labels or
tokens, is left to them: ``read_plain`` then returns None.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

import numpy as np

from postil import kernels
from postil.arrays import Array, offsets_from_lengths
from postil.errors import PostilError
from postil.kernels import Columns, TokenCells
from postil.kernels.plain_records import ESCAPED
from postil.models.decoding.tagged import Tagged
from postil.text import ReadOptions, Report, Segmenter, Sentence, plain
from postil.text.annotations.records import NOT_ACCEPTED, is_plain_record, parse
from postil.text.columns.conll import columns_of, read_conll
from postil.text.lines import lines_of
from postil.text.passages import Passage
from postil.text.splitting.segmenter import lines_of as line_places

LONGEST = 1 << 24
"""Characters. Longer passages have very long sentences, or none that ends."""
_MOST_DIGITS = 9


def read_plain(passage: Passage, options: ReadOptions, segmenter: Segmenter) -> Tagged | None:
    """The sentences of a passage; None if there are none, or if a reader of sentences has to look at it."""
    if passage.mistake is not None or len(passage.text) > LONGEST or passage.format not in _READERS:
        return None
    try:
        return _READERS[passage.format](passage, options, segmenter)
    except (PostilError, UnicodeEncodeError):
        return None


# ------------------------------------------------------------------------------------------------ raw texts


def _read_lines(passage: Passage, options: ReadOptions, segmenter: Segmenter) -> Tagged | None:
    text = passage.text.encode()
    return _segmented(text, line_places(text), options, segmenter, every=False)


def _read_records(passage: Passage, options: ReadOptions, segmenter: Segmenter) -> Tagged | None:
    texts, fields = [], []
    for number, line in enumerate(lines_of(passage.text), passage.first):
        if not line:
            continue
        record = parse(line, passage.where(number))
        if not is_plain_record(record) or (record.get("answer") in NOT_ACCEPTED and not options.every_record):
            return None
        texts.append(record.pop("text").encode())
        others = json.dumps(record, ensure_ascii=False).translate(ESCAPED)[1:-1] if record else ""
        fields.append(f", {others}".encode() if record else b"")
    return _placed(texts, options, segmenter, fields)


def plain_texts(texts: Sequence[str], options: ReadOptions, segmenter: Segmenter) -> Tagged | None:
    """Texts as records without other fields; None if a reader of sentences has to look at them."""
    try:
        encoded = [text.encode() for text in texts]
    except UnicodeEncodeError:
        return None
    return _placed(encoded, options, segmenter, None) if sum(map(len, encoded)) <= LONGEST else None


def _placed(
    texts: Sequence[bytes], options: ReadOptions, segmenter: Segmenter, fields: list[bytes] | None
) -> Tagged | None:
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
) -> Tagged | None:
    """``every``: also texts without tokens."""
    if options.characters:
        return None
    cells, offsets, tokens, forms = segmenter.cells(text, documents=documents, split=options.split)
    if not every:
        has_tokens = np.diff(tokens) > 0
        documents, tokens = documents[has_tokens], np.append(tokens[:-1][has_tokens], len(cells))
        if fields is not None:
            fields = [one for one, is_kept in zip(fields, has_tokens.tolist(), strict=True) if is_kept]
    return Tagged(text, cells, offsets, documents, tokens, fields=fields, forms=forms) if len(documents) else None


# ------------------------------------------------------------------------------------------------ rows of tokens


def _read_columns(passage: Passage, options: ReadOptions, segmenter: Segmenter) -> Tagged | None:
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


def _read_token_lines(passage: Passage, options: ReadOptions, segmenter: Segmenter) -> Tagged | None:
    text = passage.text.encode()
    found = kernels.line_cells(text)
    if found is None or not len(found.tokens) or np.diff(found.offsets).max() > plain.MOST_TOKENS:
        return None
    return _rows(text, found, [])


def _read_conllu(passage: Passage, options: ReadOptions, segmenter: Segmenter) -> Tagged | None:
    if options.features != () or options.label not in ("auto", None):
        return None
    from postil.text.columns.conllu import NEW_DOCUMENT

    text = passage.text.encode()
    found = word_cells(text)
    if found is None:
        return None
    heads = []
    for _, first, end in found.heads.tolist():
        comments = [line for line in text[first:end].decode().split("\n") if line.strip(" \t")]
        if not all(comment.startswith("#") for comment in comments):
            return None
        marks = [mark for mark in map(NEW_DOCUMENT.match, comments) if mark is not None]
        document = (marks[-1][1] or "") if marks else None
        heads.append(Sentence(["_"], document=document, comments=comments))
    return _rows(text, found, heads)


def word_cells(text: bytes) -> TokenCells | None:
    """The words of CoNLL-U in UTF-8 whose lines end in "\\n"; None if the reader must look at the lines."""
    from postil.text.columns.conllu import COLUMNS, FORM, Numbering  # other formats are more common

    if any(sign in text for sign in (b"\t\t", b"\t\n", b"\n\t")) or text.startswith(b"\t") or text.endswith(b"\t"):
        return None  # empty cells
    identities, forms = (kernels.token_cells(text, Columns(True, len(COLUMNS), i, -1)) for i in (0, FORM))
    if identities is None or forms is None or not len(forms.tokens):
        return None
    numbers = _numbers(text, identities.tokens)
    is_word = numbers > 0
    sentences = np.repeat(np.arange(len(forms.offsets) - 1), np.diff(forms.offsets))  # (N,) of each row
    lengths = np.bincount(sentences[is_word], minlength=len(forms.offsets) - 1)
    offsets = offsets_from_lengths(lengths)
    places = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    if not lengths.all() or (numbers[is_word] != places + 1).any():
        return None
    for sentence in np.unique(sentences[~is_word]).tolist():  # with multiword tokens or empty nodes
        numbering, words = Numbering(), 0
        for first, end in identities.tokens[forms.offsets[sentence] : forms.offsets[sentence + 1]].tolist():
            identity = text[first:end].decode()
            if identity == str(words + 1):
                words += 1
            elif not numbering.accepts(identity, words):
                return None
        if numbering.covered > words:
            return None
    return TokenCells(forms.tokens[is_word], offsets, forms.heads)


def _numbers(text: bytes, cells: Array) -> Array:
    """(N,) the whole number in each cell (N, 2); 0 if it is not one, begins with 0 or is very long."""
    content = np.frombuffer(text, np.uint8)
    first, lengths = cells[:, 0], cells[:, 1] - cells[:, 0]
    is_number = (lengths <= _MOST_DIGITS) & (content[first] != ord("0"))
    numbers = np.zeros(len(cells), np.int64)
    for place in range(min(int(lengths.max()), _MOST_DIGITS)):
        inside = place < lengths
        digits = content[np.where(inside, first + place, first)].astype(np.int64) - ord("0")
        is_number &= ~inside | ((digits >= 0) & (digits <= 9))
        numbers = np.where(inside, 10 * numbers + digits, numbers)
    return np.where(is_number, numbers, 0)


def _rows(text: bytes, found: TokenCells, heads: list[Sentence]) -> Tagged | None:
    """None if there is more before a sentence than comments and marks."""
    if len(heads) != len(found.heads) or any(len(sentence) != 1 for sentence in heads):
        return None
    for sentence in heads:
        sentence.labels = ["O"]
    return Tagged(text, found.tokens, found.offsets, heads=list(zip(found.heads[:, 0].tolist(), heads, strict=True)))


_READERS: dict[str, Callable[[Passage, ReadOptions, Segmenter], Tagged | None]] = {
    "text": _read_lines,
    "jsonl": _read_records,
    "conll": _read_columns,
    "conllu": _read_conllu,
    "tokens": _read_token_lines,
}
