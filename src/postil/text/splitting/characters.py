"""Text -> one token per character, for writing without spaces: Chinese, Japanese, Thai and others.

A *character* is what a reader takes for one: a letter with its combining marks, a syllable of Hangul, an emoji with all
that modifies it. White space is no token.
"""

import unicodedata
from collections.abc import Iterator

from postil.lazy import Pattern
from postil.text.splitting.tokenise import Tokens

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
    """Whether a character belongs to the one before it."""
    if character.isascii():
        return False
    if unicodedata.category(character)[0] == "M" or character in ("\u200c", _JOINER):
        return True
    if "\U0001f3fb" <= character <= "\U0001f3ff" or "\U000e0020" <= character <= "\U000e007f":  # skin, tags of flags
        return True
    if before == _JOINER:
        return unicodedata.category(character) == "So"
    earlier, later = _jamo(before), _jamo(character)
    return earlier is not None and later is not None and earlier <= later


def _jamo(character: str) -> int | None:
    code = ord(character)
    return next((kind for kind, (first, last) in enumerate(_JAMO) if first <= code <= last), None)


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


def are_characters(sentences: Iterator[list[str]]) -> bool:
    """Whether all tokens are single characters and some of them are of writing without spaces."""
    found = False
    for tokens in sentences:
        if not all(map(is_character, tokens)):
            return False
        found = found or any(map(UNSPACED.match, tokens))
    return found
