"""Characters of UTF-8 text in Python: the twins of characters.c."""

from collections.abc import Iterable

import numpy as np

from postil.arrays import Array
from postil.errors import DataError, IndexRangeError
from postil.kernels.characters import Characters, Flag
from postil.kernels.checking import contiguous


def decoded(text: bytes, surrogates: bool = False, first: int = 0) -> str:
    """The text of UTF-8, which stands at byte ``first`` of something longer; with lone surrogates if they may be."""
    try:
        return text.decode("utf-8", "surrogatepass" if surrogates else "strict")
    except UnicodeDecodeError as error:
        what = f"invalid UTF-8 at byte {first + error.start}"
        raise DataError(what, expected="UTF-8", got=f"byte 0x{error.object[error.start]:02x}") from None


def lower_case(word: bytes, characters: Characters) -> bytes:
    """``str.lower`` of a word in UTF-8, as of the version of Unicode of ``characters``."""
    content = decoded(word, surrogates=True)
    lower = content.lower() if not len(characters.disputed) else lower_by_tables(content, characters)
    return lower.encode("utf-8", "surrogatepass")


def lower_by_tables(word: str, characters: Characters) -> str:
    """``str.lower`` without asking the running Python."""
    lower = [chr(characters.lower[ord(character)]) for character in word]
    for place, character in enumerate(word):
        if character == "İ":
            lower[place] += "\u0307"  # the dot
        elif character == "Σ" and _is_cased(word, range(place - 1, -1, -1), characters):
            lower[place] = "σ" if _is_cased(word, range(place + 1, len(word)), characters) else "ς"
    return "".join(lower)


def _is_cased(word: str, places: Iterable[int], characters: Characters) -> bool:
    """Whether the first character at these places that is not passed over is cased."""
    for place in places:
        flags = int(characters.flags[ord(word[place])])
        if not flags & Flag.IGNORABLE:
            return bool(flags & Flag.CASED)
    return False


def character_places(text: bytes) -> Array:
    """The byte at which each character of UTF-8 begins, and the end."""
    return np.append(np.flatnonzero(np.frombuffer(text, np.uint8) & 0xC0 != 0x80), len(text))


def character_offsets(text: bytes, offsets: Array) -> Array:
    """Offsets (n,) in bytes of UTF-8, none smaller than the one before, as offsets in characters."""
    offsets = contiguous(offsets, np.int64, (len(offsets),), where="offsets")
    if len(offsets) and (offsets[0] < 0 or offsets[-1] > len(text) or (np.diff(offsets) < 0).any()):
        raise IndexRangeError("an index points outside its table", where="offsets")
    continuations = np.flatnonzero(np.frombuffer(text, np.uint8) & 0xC0 == 0x80)
    return offsets - np.searchsorted(continuations, offsets)
