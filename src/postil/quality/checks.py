"""Labelled data to examine, as named splits, and the checks that need no model: one function per kind of finding."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, final
from zlib import crc32

import numpy as np

from postil.features.inputs import Sentences, forms_of
from postil.models.inputs import checked_labelled
from postil.text import Span, with_marks
from postil.text.labels.partial import Labels
from postil.text.labels.schemes import PartialLabel, convert, recognise, spans_from_labels, violations

RARE = 5  # examples of a class below which little can be learned about it
LONG = 200  # tokens of a sentence above which it is probably several
SIMILAR = 0.8  # share of common word triples above which two sentences are near-duplicates
Place = Callable[[int, int], str]  # where a token of a sentence stands, both counted from 0


@final
@dataclass(frozen=True, eq=False)
class Split:
    """Sentences that are used together: for training, for development, for testing."""

    name: str
    X: Sentences
    labels: Labels
    scheme: str
    place: Place
    documents: Sequence[int] = field(default=())  # of each sentence; empty if none are marked

    @classmethod
    def of(cls, name: str, X: Any, y: Any) -> "Split":
        """From what a program passes."""
        X, y = checked_labelled(X, y)
        y = with_marks(y, X)
        return cls(name, X, y, recognise(y), lambda sentence, token: f"sentence {sentence + 1}, token {token + 1}")

    @cached_property
    def tokens(self) -> list[list[str]]:
        """The forms."""
        return list(map(forms_of, self.X))

    @cached_property
    def spans(self) -> list[list[Span]]:
        """The entities of every sentence; without a scheme, none."""
        if self.scheme == "none":
            return [[] for _ in self.X]
        return [spans_from_labels(known_labels(labels), self.scheme) for labels in self.labels]

    @cached_property
    def classes(self) -> Counter[str]:
        """How many entities of each class there are; without a scheme, how many tokens have each label."""
        if self.scheme == "none":
            return Counter(label for labels in self.labels for label in labels if not isinstance(label, PartialLabel))
        return Counter(span.label for spans in self.spans for span in spans)

    def form(self, sentence: int, span: Span) -> tuple[str, ...]:
        return tuple(self.tokens[sentence][span.start : span.end])

    def excerpt(self, sentence: int, start: int, end: int, words: int = 6) -> str:
        """The tokens around a span, which is in brackets."""
        tokens = self.tokens[sentence]
        left, right = tokens[max(0, start - words) : start], tokens[end : end + words]
        shown = [*["…"] * (start > words), *left, f"[{' '.join(tokens[start:end])}]", *right]
        return " ".join([*shown, *["…"] * (end + words < len(tokens))])


def known_labels(labels: Sequence[str]) -> list[str]:
    """The labels, with O where one is unknown."""
    return ["O" if isinstance(label, PartialLabel) else label for label in labels]


class Occurrence(NamedTuple):
    """A place where a form occurs: labelled as an entity of this class, or "" if not exactly as one."""

    split: int
    sentence: int
    start: int
    label: str


def occurrences(splits: Sequence[Split], forms: set[tuple[str, ...]]) -> dict[tuple[str, ...], list[Occurrence]]:
    """Every place where one of the forms occurs, entity or not.

    Inside of a longer entity a form is part of another name (New York in New York Times) and does not count, nor where
    one of its labels is unknown.
    """
    by_first: dict[str, set[int]] = {}
    for form in forms:
        by_first.setdefault(form[0], set()).add(len(form))
    found: dict[tuple[str, ...], list[Occurrence]] = {form: [] for form in forms}
    for number, split in enumerate(splits):
        for i, tokens in enumerate(split.tokens):
            exact = {(span.start, span.end): span.label for span in split.spans[i]}
            for start, end in ((at, at + n) for at, token in enumerate(tokens) for n in by_first.get(token, ())):
                form = tuple(tokens[start:end])
                if form not in forms:
                    continue
                label = exact.get((start, end))
                inside = any(a < end and start < b for a, b in exact)
                unknown = any(isinstance(label, PartialLabel) for label in split.labels[i][start:end])
                if label is not None or not (inside or unknown):
                    found[form].append(Occurrence(number, i, start, label or ""))
    return found


class Finding(NamedTuple):
    """Something to look at."""

    kind: str
    where: str
    what: str
    excerpt: str = ""


def _scheme(splits: Sequence[Split]) -> Iterator[Finding]:
    for split in splits:
        if split.scheme == "none":
            continue
        for i, labels in enumerate(split.labels):
            for token in violations(labels, split.scheme):
                repaired = convert(known_labels(labels), split.scheme, split.scheme)[token]
                what = f"{labels[token]} breaks the {split.scheme.upper()} scheme; it is read as {repaired}"
                yield Finding("scheme", split.place(i, token), what, split.excerpt(i, token, token + 1))


def _same_sentence(splits: Sequence[Split]) -> Iterator[Finding]:
    """Across splits always; inside one only if the labels differ: repeated lines are common and harmless."""
    first: dict[tuple[str, ...], tuple[int, int]] = {}
    for number, split in enumerate(splits):
        for i, tokens in enumerate(split.tokens):
            key = tuple(tokens)
            if len(key) < 3:
                continue
            other, j = first.setdefault(key, (number, i))
            if (other, j) == (number, i):
                continue
            same = list(split.labels[i]) == list(splits[other].labels[j])
            if other != number or not same:
                labels = "with the same labels" if same else "with other labels"
                what = f"the same sentence as at {splits[other].place(j, 0)}, {labels}"
                yield Finding("duplicate", split.place(i, 0), what, " ".join(tokens[:14]))


_BANDS, _WIDTH, _LARGEST_BUCKET = 8, 3, 50


def _near_duplicates(splits: Sequence[Split]) -> Iterator[Finding]:
    """Sentences of different splits that share most of their word triples.

    Candidates come from minimum hashes: similar sentences almost always agree in some band of them.
    """
    rows = [
        (number, i) for number, split in enumerate(splits) for i, tokens in enumerate(split.tokens) if len(tokens) > 7
    ]
    triples = []
    for number, i in rows:
        words = [token.lower() for token in splits[number].tokens[i]]
        texts = (" ".join(words[at : at + 3]).encode("utf-8", "replace") for at in range(len(words) - 2))
        triples.append(frozenset(map(crc32, texts)))  # Python's own hash changes from process to process
    factors = np.random.default_rng(0).integers(1, 1 << 31, (_BANDS * _WIDTH, 2)).astype(np.uint64)
    signatures = np.zeros((len(triples), _BANDS * _WIDTH), np.uint64)
    for row, hashes in enumerate(triples):
        values = np.array([*hashes] or [0], np.uint64)[:, None]
        signatures[row] = ((values * factors[:, 0] + factors[:, 1]) % np.uint64(4294967291)).min(axis=0)
    seen: set[tuple[int, int]] = set()
    for band in np.split(signatures, _BANDS, axis=1):
        buckets: dict[tuple[int, ...], list[int]] = {}
        for row, key in enumerate(map(tuple, band.tolist())):
            buckets.setdefault(key, []).append(row)
        cut = [bucket[:_LARGEST_BUCKET] for bucket in buckets.values()]
        for a, b in ((a, b) for bucket in cut for place, b in enumerate(bucket) for a in bucket[:place]):
            if rows[a][0] == rows[b][0] or (a, b) in seen:
                continue
            seen.add((a, b))
            share = len(triples[a] & triples[b]) / max(1, len(triples[a] | triples[b]))
            if triples[a] != triples[b] and share >= SIMILAR:
                (one, i), (two, j) = rows[a], rows[b]
                what = f"almost the same sentence as at {splits[one].place(i, 0)}"
                yield Finding("near-duplicate", splits[two].place(j, 0), what, " ".join(splits[two].tokens[j][:14]))


def _inconsistent(splits: Sequence[Split]) -> Iterator[Finding]:
    """Forms that are an entity of one class here, and of another class or none there."""
    forms = {split.form(i, span) for split in splits for i, spans in enumerate(split.spans) for span in spans}
    for form, places in sorted(occurrences(splits, forms).items(), key=lambda pair: (-len(pair[1]), pair[0])):
        counts = Counter(place.label for place in places)
        classes = {label for label in counts if label}
        # A common word that is now and then a name (May, Will) is labelled O for good reason.
        mostly_outside = counts[""] > sum(counts[label] for label in classes)
        if len(classes) < 2 and (not counts[""] or mostly_outside):
            continue
        usual = max(sorted(classes), key=counts.__getitem__)
        listed = ", ".join(f"{label or 'no entity'} {number:,}" for label, number in counts.most_common())
        for place in places:
            if place.label == usual or (mostly_outside and not place.label):
                continue
            split, end = splits[place.split], place.start + len(form)
            what = f"{' '.join(form)} is {place.label or 'no entity'} here; everywhere: {listed}"
            where = split.place(place.sentence, place.start)
            yield Finding("inconsistent", where, what, split.excerpt(place.sentence, place.start, end))


def _forgotten(splits: Sequence[Split]) -> Iterator[Finding]:
    """Forms that are an entity in a document and occur in the same document without a label."""
    for split in splits:
        if not split.documents:
            continue
        labelled: dict[tuple[int, tuple[str, ...]], str] = {}
        for i, spans in enumerate(split.spans):
            for span in spans:
                labelled.setdefault((split.documents[i], split.form(i, span)), span.label)
        for form, places in sorted(occurrences([split], {form for _, form in labelled}).items()):
            for place in places:
                label = labelled.get((split.documents[place.sentence], form))
                if not place.label and label:
                    what = f"{' '.join(form)} is {label} elsewhere in this document and nothing here"
                    excerpt = split.excerpt(place.sentence, place.start, place.start + len(form))
                    yield Finding("forgotten", split.place(place.sentence, place.start), what, excerpt)


def _rare(splits: Sequence[Split]) -> Iterator[Finding]:
    split = splits[0]
    for label, number in sorted(split.classes.items(), key=lambda pair: (pair[1], pair[0])):
        if number < RARE:
            where = next(
                split.place(i, t)
                for i, labels in enumerate(split.labels)
                for t, name in enumerate(known_labels(labels))
                if name == label or name.partition("-")[2] == label
            )
            examples = f"{number} example{'s' * (number != 1)}"
            yield Finding("rare", where, f"{label or '(unnamed)'} has only {examples} in {split.name}")


def _missing(splits: Sequence[Split]) -> Iterator[Finding]:
    everywhere = Counter[str]()
    for split in splits:
        everywhere.update(split.classes)
    for split in splits:
        for label, number in everywhere.most_common():
            if label not in split.classes:
                what = f"{label or '(unnamed)'} does not occur in {split.name} ({number:,} times in all)"
                yield Finding("missing", split.name, what)


_OPENING, _CLOSING = ("(", "[", "“", '"', "``", "'"), (")", "]", "”", '"', "''", "'")


def _boundaries(splits: Sequence[Split]) -> Iterator[Finding]:
    for split in splits:
        for i, spans in enumerate(split.spans):
            for span in spans:
                form = split.form(i, span)
                edges: tuple[tuple[str, str], ...] = ((form[0], "begins with"), (form[-1], "ends with"))
                if len(form) == 1:
                    edges = ((form[0], "is nothing but"),)
                elif form[-1] in (".", "!", "?") or (form[-1] in _CLOSING and any(t in _OPENING for t in form[:-1])):
                    continue  # the marks at the edges belong to the name: Yahoo! stays, "Hamlet" stays
                for token, what in edges:
                    if not token.strip() or all(unicodedata.category(c)[0] in "PZ" for c in token):
                        excerpt = split.excerpt(i, span.start, span.end)
                        yield Finding("boundary", split.place(i, span.start), f"{span.label} {what} {token!r}", excerpt)


# UTF-8 that was read as Latin-1 or Windows-1252: a lead byte as a letter, then a continuation byte as a sign.
_MISREAD = re.compile("[ÂÃâ][\u0080-\u00bf€™œžŸ‚ƒ„…†‡ˆ‰Š‹Œ]")
_ODD = {"\ufffd": "a replacement character", "\u200b": "a zero-width space", "\ufeff": "a byte order mark"}


def _characters(splits: Sequence[Split]) -> Iterator[Finding]:
    for split in splits:
        for i, tokens in enumerate(split.tokens):
            for t, token in enumerate(tokens):
                if not (token.isascii() and token.isalnum()) and (what := _odd(token)):
                    yield Finding("character", split.place(i, t), f"{token!r} {what}", split.excerpt(i, t, t + 1))


def _odd(token: str) -> str:
    if not token:
        return "is empty"
    if any(c.isspace() for c in token):
        return "contains white space"
    for character, name in _ODD.items():
        if character in token:
            return f"contains {name}"
    if any(unicodedata.category(c) in ("Cc", "Co", "Cs") for c in token):
        return "contains a control character"
    return "looks like UTF-8 that was read in another encoding" if _MISREAD.search(token) else ""


def _lengths(splits: Sequence[Split]) -> Iterator[Finding]:
    for split in splits:
        for i, tokens in enumerate(split.tokens):
            if len(tokens) > LONG:
                what = f"a sentence of {len(tokens):,} tokens"
                yield Finding("length", split.place(i, 0), what, " ".join(tokens[:14]))


class Check(NamedTuple):
    """A kind of finding: its title, what to do about it, and the function that finds it."""

    title: str
    advice: str
    find: Callable[[Sequence[Split]], Iterator[Finding]]


CHECKS: dict[str, Check] = {
    "scheme": Check(
        "labels that break their scheme",
        "write them anew, or repair them: `postil convert IN OUT --scheme NAME`",
        _scheme,
    ),
    "duplicate": Check(
        "repeated sentences", "scores on data that were trained on are too good: keep one of them", _same_sentence
    ),
    "near-duplicate": Check("near-duplicates across splits", "keep both in the same split", _near_duplicates),
    "inconsistent": Check("mentions labelled in several ways", "decide on one rule and write it down", _inconsistent),
    "forgotten": Check("mentions without a label in their document", "label them, or say why not", _forgotten),
    "boundary": Check("entities that begin or end with punctuation", "move the boundary", _boundaries),
    "rare": Check("labels with a handful of examples", "collect more, or merge the class with another one", _rare),
    "missing": Check("classes missing from a split", "split the data anew, by document", _missing),
    "character": Check(
        "odd characters and tokens", "clean the source and read it with the right --encoding", _characters
    ),
    "length": Check("very long sentences", "split them", _lengths),
}
"""In the order in which they are reported."""
