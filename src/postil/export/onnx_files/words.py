"""From words to the ids that the model takes, by the tables of vocabulary.json. Needs nothing but Python."""

import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Ids = list[int]
MOST_KNOWN = 100_000  # words whose ids are kept
SHAPES = {"Lu": "X", "Lt": "X", "Ll": "x", "Lo": "l", "Lm": "l", "Nd": "d", "Nl": "n", "No": "n"}


class Words:
    """The tables of one model.

    ``labels`` are the names of the label numbers that come out, by task; a model with one task calls it "". ``width``
    is F, the number of ids of a word.
    """

    def __init__(self, vocabulary: dict[str, Any]) -> None:
        self.labels: dict[str, list[str]] = vocabulary["labels"]
        self._of_word = [COLUMNS[column["kind"]](column) for column in vocabulary["words"]]
        self._columns = [numbered(column["values"]) for column in vocabulary["columns"]]
        names = vocabulary["gazetteer"]
        self._gazetteer = Gazetteer(names) if names else None
        self._known: dict[str, Ids] = {}
        self.width = len(self._word("")) + len(self._columns) + (self._gazetteer.width if self._gazetteer else 0)

    @classmethod
    def read(cls, path: str) -> "Words":
        return cls(json.loads(Path(path).read_text(encoding="utf-8")))

    def features(self, sentences: Sequence[Sequence[Any]]) -> tuple[list[list[Ids]], Ids]:
        """The inputs ``features`` (B, T, F) and ``lengths`` (B,) for B sentences, each a list of words.

        Where a model takes further columns, a word is a tuple of itself and its columns. Short sentences are padded.
        """
        rows = [self._sentence(sentence) for sentence in sentences]
        lengths = [len(sentence) for sentence in rows]
        longest = max(lengths, default=0)
        return [sentence + [[0] * self.width] * (longest - len(sentence)) for sentence in rows], lengths

    def _sentence(self, sentence: Sequence[Any]) -> list[Ids]:
        forms = [token if isinstance(token, str) else token[0] for token in sentence]
        rows = [list(self._word(form)) for form in forms]
        for row, token in zip(rows, sentence, strict=True):
            row += [ids.get(token[i + 1], 0) for i, ids in enumerate(self._columns)]
        if self._gazetteer:
            for row, codes in zip(rows, self._gazetteer.match(forms), strict=True):
                row += codes
        return rows

    def _word(self, form: str) -> Ids:
        if form not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[form] = [number for column in self._of_word for number in column(form)]
        return self._known[form]


def numbered(values: Sequence[str]) -> dict[str, int]:
    return {value: number for number, value in enumerate(values)}


# ------------------------------------------------------------------------------------------------ features of a word


def fold_digits(word: str, mark: str = "0") -> str:
    """Every decimal digit, of any script, as one mark."""
    return "".join(mark if character.isdecimal() else character for character in word)


def normal(word: str) -> str:
    """Lower case, with digits folded: words and affixes are looked up like this."""
    return fold_digits(word.lower())


def shape(word: str) -> str:
    """The kind of each character, in runs of at most three: Boeing-747s is Xxxx-dddx."""
    letters = []
    for character in word:
        kind = unicodedata.category(character)
        if kind[0] == "P" or (kind[0] == "S" and character.isascii()):
            letters.append(character)
        else:
            letters.append(SHAPES.get(kind) or {"S": "s", "M": "m"}.get(kind[0], "z"))
    return re.sub(r"(.)\1{3,}", r"\1\1\1", "".join(letters), flags=re.DOTALL)


def capitals(word: str) -> int:
    """How a word is capitalised, 0 to 7: no letters, lower, Title, UPPER, one capital, MiXed, mIXed, without case."""
    cased = [is_capital(character) for character in word if is_capital(character) or character.islower()]
    if not cased:
        return 7 if any(map(str.isalpha, word)) else 0
    if not any(cased):
        return 1
    if all(cased):
        return 3 if len(cased) > 1 else 4
    if not cased[0]:
        return 6
    return 5 if sum(cased) > 1 else 2


def is_capital(character: str) -> bool:
    return character.isupper() or character.istitle()


def of_value(value: Callable[[str, int], str]) -> Callable[[dict[str, Any]], Callable[[str], Ids]]:
    """A column whose ids are those of a string, 0 where it is not known."""

    def column(content: dict[str, Any]) -> Callable[[str], Ids]:
        ids, length = numbered(content["values"]), content.get("length", 0)
        return lambda word: [ids.get(value(word, length), 0)]

    return column


def spellings(word: str, mark: str | None) -> list[str]:
    """What is looked up, in this order: the word as it stands, in lower case, and with its digits folded."""
    forms = [word, word.lower()]
    return forms if mark is None else [*forms, *(fold_digits(form, mark) for form in forms)]


def vector_column(content: dict[str, Any]) -> Callable[[str], Ids]:
    ids, mark = numbered(content["values"]), content["digit_mark"]

    def column(word: str) -> Ids:
        return [next((ids[form] for form in spellings(word, mark) if ids.get(form)), 0)]

    return column


def lexicon_column(content: dict[str, Any]) -> Callable[[str], Ids]:
    find, codes = vector_column(content), content["codes"]
    return lambda word: list(codes[find(word)[0]])


def character_column(content: dict[str, Any]) -> Callable[[str], Ids]:
    ids, longest = numbered(content["values"]), content["longest"]

    def column(word: str) -> Ids:
        if len(word) > longest:
            word = word[: longest // 2] + word[-(longest // 2) :]
        return [1 + ids.get(character, 0) for character in word] + [0] * (longest - len(word))

    return column


COLUMNS: dict[str, Callable[[dict[str, Any]], Callable[[str], Ids]]] = {
    "word": of_value(lambda word, length: normal(word)),
    "shape": of_value(lambda word, length: shape(word)),
    "prefix": of_value(lambda word, length: normal(word)[:length]),
    "suffix": of_value(lambda word, length: normal(word)[-length:]),
    "caps": lambda content: lambda word: [capitals(word)],
    "lexicon": lexicon_column,
    "characters": character_column,
    "vector": vector_column,
}


# ------------------------------------------------------------------------------------------------ lists of names


class Gazetteer:
    """Names of several words, by class. A code is a place in one: 0 none, then begin, inside, end, single."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.width: int = content["width"]
        self._ignores_case = content["folded"] is not None
        self._classes: dict[str, list[int]] = content["names"]
        self._longest = max((name.count("\x1f") + 1 for name in self._classes), default=0)

    def match(self, words: Sequence[str]) -> list[Ids]:
        """From left to right, the longest name first, never two of one class over the same word."""
        words = [word.casefold() for word in words] if self._ignores_case else list(words)
        codes, free = [[0] * self.width for _ in words], [0] * self.width
        for start in range(len(words)):
            for end in range(min(start + self._longest, len(words)), start, -1):
                for k in self._classes.get("\x1f".join(words[start:end]), ()):
                    if start >= free[k]:
                        free[k] = end
                        for place in range(start, end):
                            codes[place][k] = 4 if end - start == 1 else 1 + (place > start) + (place == end - 1)
        return codes
