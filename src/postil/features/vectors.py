"""Word vectors learnt elsewhere."""

from typing import NamedTuple, final

from postil.arrays import Array
from postil.features.orthography import fold_digits
from postil.features.vocabulary import Vocabulary


class WordVectors(NamedTuple):
    """Words and their vectors: word id ``i`` has row ``i`` of ``matrix`` (V, D), float32.

    Id 0 is the unknown word, the empty string, with a vector of zeros.
    """

    words: Vocabulary
    matrix: Array


@final
class VectorIds:
    """The id of a form among the words of a vector file, 0 when it has no vector.

    Looked up as it stands, then in lower case, then with its digits folded if the file folds digits.
    """

    def __init__(self, words: Vocabulary) -> None:
        self._words = words
        self._digit_mark = digit_mark(words)

    def __call__(self, form: str) -> int:
        return self._cased(form) or (self._cased(fold_digits(form, self._digit_mark)) if self._digit_mark else 0)

    def _cased(self, form: str) -> int:
        return self._words.id(form, 0) or self._words.id(form.lower(), 0)


def digit_mark(words: Vocabulary) -> str | None:
    """``#`` or ``0`` if that stands for every digit in the file's words, else None.

    Files fold digits in longer numbers only, or in all; so ``##`` or ``00`` is there and no other number of two digits.
    """
    if any(str(number) in words for number in range(10, 100)):
        return None
    return next((mark for mark in "#0" if mark * 2 in words), None)
