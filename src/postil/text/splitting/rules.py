"""Rules of the tokeniser and the sentence splitter: what a user may set, and the expressions made of it.

Every repetition that may have to be undone is bounded, or its parts exclude each other, so that an expression takes
time in proportion to the text, whatever the text.
"""

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Literal, get_args

import numpy as np

from postil.errors import ConfigurationError
from postil.kernels.characters import BLOCK, CATEGORIES, LAST, Flag, frozen
from postil.kernels.plain_segmentation import Kind, SentencePatterns, TokenPatterns
from postil.text.splitting import english

Hyphens = Literal["split", "keep"]
Apostrophes = Literal["keep", "end"]


@dataclass(frozen=True, kw_only=True)
class TokenRules:
    """The rules of the tokeniser. Change a part with ``dataclasses.replace(DEFAULT, units=DEFAULT.units + ("psi",))``.

    Lists of words may be given as any iterable of strings and are kept as tuples; `postil.text.splitting.english` says
    how their entries are read. Each extra pattern is a regular expression without capturing groups, tried before all
    others; it sees one chunk of text between whitespace.
    """

    abbreviations: tuple[str, ...] = english.ABBREVIATIONS
    abbreviations_before_numbers: tuple[str, ...] = english.ABBREVIATIONS_BEFORE_NUMBERS
    contractions: tuple[str, ...] = english.CONTRACTIONS
    fused: tuple[str, ...] = english.FUSED
    elisions: tuple[str, ...] = english.ELISIONS
    hyphens: Hyphens = "split"
    apostrophes: Apostrophes = "keep"
    """Inside a word that is not one of the contractions; "end": a token ends after it, as in French ``l'|ami``."""
    hyphen_prefixes: tuple[str, ...] = english.HYPHEN_PREFIXES
    units: tuple[str, ...] = english.UNITS
    name_endings: tuple[str, ...] = english.NAME_ENDINGS
    urls: bool = True
    emails: bool = True
    hashtags_and_mentions: bool = True
    emoticons: bool = True
    extra_patterns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(field.default, tuple):
                object.__setattr__(self, field.name, word_list(field.name, value))
            elif isinstance(field.default, bool) and not isinstance(value, bool):
                raise ConfigurationError(f"rule {field.name!r} is a switch", expected="True or False", got=repr(value))
        for name, kinds in (("hyphens", get_args(Hyphens)), ("apostrophes", get_args(Apostrophes))):
            if (value := getattr(self, name)) not in kinds:
                raise ConfigurationError(f"rule {name!r} is unknown", expected=" or ".join(kinds), got=repr(value))

        def wrong(what: str, expected: str | None, got: str) -> ConfigurationError:
            return ConfigurationError(what, expected=expected, got=got)

        for entry in self.fused:
            if "" in entry.split("|") or "|" not in entry:
                raise wrong("rule 'fused' lacks a cut", "parts like 'can|not'", repr(entry))
        for entry in self.contractions:
            if "'" not in entry:
                raise wrong("rule 'contractions' lacks an apostrophe", "one like 'll", repr(entry))
        for pattern in self.extra_patterns:
            try:
                compiled = re.compile(pattern)
            except re.error as error:
                what = "an extra pattern is not a regular expression"
                raise wrong(what, None, f"{pattern!r} ({error})") from None
            if compiled.groups:
                raise wrong("an extra pattern captures", "groups written (?:…)", repr(pattern))
            if compiled.fullmatch(""):
                raise wrong("an extra pattern is empty", "one character at least", repr(pattern))

    def __repr__(self) -> str:
        """Only what differs from the default, for the lists are long."""
        changed = (field.name for field in fields(self) if getattr(self, field.name) != field.default)
        return f"TokenRules({', '.join(f'{name}={getattr(self, name)!r}' for name in changed)})"


def word_list(name: str, value: object) -> tuple[str, ...]:
    """Check a list of words given for a rule."""
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        raise ConfigurationError(f"rule {name!r} is a list", expected="several strings", got=repr(value))
    words = tuple(value)
    for word in words:
        if not isinstance(word, str) or not word or any(map(str.isspace, word)):
            raise ConfigurationError(
                f"rule {name!r} has a wrong entry", expected="a string without white space", got=repr(word)
            )
    return words


DEFAULT = TokenRules()
NEUTRAL = TokenRules(
    abbreviations=(),
    abbreviations_before_numbers=(),
    contractions=(),
    fused=(),
    elisions=(),
    hyphens="keep",
    hyphen_prefixes=(),
    units=(),
)
"""For languages other than English: nothing but what writing systems have in common."""


APOSTROPHE = "['’＇]"
_END = r"(?!\w)"
_DOMAIN = r"\w[\w-]{0,62}(?:\.[\w-]{1,63}){0,8}"


def token_patterns(rules: TokenRules) -> TokenPatterns:
    """The rules as the kernels take them.

    The first expression matches the next token of a chunk: the first alternative that fits wins. The second finds
    chunks whose cut depends on the next chunk: those that end in "J." or "No.".
    """
    alternatives = "|".join(pattern for pattern in token_alternatives(rules).values() if pattern)
    depends = rf"(?<!\w)(?:[A-Z]|{_spellings(rules.abbreviations_before_numbers)})\.\Z"
    return TokenPatterns(f"(?:{alternatives})[{_marks()}]*", depends)


def token_alternatives(rules: TokenRules) -> dict[str, str]:
    """Name -> pattern, in the order in which they are tried; an empty pattern is switched off."""
    # Closing marks belong to an address only if it goes on after them, and brackets only in pairs.
    closing = r".,;:!?'’”»\]"
    plain = rf"""[^\s<>"(){closing}]"""
    body = rf"""(?:{plain}++|[{closing}]++(?={plain}|\()|\([^\s<>"()]*+\))++"""
    smile = r"(?<!\d)[<>]?[:;=]['’]?-?[)(\]\[/\\|*]{1,9}(?![\w/])"
    smiling_letter = rf"(?<!\w)[:;=]-?[DPpOo3]{_END}"
    # A clitic stands after a word, or alone in its chunk, as in texts that have been tokenised before.
    clitic = f"(?i:{_any_of(rules.contractions)})"
    ampersand = rf"[A-Za-z]{{1,4}}(?:&[A-Za-z]{{1,3}})+{_END}|&(?:amp|lt|gt|quot|nbsp);"
    same_mark = "|".join(rf"{mark}{{2,}}" for mark in (r"\$", "#", ",", "<", ">", "'", "`", "’", "‘"))
    abbreviation = (
        rf"{_spellings(rules.abbreviations)}\.(?!\w|\.\.)",
        rf"{_spellings(rules.abbreviations_before_numbers)}\.(?=\s?\d)",
        rf"[A-Za-z](?:\.[A-Za-z])+\.?{_END}",  # an acronym
        r"(?!I)[A-Z]\.(?=\s[^\W\d_a-z]|[A-Z][a-z]|[,'’-])",  # an initial
    )
    dotted_name = (
        rf"(?:{_DOMAIN}|(?<!\w))\.(?i:{_any_of(rules.name_endings)})(?![\w-])",
        r"[a-z]\w{0,62}(?:\.[a-z][a-z_-]{1,62}){2,9}(?![\w-])",
        rf"[A-Za-z]{{1,9}}\d++(?:\.\d++)+{_END}",  # a version
    )
    telephone = r"\d{1,5}-\d{1,5}(?:-\d{1,5}){1,4}(?![\w-])|\d{3}-\d{4}(?![\w-])|\d{5}-\d{4}(?![\w-])"
    plain_number = r"(?:(?<!\w)\+|(?<![\w.])\.)?\d++(?:[.,:/]\d++)*"
    after_number = rf"(?:{APOSTROPHE}s{_END}|(?=(?i:{_any_of(rules.units)}){_END})|{_END})"
    # Any character, and what a zero-width joiner ties to it: one emoji of several code points is one token.
    one_character = rf"\S[{_marks()}]*(?:\u200D\S[{_marks()}]*)*"
    return {
        "extra": "|".join(f"(?:{pattern})" for pattern in rules.extra_patterns),
        "url": rf"(?i:(?:https?|ftps?)://|www\.){body}" if rules.urls else "",
        "email": rf"(?:mailto:)?[\w.+%-]{{1,64}}@{_DOMAIN}" if rules.emails else "",
        "hashtag or mention": rf"(?<!\w)(?:#(?=\d*[^\W\d])\w+|@{_DOMAIN})" if rules.hashtags_and_mentions else "",
        "emoticon": rf"{smile}|{smiling_letter}|<3(?!\d)|\^_*\^" if rules.emoticons else "",
        "abbreviation": rf"(?<!\w)(?=\w+\.)(?:{'|'.join(abbreviation)})",
        "dotted name": rf"(?=[\w-]{{0,63}}\.)(?:{'|'.join(dotted_name)})",
        "number": rf"(?<!\w)(?:{telephone}|{plain_number}{after_number})",
        "clitic": rf"(?<=[\w.]){clitic}{_END}|(?<!\S){clitic}(?!\S)",
        "elision": rf"(?<!\w)(?:(?i:{_any_of(rules.elisions)})|{APOSTROPHE}\d\ds?){_END}",
        "fused": _fused(rules),
        "short with sign": rf"{ampersand}|[A-Za-z]/[A-Za-z]{_END}|w/|[A-Z]{{1,3}}\$",  # AT&T, &amp;, b/c, w/, US$
        "word": _word(rules),
        "run of marks": rf"[.!?…]{{2,}}|[-=_*~+|]{{2,}}|{same_mark}",
        "one character": r"[\U0001F1E6-\U0001F1FF]{2}|" + one_character,
    }


def _fused(rules: TokenRules) -> str:
    """All parts but the last, each with a look at its neighbours; the last is an ordinary word then."""
    patterns = []
    for entry in rules.fused:
        parts = [_with_apostrophes(part) for part in entry.split("|")]
        for index, part in enumerate(parts[:-1]):
            before = f"(?<={''.join(parts[:index])})" if index else r"(?<![\w'’])"
            patterns.append(f"{before}{part}(?={''.join(parts[index + 1 :])}{_END})")
    return f"(?i:{'|'.join(patterns)})" if patterns else ""


def _word(rules: TokenRules) -> str:
    letters = rf"\w[\w{_JOINERS}{_marks()}]*"
    simple = rf"{letters}+(?!-|{APOSTROPHE})"  # most words (nothing given back: *+), found without trying the rest
    stem = rf"{letters}?(?:{APOSTROPHE}{letters}?)*?(?=(?i:{_any_of(rules.contractions)}){_END})"
    word = rf"(?:{stem}|{letters}(?:{APOSTROPHE}{letters})*)"
    if rules.apostrophes == "end":
        word = rf"(?:{stem}|{letters}(?:{APOSTROPHE}(?=\w))?)"
    if rules.hyphens == "keep":
        inside = "-" if rules.apostrophes == "end" else "[-'’]"
        return rf"{simple}|{letters}(?:{inside}{letters})*-{word}|{word}"
    prefixed = rf"(?i:{_any_of(rules.hyphen_prefixes)})-{word}"
    return f"{simple}|{prefixed}|{word}"


def _any_of(words: Iterable[str]) -> str:
    """Longest first, so that no entry hides a longer one; nothing matches an empty list."""
    ordered = sorted(set(words), key=lambda word: (-len(word), word))
    return "(?:" + "|".join(map(_with_apostrophes, ordered)) + ")" if ordered else "(?!)"


def _with_apostrophes(word: str) -> str:
    return re.escape(word).replace("'", APOSTROPHE)


def _spellings(words: Iterable[str]) -> str:
    return _any_of(form for word in words for form in english.spellings(word))


# Invisible characters that stand inside words: zero-width joiner and non-joiner, soft hyphen, word joiner.
_JOINERS = "\u200c\u200d\u00ad\u2060"


@functools.cache
def _marks() -> str:
    """The insides of a class: characters that belong to the one before them (combining marks, parts of an emoji)."""
    marks = [CATEGORIES.index(category) for category in ("Mn", "Mc", "Me")]
    known = frozen()
    is_mark = np.isin(known.records[:, 0] & Flag.CATEGORY, marks)
    points = np.flatnonzero(is_mark[known.pages][known.index[: 0x20000 // BLOCK]])  # much less than all of the flags
    firsts, lasts = points[np.diff(points, prepend=-2) > 1], points[np.diff(points, append=LAST) > 1]
    ranges = "".join(f"{chr(first)}-{chr(last)}" for first, last in zip(firsts, lasts, strict=True))
    return ranges + "\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\U000e0100-\U000e01ef"


LineBreaks = Literal["blank", "every", "never"]


@dataclass(frozen=True, kw_only=True)
class SentenceRules:
    """The rules of the sentence splitter.

    never_final: abbreviations, without their final period, after which a sentence continues.
    starters: words that, with a capital letter, begin a sentence even after an abbreviation.
    final_marks: tokens that end a sentence.
    line_breaks: "blank": a blank line ends a sentence, and so does a line break before the mark of a list; "every"
        line break does (one sentence, title or paragraph a line); "never".
    """

    never_final: tuple[str, ...] = english.TITLES + english.CONNECTIVES
    starters: tuple[str, ...] = english.SENTENCE_STARTERS
    final_marks: tuple[str, ...] = tuple(".!?…。！？｡।॥۔؟։።។။")
    line_breaks: LineBreaks = "blank"

    def __post_init__(self) -> None:
        for name in ("never_final", "starters", "final_marks"):
            object.__setattr__(self, name, word_list(name, getattr(self, name)))
        if self.line_breaks not in get_args(LineBreaks):
            expected = " or ".join(get_args(LineBreaks))
            raise ConfigurationError("rule 'line_breaks' is unknown", expected=expected, got=repr(self.line_breaks))


DEFAULT_SENTENCES = SentenceRules()
# Unicode's Sentence_Terminal, with the ellipsis.
_TERMINALS = (
    ".!?…\u0589\u061d\u061e\u061f\u06d4\u0700\u0701\u0702\u07f9\u0837\u0839\u083d\u083e\u0964\u0965\u104a\u104b"
    "\u1362\u1367\u1368\u166e\u1735\u1736\u17d4\u17d5\u1803\u1809\u1944\u1945\u1aa8\u1aa9\u1aaa\u1aab\u1b5a\u1b5b"
    "\u1b5e\u1b5f\u1b7d\u1b7e\u1c3b\u1c3c\u1c7e\u1c7f\u203c\u203d\u2047\u2048\u2049\u2e2e\u2e3c\u2e53\u2e54\u3002"
    "\ua4ff\ua60e\ua60f\ua6f3\ua6f7\ua876\ua877\ua8ce\ua8cf\ua92f\ua9c8\ua9c9\uaa5d\uaa5e\uaa5f\uaaf0\uaaf1\uabeb"
    "\ufe52\ufe56\ufe57\uff01\uff0e\uff1f\uff61\U00011047\U00011048\U000110be\U000110bf\U000110c0\U000110c1"
    "\U00011141\U00011142\U00011143"
)
NEUTRAL_SENTENCES = SentenceRules(never_final=(), starters=(), final_marks=tuple(_TERMINALS))


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
    Kind.CLOSES: (*")]}”’»›", "''"),
    Kind.CLOSES_IF_GLUED: "\"'",
    Kind.OPENS: (*"([{“‘«‹\"'`", "``"),
    Kind.GOES_ON: (*",;:)]}%&/=", "-", "--", "–", "—"),
}


def sentence_patterns(rules: SentenceRules) -> SentencePatterns:
    """The rules as the kernels take them."""
    # An abbreviation that ends no sentence is meant in every spelling, a starter with its capital.
    listed: dict[int, Iterable[str]] = {
        Kind.FINAL: rules.final_marks,
        Kind.NEVER_FINAL: (form for word in rules.never_final for form in english.spellings(word)),
        Kind.STARTS: (word.capitalize() for word in rules.starters),
    }
    words: dict[str, int] = {}
    for kind, members in (_WORDS | listed).items():
        for word in members:
            words[word] = words.get(word, 0) | kind
    return SentencePatterns(_LINE_BREAKS[rules.line_breaks], _EMOTICON, _ELLIPSIS, words)
