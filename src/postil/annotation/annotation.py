"""A person labels a pool: which record is asked for, what a model proposes, the answers, and learning from them.

    annotation = Annotation(pool, journal, estimator=Tagger(), classes=["PER", "LOC"])
    record = annotation.next()                            a dict for whatever shows it
    annotation.answer(record["key"], [Span("PER", 0, 2)])
    if annotation.is_due():
        tagger, fitting = annotation.new_training()       to be run by anyone, in any thread
        for event in fitting: ...
        annotation.use(tagger)                            proposals and the order of the pool follow it

Every answer is compared with what the model in use said before the person did. As it was not trained on that answer,
the agreement is an estimate of how good the model is, without a held-out file (progressive validation).
"""

import hashlib
import random
import threading
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, final

from postil.annotation.journal import Answer, Journal
from postil.annotation.rules import EditedRules, voted_spans
from postil.errors import DataError
from postil.metrics.spans import compare_spans
from postil.models.fitting.fitting import Fitting
from postil.models.tagger import Tagger
from postil.quality import suggest
from postil.rules import Rules
from postil.text import Report, Sentence, Span, labels_from_spans, recognise, spans_from_labels
from postil.text.annotations.annotated import Record, place_of
from postil.text.document import OUTSIDE
from postil.text.labels.schemes import PartialLabel, looks_like_mark
from postil.text.lines import shortened

MOST_LISTED = 200  # answers in the list of the page
EVERY = 20
SURE = 0.9  # spans at least this probable count as right unless the person corrects them
MAYBE = 0.3  # spans at least this probable are asked about even where the model's best labelling does not have them
AHEAD = 200  # records that a model chooses; by the time they are answered there is another one
VOTED = 5_000  # records on which rules vote: a sample of those that are in memory, so that training takes seconds
CONTEXT = 240  # characters of the text around a sentence that are shown
_LONGEST_CLASS = 100

Labelled = tuple[Sequence[Sequence[str]], Sequence[Sequence[str]]]
Wanted = Callable[[Span], bool]  # whether a span is of a class that is labelled

# ------------------------------------------------------------------------------------------------- the pool

WAITING = 50_000  # records that are kept at a time, waiting to be asked about
AT_FIRST = 1_000  # records that are read before the first question: enough to recognise a labelling scheme
REVIEWED = "sentence"
"""The field of a review that tells records with the same words apart: the number of a sentence in the data."""
_NOT_KEPT = ("answer", "unsure")  # what is answered now


@final
@dataclass(frozen=True, slots=True, eq=False)
class PoolRecord:
    """One sentence of the pool. Sentences of one text share it; their places are packed."""

    key: str
    text: str
    starts: "array[int]"
    ends: "array[int]"
    spans: tuple[Span, ...] | None = None
    """Spans over tokens that the pool brings itself."""
    probabilities: Mapping[Span, float] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""

    @property
    def tokens(self) -> list[str]:
        return [self.text[start:end] for start, end in zip(self.starts, self.ends, strict=True)]


@final
class Pool:
    """The records of a source, of which at most ``window`` wait in memory. Each distinct sentence comes once.

    ``sentences`` are read when they are needed.
    """

    def __init__(
        self,
        sentences: Iterable[Sentence],
        *,
        window: int = WAITING,
        name: str = "",
        scheme: str = "none",
        identity: str | None = None,
    ) -> None:
        """``scheme`` is that of labels in the pool; "none": it is recognised, if there are any.

        Records with the same words are the same one, unless they differ in the field ``identity``.
        """
        self.window, self._name, self._scheme, self._identity = window, name, scheme, identity
        self.problem: str | None = None
        """Why nothing was read after some place of the source."""
        self.is_at_end = False
        self.records: dict[str, PoolRecord] = {}
        self._sentences: Iterator[Sentence] = iter(sentences)
        self._lock = threading.Lock()

    def fill(self, is_done: Callable[[str], bool] = lambda key: False, *, most: int | None = None) -> None:
        """Read until this many records wait (``most``, by default the window); those that are done do not."""
        with self._lock:
            records = dict(self.records)
            waiting = sum(not is_done(key) for key in records)
            while waiting < (most or self.window) and not self.is_at_end:
                batch: list[Sentence] = []
                try:
                    batch.extend(islice(self._sentences, AT_FIRST))
                except DataError as error:
                    if not batch and not self.records:
                        raise
                    self.problem = str(error)
                self.is_at_end = len(batch) < AT_FIRST
                labels = [one.labels for one in batch if one.labels is not None]
                if self._scheme == "none" and any(label != OUTSIDE for one in labels for label in one):
                    self._scheme = recognise(labels)
                for record in (self._record(sentence) for sentence in batch if sentence.tokens):
                    if record.key not in records:
                        records[record.key] = record
                        waiting += not is_done(record.key)
            self.records = records  # whoever looks at the old ones is not disturbed

    def _record(self, sentence: Sentence) -> PoolRecord:
        own = sentence.rest if isinstance(sentence.rest, Record) else None
        fields = {} if own is None else {key: value for key, value in own.fields.items() if key not in _NOT_KEPT}
        if sentence.text is not None and sentence.starts is not None and sentence.ends is not None:
            text, starts, ends = sentence.text, sentence.starts, sentence.ends
        else:
            place = place_of([sentence], Report())
            text, starts, ends = place.text, place.starts, place.ends
        spans = None
        if sentence.labels is not None and self._scheme != "none":
            known = [OUTSIDE if isinstance(label, PartialLabel) else label for label in sentence.labels]
            spans = tuple(spans_from_labels(known, self._scheme))
        probabilities: dict[Span, float] = {}
        if own is not None and own.span_fields:  # a model's pre-annotation
            by_place = {(place.start, place.end, place.label): other for place, other in own.span_fields.items()}
            for span in spans or ():
                other = by_place.get((starts[span.start], ends[span.end - 1], span.label), {})
                if isinstance(other.get("probability"), int | float):
                    probabilities[span] = float(other["probability"])
        return PoolRecord(
            key_of(sentence.tokens, fields.get(self._identity) if self._identity is not None else None),
            text,
            array("L", starts),
            array("L", ends),
            spans,
            probabilities,
            fields,
            f"{self._name}, line {sentence.line}" if self._name and sentence.line else "",
        )


def key_of(tokens: Sequence[str], identity: object = None) -> str:
    """A name for a sentence by its words: it stays the same when the pool is sorted, extended or read again."""
    content = "\x1f".join(tokens) if identity is None else "\x1f".join([*tokens, "", str(identity)])
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@final
class Annotation:
    """The state of one annotation. Safe for any number of threads."""

    def __init__(
        self,
        pool: Pool,
        journal: Journal,
        *,
        estimator: Tagger | None = None,
        tagger: Tagger | None = None,
        classes: Sequence[str] = (),
        labelled: Labelled | None = None,
        every: int = EVERY,
        sure: float = SURE,
        known: frozenset[str] = frozenset(),
        rules: EditedRules | None = None,
        names: Rules | None = None,
    ) -> None:
        """``tagger`` makes the first proposals; training runs start from it.

        ``rules`` vote on the pool, and training learns from the votes as well. ``names`` are proposed until there is
        a model.

        ``estimator`` says what is trained after every ``every`` answers; None: nothing. ``labelled`` is learned from as
        well. ``classes`` are those to label, by default all that the tagger, the labelled data, the pool and earlier
        answers have. ``known`` are keys of records that are not asked for.
        """
        self.every, self.sure = every, sure
        self._pool, self._journal, self._known = pool, journal, known
        self._estimator, self._given, self._labelled = estimator, tagger, labelled
        self.rules, self._names, self._voted = rules, names, list[str]()
        self._only = frozenset(classes) if tagger is not None and classes else None
        self._lock = threading.RLock()
        pool.fill(self._is_done, most=AT_FIRST)
        found = list(map(checked_class, classes))
        if not found and tagger is not None:
            found += tagger.model.codec.classes
        if not found and labelled is not None:
            found += sorted({label.partition("-")[2] for labels in labelled[1] for label in labels} - {""})
        if tagger is None:
            found += sorted({span.label for record in pool.records.values() for span in record.spans or ()})
        proposing = rules.rules if rules is not None else names
        found += [] if proposing is None else proposing.labels
        found += sorted({span.label for answer in journal for span in answer.spans})
        self.classes = list(dict.fromkeys(found))
        # The model in use, how often it was trained, and the order in which it wants to ask.
        self._tagger: Tagger | None = None
        self._round: int | None = None
        self._order = list(pool.records)
        self._next_round = max((answer.round for answer in journal if answer.round is not None), default=-1) + 1
        if tagger is not None:
            self._put_in_use(tagger)
        self._again: list[str] = []  # records whose answers were undone: to be asked first
        self._since = sum(not answer.is_skipped for answer in journal)
        self._undone: dict[str, Answer] = {}

    def _is_done(self, key: str) -> bool:
        return key in self._journal or key in self._known

    def next(self) -> dict[str, Any] | None:
        """The record to ask for now, with its proposals; None if nothing is left."""
        with self._lock:
            while self._again:
                if not self._is_done(self._again[-1]) and self._again[-1] in self._pool.records:
                    return self.shown(self._again[-1])
                self._again.pop()
            while True:
                key = next((key for key in chain(self._order, self._pool.records) if not self._is_done(key)), None)
                if key is not None or self._pool.is_at_end:
                    return None if key is None else self.shown(key)
                self._pool.fill(self._is_done, most=AT_FIRST)

    def shown(self, key: str) -> dict[str, Any]:
        """A record as it is shown: words, the text between and around them, and spans over the words."""
        with self._lock:
            record, answer = self._record(key), self._journal.get(key)
            shown = view(record.text, record.starts, record.ends) | about(record.fields, record.where)
            earlier = answer or self._undone.get(key)
            if earlier is not None:
                spans = proposals(dict.fromkeys(earlier.spans), 0.0, "sure")
            elif self._tagger is None:  # the spans of the pool, else those of the rules or the lists of names
                proposing = self.rules.rules if self.rules is not None else self._names
                own = record.spans or (() if proposing is None else voted_spans(proposing, record.tokens))
                spans = proposals({span: record.probabilities.get(span) for span in own}, self.sure)
            else:
                spans = proposals_of_model(self._tagger, record.tokens, self.sure, self._is_wanted)
            is_skipped = answer is not None and answer.is_skipped
            shown |= {"key": key, "answered": answer is not None, "skipped": is_skipped, "spans": spans}
            if self.rules is not None:
                shown["votes"] = [vote._asdict() for vote in self.rules.rules.votes([shown["words"]])[0]]
            return shown

    def _record(self, key: str) -> PoolRecord:
        """A record of the pool, or one that the pool had when it was answered, without the text around it."""
        if (record := self._pool.records.get(key)) is not None:
            return record
        if (answer := self._journal.get(key)) is None:
            raise DataError("a record", expected="must be one of the pool", got=shortened(key))
        starts, ends = (array("L", edges) for edges in zip(*answer.tokens, strict=True))
        return PoolRecord(key, answer.text, starts, ends, fields=answer.fields)

    def answered(self, back: int) -> dict[str, Any] | None:
        """The record that was answered this many answers ago, counted from 1, as it is shown."""
        with self._lock:
            keys = [answer.key for answer in self._journal]
            return self.shown(keys[-back]) if 0 < back <= len(keys) else None

    def _is_wanted(self, span: Span) -> bool:
        return self._only is None or span.label in self._only or span.label in self.classes

    def answer(self, key: str, spans: Sequence[Span] = (), *, is_skipped: bool = False) -> None:
        """Keep what the person says about a record. It is on the disk when this returns."""
        with self._lock:
            record, before = self._record(key), self._journal.get(key)
            left = record.starts[0]  # the answer is without the text around it
            tokens = tuple((start - left, end - left) for start, end in zip(record.starts, record.ends, strict=True))
            spans = _checked(spans, len(tokens))
            for span in spans:
                self.add_class(span.label)
            before = before or self._undone.get(key)  # which the model may have learned from
            said: dict[str, Any] = {}  # by the model before the person
            if before is not None:
                said = {"round": before.round, "predicted": before.predicted}
            elif self._tagger is not None:
                guess = tuple(predicted(self._tagger, record.tokens, self._is_wanted))
                said = {"round": self._round, "predicted": guess}
            text = record.text[left : record.ends[-1]]
            about_it: dict[str, Any] = {"key": key, "text": text, "tokens": tokens, "fields": record.fields}
            self._journal.add(Answer(**about_it, **said, spans=spans, is_skipped=is_skipped))
            self._undone.pop(key, None)
            self._since += not is_skipped

    def undo(self) -> dict[str, Any] | None:
        """Undo the last answer and return its record, with that answer, to be shown again; None without answers."""
        with self._lock:
            answer = self._journal.undo()
            if answer is None:
                return None
            self._since = max(0, self._since - (not answer.is_skipped))
            if answer.key in self._journal:  # an earlier answer counts again
                return self.shown(answer.key)
            self._undone[answer.key] = answer
            if answer.key in self._pool.records:
                self._again.append(answer.key)
                return self.shown(answer.key)
            return self.next()

    def add_class(self, name: str) -> None:
        """Add a class of spans, if it is not there yet."""
        with self._lock:
            if name not in self.classes:
                self.classes = [*self.classes, checked_class(name)]

    @property
    def learns(self) -> bool:
        return self._estimator is not None

    def is_due(self) -> bool:
        """Whether enough answers have come since the last training began, and there is something to learn."""
        with self._lock:
            return self.learns and self._since >= self.every and self.has_spans()

    def has_spans(self) -> bool:
        """Whether there are rules or a labelled span to learn from."""
        if self.rules is not None:
            return True
        y = self._labelled[1] if self._labelled is not None else ()
        return any(answer.spans for answer in self._used()) or any(label != "O" for labels in y for label in labels)

    def _used(self) -> list[Answer]:
        return [answer for answer in self._journal if not answer.is_skipped]

    def new_training(self) -> tuple[Tagger, Fitting]:
        """A training run on all answers: an estimator, and its fitting."""
        assert self._estimator is not None
        with self._lock:
            used = self._used()
            self._since = 0
        X, y = ([list(one) for one in part] for part in self._labelled or ((), ()))
        annotates = None
        if self._only is not None:  # answers say nothing about the other classes of the model that is trained on
            annotates = [*[None] * len(X), *[tuple(sorted(self._only | set(self.classes)))] * len(used)]
        X += [answer.words for answer in used]
        y += [labels_from_spans(answer.spans, len(answer.tokens), "bio") for answer in used]
        tagger = Tagger(**self._estimator.get_params())
        if self.rules is not None:
            answered = {answer.key for answer in used}
            raw = [self._pool.records[key].tokens for key in self._sample() if key not in answered]
            return self.rules.training(tagger, raw, (X, y))
        return tagger, tagger.fitting(X, y, warm_start=self._given, annotates=annotates)

    def use(self, tagger: Tagger) -> Tagger:
        """Let a model that was trained on the answers make the proposals, and order the pool by what it is unsure of.

        This takes time, and may run in another thread while answers come in.
        """
        self._pool.fill(self._is_done)
        if self.rules is not None:
            self.rules.judge(tagger, [self._pool.records[key].tokens for key in self._sample()])
        self._put_in_use(tagger)
        return tagger

    def _sample(self) -> list[str]:
        """The keys of the records on which rules vote, the same in every training run."""
        if not self._voted:
            self._pool.fill(self._is_done)
            keys = list(self._pool.records)
            self._voted = keys if len(keys) <= VOTED else random.Random(0).sample(keys, VOTED)
        return self._voted

    def _put_in_use(self, tagger: Tagger) -> None:
        records = self._pool.records
        keys = [key for key in records if not self._is_done(key)]
        # Words are made when they are looked at: lists of all of them would take several times the memory.
        chosen = suggest(tagger, (records[key].tokens for key in keys), AHEAD)
        with self._lock:
            self._tagger, self._round, self._order = tagger, self._next_round, [keys[one.index] for one in chosen]
            self._next_round += 1

    def progress(self) -> dict[str, Any]:
        """How much is done, ready for JSON."""
        with self._lock:
            used = self._used()
            return {
                "answered": len(used),
                "skipped": len(self._journal) - len(used),
                "spans": sum(len(answer.spans) for answer in used),
                "by_class": dict(Counter(span.label for answer in used for span in answer.spans)),
                "waiting": sum(not self._is_done(key) for key in self._pool.records),
                "more": not self._pool.is_at_end,
                "problem": self._pool.problem,
                "round": self._round,
                "every": self.every if self.learns else None,
                "until": max(0, self.every - self._since) if self.learns else None,
            }

    def curve(self) -> dict[str, Any]:
        """How well the models in use have agreed with the answers that came after they were trained."""
        with self._lock:
            return curve_of(self._used())

    def answers(self) -> dict[str, Any]:
        """The file of answers, and the last of them, the latest first; ready for JSON."""
        with self._lock:
            last = [
                {"text": one.text[:200], "labels": [span.label for span in one.spans], "skipped": one.is_skipped}
                for one in reversed([*self._journal][-MOST_LISTED:])
            ]
            path = self._journal.path
            return {"file": path.name, "path": str(path), "content": path.read_text(encoding="utf8"), "last": last}

    def judged(self) -> dict[str, Any]:
        """Scores of the predictions that were made before the answers, by class; ready for JSON."""
        with self._lock:
            pairs = [(one.spans, one.predicted) for one in self._used() if one.predicted is not None]
        scores = compare_spans([gold for gold, _ in pairs], [predicted for _, predicted in pairs])
        return {"records": len(pairs), **scores.to_dict()}


# ------------------------------------------------------------------------------------------------ classes and spans


def checked_class(name: str) -> str:
    """A name for a class of spans that every format can hold."""
    is_odd = not name.isprintable() or any(map(str.isspace, name)) or looks_like_mark(name) or "|" in name
    if not name or name == "O" or is_odd or len(name) > _LONGEST_CLASS:
        expected = f"a name without spaces and |, other than O and ?, of at most {_LONGEST_CLASS} characters"
        raise DataError("a class", expected=f"must be {expected}", got=shortened(name, 30))
    return name


def _checked(spans: Sequence[Span], length: int) -> tuple[Span, ...]:
    """The spans in their order; DataError if they are not spans of the record, or overlap."""
    ordered = sorted(spans, key=lambda span: span.start)
    for before, span in zip([None, *ordered], ordered, strict=False):
        if not 0 <= span.start < span.end <= length:
            raise DataError("a span", expected=f"must be within the {length} words", got=f"{span.start}:{span.end}")
        if before is not None and before.end > span.start:
            raise DataError("spans", expected="must not overlap", got=f"{before.start}:{before.end} and {span.start}")
    return tuple(ordered)


def proposals(spans: Mapping[Span, float | None], sure: float, state: str | None = None) -> list[dict[str, Any]]:
    """Spans as they are shown before the person has said anything.

    Their state is ``sure``: taken for right; ``asked``: proposed; ``maybe``: not proposed, but not improbable either.
    """
    return [
        {
            **span._asdict(),
            "probability": None if probability is None else round(probability, 4),
            "state": state or ("sure" if probability is not None and probability >= sure else "asked"),
        }
        for span, probability in spans.items()
    ]


def predicted(tagger: Tagger, tokens: Sequence[str], wanted: Wanted) -> dict[Span, float | None]:
    """The spans of the model's best labelling, with their probabilities."""
    (entities,) = tagger.annotate([Sentence(list(tokens))])
    spans = {Span(one.label, one.start, one.end): one.probability for one in entities}
    return {span: probability for span, probability in spans.items() if wanted(span)}


def proposals_of_model(tagger: Tagger, tokens: Sequence[str], sure: float, wanted: Wanted) -> list[dict[str, Any]]:
    """The spans that a model predicts, and further spans that are not improbable."""
    best = predicted(tagger, tokens, wanted)
    others: dict[Span, float | None] = {}
    for entity in sorted(tagger.spans_above(tokens, MAYBE), key=lambda one: -(one.probability or 0.0)):
        span = Span(entity.label, entity.start, entity.end)
        if wanted(span) and all(span.end <= one.start or one.end <= span.start for one in (*best, *others)):
            others[span] = entity.probability
    return sorted([*proposals(best, sure), *proposals(others, sure, "maybe")], key=lambda one: int(one["start"]))


def view(text: str, starts: Sequence[int], ends: Sequence[int]) -> dict[str, Any]:
    """Words and gaps instead of offsets: a browser counts characters otherwise."""
    return {
        "words": [text[start:end] for start, end in zip(starts, ends, strict=True)],
        "gaps": [text[end:start] for end, start in zip(ends, islice(starts, 1, None), strict=False)],
        "before": text[max(0, starts[0] - CONTEXT) : starts[0]],
        "after": text[ends[-1] : ends[-1] + CONTEXT],
    }


def about(fields: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The pool's notes on a record: its source, and the doubts of a review."""
    doubts = fields.get("doubts")
    return {
        "where": str(fields.get("where") or where),
        "doubts": [
            {"data": str(doubt.get("in the data", "")), "models": str(doubt.get("models", ""))}
            for doubt in (doubts if isinstance(doubts, list) else ())
            if isinstance(doubt, dict)
        ],
    }


WINDOW = 20  # answers over which a point of the curve is computed; the first one comes after ``FEWEST``
FEWEST = 5
MOST_POINTS = 200


def curve_of(answers: Sequence[Answer]) -> dict[str, Any]:
    """How well predictions agreed with the answers that came after them.

    points   after each answer, over the last ``WINDOW`` that had a prediction; at most ``MOST_POINTS`` of them
    rounds   over all answers that came while one model was in use

    Each has precision, recall and F1 of the spans, and the share of records in which nothing was changed.
    """
    judged = [(number, one) for number, one in enumerate(answers, 1) if one.predicted is not None]
    rounds: dict[int, list[tuple[int, Answer]]] = {}
    for number, one in judged:
        rounds.setdefault(one.round or 0, []).append((number, one))
    step = max(1.0, (len(judged) - FEWEST) / (MOST_POINTS - 1))
    ends = sorted({round(FEWEST + step * point) for point in range(MOST_POINTS)})
    return {
        "points": [_agreement(judged[max(0, end - WINDOW) : end]) for end in ends if end <= len(judged)],
        "rounds": [{"round": key, **_agreement(several)} for key, several in sorted(rounds.items())],
    }


def _agreement(judged: Sequence[tuple[int, Answer]]) -> dict[str, Any]:
    """How answers, each with its number, agree with the predictions before them."""
    pairs = [(set(one.spans), set(one.predicted or ())) for _, one in judged]
    right, gold, guessed = (sum(map(len, sets)) for sets in zip(*((a & b, a, b) for a, b in pairs), strict=True))
    return {
        "answers": judged[-1][0],
        "records": len(pairs),
        "unchanged": sum(a == b for a, b in pairs) / len(pairs),
        "precision": right / guessed if guessed else None,
        "recall": right / gold if gold else None,
        "f1": 2 * right / (gold + guessed) if gold + guessed else None,
    }
