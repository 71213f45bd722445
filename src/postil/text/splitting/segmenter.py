"""Text -> tokens and sentences as places among bytes, with nothing made for each token.

A `Segmenter` holds what the kernels make of the rules, and the cuts of chunks that they have seen. It is made once and
used for many texts.
"""

import functools
from typing import NamedTuple, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.kernels import ChunkCache, SentencePatterns
from postil.kernels.plain_tokens import cut_text
from postil.text.splitting import sentence_rules, token_rules
from postil.text.splitting.sentence_rules import SentenceRules, sentence_patterns
from postil.text.splitting.token_rules import Rules, token_patterns

_SHORT = 512
"""Characters. Below that, to call the kernel and make strings of its answer takes longer than Python's expressions."""
_IN_PYTHON = kernels.IN_USE.startswith("plain")


class Segments(NamedTuple):
    """The N tokens and B sentences of D documents."""

    cells: Array
    """(N, 2): the first byte of each token and the one after its last."""
    offsets: Array
    """(B + 1,): the sentences among the tokens. None is empty."""
    documents: Array
    """(D + 1,): the documents among the tokens."""


@final
class Segmenter:
    """A tokeniser and a sentence splitter for UTF-8 text. Threads may share one."""

    def __init__(self, rules: Rules = token_rules.DEFAULT, sentences: SentenceRules = sentence_rules.DEFAULT) -> None:
        self.rules, self.sentences = rules, sentences
        self._tokens = token_patterns(rules)
        self._caches: list[ChunkCache] = []

    def cells(
        self, text: bytes, *, lines: bool = False, documents: Array | None = None, split: bool = True
    ) -> Segments:
        """The tokens and sentences of a text, or of many that stand in one.

        The text is one document; or ``lines``: each line of it, up to a "\\n", is one, as plain text is read; or
        ``documents`` (D, 2) are the first byte of each and the one after its last. A document ends a sentence. Without
        ``split`` nothing else does.
        """
        if documents is None:
            documents = lines_of(text) if lines else np.array([[0, len(text)]])
        cache = self._take_cache()
        try:
            cells, offsets = kernels.tokenise_text(text, documents, self._tokens, cache)
        finally:
            self._caches.append(cache)
        if not split:
            return Segments(cells, np.unique(offsets), offsets)
        patterns = sentence_patterns_of(self.sentences)
        return Segments(cells, kernels.split_sentences(text, documents, cells, offsets, patterns), offsets)

    def tokens(self, text: str) -> tuple[list[str], list[int], list[int]]:
        """The tokens of one text, and where they begin and end, in characters."""
        cache = self._take_cache()
        try:
            if _IN_PYTHON or len(text) < _SHORT or self._tokens.program is None:
                return cut_text(text, self._tokens, cache)
            content = text.encode("utf-8", "surrogatepass")
            document = np.array([[0, len(content)]])
            cells = kernels.tokenise_text(content, document, self._tokens, cache, surrogates=True).cells
        finally:
            self._caches.append(cache)
        if len(content) != len(text):
            cells = kernels.character_offsets(content, cells.ravel()).reshape(-1, 2)
        starts, ends = cells.T.tolist()
        return [text[start:end] for start, end in zip(starts, ends, strict=True)], starts, ends

    def _take_cache(self) -> ChunkCache:
        """A cache that no other thread uses until it is put back."""
        try:
            return self._caches.pop()
        except IndexError:
            return ChunkCache(self._tokens)


def lines_of(text: bytes) -> Array:
    """(D, 2): the lines of a text without their ends, each "\\n"."""
    ends = np.append(np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n")), len(text))
    return np.stack([np.append(0, ends[:-1] + 1), ends], axis=1)


@functools.lru_cache(maxsize=16)
def sentence_patterns_of(rules: SentenceRules) -> SentencePatterns:
    return sentence_patterns(rules)


@functools.cache
def default_segmenter() -> Segmenter:
    return Segmenter()
