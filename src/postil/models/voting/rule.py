"""Rules that vote for entities: lists of names, patterns over tokens, models, functions, and other people's votes.

A rule looks at the tokens of a sentence and votes that a span is an entity of a class, or that it is not one. It
abstains everywhere else. Rules may disagree and may be wrong: ``reliability.py`` estimates how much each vote counts.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import comb
from typing import Any, NamedTuple, Protocol, final

from postil.errors import ConfigurationError, DataError, is_printable, similar
from postil.text.labels.schemes import SEPARATOR, spans_from_labels

MOST_RULES, MOST_ELEMENTS, MOST_REPEATS, LONGEST_MATCH, LONGEST_WORD, LONGEST_NAME = 1000, 30, 20, 60, 100, 500
"""Limits of rules from a stranger: rules, elements of a pattern and repeats of one, tokens, characters of both."""
MOST_MATCHES = 10_000_000
"""Limit on the ways in which a regular expression may match a word: a word may cost this number of steps."""

Tokens = Sequence[str]


class Vote(NamedTuple):
    """Tokens ``start`` to ``end`` (exclusive) are an entity of the class ``label``; or they are not, if ``negated``."""

    rule: str
    start: int
    end: int
    label: str
    negated: bool = False


class Rule(Protocol):
    """The interface of a rule."""

    @property
    def name(self) -> str: ...
    @property
    def labels(self) -> Sequence[str]:
        """The classes that it may vote for."""

    def votes(self, sentences: Sequence[Tokens]) -> list[list[Vote]]:
        """The votes about each sentence. Votes of one rule do not overlap."""


# ------------------------------------------------------------------------------------------------------ lists of names


_PLURALS = ("'s", "’s", "s'", "es", "s")
_LINKS = "-‐–_."


class Spelling(dict[int, str]):
    """Character -> how it is looked up: decomposed, without spaces, so that nothing depends on how a tokeniser cuts.

    Filled when it is used. ``folds``: letters are the same in either case. ``variants``: hyphens and full stops vanish.
    """

    def __init__(self, folds: bool, variants: bool) -> None:
        super().__init__()
        self.folds, self.variants = folds, variants

    def __missing__(self, code: int) -> str:
        parts = unicodedata.normalize("NFKD", chr(code))
        parts = parts.casefold() if self.folds else parts
        dropped = _LINKS if self.variants else ""
        self[code] = spelt = "".join(c for c in parts if not (c.isspace() or c in dropped))
        return spelt


SPELLINGS = {(folds, variants): Spelling(folds, variants) for folds in (False, True) for variants in (False, True)}


@final
@dataclass(frozen=True, kw_only=True)
class ListRule:
    """Every occurrence of a name on a list, the longest first.

    ``ignore_case``: letters match in either case. ``variants``: hyphens and full stops may be missing, or stand for
    spaces. ``inflected``: the last word may also have a plural or a possessive ending that the list lacks.
    """

    name: str
    label: str
    phrases: Sequence[str]
    ignore_case: bool = False
    variants: bool = False
    inflected: bool = False
    negated: bool = False

    def __post_init__(self) -> None:
        for phrase in self.phrases:
            if not isinstance(phrase, str) or len(phrase) > LONGEST_NAME:
                expected = f"names of at most {LONGEST_NAME} characters"
                raise DataError("list", expected=expected, got=repr(phrase)[:80], where=f"rule {self.name!r}")

    @property
    def labels(self) -> Sequence[str]:
        return [self.label]

    @cached_property
    def keys(self) -> frozenset[str]:
        """The names as they are looked up, with all their endings."""
        spelling = SPELLINGS[self.ignore_case, self.variants]
        keys = {key for phrase in self.phrases if (key := phrase.translate(spelling))}
        return frozenset(keys | {key + end for key in keys for end in _PLURALS} if self.inflected else keys)

    @cached_property
    def _limits(self) -> tuple[frozenset[str], int]:
        """The beginnings of the names up to four letters, and the length of the longest name."""
        return frozenset(key[:size] for key in self.keys for size in range(1, 5)), max(map(len, self.keys), default=0)

    def votes(self, sentences: Sequence[Tokens]) -> list[list[Vote]]:
        keys, (beginnings, longest) = self.keys, self._limits
        spelling = SPELLINGS[self.ignore_case, self.variants]

        @lru_cache(maxsize=100_000)
        def spelt(token: str) -> str:
            return token[:LONGEST_WORD].translate(spelling)

        found: list[list[Vote]] = []
        for tokens in sentences:
            votes, free = [], 0
            for start, token in enumerate(tokens):
                if start < free or not (first := spelt(token)) or first[:4] not in beginnings:
                    continue
                key, best = "", 0
                for end in range(start + 1, len(tokens) + 1):
                    key += spelt(tokens[end - 1])
                    if len(key) > longest:
                        break
                    if key in keys:
                        best = end
                if best:
                    votes.append(Vote(self.name, start, best, self.label, self.negated))
                    free = best
            found.append(votes)
        return found


# ------------------------------------------------------------------------------------------------ patterns over tokens
# A pattern is a text of elements with spaces between them. Each element matches one token; {m,n} repeats it.
#
#     Mr|Mr.|Dr|Dr. ( <capital>{1,3} )              the parentheses mark the entity, here without the title
#     *itis   anti*   /[A-Z]{2,4}\d+/   <number>    a word with any beginning or ending, a regular expression, a kind
#     ~lake                                         a word in any case
#     <capital> <pos:NOUN>                          a tag, if the rules have a tagger of parts of speech
#     \( \| \*                                      a character that would otherwise have a meaning

KINDS: Mapping[str, Callable[[str], bool]] = {
    "any": lambda word: True,
    "capital": lambda word: word[:1].isupper() and not word[1:].isupper(),
    "upper": lambda word: word.isupper(),
    "lower": lambda word: word.islower(),
    "title": str.istitle,
    "word": str.isalpha,
    "number": lambda word: any(map(str.isdigit, word)) and not any(map(str.isalpha, word)),
    "punctuation": lambda word: not any(map(str.isalnum, word)),
}


class Choice(NamedTuple):
    """A test of a token: a tag, a regular expression, a kind of word, or words and parts of words."""

    kind: str = ""
    folds: bool = False
    words: Collection[str] = ()
    parts: Sequence[tuple[str, str]] = ()  # beginning and ending, with at least one more character between them
    tags: Collection[str] = ()
    fits: Callable[[str], bool] | None = None  # the whole word, by a regular expression

    @property
    def is_plain(self) -> bool:
        """Whether it needs neither an expression nor a tag."""
        return not self.tags and self.fits is None

    def matches(self, word: str, tag: str | None) -> bool:
        if self.tags:
            return tag in self.tags
        if self.fits is not None:
            return self.fits(word)
        if self.kind:
            return KINDS[self.kind](word)
        word = word.casefold() if self.folds else word
        return word in self.words or any(
            len(word) > len(begin) + len(end) and word.startswith(begin) and word.endswith(end)
            for begin, end in self.parts
        )


class Element(NamedTuple):
    """A condition on one token, or on ``least`` to ``most`` tokens in a row."""

    choice: Choice
    least: int
    most: int


_BODY = r"~?/(?:\\.|[^/\\])+/|<[^<>\s]+>|(?:\\.|[^\s{}\\])+?"
_ELEMENT = re.compile(rf"(?P<body>{_BODY})(?:\{{(?P<least>\d+)(?:,(?P<most>\d+))?\}})?")


def _choice(body: str, ignore_case: bool, where: str) -> Choice:
    if body.startswith("~"):
        body, ignore_case = body[1:], True
    if body.startswith("/") and body.endswith("/") and len(body) > 2:
        pattern = checked_expression(body[1:-1].replace("\\/", "/"), ignore_case, where)
        return Choice(fits=lru_cache(maxsize=50_000)(lambda word: pattern.fullmatch(word[:LONGEST_WORD]) is not None))
    if body.startswith("<") and body.endswith(">"):
        kind, colon, wanted = body[1:-1].partition(":")
        if colon and kind == "pos":
            return Choice(tags=frozenset(wanted.split("|")))
        if kind in KINDS and not colon:
            return Choice(kind)
        expected = ", ".join(f"<{name}>" for name in KINDS) + " or <pos:TAG>"
        raise DataError("a kind of word in a pattern", expected=expected, got=body, where=where)
    fold = str.casefold if ignore_case else str
    words: set[str] = set()
    parts: list[tuple[str, str]] = []
    for alternative in re.split(r"(?<!\\)\|", body):
        pieces = [re.sub(r"\\(.)", r"\1", piece) for piece in re.split(r"(?<!\\)\*", alternative)]
        if len(pieces) > 2 or not any(pieces):
            expected = "words with at most one * each, such as *itis or anti*"
            raise DataError("an element of a pattern", expected=expected, got=body, where=where)
        if len(pieces) == 1:
            words.add(fold(pieces[0]))
        else:
            parts.append((fold(pieces[0]), fold(pieces[1])))
    return Choice(folds=ignore_case, words=frozenset(words), parts=parts)


_REPEAT = re.compile(r"\{(\d+)?(,)?(\d+)?\}")


def checked_expression(text: str, ignore_case: bool, where: str) -> re.Pattern[str]:
    """Compile a regular expression that takes bounded time: no repeat of a group with a repeat or a choice in it.

    Groups may not refer to each other, and the text has at most 200 characters. Its repeats and choices multiply the
    ways to match a word; there may be ``MOST_MATCHES`` of them.
    """

    def wrong(expected: str) -> DataError:
        return DataError("a regular expression", expected=expected, got=text[:80], where=where)

    if len(text) > 200 or "(?" in text.replace("(?:", ""):
        raise wrong("at most 200 characters, and no groups other than (…) and (?:…)")
    groups: list[list[int]] = [[0, 1]]  # for each open group: repeats and choices in it, and its alternatives
    endless, ways = 0, 1  # repeats without a limit, and the ways to match all else
    place, is_class, closed = 0, False, 0  # closed: repeats and choices in the group that has just ended
    while place < len(text):
        character, place = text[place], place + 1
        inner, closed = closed, 0
        repeat = _REPEAT.match(text, place - 1) if character == "{" else None
        if character == "\\":
            if text[place : place + 1].isdigit() and text[place] != "0":
                raise wrong("must not refer to a group")
            place += 1
        elif is_class:
            is_class = character != "]"
        elif character == "[":
            is_class = True
        elif character == "(":
            groups.append([0, 1])
            place += 2 * text.startswith("?:", place)
        elif character == ")" and len(groups) > 1:
            closed, alternatives = groups.pop()
            groups[-1][0] += closed
            ways *= alternatives
        elif character == "|":
            groups[-1][0] += 1
            groups[-1][1] += 1
        elif character == "?":
            groups[-1][0] += 1
            ways *= 2
        elif character in "*+" or repeat is not None:
            if inner:
                raise wrong("must not repeat a group that has a repeat or a choice in it")
            groups[-1][0] += 1
            if repeat is None or (repeat[2] and repeat[3] is None):
                endless += 1
            elif repeat[2]:
                ways *= max(1, min(int(repeat[3]), LONGEST_WORD) - int(repeat[1] or 0) + 1)
            place = place if repeat is None else repeat.end()
    if comb(LONGEST_WORD + endless, endless) * ways * groups[0][1] > MOST_MATCHES:
        raise wrong("must have fewer repeats and choices: it could take very long")
    try:
        return re.compile(text, re.IGNORECASE if ignore_case else 0)
    except (re.error, OverflowError) as error:
        raise DataError("a regular expression cannot be read", got=f"{text}: {error}", where=where) from None


@final
@dataclass(frozen=True, kw_only=True)
class PatternRule:
    """Every match of a pattern, from left to right, the longest at each place."""

    name: str
    label: str
    pattern: str
    ignore_case: bool = False
    negated: bool = False
    where: str = ""
    tagger: Any = field(default=None, compare=False)
    """Predicts the tags that ``<pos:TAG>`` asks for."""

    def __post_init__(self) -> None:
        self.compiled  # noqa: B018  an error if it cannot be read

    @property
    def labels(self) -> Sequence[str]:
        return [self.label]

    @cached_property
    def asks_for_tags(self) -> bool:
        """Whether the pattern has ``<pos:TAG>``, and needs a tagger."""
        return re.search(r"(?:^|\s)<pos:", self.pattern) is not None

    @cached_property
    def compiled(self) -> tuple[list[Element], int, int]:
        """The elements, and which of them are the entity."""
        where = self.where or f"rule {self.name!r}"
        elements: list[Element] = []
        first, last = 0, None
        words = re.findall(r"~?/(?:\\.|[^/\\])+/\S*|\S+", self.pattern)
        if [word for word in words if word in ("(", ")")] not in ([], ["(", ")"]):
            expected = "one pair of parentheses, or none"
            raise DataError("a pattern", expected=expected, got=self.pattern[:80], where=where)
        for word in words:
            if word == "(":
                first = len(elements)
            elif word == ")":
                last = len(elements)
            else:
                match = _ELEMENT.fullmatch(word)
                if match is None or (len(word) > 1 and (word[0] == "(" or re.search(r"[^\\]\)$", word))):
                    expected = "words, *, <kinds>, /expressions/, {m,n}, and parentheses with spaces around them"
                    raise DataError("an element of a pattern", expected=expected, got=word, where=where)
                if match["body"].startswith("<pos:") and self.tagger is None:
                    expected = 'needs a tagger of parts of speech, such as pos = "english:upos" at the top of the file'
                    raise DataError("<pos:TAG> in a pattern", expected=expected, where=where)
                least, most = int(match["least"] or 1), int(match["most"] or match["least"] or 1)
                if not 0 <= least <= most <= MOST_REPEATS or most == 0:
                    expected = f"{{m,n}} with 0 <= m <= n and 1 <= n <= {MOST_REPEATS}"
                    raise DataError("repeats in a pattern", expected=expected, got=word, where=where)
                elements.append(Element(_choice(match["body"], self.ignore_case, where), least, most))
        last = len(elements) if last is None else last
        if not 0 < len(elements) <= MOST_ELEMENTS or not any(element.least for element in elements[first:last]):
            expected = f"1 to {MOST_ELEMENTS} elements, and at least one token in the entity"
            raise DataError("a pattern", expected=expected, got=self.pattern[:80] or "nothing", where=where)
        if (longest := sum(element.most for element in elements)) > LONGEST_MATCH:
            raise DataError("a pattern", expected=f"at most {LONGEST_MATCH} tokens", got=longest, where=where)
        return elements, first, last

    def votes(self, sentences: Sequence[Tokens]) -> list[list[Vote]]:
        tagged = [[None] * len(tokens) for tokens in sentences]
        if self.asks_for_tags:
            tagged = self.tagger.predict(sentences)
        first = self.compiled[0][0]

        @lru_cache(maxsize=100_000)
        def may_begin(word: str, tag: str | None) -> bool:
            return not first.least or first.choice.matches(word, tag)

        found: list[list[Vote]] = []
        for tokens, tags in zip(sentences, tagged, strict=True):
            votes, free = [], 0
            for start, (word, tag) in enumerate(zip(tokens, tags, strict=True)):
                if start >= free and may_begin(word, tag):
                    match = self._longest(tokens, tags, start)
                    if match is not None and match[0] >= free:
                        begin, free = match
                        votes.append(Vote(self.name, begin, free, self.label, self.negated))
            found.append(votes)
        return found

    def _longest(self, tokens: Tokens, tags: Sequence[str | None], start: int) -> tuple[int, int] | None:
        """First token and end of the entity in the longest match that begins at ``start``.

        A state is (element, how often it has matched) with the first token and the end of the entity so far. All
        states advance together, so the time is bounded by tokens times states, whatever the pattern.
        """
        elements, first, last = self.compiled
        states: dict[tuple[int, int], tuple[int, int]] = {}
        best: tuple[int, int] | None = None
        reached = start

        def enter(index: int, count: int, begin: int, end: int, place: int) -> None:
            """Add a state and those that follow from it without a token; longer entities replace shorter ones."""
            nonlocal best, reached
            while True:
                if index == first and count == 0:
                    begin = place
                if index == last and count == 0:
                    end = place
                if index == len(elements):
                    if end > begin and (best is None or place >= reached):
                        best, reached = (begin, end), place
                    return
                states.setdefault((index, count), (begin, end))
                if count < elements[index].least:
                    return
                index, count = index + 1, 0

        enter(0, 0, start, start, start)
        for place in range(start, len(tokens)):
            word, tag = tokens[place], tags[place]
            advanced, states = states, {}
            for (index, count), (begin, end) in advanced.items():
                element = elements[index]
                if count < element.most and element.choice.matches(word, tag):
                    is_done = count + 1 == element.most
                    enter(index + is_done, 0 if is_done else count + 1, begin, end, place + 1)
            if not states:
                break
        return best


# ---------------------------------------------------------------------------------------- rules of names as plain data

FLAGS = ("ignore_case", "variants", "inflected")
KEYS: Mapping[str, Collection[str]] = {
    "list": ("name", "label", "not", *FLAGS),
    "pattern": ("name", "label", "not", "ignore_case"),
}
"""Kind of rule -> the keys that its table may have in addition."""


def table_of(rule: ListRule | PatternRule) -> dict[str, Any]:
    """The rule as a table of a file of rules."""
    content = {"list": list(rule.phrases)} if isinstance(rule, ListRule) else {"pattern": rule.pattern}
    flags = {flag: True for flag in FLAGS if getattr(rule, flag, False)}
    return {"name": rule.name, "not" if rule.negated else "label": rule.label, **content, **flags}


def kind_of_table(table: Mapping[str, Any], keys: Mapping[str, Collection[str]], where: str) -> str:
    """The kind of the rule in a table, whose keys are checked."""
    kinds = [kind for kind in keys if kind in table]
    if len(kinds) != 1:
        expected = "one of " + ", ".join(keys)
        got = ", ".join(kinds) or ", ".join(map(str, table))[:80] or "nothing"
        raise DataError("a rule", expected=expected, got=got, where=where)
    (kind,) = kinds
    for key in table:
        if key not in keys[kind] and key != kind:
            expected, hint = ", ".join(sorted(keys[kind])), similar(key, keys[kind])
            raise DataError(f"a rule with {kind}", expected=expected, got=key[:80] + hint, where=where)
    return kind


def text_of(table: Mapping[str, Any], key: str, where: object) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value.strip() or not is_printable(value):
        raise DataError(key, expected="a text", got=repr(value)[:80], where=where)
    return value


def rule_of_table(table: Mapping[str, Any], number: int, where: str, tagger: Any = None) -> ListRule | PatternRule:
    """The list or the pattern of a table, with the names of the list in it. Everything is checked."""
    kind = kind_of_table(table, KEYS, where)
    flags: dict[str, Any] = {flag: table[flag] for flag in FLAGS if flag in table}
    if wrong := [flag for flag, value in flags.items() if not isinstance(value, bool)]:
        raise DataError(wrong[0], expected="true or false", got=repr(table[wrong[0]])[:80], where=where)
    is_against = "not" in table
    if is_against == ("label" in table):
        raise DataError("a rule", expected="either label or not", got="both" if is_against else "neither", where=where)
    label = text_of(table, "not" if is_against else "label", where)
    name = text_of(table, "name", where) if "name" in table else f"{label} {number}"
    if kind == "pattern":
        flags |= {"pattern": text_of(table, "pattern", where), "where": where, "tagger": tagger}
        return PatternRule(name=name, label=label, negated=is_against, **flags)
    phrases = table["list"]
    if not isinstance(phrases, list) or not all(isinstance(phrase, str) for phrase in phrases):
        raise DataError("list", expected="a file or a list of names", got=repr(phrases)[:80], where=where)
    phrases = [phrase for phrase in phrases if phrase.strip()]
    if not phrases:
        raise DataError("list", expected="at least one name", got="none", where=where)
    return ListRule(name=name, label=label, phrases=phrases, negated=is_against, **flags)


# ------------------------------------------------------------------------------------- models, functions, other people


@final
@dataclass(frozen=True, kw_only=True)
class ModelRule:
    """The entities that a fitted tagger predicts. ``classes`` maps its classes to those of the rules."""

    name: str
    model: Any
    classes: Mapping[str, str]

    @property
    def labels(self) -> Sequence[str]:
        return sorted(set(self.classes.values()))

    def votes(self, sentences: Sequence[Tokens]) -> list[list[Vote]]:
        found = map(spans_from_labels, self.model.predict(sentences))
        known = ([span for span in spans if span.label in self.classes] for spans in found)
        return [[Vote(self.name, start, end, self.classes[label]) for label, start, end in spans] for spans in known]


@final
@dataclass(frozen=True, kw_only=True)
class FunctionRule:
    """A function from the tokens of a sentence to spans ``(start, end, label)``."""

    name: str
    function: Callable[[Tokens], Iterable[tuple[int, int, str]]]
    labels: Sequence[str]

    def votes(self, sentences: Sequence[Tokens]) -> list[list[Vote]]:
        return [checked_spans(self.function(tokens), tokens, self.name, self.labels) for tokens in sentences]


@final
@dataclass(frozen=True, kw_only=True)
class ColumnRule:
    """Votes that somebody else has cast, such as a colleague or a language model: spans of each known sentence."""

    name: str
    spans: Mapping[tuple[str, ...], Sequence[tuple[int, int, str]]]
    labels: Sequence[str]

    def votes(self, sentences: Sequence[Tokens]) -> list[list[Vote]]:
        spans = self.spans
        return [checked_spans(spans.get(tuple(one), ()), one, self.name, self.labels) for one in sentences]


def checked_spans(
    spans: Iterable[tuple[int, int, str]], tokens: Tokens, name: str, labels: Sequence[str]
) -> list[Vote]:
    """Votes for spans that are inside the sentence, of known classes, and do not overlap."""
    votes: list[Vote] = []
    for start, end, label in sorted(spans):
        if not 0 <= start < end <= len(tokens) or label not in labels or (votes and start < votes[-1].end):
            expected = f"separate spans inside {len(tokens)} tokens, of {', '.join(labels)}"
            raise DataError("spans of a rule", expected=expected, got=(start, end, label), where=f"rule {name!r}")
        votes.append(Vote(name, start, end, label))
    return votes


@final
class Rules:
    """Rules with different names, in their order."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        rules = list(rules)
        self._rules = {rule.name: rule for rule in rules}
        if not 0 < len(rules) <= MOST_RULES or len(self._rules) != len(rules):
            raise ConfigurationError("rules", expected=f"1 to {MOST_RULES} with different names", got=len(rules))
        for rule in rules:
            if marked := [label for label in rule.labels if isinstance(label, str) and SEPARATOR in label]:
                expected = f"no {SEPARATOR}, which separates classes"
                raise ConfigurationError("name of a class", expected=expected, got=repr(marked[0])[:80])
            for name in (rule.name, *rule.labels):
                if not isinstance(name, str) or not name or not is_printable(name) or len(name) > LONGEST_WORD:
                    raise ConfigurationError("name of a rule or a class", expected="a short text", got=repr(name)[:80])

    def __iter__(self) -> Any:
        return iter(self._rules.values())

    def __len__(self) -> int:
        return len(self._rules)

    def __getitem__(self, name: str) -> Rule:
        return self._rules[name]

    @property
    def names(self) -> list[str]:
        return list(self._rules)

    @property
    def labels(self) -> list[str]:
        """All classes that a rule may vote for."""
        return sorted({label for rule in self for label in rule.labels})

    def votes(self, sentences: Sequence[Tokens]) -> list[list[Vote]]:
        """The votes of all rules about each sentence."""
        together: list[list[Vote]] = [[] for _ in sentences]
        for rule in self:
            for votes, more in zip(together, rule.votes(sentences), strict=True):
                votes += more
        return together


# ----------------------------------------------------------------------------------------------- answers without places
# A name that occurs once in its text is a vote for that span, like any other. If it occurs more often, or was given
# several classes, at least one of the occurrences is an entity of the class: ``objectives/mentions.py`` sums over them.


Occurrence = tuple[tuple[str, ...], int, int]  # a sentence, and where the name begins and ends in it


class TextAnswer(NamedTuple):
    """The sentences of a text, and the names in it with their classes."""

    sentences: Sequence[Tokens]
    mentions: Sequence[tuple[str, str]]


class Ambiguous(NamedTuple):
    """A name of which at least one occurrence is an entity of the class."""

    label: str
    occurrences: Sequence[Occurrence]


@final
@dataclass(frozen=True, kw_only=True)
class MentionRule:
    """Names and their classes in texts. Of names that overlap, the longest counts; one that is not found is ignored."""

    name: str
    texts: Sequence[TextAnswer]

    @property
    def labels(self) -> Sequence[str]:
        return sorted({label for answer in self.texts for _, label in answer.mentions})

    @property
    def sentences(self) -> list[Tokens]:
        """Those of all texts: they are learned from, whether other raw text has them or not."""
        return [tokens for answer in self.texts for tokens in answer.sentences]

    @cached_property
    def _found(self) -> tuple[dict[tuple[str, ...], list[Vote]], list[Ambiguous]]:
        votes: dict[tuple[str, ...], list[Vote]] = {}
        ambiguous, spelling = [], SPELLINGS[False, False]
        for sentences, mentions in self.texts:
            classes: dict[str, set[str]] = {}  # by the spelling in which lists look names up
            for text, label in mentions:
                classes.setdefault(text.translate(spelling), set()).add(label)
            # A text can repeat a sentence: its labels are the same then.
            distinct = list(dict.fromkeys(tuple(tokens) for tokens in sentences if tokens))
            finder = ListRule(name=self.name, label="", phrases=list(classes))
            places: dict[str, list[Occurrence]] = {}
            for tokens, found in zip(distinct, finder.votes(distinct), strict=True):
                for vote in found:
                    text = "".join(tokens[vote.start : vote.end]).translate(spelling)
                    places.setdefault(text, []).append((tokens, vote.start, vote.end))
            for text, occurrences in places.items():
                labels = sorted(classes.get(text, ()))
                tokens, start, end = occurrences[0]
                if len(occurrences) == len(labels) == 1:
                    of_sentence = votes.setdefault(tokens, [])
                    if all(end <= other.start or other.end <= start for other in of_sentence):
                        of_sentence.append(Vote(self.name, start, end, labels[0]))
                else:
                    ambiguous += [Ambiguous(label, occurrences) for label in labels]
        return votes, ambiguous

    @property
    def ambiguous(self) -> list[Ambiguous]:
        """The names that are not votes."""
        return self._found[1]

    def votes(self, sentences: Sequence[Tokens]) -> list[list[Vote]]:
        return [sorted(self._found[0].get(tuple(tokens), ())) for tokens in sentences]
