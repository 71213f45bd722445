"""Labelling schemes: how the label of every token spells spans over tokens (E1).

    tokens    Anna  Berg  Oslo  Paris  and
    BIO       B-PER I-PER B-LOC B-LOC  O     every span opens with B
    IOB1      I-PER I-PER I-LOC B-LOC  O     B only between two touching spans of one class
    IOBES     B-PER E-PER S-LOC S-LOC  O     the last token is E, a span of one token S
    none      NOUN  NOUN  PROPN PROPN  CCONJ labels stand for themselves (parts of speech)
    IO        PER   PER   LOC   LOC    O     classes alone: a run of one class is one span, here Oslo Paris

BILOU and BMEWO are IOBES in other letters: they are read as IOBES and written on request. IO is only read and written
on request, never recognised: parts of speech look the same. Models learn it as BIO.

Sequences that break their scheme still have one reading, that of conlleval: a span continues as long as the class
stays the same, and ends before B and S and after E and S. So ``O I-PER`` opens a span, and ``I-PER I-LOC`` holds two.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from postil.errors import ConfigurationError, DataError, SchemeWarning, warn_caller
from postil.text.report import counted


class Span(NamedTuple("_SpanFields", [("label", str), ("start", int), ("end", int)])):
    """Tokens ``start`` to ``end`` (exclusive) have the class ``label``."""

    __slots__ = ()

    def __new__(cls, label: str, start: int, end: int) -> "Span":
        """Constraints are ``(start, end, label)``: another order is an error, not a span with the class 0."""
        fields: tuple[object, ...] = (label, start, end)
        if [isinstance(value, str) for value in fields] != [True, False, False]:
            got = f"Span({label!r}, {start!r}, {end!r})"
            raise ConfigurationError("fields of a span", expected="Span(label, start, end)", got=got)
        return super().__new__(cls, label, start, end)


class ParsedLabel(NamedTuple):
    """A label taken apart: its role (B, I, E, S or O), its class, and whether its prefix is one that exists."""

    role: str
    label: str
    known: bool


class TransitionMask(NamedTuple):
    """Which label may follow which: ``transitions[i, j]`` from i to j (L, L), first ``start`` and last ``end`` (L,)."""

    transitions: NDArray[np.bool_]
    start: NDArray[np.bool_]
    end: NDArray[np.bool_]


# Letters for (first token, middle, last, only token) of a span. IOB1 differs from BIO only in where it needs its B.
LETTERS = {
    "iob1": ("B", "I", "I", "B"),
    "bio": ("B", "I", "I", "B"),
    "iobes": ("B", "I", "E", "S"),
    "bilou": ("B", "I", "L", "U"),
    "bmewo": ("B", "M", "E", "W"),
}
SCHEMES = (*LETTERS, "none")
IO = "io"
_RULES = {"iob1": "iob1", "bio": "bio", "iobes": "iobes", "bilou": "iobes", "bmewo": "iobes"}
_ROLES = {"B": "B", "I": "I", "M": "I", "E": "E", "L": "E", "S": "S", "U": "S", "W": "S"}
_ROLES_OF = {"iob1": "OBI", "bio": "OBI", "iobes": "OBIES"}


@lru_cache(maxsize=65536)
def parse_label(label: str) -> ParsedLabel:
    """Take ``B-some-thing`` apart at its first hyphen. ``X-PER`` is read as I, a label without prefix as O."""
    prefix, hyphen, name = label.partition("-")
    if prefix == "O":
        return ParsedLabel("O", "", not hyphen)
    if prefix in _ROLES:
        return ParsedLabel(_ROLES[prefix], name, True)
    return ParsedLabel("I", name, False) if name else ParsedLabel("O", "", False)


@lru_cache(maxsize=65536)
def in_iobes_letters(label: str) -> str:
    """``L-PER`` of BILOU as ``E-PER``, ``W-PER`` of BMEWO as ``S-PER``; other labels stay as they are."""
    tag = parse_label(label)
    if not tag.known or tag.role == "O":
        return label
    return f"{tag.role}-{tag.label}" if tag.label else tag.role


def spans_from_labels(labels: Sequence[str], scheme: str = "bio") -> list[Span]:
    """The spans that ``labels`` encode, by conlleval's rules, in order. All span schemes are read by the same rules.

    A mark is in no span.
    """
    _require_spans(scheme)
    spans = []
    start, previous = 0, "O"
    if scheme == IO:
        labels = [label if label == "O" or isinstance(label, PartialLabel) else f"I-{label}" for label in labels]
    for position, label in enumerate((*labels, "O")):
        if label == previous == "O":  # most tokens of most texts
            continue
        if isinstance(label, PartialLabel):
            label = "O"
        if not _continues(previous, label):
            tag = parse_label(previous)
            if tag.role != "O":
                spans.append(Span(tag.label, start, position))
            start = position
        previous = label
    return spans


def labels_from_spans(spans: Iterable[Span], length: int, scheme: str = "bio") -> list[str]:
    """One label per token. Spans may be in any order, but must not overlap or exceed ``0 … length``."""
    _require_spans(scheme)
    first, middle, last, only = LETTERS.get(scheme, ("", "", "", ""))
    labels = ["O"] * length
    previous = Span("", -1, -1)
    for span in sorted(spans, key=lambda span: (span.start, span.end)):
        if not 0 <= span.start < span.end <= length:
            raise DataError(f"span {tuple(span)} is empty or out of range", expected=f"0 <= start < end <= {length}")
        if span.start < previous.end:
            raise DataError("spans overlap", expected=f"a start of {previous.end} or more", got=f"{tuple(span)}")
        inside = [middle] * (span.end - span.start)
        inside[0], inside[-1] = first, last
        if len(inside) == 1:
            inside[0] = only
        if scheme == "iob1" and (previous.label, previous.end) != (span.label, span.start):
            inside[0] = middle
        labels[span.start : span.end] = [
            f"{letter}-{span.label}" if letter and span.label else letter or span.label for letter in inside
        ]
        previous = span
    return labels


def convert(labels: Sequence[str], source: str, target: str) -> list[str]:
    """The same spans spelled in another scheme. ``none`` converts to ``none`` only."""
    if source == target == "none":
        return list(labels)
    return labels_from_spans(spans_from_labels(labels, source), len(labels), target)


def from_io(labels: Sequence[str]) -> list[str]:
    """Classes without prefixes in BIO: neighbours of one class are one span. What looks like a mark stays."""
    marked = [PartialLabel(label) if looks_like_mark(label) else label for label in labels]
    new = convert(marked, IO, "bio")
    return [one if isinstance(mark, PartialLabel) else two for one, mark, two in zip(labels, marked, new, strict=True)]


def violations(labels: Sequence[str], scheme: str) -> list[int]:
    """Positions whose label does not exist in the scheme or may not follow the label before it.

    A sentence that ends inside an IOBES span is violated at its last token. Next to a mark, anything is allowed.
    """
    if scheme == IO or check_scheme_name(scheme) == "none":
        return []
    edges_are_outside = ["O", *labels, "O"]
    broken = [
        t
        for t, (one, other) in enumerate(pairwise(edges_are_outside))
        if not (isinstance(one, PartialLabel) or isinstance(other, PartialLabel) or may_follow(one, other, scheme))
    ]
    if broken and broken[-1] == len(labels):
        broken[-1] -= 1
    return broken[:-1] if broken[-2:-1] == broken[-1:] else broken


def recognise(sequences: Iterable[Sequence[str]]) -> str:
    """``"iob1"``, ``"bio"``, ``"iobes"`` or ``"none"``: the scheme with the fewest violations (BIO in case of a tie).

    It is ``"none"`` unless labels such as ``B-PER`` outnumber all others; a few stray labels do not change the result.
    Bare letters (``B``, ``I``) form a scheme only if no other label stands alone. A mark counts for what all
    its alternatives are; names of classes in marks count for nothing.
    """
    pairs: Counter[tuple[str, str]] = Counter()
    kinds: Counter[str] = Counter()  # of labels; first of marks and of labels after one
    has_marks = has_outside = False
    for labels in sequences:
        has_outside |= "O" in labels
        neighbours = list(pairwise(["O", *labels, "O"]))
        if any(isinstance(label, PartialLabel) for label in labels):
            has_marks = True
            of_marks = [pair for pair in neighbours if any(isinstance(label, PartialLabel) for label in pair)]
            pairs.update(pair for pair in neighbours if not any(isinstance(label, PartialLabel) for label in pair))
            kinds.update(_kind_of_label(label) for _, label in of_marks)
        else:
            pairs.update(neighbours)
    for (_, label), count in pairs.items():
        kinds[_kind_of_label(label)] += count
    if kinds["strange"] and kinds["strange"] >= kinds["with class"]:
        return "none"
    if has_marks and not (kinds["with class"] or kinds["bare"] or has_outside):
        return "none"
    broken = {
        scheme: sum(n for (one, other), n in pairs.items() if not may_follow(one, other, scheme))
        for scheme in ("bio", "iobes", "iob1")
    }
    return min(broken, key=broken.__getitem__)


def transition_mask(labels: Sequence[str], scheme: str) -> TransitionMask:
    """The label bigrams, first and last labels that occur in valid sequences of the scheme; everything for "none"."""
    if check_scheme_name(scheme) == "none":
        size = len(labels)
        return TransitionMask(np.ones((size, size), bool), np.ones(size, bool), np.ones(size, bool))
    for label in labels:
        if not belongs(label, scheme):
            what, letters = f"label is not of the {scheme.upper()} scheme", ", ".join(dict.fromkeys(LETTERS[scheme]))
            raise ConfigurationError(what, expected=f"O or a class after {letters}", got=repr(label))
    # ``may_follow`` for all pairs at once, (L, L): a thousand classes make sixteen million of them.
    tags = [parse_label(label) for label in labels]
    number = {name: i for i, name in enumerate(dict.fromkeys(tag.label for tag in tags))}
    classes = np.array([number[tag.label] for tag in tags], np.int64)
    roles = np.array([tag.role for tag in tags], "U1")
    opens = np.isin(roles, ["B", "I"])
    continues = opens[:, None] & (classes[:, None] == classes)
    if (rules := _RULES[scheme]) == "iobes":
        allowed = np.where(np.isin(roles, ["I", "E"]), continues, ~opens[:, None])
    else:
        allowed = (roles != {"bio": "I", "iob1": "B"}[rules]) | continues
    return TransitionMask(
        allowed,
        np.array([may_follow("O", label, scheme) for label in labels], bool),
        np.array([may_follow(label, "O", scheme) for label in labels], bool),
    )


def check_scheme_name(scheme: str) -> str:
    """Return ``scheme`` or raise: the one place where names of schemes are checked."""
    if scheme not in SCHEMES:
        raise ConfigurationError("unknown labelling scheme", expected=" or ".join(SCHEMES), got=repr(scheme))
    return scheme


@lru_cache(maxsize=65536)
def _continues(previous_label: str, label: str) -> bool:
    """conlleval: does ``label`` prolong the span of the label before it?"""
    previous, tag = parse_label(previous_label), parse_label(label)
    return tag.role in "IE" and previous.role in "BI" and tag.label == previous.label


def _kind_of_label(label: str) -> str:
    if isinstance(label, PartialLabel):
        kinds = {_kind_of_label(part) for part in label.alternatives}
        return "with class" if "with class" in kinds and kinds <= {"with class", "outside"} else "mark"
    tag = parse_label(label)
    if not tag.known:
        return "strange"
    return "outside" if label == "O" else "with class" if tag.label else "bare"


def belongs(label: str, scheme: str) -> bool:
    """Whether a label exists in a scheme."""
    tag = parse_label(label)
    return tag.known and tag.role in _ROLES_OF[_RULES[scheme]]


@lru_cache(maxsize=65536)
def may_follow(previous_label: str, label: str, scheme: str) -> bool:
    """The grammar of each scheme as a relation between neighbouring labels; sentence edges count as O."""
    previous, tag, rules = parse_label(previous_label), parse_label(label), _RULES[scheme]
    if not belongs(label, scheme):
        return False
    span_continues = previous.role in "BI" and previous.label == tag.label
    if rules == "bio":
        return tag.role != "I" or span_continues
    if rules == "iob1":
        return tag.role != "B" or span_continues
    return span_continues if tag.role in "IE" else previous.role not in "BI"


def _require_spans(scheme: str) -> None:
    if scheme != IO and check_scheme_name(scheme) == "none":
        raise ConfigurationError("labels without a scheme have no spans", expected=" or ".join(LETTERS), got="'none'")


# ---------------------------------------------------------------------------------------------------------------- marks
#
# A mark stands in the place of a label and says what is known about a token without one:
#
#     ?              nothing is known
#     B-PER|O        one of these labels
#     PER|ORG        one of the labels of these classes
#
# A mark is still a string, so readers, writers and lists of labels need not distinguish it. ``partial.with_marks``
# decides, once, which strings of a corpus are marks and which are labels that look like them.


UNKNOWN = "?"
SEPARATOR = "|"


@final
class PartialLabel(str):
    """A string in the place of a label that says what is known about an unknown label."""

    __slots__ = ()

    @property
    def alternatives(self) -> tuple[str, ...]:
        """Labels and classes of which one is correct; empty if nothing is known."""
        return () if self == UNKNOWN else tuple(part.strip() for part in self.split(SEPARATOR))


def looks_like_mark(label: str) -> bool:
    """Whether a string could be a mark. It could also be an ordinary label: parts of speech have such labels."""
    return label == UNKNOWN or (SEPARATOR in label and all(part.strip() for part in label.split(SEPARATOR)))


class SchemeReport(NamedTuple):
    """How well label sequences follow a scheme; ``first`` is (sentence, token) of the first violation, from 0."""

    scheme: str
    broken: int
    sentences: int
    first: tuple[int, int] | None
    example: str


def inspect(sequences: Iterable[Sequence[str]], scheme: str) -> SchemeReport:
    """Count the places that break ``scheme`` over all sentences."""
    broken, sentences, first, example = 0, 0, None, ""
    for number, labels in enumerate(sequences):
        positions = violations(labels, scheme)
        if positions and first is None:
            first, t = (number, positions[0]), positions[0]
            before = repr(labels[t - 1]) if t else "the start of the sentence"
            example = f"{labels[t]!r} after {before}"
            if not belongs(labels[t], scheme):
                example = f"{labels[t]!r} is not a label of this scheme"
            elif may_follow(labels[t - 1] if t else "O", labels[t], scheme):
                example = f"{labels[t]!r} at the end of the sentence"
        broken += len(positions)
        sentences += bool(positions)
    return SchemeReport(scheme, broken, sentences, first, example)


def check(sequences: Sequence[Sequence[str]], scheme: str | None = None, *, where: str = "") -> None:
    """Warn once with the counts of broken labels (`SchemeWarning`). The scheme is recognised unless it is given."""
    if what := complaint(sequences, scheme or recognise(sequences)):
        warn_caller(f"{where}: {what}" if where else what, SchemeWarning)


def complaint(
    sequences: Sequence[Sequence[str]], scheme: str, place: Callable[[int, int], str] | None = None
) -> str | None:
    """Describe the errors in labels read by ``scheme``, and how they are read; None if there are none.

    ``place`` says where a token of a sentence is, both counted from 0: ``on line 7``.
    """
    if scheme == "none":
        return _mixed(sequences, place or (lambda sentence, token: f"in sentence {sentence + 1}, token {token + 1}"))
    report = inspect(sequences, scheme)
    if report.first is None:
        return None
    return f"{summarise(report, place(*report.first) if place else '')}; read by conlleval's rules"


def _mixed(sequences: Sequence[Sequence[str]], place: Callable[[int, int], str]) -> str | None:
    """Labels without a scheme of which many are spelled as if they had one: B-PER, I-PER and 0 where O was meant."""

    def spells_span(label: str) -> bool:  # B-PER, also b-per
        prefix, _, name = label.partition("-")
        return bool(name) and prefix.upper() in _PREFIXES and not isinstance(label, PartialLabel)

    spans = [
        (sentence, token, label)
        for sentence, labels in enumerate(sequences)
        for token, label in enumerate(labels)
        if spells_span(label)
    ]
    others = Counter(label for labels in sequences for label in labels if label != "O" and not spells_span(label))
    prefixes = {label.partition("-")[0] for _, _, label in spans}
    if not others or not spans or (len(prefixes) == 1 and len(spans) < _FEW * others.total()):
        return None  # parts of speech, one of which has a hyphen
    sentence, token, first = spans[0]
    return (
        f"{len(spans):,} labels mark spans, first {place(sentence, token)}: {first!r}, but {others.total():,} labels "
        f"do not, such as {others.most_common(1)[0][0]!r}; all are read as labels without spans and scored by token "
        f"accuracy (the label outside of spans is 'O')"
    )


_FEW = 0.05


_PREFIXES = frozenset(letter for letters in LETTERS.values() for letter in letters)


def summarise(report: SchemeReport, place: str = "") -> str:
    """One line on a report with breaks: how many, where the first one is (``place``, if given) and how it looks."""
    sentence, token = report.first or (0, 0)
    verb = "violates" if report.broken == 1 else "violate"
    place = place or f"in sentence {sentence + 1}, token {token + 1}"
    size = f"{counted(report.broken, 'label')} in {counted(report.sentences, 'sentence')}"
    return f"{size} {verb} the {report.scheme.upper()} scheme, first {place}: {report.example}"
