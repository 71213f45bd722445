"""Tokeniser and sentence splitter learned from a treebank: a small tagger that reads characters.

Each character that is not white space is a word of this tagger, written together with the next one or two, and with
the space between them if there is one: ``Hi all.`` reads ``Hi``, ``i a``, ``al``, ``ll``, ``l.``, ``.``. Its label says
whether a token goes on after it, ends, or ends with its sentence. These words are slices of the text itself, so the
engine reads them without a copy, and the labels are those of an exact CRF.

A title ends without a full stop, and whether a sentence or a name begins after it is a matter of words. So a second
tagger reads the tokens and decides which of them end sentences. Languages without spaces between words, and those with
spaces inside words, do without it: their tokens are not certain enough.

A fourth label ends a word inside a multiword token, as ``do`` of ``don't`` = ``do`` + ``n't``. Words that do not spell
out their token (French ``du`` = ``de`` + ``le``) are looked up in a table of training tokens and of regular endings.

Rules around it keep what training data cannot teach: a text and a blank line end a sentence, marks stay with their
letter, addresses of the web stay whole, and a space is inside a token only between such characters as in training.
"""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple, final

import numpy as np

from postil import archive
from postil.arrays import Array, offsets_from_lengths
from postil.errors import DataError, ModelFileError
from postil.kernels.characters import CATEGORIES, category, decoded
from postil.kernels.plain_text import cells_between
from postil.lazy import Pattern
from postil.models import storage
from postil.models.engine import Words
from postil.models.tagger import Tagger
from postil.text.document import Sentence
from postil.text.output import is_utf8
from postil.text.splitting.segmenter import CutsTexts, Forms, Segmenter, Segments, characters

INSIDE, TOKEN, SENTENCE, WORD = range(4)
_LABELS = ("inside", "token", "sentence", "word")
_OF_TOKENS = "inside", "sentence"
_CHUNK, _CONTEXT = 2000, 40
"""Characters that are labelled at once, and those on both sides of them that are read as well."""
_PASSAGE, _TOKENS = 400, 150
"""Characters, and tokens, of a training sequence: sentences are joined, so that the model sees what follows an end."""
_FREE = 0.02
"""If more spaces than this share are inside tokens, as in Vietnamese, the model decides alone."""
_SETTINGS: dict[str, Any] = {"preset": "fast", "window": 11, "hidden": 64, "min_count": 2}
_OF_SENTENCES: dict[str, Any] = {**_SETTINGS, "window": 7, "ensemble": 2, "min_affix_count": 3}
_EAGER = 0.5
"""Added to the score of a sentence end: treebanks have many titles, and each one that is missed makes two errors."""
CHARACTERS, ENDS = "characters", "ends"
"""The arrays of a segmenter of two taggers."""
_MOST_PAIRS = 20_000
"""Different pairs of characters. Beyond it, as in Chinese, those seen twice are dropped from the table as well."""
FEWEST = 100
"""Sentences to learn from."""
ADDRESS = Pattern(
    r"(?i:(?:https?|ftps?)://|www\.)[^\s<>\"()]*[^\s<>\"().,;:!?'’”»\]]|[\w.+%-]{1,64}@[\w-]{1,63}(?:\.[\w-]{2,63}){1,5}"
)
_MOST_SPLITS, _MOST_WORDS, _LONGEST_SPLIT, _MOST_SEEN = 200_000, 20, 1000, 200_000
"""Entries of multiword tokens, words of one, characters of both together; tokens whose words are kept in memory."""
_LONGEST_SUFFIX, _FEWEST_OF_SUFFIX = 6, 3
"""Characters of a regular ending, and the tokens that show it."""
_CONTROL = Pattern(r"[\x00-\x1f\x7f\x85\u2028\u2029]")
_BLANK_LINE = Pattern(r"\n[^\S\n]*\n")


class Text(NamedTuple):
    """Consecutive sentences of a source with the white space between them."""

    text: str
    words: list[tuple[int, int]]  # start and end; several words of a multiword token may share its span
    ranges: list[tuple[int, int]]  # the sentences among the words
    labels: list[list[str]]  # of each sentence; empty if it has none
    forms: list[str]  # the words
    joined: list[bool]  # whether each belongs to the multiword token of the word before it

    @property
    def tokens(self) -> list[tuple[int, int]]:
        """Start and end of each, as they are written: a multiword token is one."""
        return token_places(self.words, self.joined)

    @property
    def sentences(self) -> list[tuple[int, int]]:
        """Start and end of each."""
        return [(self.words[first][0], self.words[last - 1][1]) for first, last in self.ranges]


def texts_of(sentences: Sequence[Sentence], size: int | None = _PASSAGE) -> list[Text]:
    """The raw text of sentences, joined to passages of about ``size`` characters; None: whole documents.

    Sentences without a text, or whose tokens are not in it, are left out.
    """
    texts: list[Text] = []
    parts, current = "", Text("", [], [], [], [], [])
    for sentence in sentences:
        text, places = _placed(sentence)
        is_full = size is not None and len(parts) > size
        if parts and (is_full or sentence.document is not None or not places):
            texts.append(current._replace(text=parts))
            parts, current = "", Text("", [], [], [], [], [])
        if places:
            parts += " " if parts else ""
            first = len(current.words)
            current.words.extend((len(parts) + start, len(parts) + end) for start, end in places)
            current.ranges.append((first, len(current.words)))
            current.labels.append(sentence.labels or [])
            current.forms.extend(sentence.tokens)
            current.joined.extend(sentence.joined or [False] * len(sentence))
            parts += text
    return [*texts, current._replace(text=parts)] if parts else texts


def _placed(sentence: Sentence) -> tuple[str, list[tuple[int, int]]]:
    """A sentence's text without white space around it, and the places of its words; none if they are not in it."""
    text, places = sentence.text, []
    if text is not None and sentence.starts is not None and sentence.ends is not None:
        places = list(zip(sentence.starts, sentence.ends, strict=True))
    else:
        comment = next((one for one in sentence.comments if one.startswith("# text")), "")
        text, end = comment.partition("=")[2].strip(), 0
        for token in sentence.tokens if text else ():
            start = text.find(token, end)
            if start < 0 or text[end:start].strip():
                return "", []
            end = start + len(token)
            places.append((start, end))
    if not places or any(after[0] < before[1] and after != before for before, after in pairwise(places)):
        return "", []
    low, high = places[0][0], places[-1][1]
    return text[low:high], [(start - low, end - low) for start, end in places]


@final
class Units(NamedTuple):
    """The U characters of D texts that are not white space, each with its combining marks."""

    cells: Array  # (U, 2) first byte and end of each
    documents: Array  # (D + 1,) the texts among them
    are_signs: Array  # (U,) neither letters nor digits


@final
class LearnedCuts(CutsTexts):
    """Cuts texts by a tagger of characters.

    ``reach``: how many characters a word of the tagger has. ``crossed``: the Unicode categories of two characters with
    a space between them that may be in one token, such as ``"Nd Nd"``; None: any. ``splits``: multiword tokens.
    ``ends``: a tagger of tokens that says which of them end sentences; None: the tagger of characters does.
    """

    def __init__(
        self,
        tagger: Tagger,
        reach: int,
        crossed: Sequence[str] | None,
        splits: "Splits | None" = None,
        ends: Tagger | None = None,
    ) -> None:
        self.tagger, self.reach, self.splits, self.ends = tagger, reach, splits, ends
        self.crossed = None if crossed is None else frozenset(crossed)
        labels = tagger.model.codec.labels
        self._meaning: Final = np.array([_LABELS.index(label) for label in labels], np.int64)

    def settings(self) -> dict[str, Any]:
        """Everything but the tagger, as JSON."""
        settings = {"reach": self.reach, "crossed": None if self.crossed is None else sorted(self.crossed)}
        return settings if self.splits is None else {**settings, "splits": self.splits.to_dict()}

    def to_bytes(self) -> bytes:
        taggers = {CHARACTERS: self.tagger} | ({} if self.ends is None else {ENDS: self.ends})
        return file_of({name: storage.to_bytes(tagger) for name, tagger in taggers.items()})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LearnedCuts):
            return False
        return self is other or (self.settings() == other.settings() and self.to_bytes() == other.to_bytes())

    def __hash__(self) -> int:
        return hash((self.reach, self.crossed))

    def __reduce__(self) -> tuple[object, ...]:
        return LearnedCuts.from_file, (self.settings(), self.to_bytes())

    @classmethod
    def from_file(cls, settings: Mapping[str, Any], content: bytes) -> "LearnedCuts":
        """Check everything: the settings and the tagger may come from a stranger."""
        reach, crossed = settings.get("reach"), settings.get("crossed")
        if set(settings) - {"splits"} != {"reach", "crossed"} or type(reach) is not int or not 2 <= reach <= 3:
            raise ModelFileError("segmentation", expected="reach 2 or 3, and crossed", got=repr(settings)[:80])
        splits = Splits.from_dict(settings["splits"]) if "splits" in settings else None
        if crossed is not None:
            are_pairs = isinstance(crossed, list) and all(
                isinstance(pair, str) and all(kind in CATEGORIES for kind in pair.split(" ")) and len(pair) == 5
                for pair in crossed
            )
            if not are_pairs or len(crossed) > 1000:
                raise ModelFileError("segmentation", expected="pairs of categories", got=repr(crossed)[:80])
        files = files_of(content)
        tagger = _checked(files[CHARACTERS], _LABELS[:WORD], _LABELS)
        return cls(tagger, reach, crossed, splits, _checked(files[ENDS], _OF_TOKENS) if ENDS in files else None)

    # ------------------------------------------------------------------------------------------------ cutting

    def segments(self, text: bytes, documents: Array) -> Segments:
        """Tokens and sentences of texts (D, 2) among the bytes."""
        units = units_of(text, documents)
        if not len(units.cells):
            return Segments(np.zeros((0, 2), np.int64), np.zeros(1, np.int64), np.zeros(len(documents) + 1, np.int64))
        content, spaced = _one_space(text, units)
        words = _words(spaced, units.documents, self.reach)
        labels = self._meaning[_answers(self.tagger, content, words, units.documents)]
        ends = self._guard(labels, text, units)
        if self.ends is not None:
            tokens = np.flatnonzero(labels)
            is_end = np.array([label == _LABELS[SENTENCE] for label in self.ends.model.codec.labels])
            found = is_end[_answers(self.ends, content, *_tokens(spaced, tokens, units))]
            labels[tokens[found]] = SENTENCE
            labels[tokens[~found & (labels[tokens] == SENTENCE)]] = TOKEN
            labels[ends] = SENTENCE
        last = np.flatnonzero(labels)  # characters that end a token
        first = np.append(0, last[:-1] + 1)
        cells = np.stack([units.cells[first, 0], units.cells[last, 1]], axis=1)
        sentences = np.flatnonzero(labels[last] == SENTENCE) + 1
        cut = Segments(cells, np.append(0, sentences), np.searchsorted(last, units.documents))
        joined = np.append(False, labels[last[:-1]] == WORD)
        if self.splits is not None:
            return self.splits.applied(text, cut, joined)
        return cut._replace(forms=Forms(text, cells, joined)) if joined.any() else cut

    def _guard(self, labels: Array, text: bytes, units: Units) -> Array:
        """Change labels (U,) by rules. The units after which a sentence ends in any case."""
        cells = units.cells
        gaps = np.flatnonzero(cells[1:, 0] > cells[:-1, 1])  # a space, or the end of a text, after this character
        labels[gaps[labels[gaps] == WORD]] = TOKEN
        if self.crossed is not None:
            for i in gaps[labels[gaps] == INSIDE].tolist():
                before, after = (decoded(text[slice(*cells[at].tolist())])[0] for at in (i, i + 1))
                if f"{category(before)} {category(after)}" not in self.crossed:
                    labels[i] = TOKEN
        has_address = b"@" in text or b"://" in text or b"www." in text.lower()
        whole = decoded(text) if has_address or b"\n" in text else ""
        is_ascii = len(whole) == len(text)

        def unit(place: int) -> int:
            """The first character that begins at or after a place in the text."""
            byte = place if is_ascii else len(whole[:place].encode("utf-8", "surrogatepass"))
            return int(np.searchsorted(cells[:, 0], byte))

        for found in ADDRESS.finditer(whole) if has_address else ():
            first, end = unit(found.start()), unit(found.end())
            labels[first : end - 1] = INSIDE
            labels[end - 1] = SENTENCE if labels[end - 1] == SENTENCE else TOKEN
            if first and labels[first - 1] == INSIDE and cells[first, 0] > cells[first - 1, 1]:
                labels[first - 1] = TOKEN
        lines = [unit(found.end()) for found in _BLANK_LINE.finditer(whole)] if "\n" in whole else []
        ends = np.append(units.documents[1:][np.diff(units.documents) > 0], [at for at in lines if at]).astype(int) - 1
        labels[ends] = SENTENCE
        return ends


# ------------------------------------------------------------------------------------------------ multiword tokens


@final
class Splits:
    """The words of multiword tokens that do not spell them out.

    ``table``: tokens and their words; none for a token that is one word although its small letters have an entry.
    ``suffixes``: ends of other tokens, each with the end of the first word instead of it and all other words, such as
    ``ê-lo`` with ``er``, ``lo`` for Portuguese ``fazê-lo`` = ``fazer`` + ``lo``.
    """

    def __init__(self, table: Mapping[str, Sequence[str]], suffixes: Mapping[str, Sequence[str]]) -> None:
        self.table, self.suffixes = dict(table), dict(suffixes)
        self._longest = max(map(len, suffixes), default=0)
        self._seen: dict[bytes, list[bytes]] = {}

    def to_dict(self) -> dict[str, Any]:
        return {
            name: {key: list(words) for key, words in sorted(mapping.items())}
            for name, mapping in (("table", self.table), ("suffixes", self.suffixes))
        }

    @classmethod
    def from_dict(cls, content: object) -> "Splits":
        """Check everything: the content may come from a stranger."""
        parts: Mapping[str, Any] = content if isinstance(content, dict) else {}
        table, suffixes = parts.get("table"), parts.get("suffixes")
        if not (len(parts) == 2 and isinstance(table, dict) and isinstance(suffixes, dict)):
            raise ModelFileError("multiword tokens", expected="a table and suffixes", got=repr(content)[:80])
        if len(table) + len(suffixes) > _MOST_SPLITS:
            raise ModelFileError("multiword tokens", expected=f"at most {_MOST_SPLITS:,}", got=len(table))
        entries = [(False, *entry) for entry in table.items()] + [(True, *entry) for entry in suffixes.items()]
        for is_suffix, token, words in entries:
            # At least two words that can be written in columns, of a suffix the first may be empty; or one word, ().
            is_valid = isinstance(words, list) and all(isinstance(word, str) for word in words)
            if is_valid and len(words) <= _MOST_WORDS and (len(words) > 1 or not (words or is_suffix)):
                forms = [token, *words[is_suffix and words[0] == "" :]] if words else [token]
                is_writable = all(form.strip() and is_utf8(form) and not _CONTROL.search(form) for form in forms)
                if is_writable and sum(map(len, forms)) <= _LONGEST_SPLIT:
                    continue
            expected, got = "words without control characters", repr({token: words})[:80]
            raise ModelFileError("multiword tokens", expected=expected, got=got)
        return cls(table, suffixes)

    @classmethod
    def learned(cls, texts: Sequence[Text]) -> "Splits | None":
        """The most frequent words of each token; ends of at least three tokens that no other token contradicts."""
        counts: dict[str, Counter[tuple[str, ...]]] = {}
        for text in texts:
            firsts = [n for n, is_part in enumerate(text.joined) if not is_part]
            for (start, end), (first, last) in zip(text.tokens, pairwise([*firsts, len(text.forms)]), strict=True):
                surface, forms = text.text[start:end], tuple(text.forms[first:last])
                is_split = len(forms) > 1 and "".join(forms) != surface
                counts.setdefault(surface, Counter())[forms if is_split else ()] += 1
        best = {surface: analyses.most_common(1)[0][0] for surface, analyses in counts.items()}
        table = {surface: words for surface, words in best.items() if words}
        if not table:
            return None
        small = {surface.lower(): tuple(map(str.lower, words)) for surface, words in best.items()} | {
            surface: words for surface, words in best.items() if surface == surface.lower()
        }
        votes: dict[str, Counter[tuple[str, ...] | None]] = {
            surface[-size:]: Counter()
            for surface, words in small.items()
            if words
            for size in range(1, min(len(surface), _LONGEST_SUFFIX + 1))
        }
        for surface, words in small.items():
            for size in range(1, min(len(surface), _LONGEST_SUFFIX + 1)):
                if (vote := votes.get(surface[-size:])) is not None:
                    stem = surface[:-size]
                    is_regular = bool(words) and words[0].startswith(stem)
                    vote[(words[0][len(stem) :], *words[1:]) if is_regular else None] += 1
        suffixes: dict[str, Sequence[str]] = {}
        for suffix, vote in sorted(votes.items(), key=lambda pair: (len(pair[0]), pair[0])):
            rule, times = vote.most_common(1)[0]
            is_covered = any(suffix[at:] in suffixes for at in range(1, len(suffix)))
            if rule is not None and len(vote) == 1 and times >= _FEWEST_OF_SUFFIX and not is_covered:
                suffixes[suffix] = rule
        stay = {surface: () for surface, words in best.items() if not words and surface.lower() in table}
        return cls({**table, **stay}, suffixes)

    def words(self, token: str) -> Sequence[str]:
        """The words of a token; none if it is one word."""
        token = token if token.isascii() else unicodedata.normalize("NFC", token)
        if token in self.table:
            return self.table[token]
        small = token.lower()
        if found := self.table.get(small):
            if token.isupper() and len(token) > 1:
                return [word.upper() for word in found]
            return [found[0][:1].upper() + found[0][1:], *found[1:]] if token[:1].isupper() else found
        for size in range(min(self._longest, len(token) - 1), 0, -1):
            if len(small) == len(token) and (rule := self.suffixes.get(small[-size:])) is not None:
                return [token[:-size] + rule[0], *rule[1:]]
        return ()

    def applied(self, text: bytes, cut: Segments, joined: Array) -> Segments:
        """Take apart the tokens (N,) that are not ``joined`` words of others."""
        is_single = ~joined & ~np.append(joined[1:], False)
        repeats, words, seen = np.ones(len(joined), np.int64), list[bytes](), self._seen
        if len(seen) > _MOST_SEEN:
            seen.clear()
        cells = cut.cells.tolist()
        for i in np.flatnonzero(is_single).tolist():
            token = text[cells[i][0] : cells[i][1]]
            if (found := seen.get(token)) is None:
                found = seen[token] = [word.encode() for word in self.words(decoded(token))]
            if found:
                repeats[i] = len(found)
                words += found
        if not words and not joined.any():
            return cut
        source = np.repeat(np.arange(len(joined)), repeats)
        is_part = joined[source]
        is_part[1:] |= source[1:] == source[:-1]
        places = cut.cells[source]
        forms = Forms(text + b"".join(words), places.copy(), is_part)
        forms.cells[repeats[source] > 1] = cells_between(len(text) + np.cumsum([0, *map(len, words)]))
        before = np.append(0, np.cumsum(repeats))
        return Segments(places, before[cut.offsets], before[cut.documents], forms)


def files_of(content: bytes) -> dict[str, bytes]:
    """The model files of a segmenter: that of the tagger of characters, and that of sentence ends if there is one."""
    arrays, _ = archive.from_bytes(content)
    if set(arrays) != {CHARACTERS, ENDS}:
        return {CHARACTERS: content}
    return {name: np.asarray(array).tobytes() for name, array in arrays.items()}


def file_of(files: Mapping[str, bytes]) -> bytes:
    """The reverse."""
    if set(files) == {CHARACTERS}:
        return files[CHARACTERS]
    return archive.to_bytes({name: np.frombuffer(file, np.uint8) for name, file in files.items()}, {})


def _checked(content: bytes, *labels: Sequence[str]) -> Tagger:
    """A tagger that cuts texts, with one of these sets of labels."""
    tagger = storage.from_bytes(content)
    if not isinstance(tagger, Tagger) or tagger.model.segmenter.learned is not None:
        raise ModelFileError("segmentation", expected="a tagger of characters", got="another model")
    found = tagger.model.codec.labels
    if sorted(found) not in map(sorted, labels) or tagger.model.features.columns:
        expected, got = f"the labels {', '.join(labels[0])}", ", ".join(found)[:80]
        raise ModelFileError("segmentation", expected=expected, got=got)
    return tagger


def token_places(words: Sequence[tuple[int, int]], joined: Sequence[bool]) -> list[tuple[int, int]]:
    """Start and end of each token; words are ``joined`` to the one before them in a multiword token."""
    places: list[tuple[int, int]] = []
    for (start, end), is_part in zip(words, joined, strict=True):
        if is_part:
            places[-1] = places[-1][0], end
        else:
            places.append((start, end))
    return places


def units_of(text: bytes, documents: Array) -> Units:
    """The characters of texts (D, 2) among the bytes."""
    string = decoded(text)
    codes = np.frombuffer(string.encode("utf-32-le", "surrogatepass"), np.uint32)
    kinds = _kinds(codes)
    if len(codes) == len(text):
        places = np.arange(len(text) + 1)
    else:
        places = np.append(np.flatnonzero((np.frombuffer(text, np.uint8) & 0xC0) != 0x80), len(text))
    begins = np.searchsorted(places, documents[:, 0])
    ends = np.searchsorted(places, documents[:, 1])
    if (kinds == _RARE).any():
        cut = [characters(string[begin:end]) for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
        shifts = np.repeat(begins, [len(one.starts) for one in cut])
        starts = shifts + np.concatenate([np.array(one.starts, np.int64) for one in cut])
        stops = shifts + np.concatenate([np.array(one.ends, np.int64) for one in cut])
    else:
        is_mark, is_word = kinds == _MARK, kinds != _SPACE
        follows = is_mark.copy()  # belongs to the character before it
        follows[1:] &= is_word[:-1]
        follows[begins[begins < len(follows)]] = False
        inside = np.zeros(len(codes), bool)
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            inside[begin:end] = True
        is_word = is_word & inside
        starts = np.flatnonzero(is_word & ~follows)
        stops = np.flatnonzero(is_word & ~np.append(follows[1:], False)) + 1
    cells = np.stack([places[starts], places[stops]], axis=1)
    return Units(cells, np.append(np.searchsorted(cells[:, 0], documents[:, 0]), len(cells)), kinds[starts] == _SIGN)


_UNKNOWN, _ORDINARY, _SIGN, _SPACE, _MARK, _RARE = range(6)
_KINDS = np.zeros(0x110000, np.uint8)
"""Of code points that were met; filled as they come."""


def _kinds(codes: Array) -> Array:
    kinds = _KINDS[codes]
    if kinds.all():
        return kinds
    for code in np.unique(codes[kinds == _UNKNOWN]).tolist():
        is_tied = code in (0x200C, 0x200D) or 0x1F1E6 <= code <= 0x1F1FF or 0x1F3FB <= code <= 0x1F3FF
        if chr(code).isspace():
            kind = _SPACE
        elif is_tied or 0xE0020 <= code <= 0xE007F or 0x1100 <= code <= 0x11FF:
            kind = _RARE  # joiners, flags, skins, parts of Hangul: they belong to more than one neighbour
        else:
            kind = {"M": _MARK, "L": _ORDINARY, "N": _ORDINARY}.get(category(chr(code))[0], _SIGN)
        _KINDS[code] = kind
    return _KINDS[codes]


def _one_space(text: bytes, units: Units) -> tuple[bytes, Array]:
    """The text with one space for each run of white space, and the cells of the units there."""
    cells = units.cells
    gaps = cells[1:, 0] - cells[:-1, 1]
    wide = gaps > 0
    raw = np.frombuffer(text, np.uint8)
    if not (gaps > 1).any() and (raw[cells[:-1, 1][wide]] == ord(" ")).all():
        return text, cells
    keep = np.zeros(len(raw) + 1, np.int8)
    np.add.at(keep, cells[:, 0], 1)
    np.add.at(keep, cells[:, 1], -1)
    is_kept = np.cumsum(keep[:-1]).astype(bool)
    is_kept[cells[:-1, 1][wide]] = True  # the first byte of each gap stands for it
    spaced = raw.copy()
    spaced[cells[:-1, 1][wide]] = ord(" ")
    places = np.append(0, np.cumsum(is_kept))
    return spaced[is_kept].tobytes(), places[cells]


def _words(cells: Array, documents: Array, reach: int) -> Array:
    """(U, 2): each unit with the next ones of its text."""
    U = len(cells)
    last = np.repeat(documents[1:], np.diff(documents)) - 1
    return np.stack([cells[:, 0], cells[np.minimum(np.arange(U) + reach - 1, last), 1]], axis=1)


def _tokens(cells: Array, last: Array, units: Units) -> tuple[Array, Array]:
    """(T, 2) and (D + 1,): tokens that end with units ``last``, a sign with the space after it; those of each text."""
    first = np.append(0, last[:-1] + 1)
    words = np.stack([cells[first, 0], cells[last, 1]], axis=1)
    documents = np.searchsorted(last, units.documents)
    words[:-1, 1] += units.are_signs[last[:-1]] & (words[1:, 0] > words[:-1, 1])
    edges = documents[1:][documents[1:] > 0] - 1
    words[edges, 1] = cells[last[edges], 1]  # what is between texts belongs to none
    return words, documents


def _answers(tagger: Tagger, content: bytes, words: Array, documents: Array) -> Array:
    """(W,): the number of the label of each word; those of a text are labelled in chunks, with words around them."""
    chunks: list[tuple[int, int, int, int]] = []  # the words of each, and the part whose labels count
    for begin, end in pairwise(documents.tolist()):
        for first in range(begin, end, _CHUNK):
            last = min(first + _CHUNK, end)
            chunks.append((max(begin, first - _CONTEXT), min(end, last + _CONTEXT), first, last))
    rows = np.concatenate([np.arange(low, high) for low, high, _, _ in chunks])
    offsets = offsets_from_lengths([high - low for low, high, _, _ in chunks])
    numbers = tagger._posteriors.decode(Words(content, words[rows], offsets), probabilities=False).numbers
    own = np.zeros(len(rows), bool)
    for (low, _, first, end), begin in zip(chunks, offsets.tolist(), strict=False):
        own[begin + first - low : begin + end - low] = True
    answered: Array = numbers[own]
    return answered


# ------------------------------------------------------------------------------------------------------------- learning


def learn_segmenter(sentences: Sequence[Sentence], *, seed: int = 0, threads: int = 1) -> Segmenter:
    """Learn to cut raw text as the sentences of a treebank are.

    Parameters
    ----------
    sentences
        Sentences in the order of their source, with their raw text: those of CoNLL-U files, or of columns with
        ``# text =`` comments.
    seed, threads
        As for a tagger.

    Returns
    -------
    Segmenter
        For ``Tagger(segmenter=…)``; it is stored in the model file.
    """
    fitting = SegmenterFitting(sentences, seed=seed, threads=threads)
    for one in fitting.fittings:
        for _ in one:
            pass
    return fitting.segmenter()


@final
class SegmenterFitting:
    """A training run of a segmenter: iterate over each of ``fittings`` for its epochs, then take ``segmenter()``."""

    def __init__(self, sentences: Sequence[Sentence], *, seed: int = 0, threads: int = 1) -> None:
        texts = texts_of(sentences)
        self.sentences = sum(len(text.ranges) for text in texts)  # with a text
        if self.sentences < FEWEST:
            expected = f"at least {FEWEST} sentences with their raw text (# text in CoNLL-U)"
            raise DataError("too little to learn segmentation from", expected=expected, got=f"{self.sentences}")
        crossed: Counter[str] = Counter()
        spaces = 0
        for text in texts:
            spaces += text.text.count(" ")
            for start, end in text.tokens:
                for before, space, after in zip(
                    text.text[start:end], text.text[start + 1 :], text.text[start + 2 : end], strict=False
                ):
                    if space.isspace():
                        crossed[f"{category(before)} {category(after)}"] += 1
        is_free = sum(crossed.values()) > _FREE * spaces
        self._reach = 3 if is_free else 2
        X: list[list[str]] = []
        y: list[list[str]] = []
        X_tokens: list[list[str]] = []
        y_tokens: list[list[str]] = []
        for text in texts:
            content = text.text.encode()
            places = np.append(0, np.cumsum([len(character.encode()) for character in text.text]))
            units = units_of(content, np.array([[0, len(content)]]))
            spaced, cells = _one_space(content, units)
            X.append([spaced[a:b].decode() for a, b in _words(cells, units.documents, self._reach).tolist()])
            ends = dict.fromkeys(places[[end for _, end in text.words]].tolist(), WORD)
            ends |= dict.fromkeys(places[[end for _, end in text.tokens]].tolist(), TOKEN)
            ends |= dict.fromkeys(places[[end for _, end in text.sentences]].tolist(), SENTENCE)
            labels = np.array([ends.get(end, INSIDE) for end in units.cells[:, 1].tolist()])
            y.append([_LABELS[label] for label in labels.tolist()])
            last = np.flatnonzero(labels)
            words = [spaced[a:b].decode() for a, b in _tokens(cells, last, units)[0].tolist()]
            words[-1] += " " * bool(units.are_signs[-1])  # as if another sentence followed
            if not X_tokens or len(X_tokens[-1]) > _TOKENS:
                X_tokens.append([])
                y_tokens.append([])
            X_tokens[-1] += words
            y_tokens[-1] += [_LABELS[SENTENCE if labels[at] == SENTENCE else INSIDE] for at in last.tolist()]
        affixes = (1, 2) if is_free else (1,)
        settings = {**_SETTINGS, "prefix_lengths": affixes, "suffix_lengths": affixes}
        has_many_pairs = len({word for words in X for word in words}) > _MOST_PAIRS
        if has_many_pairs:
            settings |= {"min_count": 3, "hidden": 128}
        reads_tokens = not (has_many_pairs or is_free)
        if reads_tokens:
            settings |= {"window": 7}  # sentences need more
        self._tagger, self._ends = Tagger(**settings, seed=seed, threads=threads), None
        self.fittings = [self._tagger.fitting(X, y)]
        if reads_tokens:
            self._ends = Tagger(**_OF_SENTENCES, seed=seed, threads=threads)
            self.fittings.append(self._ends.fitting(X_tokens, y_tokens))
        self._crossed = None if is_free else sorted(pair for pair, times in crossed.items() if times > 1)
        self._splits = Splits.learned(texts)

    def segmenter(self) -> Segmenter:
        ends = None
        if self._ends is not None:
            ends = _checked(storage.to_bytes(self._ends), _OF_TOKENS)
            is_end = np.array([label == _LABELS[SENTENCE] for label in ends.model.codec.labels], np.float32)
            for name, bias in ends.model.network.parameters().items():
                if name.endswith("output0.b"):  # of every member
                    bias.value = bias.value + _EAGER * is_end
        return Segmenter(learned=LearnedCuts(self._tagger, self._reach, self._crossed, self._splits, ends))
