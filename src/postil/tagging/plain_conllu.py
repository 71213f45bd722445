"""Words of well-formed CoNLL-U as places among bytes."""

from collections.abc import Iterator, Sequence

import numpy as np

from postil import kernels
from postil.arrays import Array, offsets_from_lengths
from postil.kernels import Columns, TokenCells
from postil.text.columns.conllu import COLUMNS, FORM, NEW_DOCUMENT, Numbering
from postil.text.document import Sentence

_EMPTY_CELLS = (b"\t\t", b"\t\n", b"\n\t")
_MOST_DIGITS = 9


def word_cells(text: bytes) -> TokenCells | None:
    """The words of CoNLL-U in UTF-8 whose lines end in "\\n"; None if the reader must look at the lines."""
    if any(sign in text for sign in _EMPTY_CELLS) or text.startswith(b"\t") or text.endswith(b"\t"):
        return None
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
    for sentence in np.unique(sentences[~is_word]).tolist():
        rows = identities.tokens[forms.offsets[sentence] : forms.offsets[sentence + 1]].tolist()
        if not _are_in_order([text[first:end].decode() for first, end in rows]):
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


def _are_in_order(identities: Sequence[str]) -> bool:
    """Whether multiword tokens and empty nodes have valid numbers."""
    numbering, words = Numbering(), 0
    for identity in identities:
        if identity == str(words + 1):
            words += 1
        elif not numbering.accepts(identity, words):
            return False
    return numbering.covered <= words


def comment_sentences(heads: Sequence[str]) -> Iterator[Sentence]:
    """A sentence of one word with the comments of each head, up to the first head that has other lines."""
    for head in heads:
        comments = [line for line in head.split("\n") if line.strip(" \t")]
        if not all(comment.startswith("#") for comment in comments):
            return
        marks = [mark for mark in map(NEW_DOCUMENT.match, comments) if mark is not None]
        sentence = Sentence(["_"], comments=comments)
        sentence.document = (marks[-1][1] or "") if marks else None
        yield sentence
