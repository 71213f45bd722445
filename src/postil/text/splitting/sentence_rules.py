"""The sentence splitter's rules: what a user may set, and the expressions and words made of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from postil.errors import ConfigurationError
from postil.kernels.plain_sentences import Kind, SentencePatterns
from postil.text.splitting import english
from postil.text.splitting.token_rules import word_list

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


_LINE_END = r"(?>\r\n|[\n\r\f\x85\u2028\u2029])"
_LIST_MARK = r"(?:[-*•‣◦▪·–—]|\(?(?:\d{1,3}|[A-Za-z])[.)])\s"
_LINE_BREAKS = {
    "blank": rf"{_LINE_END}[ \t]*(?={_LINE_END}|{_LIST_MARK})|[\f\u2029]",
    "every": _LINE_END,
    "never": r"(?!)",
}
_EMOTICON = r"(?:[<>]?[:;=]\S*[^\s:;=]|<3|\^_*\^)"
_ELLIPSIS = r"\.\.|…"
_WORDS: dict[int, Iterable[str]] = {
    Kind.FINAL: ".!?…。！？",
    Kind.CLOSES: (*")]}”’»›", "''"),
    Kind.CLOSES_IF_GLUED: "\"'",
    Kind.OPENS: (*"([{“‘«‹\"'`", "``"),
    Kind.GOES_ON: (*",;:)]}%&/=", "-", "--", "–", "—"),
}


def sentence_patterns(rules: SentenceRules) -> SentencePatterns:
    """The rules as the kernels take them."""
    # An abbreviation that ends no sentence is meant in every spelling, a starter with its capital.
    listed: dict[int, Iterable[str]] = {
        Kind.NEVER_FINAL: (form for word in rules.never_final for form in english.spellings(word)),
        Kind.STARTS: (word.capitalize() for word in rules.starters),
    }
    words: dict[str, int] = {}
    for kind, members in (_WORDS | listed).items():
        for word in members:
            words[word] = words.get(word, 0) | kind
    return SentencePatterns(_LINE_BREAKS[rules.line_breaks], _EMOTICON, _ELLIPSIS, words)
