"""Tokens -> sentences, as ranges of tokens.

Two signs end a sentence: a line break that the rules count, and a final mark (``. ! ? …``) with whatever closes after
it, unless what stands before (a title, an initial, the number of a list) or after it (a small letter, a comma) says no.
"""

import functools
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

from postil.errors import ConfigurationError
from postil.text import english
from postil.text.token_rules import word_list
from postil.text.tokenise import Tokens

LineBreaks = Literal["blank", "every", "never"]


@dataclass(frozen=True, kw_only=True)
class SentenceRules:
    """The rules of the sentence splitter.

    never_final: abbreviations, without their final period, after which a sentence continues.
    starters: words that, with a capital letter, begin a sentence even after an abbreviation.
    line_breaks: "blank": a blank line ends a sentence, and so does a line break before the mark of a list; "every"
        line break does (one sentence, title or paragraph a line); "never".
    """

    never_final: tuple[str, ...] = english.TITLES + english.CONNECTIVES
    starters: tuple[str, ...] = english.SENTENCE_STARTERS
    line_breaks: LineBreaks = "blank"

    def __post_init__(self) -> None:
        for name in ("never_final", "starters"):
            object.__setattr__(self, name, word_list(name, getattr(self, name)))
        if self.line_breaks not in get_args(LineBreaks):
            expected = " or ".join(get_args(LineBreaks))
            raise ConfigurationError("rule 'line_breaks' is unknown", expected=expected, got=repr(self.line_breaks))


DEFAULT = SentenceRules()


def split_sentences(tokens: Tokens, rules: SentenceRules = DEFAULT) -> list[tuple[int, int]]:
    """The sentences as consecutive ranges of tokens ``(first, last + 1)`` that cover every token."""
    if not tokens.tokens:
        return []
    splitter = _Splitter(tokens, rules)
    edges = [0, *splitter.edges(), len(tokens)]
    return list(pairwise(edges))


_LINE_END = r"(?>\r\n|[\n\r\f\x85\u2028\u2029])"
_LIST_MARK = r"(?:[-*•‣◦▪·–—]|\(?(?:\d{1,3}|[A-Za-z])[.)])\s"
_LINE_BREAKS = {
    "blank": re.compile(rf"{_LINE_END}[ \t]*(?={_LINE_END}|{_LIST_MARK})|[\f\u2029]"),
    "every": re.compile(_LINE_END),
    "never": re.compile(r"(?!)"),
}
_FINAL = frozenset(".!?…。！？")
_ELLIPSES = ("..", "…")
_CLOSING = frozenset(")]}”’»›") | {"''"}
_CLOSING_IF_GLUED = frozenset("\"'")
_OPENING = frozenset("([{“‘«‹\"'`") | {"``"}
_GOES_ON = frozenset(",;:)]}%&/=") | {"-", "--", "–", "—"}
_EMOTICON = re.compile(r"[<>]?[:;=]\S*[^\s:;=]|<3|\^_*\^")


@functools.lru_cache(maxsize=16)
def _word_sets(rules: SentenceRules) -> tuple[frozenset[str], frozenset[str]]:
    """The abbreviations that end no sentence, in every spelling, and the starters with their capital."""
    never_final = frozenset(form for word in rules.never_final for form in english.spellings(word))
    return never_final, frozenset(word.capitalize() for word in rules.starters)


class _Splitter:
    """One text's worth of state: the tokens, and where the current sentence began."""

    def __init__(self, tokens: Tokens, rules: SentenceRules) -> None:
        self.tokens, self.starts, self.ends = tokens.tokens, tokens.starts, tokens.ends
        self.never_final, self.starters = _word_sets(rules)
        self.lines = self._line_edges(tokens.text, _LINE_BREAKS[rules.line_breaks])

    def _line_edges(self, text: str, breaks: re.Pattern[str]) -> list[int]:
        """Indices of the tokens that begin after a counted line break, in order, and the end."""
        indices = {bisect_left(self.starts, match.start()) for match in breaks.finditer(text)}
        return [*sorted(indices - {0, len(self.tokens)}), len(self.tokens)]

    def edges(self) -> Iterator[int]:
        """Indices of the tokens that begin a sentence, except the first."""
        begin = 0
        for line_end in self.lines:
            for index in range(begin, line_end):
                if self.tokens[index][-1:] in _FINAL and index >= begin:
                    edge = self._skip_closing(index + 1, line_end)
                    if edge < line_end and self._ends_sentence(begin, index, edge, line_end):
                        yield edge
                        begin = edge
            if line_end < len(self.tokens):
                yield line_end
                begin = line_end

    def _skip_closing(self, index: int, limit: int) -> int:
        """The first token from `index` on that no longer closes what went before."""
        while index < limit:
            token = self.tokens[index]
            glued = self.starts[index] == self.ends[index - 1]
            if not (token in _CLOSING or (glued and token in _CLOSING_IF_GLUED) or _EMOTICON.fullmatch(token)):
                break
            index += 1
        return index

    def _ends_sentence(self, begin: int, index: int, edge: int, limit: int) -> bool:
        mark, following = self.tokens[index], self.tokens[edge]
        glued = self.starts[edge] == self.ends[edge - 1]
        if following in _GOES_ON or following[:1] in _FINAL or (glued and following[:1].isdigit()):
            return False
        while following in _OPENING and edge + 1 < limit:
            edge += 1
            following = self.tokens[edge]
        if mark[:1] not in _FINAL:
            return self._ends_after_abbreviation(mark, following)
        if index == begin or (mark == "." and self._is_list_mark(begin, index)):
            return False
        if following[:1].islower():
            return edge == index + 1 and not mark.startswith(_ELLIPSES) and self._is_common_word(index - 1)
        return True

    def _ends_after_abbreviation(self, abbreviation: str, following: str) -> bool:
        stem = abbreviation[:-1]
        is_initial = len(stem) == 1 and stem.isupper()
        return not is_initial and stem not in self.never_final and following in self.starters

    def _is_common_word(self, index: int) -> bool:
        """Not a name ("Yahoo! is") nor short ("approx. ten"): even a small letter may begin a sentence after it."""
        return self.tokens[index].islower() and len(self.tokens[index]) > 3

    def _is_list_mark(self, begin: int, index: int) -> bool:
        """ "1. Wash the rice": the number is the sentence's first token."""
        first = self.tokens[begin]
        return index == begin + 1 and (len(first) == 1 or (first.isdigit() and len(first) <= 3))
