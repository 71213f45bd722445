"""Text to tokens and sentences: by the rules of a language, by characters, or by a model.

A `Segmenter` is a value: which rules. What the kernels make of them, and the cuts of chunks that they have seen, is
shared by all segmenters with the same rules, so that one costs nothing to make.

Words follow the conventions of the Penn Treebank as UD English writes them: ``do|n't``, ``Ann|'s``, ``can|not``,
``well|-|known`` but ``e-mail`` and ``non-human``, ``$|5``, ``50|%``, ``10:30``, ``Mr.``, ``U.S.``, ``!!!``. White space
cuts a text into chunks, and one regular expression cuts a chunk into tokens.

Two signs end a sentence: a line break that the rules count, and a final mark (``. ! ? …``) with whatever closes after
it, unless the token before it (a title, an initial, the number of a list) or after it (a small letter, a comma) says
otherwise.

Characters are for writing without spaces: Chinese, Japanese, Thai and others. A *character* is what a reader takes for
one: a letter with its combining marks, a syllable of Hangul, an emoji with all that modifies it. White space is not a
token.
"""

import functools
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, fields, replace
from itertools import pairwise
from typing import Any, NamedTuple, Self, final

import numpy as np
from numpy.typing import NDArray

from postil import kernels
from postil.arrays import Array, offsets_from_lengths
from postil.errors import ConfigurationError, similar
from postil.kernels import ChunkCache, SentencePatterns
from postil.kernels.characters import category, decoded
from postil.kernels.plain_segmentation import cut_text, ranges
from postil.lazy import Pattern
from postil.text.document import Sentence
from postil.text.offsets import utf8_offsets, utf16_offsets
from postil.text.splitting.rules import (
    DEFAULT,
    DEFAULT_SENTENCES,
    NEUTRAL,
    NEUTRAL_SENTENCES,
    SentenceRules,
    TokenRules,
    sentence_patterns,
    token_patterns,
)

_SHORT = 512
"""Characters. For shorter texts Python's expressions are faster than the kernel and the strings made of its answer."""
_IN_PYTHON = kernels.IN_USE.startswith("plain")
_ENGLISH, _NEUTRAL, _CHARACTERS, LEARNED = "english", "neutral", "characters", "learned"
_BASES = {_ENGLISH: (DEFAULT, DEFAULT_SENTENCES), _NEUTRAL: (NEUTRAL, NEUTRAL_SENTENCES)}
"""Rules that have a name; options of a segmenter are what differs from one of them."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text and its tokens: ``text[starts[i]:ends[i]] == tokens[i]``; offsets count characters.

    The words of a multiword token that do not spell it out, as ``de`` and ``le`` of French ``du``, share its place.
    """

    text: str
    tokens: list[str]
    starts: list[int]
    ends: list[int]
    sentences: list[tuple[int, int]] | None = None
    """Ranges of tokens, if they were found together with the tokens."""
    joined: list[bool] | None = None
    """Whether each word belongs to the multiword token of the word before it; None: no word does."""

    def __len__(self) -> int:
        return len(self.tokens)

    def touched(self, start: int, end: int) -> tuple[int, int]:
        """The range of tokens that share a character with ``start:end``."""
        first = bisect_right(self.ends, start)
        return first, max(first, bisect_left(self.starts, end))

    def fits(self, start: int, end: int) -> bool:
        """Whether tokens begin at ``start`` and end at ``end``."""
        first, last = self.touched(start, end)
        return first < last and self.starts[first] == start and self.ends[last - 1] == end

    def utf16(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Starts and ends (N,) in UTF-16 code units, as JavaScript and Java count."""
        return utf16_offsets(self.text, self.starts), utf16_offsets(self.text, self.ends)

    def utf8(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Starts and ends (N,) in bytes of the UTF-8 text."""
        return utf8_offsets(self.text, self.starts), utf8_offsets(self.text, self.ends)

    def sentence(self, first: int, last: int) -> Sentence:
        """Some of the tokens as a sentence."""
        places = self.starts[first:last], self.ends[first:last]
        joined = None if self.joined is None or not any(self.joined[first:last]) else self.joined[first:last]
        return Sentence(self.tokens[first:last], None, None, self.text, *places, joined=joined)


class Forms(NamedTuple):
    """N words of texts with multiword tokens."""

    text: bytes  # the texts, and after them the forms that are not in them
    cells: Array  # (N, 2): the first byte of each word there and the one after its last
    joined: Array  # (N,): whether a word belongs to the token of the word before it


class Segments(NamedTuple):
    """The N tokens and B sentences of D documents, as places among bytes."""

    cells: Array
    """(N, 2): the first byte of each token and the one after its last."""
    offsets: Array
    """(B + 1,): the sentences among the tokens. None is empty."""
    documents: Array
    """(D + 1,): the documents among the tokens."""
    forms: Forms | None = None
    """The words, if there are multiword tokens: words that do not spell out their token share its cell."""


class CutsTexts(ABC):
    """Tokens and sentences found by a model: see `postil.models.segmentation`."""

    @abstractmethod
    def segments(self, text: bytes, documents: Array) -> Segments: ...

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Everything but the model, as JSON."""

    @abstractmethod
    def to_bytes(self) -> bytes:
        """The model, as a file."""


@final
@dataclass(frozen=True)
class Segmenter:
    """A tokeniser and a sentence splitter. Equal by value; threads may share one.

    rules: how words are cut.
    sentence_rules: where sentences end.
    characters: every character is a token, and sentences end at line breaks and after ``。！？``; without rules.
    learned: a model that cuts texts, from `postil.models.segmentation.learn_segmenter`; without rules.
    """

    rules: TokenRules = DEFAULT
    sentence_rules: SentenceRules = DEFAULT_SENTENCES
    _: KW_ONLY
    characters: bool = False
    learned: CutsTexts | None = None

    def __post_init__(self) -> None:
        for name, kind in (("rules", TokenRules), ("sentence_rules", SentenceRules), ("characters", bool)):
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise ConfigurationError(f"{name} of a segmenter", expected=f"a {kind.__name__}", got=repr(value))
        others = [*self._options(), *["learned"] * (self.characters and self.learned is not None)]
        if others and (self.characters or self.learned is not None):
            what = f"a {'segmenter of characters' if self.characters else 'learned segmenter'} has no rules"
            raise ConfigurationError(what, expected="none", got=", ".join(others))
        if not isinstance(self.learned, CutsTexts | None):
            raise ConfigurationError("learned of a segmenter", expected="CutsTexts", got=repr(self.learned)[:80])

    def __reduce__(self) -> tuple[object, ...]:
        if self.learned is not None:
            return functools.partial(Segmenter, learned=self.learned), ()
        return Segmenter.from_dict, (self.to_dict(),)

    @property
    def has_rules(self) -> bool:
        """Whether words are cut by rules, neither into characters nor by a model."""
        return not self.characters and self.learned is None

    def __repr__(self) -> str:
        """Without the lists of words that a model does not use."""
        if self.learned is not None:
            return "Segmenter(learned=…)"
        return f"Segmenter(rules={self.rules!r}, sentence_rules={self.sentence_rules!r}, characters={self.characters})"

    def __str__(self) -> str:
        """For people, as in a model's card: ``english``, ``english (hyphens)``, ``characters``."""
        name, *options = [LEARNED] if self.learned is not None else [self.to_dict()["rules"], *self._options()]
        return f"{name} ({', '.join(options)})" if options else str(name)

    def to_dict(self) -> dict[str, Any]:
        """The name of the rules, and the options that differ from them: values of JSON."""
        if self.learned is not None:
            return {"rules": LEARNED, **self.learned.settings()}
        return {"rules": _CHARACTERS} if self.characters else {"rules": self._base, **self._options()}

    @property
    def _base(self) -> str:
        """The named rules of which these are a change."""
        return _NEUTRAL if self.sentence_rules.final_marks == NEUTRAL_SENTENCES.final_marks else _ENGLISH

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Self:
        """The segmenter that ``to_dict`` described: ``{"rules": "english", "hyphens": "keep"}``."""
        options = dict(settings)
        name = options.pop("rules", None)
        if name not in (*_BASES, _CHARACTERS):
            expected = f"rules {_ENGLISH!r}, {_NEUTRAL!r} or {_CHARACTERS!r}"
            raise ConfigurationError("unknown rules of a segmenter", expected=expected, got=repr(name))
        rules, sentence_rules = _BASES.get(name, _BASES[_ENGLISH])
        tokens = {field.name for field in fields(rules)}
        allowed = (
            [] if name == _CHARACTERS else [field.name for one in (rules, sentence_rules) for field in fields(one)]
        )
        for option in options:
            if option not in allowed:
                expected = f"{allowed[0]} and others{similar(option, allowed)}" if allowed else "none"
                raise ConfigurationError(f"unknown option of the rules {name!r}", expected=expected, got=repr(option))
        if name == _CHARACTERS:
            return cls(characters=True)
        of_tokens = {option: value for option, value in options.items() if option in tokens}
        of_sentences = {option: value for option, value in options.items() if option not in tokens}
        return cls(
            replace(rules, **of_tokens) if of_tokens else rules,
            replace(sentence_rules, **of_sentences) if of_sentences else sentence_rules,
        )

    @functools.cached_property
    def _cutter(self) -> "_Cutter":
        return _cutter_of(self.rules)

    @functools.cached_property
    def _splitter(self) -> SentencePatterns:
        return _splitter_of(self.sentence_rules)

    def _options(self) -> dict[str, Any]:
        changed: dict[str, Any] = {}
        tokens, sentences = _BASES[self._base]
        for rules, default in ((self.rules, tokens), (self.sentence_rules, sentences)):
            for field in fields(rules) if rules is not default else ():
                value = getattr(rules, field.name)
                if value != getattr(default, field.name):
                    changed[field.name] = list(value) if isinstance(value, tuple) else value
        return changed

    def tokenise(self, text: str) -> Tokens:
        """The tokens of one text. Every character that is not white space belongs to exactly one of them."""
        if self.learned is not None:
            return _cut_by_model(text, self.learned)
        return characters(text) if self.characters else self._cutter.tokenise(text)

    def split(self, tokens: Tokens) -> list[tuple[int, int]]:
        """The sentences as consecutive ranges of tokens ``(first, last + 1)`` that cover every token."""
        if tokens.sentences is not None:
            return tokens.sentences
        if self.learned is not None:  # where the model ends sentences of these tokens, which others have cut
            cut = _cut_by_model(tokens.text, self.learned)
            ends = [cut.ends[last - 1] for _, last in cut.sentences or ()]
            borders = sorted({bisect_left(tokens.ends, end) + 1 for end in ends[:-1]})
            borders = [0, *(border for border in borders if border < len(tokens)), len(tokens)]
            return [(first, last) for first, last in pairwise(borders) if first < last]
        if self.characters:
            return character_sentences(tokens)
        return ranges(tokens.text, tokens.tokens, tokens.starts, tokens.ends, self._splitter)

    def sentences(self, text: str) -> list[Sentence]:
        """The sentences of a text, with their tokens."""
        tokens = self.tokenise(text)
        return [tokens.sentence(first, end) for first, end in self.split(tokens)]

    def cells(
        self, text: bytes, *, lines: bool = False, documents: Array | None = None, split: bool = True
    ) -> Segments:
        """The tokens and sentences of a UTF-8 text, or of many in one, without an object for each token.

        The text is one document; or ``lines``: each line of it, up to a "\\n", is one, as plain text is read; or
        ``documents`` (D, 2) are the first byte of each and the one after its last. A document ends a sentence. Without
        ``split`` nothing else does.
        """
        if documents is None:
            documents = lines_of(text) if lines else np.array([[0, len(text)]])
        if self.learned is not None:
            found = self.learned.segments(text, documents)
            return found if split else found._replace(offsets=np.unique(found.documents))
        if self.characters:
            places, lengths, sentences = [np.empty((0, 2), np.int64)], [], []
            for first, end in documents.tolist():
                tokens = characters(decoded(text[first:end]))
                places.append(first + np.stack(tokens.utf8(), axis=1))
                lengths.append(len(tokens))
                ranges = character_sentences(tokens) if split else [(0, len(tokens))] * bool(len(tokens))
                sentences += [last - begin for begin, last in ranges]
            return Segments(np.concatenate(places), offsets_from_lengths(sentences), offsets_from_lengths(lengths))
        cells, offsets = self._cutter.cells(text, documents)
        if not split:
            return Segments(cells, np.unique(offsets), offsets)
        return Segments(cells, kernels.split_sentences(text, documents, cells, offsets, self._splitter), offsets)


@final
class _Cutter:
    """The expressions of a tokeniser, and the cuts of chunks that it has seen."""

    def __init__(self, rules: TokenRules) -> None:
        self._patterns = token_patterns(rules)
        self._caches: list[ChunkCache] = []

    def cells(self, text: bytes, documents: Array, surrogates: bool = False) -> tuple[Array, Array]:
        """The tokens (N, 2) among the bytes, and the documents (D + 1,) among the tokens."""
        cache = self._take_cache()
        try:
            return kernels.tokenise_text(text, documents, self._patterns, cache, surrogates=surrogates)
        finally:
            self._caches.append(cache)

    def tokenise(self, text: str) -> Tokens:
        if _IN_PYTHON or len(text) < _SHORT or self._patterns.program is None:
            cache = self._take_cache()
            try:
                return Tokens(text, *cut_text(text, self._patterns, cache))
            finally:
                self._caches.append(cache)
        content = text.encode("utf-8", "surrogatepass")
        cells, _ = self.cells(content, np.array([[0, len(content)]]), surrogates=True)
        if len(content) != len(text):
            cells = kernels.character_offsets(content, cells.ravel()).reshape(-1, 2)
        starts, ends = cells.T.tolist()
        return Tokens(text, [text[start:end] for start, end in zip(starts, ends, strict=True)], starts, ends)

    def _take_cache(self) -> ChunkCache:
        """A cache that no other thread uses until it is put back."""
        try:
            return self._caches.pop()
        except IndexError:
            return ChunkCache(self._patterns)


_cutter_of = functools.lru_cache(maxsize=16)(_Cutter)
_splitter_of = functools.lru_cache(maxsize=16)(sentence_patterns)


ENGLISH = Segmenter()  # the default
CHARACTERS = Segmenter(characters=True)


def _cut_by_model(text: str, model: CutsTexts) -> Tokens:
    try:
        content = text.encode()
    except UnicodeEncodeError:  # halves of characters, as the character that stands for an unknown one
        content = "".join("\ufffd" if "\ud800" <= one <= "\udfff" else one for one in text).encode()
    cells, offsets, _, forms = model.segments(content, np.array([[0, len(content)]]))
    starts, ends = character_places(content, len(text), cells).T.tolist()
    tokens = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    if forms is None:
        return Tokens(text, tokens, starts, ends, list(pairwise(offsets.tolist())))
    for i in np.flatnonzero(forms.cells[:, 0] >= len(content)).tolist():
        tokens[i] = forms.text[slice(*forms.cells[i].tolist())].decode()
    return Tokens(text, tokens, starts, ends, list(pairwise(offsets.tolist())), forms.joined.tolist())


def character_places(text: bytes, size: int, cells: Array) -> Array:
    """Cells (n, 2) of a text of ``size`` characters, counted in them. Words of a multiword token may share one."""
    if len(text) == size:
        return cells
    places = cells.ravel()
    if (np.diff(places) >= 0).all():
        return kernels.character_offsets(text, places).reshape(-1, 2)
    distinct, which = np.unique(places, return_inverse=True)
    return kernels.character_offsets(text, distinct)[which].reshape(-1, 2)


def tokenise(text: str, rules: TokenRules = DEFAULT) -> Tokens:
    """Split a text into tokens. Every character that is not white space belongs to exactly one token."""
    return (ENGLISH if rules is DEFAULT else Segmenter(rules)).tokenise(text)


def split_sentences(tokens: Tokens, rules: SentenceRules = DEFAULT_SENTENCES) -> list[tuple[int, int]]:
    """Split tokens into sentences: consecutive ranges ``(first, last + 1)`` that cover every token."""
    return (ENGLISH if rules is DEFAULT_SENTENCES else Segmenter(sentence_rules=rules)).split(tokens)


def lines_of(text: bytes) -> Array:
    """(D, 2): the lines of a text without their ends, each "\\n"."""
    ends = np.append(np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n")), len(text))
    return np.stack([np.append(0, ends[:-1] + 1), ends], axis=1)


# ----------------------------------------------------------------------------------------- characters

# Han with its extensions, kana, bopomofo; Thai, Lao, Tibetan, Burmese, Khmer.
_UNSPACED = (
    "\u0e00-\u0e7f\u0e80-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"
    "\u3005-\u3007\u3040-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff"
)
UNSPACED = Pattern(f"[{_UNSPACED}]")
LONGEST_WORD, LONGEST_MEAN, FEWEST = 11, 5, 2
"""Characters of such writing between spaces or marks: few words are longer, and on average none are."""
_RUNS = Pattern(f"[{_UNSPACED}]+")
_BREAK = r"\n\r\f\x85\u2028\u2029"
_SENTENCE = Pattern(rf"[^{_BREAK}]+?(?:[。！？｡!?…]+[」』）】》〉”’\"')\]]*|(?=[{_BREAK}])|\Z)")
_JOINER = "\u200d"
# Consonants, vowels and finals of Hangul: they follow each other in this order in a syllable.
_JAMO = ((0x1100, 0x115F), (0x1160, 0x11A7), (0x11A8, 0x11FF))


def is_unspaced(text: str) -> bool:
    """Whether a text is written without spaces, so that the tokeniser of words does not find its words."""
    if text.isascii():
        return False
    lengths = [len(run) for run in _RUNS.findall(text)]
    return max(lengths, default=0) > LONGEST_WORD or sum(lengths) > LONGEST_MEAN * max(len(lengths), FEWEST)


def characters(text: str) -> Tokens:
    """Every character that is not white space as a token."""
    starts: list[int] = []
    ends: list[int] = []
    flags = 0  # letters of flags that the last token has
    for place, character in enumerate(text):
        if character.isspace():
            continue
        is_letter_of_flag = "\U0001f1e6" <= character <= "\U0001f1ff"
        follows = bool(ends) and ends[-1] == place
        if follows and ((is_letter_of_flag and flags == 1) or _continues(text[place - 1], character)):
            ends[-1] = place + 1
            flags += is_letter_of_flag
        else:
            starts.append(place)
            ends.append(place + 1)
            flags = int(is_letter_of_flag)
    return Tokens(text, [text[start:end] for start, end in zip(starts, ends, strict=True)], starts, ends)


def _continues(before: str, character: str) -> bool:
    if character.isascii():
        return False
    if category(character)[0] == "M" or character in ("\u200c", _JOINER):
        return True
    if "\U0001f3fb" <= character <= "\U0001f3ff" or "\U000e0020" <= character <= "\U000e007f":  # skin, tags of flags
        return True
    if before == _JOINER:
        return category(character) == "So"
    earlier, later = (
        next((kind for kind, (first, last) in enumerate(_JAMO) if first <= ord(one) <= last), None)
        for one in (before, character)
    )
    return earlier is not None and later is not None and earlier <= later


def character_sentences(tokens: Tokens) -> list[tuple[int, int]]:
    """The sentences as ranges of tokens: they end at line breaks and after ``。！？`` and the like."""
    ranges: list[tuple[int, int]] = []
    first = 0
    for end in (found.end() for found in _SENTENCE.finditer(tokens.text)):
        last = first
        while last < len(tokens) and tokens.starts[last] < end:
            last += 1
        if last > first:
            ranges.append((first, last))
        first = last
    if first < len(tokens):
        ranges.append((first, len(tokens)))
    return ranges


def is_character(token: str) -> bool:
    """Whether a token is one character."""
    return len(token) == 1 or (bool(token) and len(characters(token)) == 1)


def are_characters(sentences: Iterable[list[str]]) -> bool:
    """Whether all tokens are single characters and some of them are of writing without spaces."""
    found = False
    for tokens in sentences:
        if not all(map(is_character, tokens)):
            return False
        found = found or any(map(UNSPACED.match, tokens))
    return found
