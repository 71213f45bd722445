"""Output of pretraining: vectors in GloVe's text format."""

import os
from collections.abc import Iterator

from postil.errors import ConfigurationError
from postil.features.vectors import WordVectors
from postil.text.output import write_text

_ROWS_AT_ONCE = 1000


def save_vectors(path: str | os.PathLike[str], vectors: WordVectors) -> None:
    """Write a word and its numbers on each line, as GloVe does; the unknown word is left out. ``.gz``: compressed.

    The file is written under another name and renamed.
    """
    if vectors.matrix.shape[1] < 2:
        raise ConfigurationError("dimensions of a file of vectors", expected="must be at least 2", got=1)
    write_text(path, _lines(vectors))


def _lines(vectors: WordVectors) -> Iterator[str]:
    words = list(vectors.words)
    for begin in range(1, len(words), _ROWS_AT_ONCE):
        rows = vectors.matrix[begin : begin + _ROWS_AT_ONCE].tolist()
        named = zip(words[begin : begin + _ROWS_AT_ONCE], rows, strict=True)
        yield "".join(f"{word} {' '.join([f'{number:.6g}' for number in row])}\n" for word, row in named)
