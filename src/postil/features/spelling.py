"""The characters of words as ids: what a convolution over characters takes.

Characters are those of the form as it stands, with its capitals and digits. All words of a block are looked up at once,
by their code points, so a new word does not become an object of Python.
"""

from typing import final

import numpy as np

from postil.arrays import Array
from postil.features.vocabulary import Vocabulary
from postil.kernels.plain_words import SURROGATES

LONGEST = 24
"""Characters of a word that are looked at: of a longer word the first and the last 12."""
_HEAD = LONGEST // 2


@final
class Alphabet:
    """Characters and their ids in a vocabulary, whose id 0 is any other character."""

    def __init__(self, characters: Vocabulary) -> None:
        codes = np.array([ord(character) if len(character) == 1 else -1 for character in characters], np.int64)
        self.ids = np.argsort(codes, kind="stable")  # of the code points, which rise
        self.codes = codes[self.ids]

    def ids_of_cells(self, text: bytes, cells: Array) -> Array:
        """(U, LONGEST) int32: 1 + the id of each character of the words in cells (U, 2) of a text in UTF-8.

        After the last character of a word there are zeros.
        """
        codes, first, length = _characters(text, cells)
        place = np.arange(LONGEST)
        shown = np.minimum(length, LONGEST)[:, None]
        is_tail = (length[:, None] > LONGEST) & (place >= _HEAD)
        places = first[:, None] + place + np.where(is_tail, (length - LONGEST)[:, None], 0)
        is_there = place < shown
        ids = np.zeros((len(cells), LONGEST), np.int32)
        ids[is_there] = 1 + self._ids(codes[places[is_there]])
        return ids

    def _ids(self, codes: Array) -> Array:
        """(N,) the ids of code points, 0 for those that have none."""
        found = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
        return np.where(self.codes[found] == codes, self.ids[found], 0)


def _characters(text: bytes, cells: Array) -> tuple[Array, Array, Array]:
    """The code points of the part of a text that holds all cells (U, 2), where each cell begins, and its length."""
    start, end = int(cells[:, 0].min(initial=len(text))), int(cells[:, 1].max(initial=0))
    part = text[start:end]
    cells = cells - start
    codes = np.frombuffer(str(part, "utf-8", SURROGATES).encode("utf-32-le", SURROGATES), np.uint32).astype(np.int64)
    if len(codes) != len(part):  # bytes to characters
        is_first = (np.frombuffer(part, np.uint8) & 0xC0) != 0x80
        cells = np.concatenate([[0], np.cumsum(is_first)])[cells]
    return codes, cells[:, 0], cells[:, 1] - cells[:, 0]
