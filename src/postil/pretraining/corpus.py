"""Raw text as numbers of words in a temporary file: read, tokenised and counted once, then used in every epoch."""

import os
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self, cast, final

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError, DataError
from postil.features.words import fold_digits
from postil.files import naming
from postil.text.languages import rules_for_texts
from postil.text.lines import Lines
from postil.text.splitting.segmenter import Segmenter

Texts = Iterable[str | os.PathLike[str]] | str | os.PathLike[str]
"""Strings are texts; paths (``pathlib.Path``) are files of text, plain or gzip."""
BLOCK = 1 << 20  # characters that are tokenised at a time
SENTENCE_END, UNKNOWN_WORD = -1, -2


@final
@dataclass(frozen=True, kw_only=True)
class CorpusConfig:
    """Which words are learned."""

    min_count: int = 5
    """Words that occur less often are unknown."""
    words: int | None = None
    """Keep at most this many words, the most frequent ones."""
    cased: bool = False
    """Tell ``Apple`` from ``apple``."""
    fold_digits: bool = True
    """Treat all digits as 0: ``1984`` is ``0000``."""

    def __post_init__(self) -> None:
        at_least(1, min_count=self.min_count)
        if self.words is not None:
            at_least(2, words=self.words)


def at_least(least: int, **values: Any) -> None:
    """Refuse what is not a whole number from this one on."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ConfigurationError(name, expected=f"at least {least}", got=value)


@final
@dataclass(eq=False)
class Corpus:
    """The words of a text. A context manager: the temporary file is gone at its end."""

    words: list[str]
    """Most frequent first: word ``i`` is number ``i``."""
    counts: Array
    """(V,)"""
    tokens: int
    """All of them, those outside of the dictionary too."""
    ids: Array
    """int32: numbers of words, ``UNKNOWN_WORD``, and ``SENTENCE_END`` after each sentence; a memory map."""
    fingerprint: int
    """A checksum: the same for the same text and dictionary."""
    _file: BinaryIO

    def blocks(self, size: int) -> Iterator[Array]:
        """Parts of ``ids`` of about ``size`` numbers, cut after a sentence."""
        begin = 0
        while begin < len(self.ids):
            end = min(begin + size, len(self.ids))
            if end < len(self.ids):
                following = np.flatnonzero(self.ids[end - 1 : end + _LONGEST] == SENTENCE_END)
                end = end + int(following[0]) if len(following) else end
            yield np.asarray(self.ids[begin:end])
            begin = end

    def close(self) -> None:
        self.ids = np.zeros(0, np.int32)
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


_SAMPLE = 100_000  # characters that show the language
_LONGEST = 1 << 16  # tokens of a sentence, before a block is cut inside it


def read_corpus(
    texts: Texts,
    config: CorpusConfig,
    *,
    folder: Path | None = None,
    report: Callable[[int], None] | None = None,
    segmenter: Segmenter | None = None,
) -> Corpus:
    """Tokenise texts, count their words, and keep them as numbers in a temporary file in ``folder``.

    ``report`` is called with the number of tokens of each block. Without a ``segmenter`` the beginning of the texts
    decides about the rules: those of English, or neutral ones.
    """
    dictionary = GrowingDictionary()
    file = cast(BinaryIO, tempfile.TemporaryFile(dir=folder))  # noqa: SIM115 (the corpus closes it)
    tokens = 0
    try:
        for text in _blocks(texts):
            content = text.encode("utf-8", "replace")
            segmenter = segmenter or rules_for_texts([text[:_SAMPLE]])
            segments = segmenter.cells(content, lines=True)
            forms = segments.forms
            serials = (
                dictionary.add(content, segments.cells) if forms is None else dictionary.add(forms.text, forms.cells)
            )
            with naming(folder or Path(tempfile.gettempdir())):  # the file has no name
                file.write(np.insert(serials, segments.offsets[1:], SENTENCE_END).astype(np.int32).tobytes())
                file.flush()
            tokens += len(serials)
            if report is not None:
                report(len(serials))

        def form(word: str) -> str:  # by default lower case with digits as 0, as vectors are looked up
            word = word if config.cased else word.lower()
            return fold_digits(word) if config.fold_digits else word

        entries = dictionary.entries(form, config.min_count, config.words)
        if len(entries.words) < 2:
            expected = f"must have at least 2 words that occur {config.min_count} times or more (see min_count)"
            raise DataError("the text", expected=expected, got=f"{len(entries.words)} of {tokens:,} tokens")
        file.flush()
        # The file as a memory map, in which serials become numbers of words.
        ids: Array = np.memmap(file, np.int32, "r+")
        checksum = 0
        for begin in range(0, len(ids), BLOCK):
            part = ids[begin : begin + BLOCK]
            words = entries.numbers[np.maximum(part, 0)]
            words[words < 0] = UNKNOWN_WORD
            part[...] = np.where(part == SENTENCE_END, SENTENCE_END, words)
            checksum = zlib.crc32(part.tobytes(), checksum)
    except BaseException:
        with suppress(OSError):  # it would try again to write what a full disk did not take
            file.close()
        raise
    fingerprint = zlib.crc32("\n".join(entries.words).encode("utf-8"), checksum)
    return Corpus(entries.words, entries.counts, tokens, ids, fingerprint, file)


def _blocks(texts: Texts) -> Iterator[str]:
    """Whole lines, about BLOCK characters at a time."""
    sources: Iterable[str | os.PathLike[str]] = [texts] if isinstance(texts, str | os.PathLike) else texts
    held: list[str] = []
    size = 0
    for source in sources:
        with nullcontext([(0, [source])]) if isinstance(source, str) else Lines(source) as batches:
            for _, batch in batches:
                held += batch
                size += sum(map(len, batch)) + len(batch)
                if size >= BLOCK:
                    yield "\n".join(held)
                    held, size = [], 0
    if held:
        yield "\n".join(held)


# ------------------------------------------------------------------------------------------------ the dictionary
# It grows while text is read, in bounded memory. Each distinct word gets a serial number when it is first met. When
# there are too many, the rarest are forgotten; one that comes back later gets a new serial. Serials are never given out
# twice, so ids written before stay valid.


MOST_WORDS = 4_000_000  # distinct words that are kept while text is read; above it the rarest are forgotten


class Entries(NamedTuple):
    """The words of a dictionary, most frequent first, and what became of the serials."""

    words: list[str]
    counts: Array  # (V,)
    numbers: Array  # int32 (serials,): the word of each serial, or -1


@final
class GrowingDictionary:
    """Counts words in blocks of UTF-8 text."""

    def __init__(self, most: int = MOST_WORDS) -> None:
        self._most, self._issued = most, 0
        self._counts, self._serials = np.zeros(0, np.int64), np.zeros(0, np.int64)  # of each word
        self._remember([])

    def _remember(self, words: list[bytes]) -> None:
        self._places: defaultdict[bytes, int] = defaultdict(None, zip(words, range(len(words)), strict=True))
        self._places.default_factory = self._places.__len__  # a new word gets the next place

    def add(self, text: bytes, cells: Array) -> Array:
        """Count the words at these places, (N, 2), and return their serials, (N,)."""
        if len(self._places) > self._most:  # drop the rarest words, so that at most half of ``most`` are left
            kept = np.flatnonzero(self._counts > np.sort(self._counts)[-self._most // 2])
            words = list(self._places)
            self._remember([words[place] for place in kept.tolist()])
            self._counts, self._serials = self._counts[kept], self._serials[kept]
        before, cut = len(self._places), map(text.__getitem__, map(slice, *cells.T.tolist()))
        places = np.fromiter(map(self._places.__getitem__, cut), np.int64, len(cells))
        fresh = len(self._places) - before
        self._serials = np.append(self._serials, np.arange(self._issued, self._issued + fresh))
        self._issued += fresh
        self._counts = np.bincount(places, minlength=len(self._places)) + np.pad(self._counts, (0, fresh))
        return np.asarray(self._serials[places])

    def entries(self, form: Callable[[str], str], min_count: int, most: int | None) -> Entries:
        """The ``most`` frequent forms that occur at least ``min_count`` times; ``form`` makes one of a word.

        Forms of equal counts are in the order in which they were first met.
        """
        forms = [form(word.decode("utf-8")) for word in self._places]
        places = {word: place for place, word in enumerate(dict.fromkeys(forms))}
        where = np.fromiter(map(places.__getitem__, forms), np.int64, len(forms))
        counts = np.bincount(where, self._counts, minlength=len(places)).astype(np.int64)
        order = np.argsort(-counts, kind="stable")[:most]
        order = order[counts[order] >= min_count]
        numbers = np.full(len(places), -1, np.int32)
        numbers[order] = np.arange(len(order))
        of_serials = np.full(self._issued, -1, np.int32)
        of_serials[self._serials] = numbers[where]
        names = list(places)
        return Entries([names[place] for place in order.tolist()], counts[order], of_serials)
