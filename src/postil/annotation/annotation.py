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

import threading
from collections.abc import Callable, Container, Sequence
from itertools import chain
from typing import Any, NamedTuple, final

import numpy as np

from postil.annotation import proposals
from postil.annotation import proposals as views
from postil.annotation.journal import Answer, Journal
from postil.annotation.pool import AT_FIRST, Pool, PoolRecord, TokensOfRecords
from postil.errors import DataError
from postil.models.fitting.fitting import Fitting
from postil.models.tagger import Tagger
from postil.quality import ranked
from postil.text import Span, labels_from_spans
from postil.text.labels.schemes import looks_like_mark
from postil.text.lines import shortened

EVERY = 20
SURE = 0.9
"""Spans at least this probable count as right unless the person corrects them."""
AHEAD = 200
"""Records that a model chooses; by the time they are answered there is another one."""
_LONGEST_CLASS = 100

Labelled = tuple[Sequence[Sequence[str]], Sequence[Sequence[str]]]
Order = Callable[[Tagger, Sequence[Sequence[str]]], Sequence[int]]


def suggested_first(tagger: Tagger, X: Sequence[Sequence[str]]) -> list[int]:
    """The places of the sentences that should be asked for next, as ``postil.suggest`` chooses them."""
    return [item.place for item, _ in ranked(tagger, X, AHEAD)]


class _Model(NamedTuple):
    """The model in use: how often it was trained, and the order in which it wants to ask."""

    tagger: Tagger | None
    round: int | None
    order: Sequence[str]


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
        order: Order = suggested_first,
        known: frozenset[str] = frozenset(),
    ) -> None:
        """``tagger`` makes the first proposals; training runs start from it.

        ``estimator`` says what is trained after every ``every`` answers; None: nothing. ``labelled`` is learned from as
        well. ``classes`` are those to label, by default all that the tagger, the labelled data, the pool and earlier
        answers have. ``known`` are keys of records that are not asked for.
        """
        self.every, self.sure = every, sure
        self._pool, self._journal, self._known, self._order_by = pool, journal, known, order
        self._estimator, self._given, self._labelled = estimator, tagger, labelled
        self._only = frozenset(classes) if tagger is not None and classes else None
        self._lock = threading.RLock()
        pool.fill(self._is_done, most=AT_FIRST)
        self.classes = _classes(classes, tagger, labelled, pool, journal)
        self._next_round = max((answer.round for answer in journal if answer.round is not None), default=-1) + 1
        self._model = _Model(None, None, list(pool.records))
        if tagger is not None:
            self._put_in_use(tagger)
        self._again: list[str] = []  # records whose answers were undone: to be asked first
        self._since = sum(not answer.is_skipped for answer in journal)
        self._undone: dict[str, Answer] = {}

    # -------------------------------------------------------------------------------------------- records

    @property
    def _is_done(self) -> "_Done":
        return _Done(self._journal, self._known)

    def next(self) -> dict[str, Any] | None:
        """The record to ask for now, with its proposals; None if nothing is left."""
        with self._lock:
            key = self._next_key()
            return None if key is None else self.shown(key)

    def _next_key(self) -> str | None:
        done, records = self._is_done, self._pool.records
        while self._again:
            if self._again[-1] not in done and self._again[-1] in records:
                return self._again[-1]
            self._again.pop()
        key = next((key for key in chain(self._model.order, records) if key not in done), None)
        if key is None and not self._pool.is_at_end:
            self._pool.fill(done, most=AT_FIRST)
            key = next((key for key in self._pool.records if key not in done), None)
        return key

    def shown(self, key: str) -> dict[str, Any]:
        """A record as it is shown: words, the text between and around them, and spans over the words."""
        with self._lock:
            record, answer = self._pool.records.get(key), self._journal.get(key)
            if record is None:
                if answer is None:
                    raise _unknown(key)
                shown = views.view(answer.text, *zip(*answer.tokens, strict=True)) | views.about(answer.fields, "")
            else:
                shown = views.view(record.text, record.starts, record.ends) | views.about(record.fields, record.where)
            shown |= {"key": key, "answered": answer is not None, "skipped": answer is not None and answer.is_skipped}
            earlier = answer or self._undone.get(key)
            spans = proposals.of_answer(earlier) if earlier is not None else self._proposals(record)
            return shown | {"spans": [one.to_dict() for one in spans]}

    def answered(self, back: int) -> dict[str, Any] | None:
        """The record that was answered this many answers ago, counted from 1, as it is shown."""
        with self._lock:
            keys = [answer.key for answer in self._journal]
            return self.shown(keys[-back]) if 0 < back <= len(keys) else None

    # -------------------------------------------------------------------------------------------- proposals

    def _proposals(self, record: PoolRecord | None) -> list[proposals.Proposal]:
        if record is None:
            return []
        tagger = self._model.tagger
        if tagger is None:
            return proposals.of_pool(record, self.sure)
        return proposals.of_model(tagger, record.tokens, self.sure, self._is_wanted)

    def _is_wanted(self, span: Span) -> bool:
        return self._only is None or span.label in self._only or span.label in self.classes

    # -------------------------------------------------------------------------------------------- answers

    def answer(self, key: str, spans: Sequence[Span] = (), *, is_skipped: bool = False) -> None:
        """Keep what the person says about a record. It is on the disk when this returns."""
        with self._lock:
            record, before = self._pool.records.get(key), self._journal.get(key)
            if record is not None:
                text, tokens = views.cut_out(record.text, record.starts, record.ends)
                fields = record.fields
            elif before is not None:
                text, tokens, fields = before.text, before.tokens, before.fields
            else:
                raise _unknown(key)
            spans = _checked(spans, len(tokens))
            for span in spans:
                self.add_class(span.label)
            before = before or self._undone.get(key)  # which the model may have learned from
            guess = self._guess(record) if before is None else (before.round, before.predicted)
            self._journal.add(
                Answer(
                    key=key,
                    text=text,
                    tokens=tokens,
                    spans=spans,
                    is_skipped=is_skipped,
                    round=guess[0],
                    predicted=guess[1],
                    fields=fields,
                )
            )
            self._undone.pop(key, None)
            self._since += not is_skipped

    def _guess(self, record: PoolRecord | None) -> tuple[int | None, tuple[Span, ...] | None]:
        """The predictions of the current model for a record that it was not trained on."""
        tagger = self._model.tagger
        if tagger is None or record is None:
            return None, None
        return self._model.round, tuple(proposals.predicted(tagger, record.tokens, self._is_wanted))

    def undo(self) -> dict[str, Any] | None:
        """Take the last answer back; the record is shown again with what was said. None if there is no answer."""
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

    # -------------------------------------------------------------------------------------------- learning

    @property
    def learns(self) -> bool:
        return self._estimator is not None

    def is_due(self) -> bool:
        """Whether enough answers have come since the last training began, and there is something to learn."""
        with self._lock:
            return self.learns and self._since >= self.every and self.has_spans()

    def has_spans(self) -> bool:
        """Whether there is a labelled span to learn from."""
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
        X += [answer.words for answer in used]
        y += [labels_from_spans(answer.spans, len(answer.tokens), "bio") for answer in used]
        tagger = Tagger(**self._estimator.get_params())
        if self._only is None:
            return tagger, tagger.fitting(X, y, warm_start=self._given)
        # Answers say nothing about the other classes of the model that is trained on.
        of_answers = tuple(sorted(self._only | set(self.classes)))
        annotates = [None if number < len(X) - len(used) else of_answers for number in range(len(X))]
        return tagger, tagger.fitting(X, y, warm_start=self._given, annotates=annotates)

    def use(self, tagger: Tagger) -> Tagger:
        """Let a model that was trained on the answers make the proposals, and order the pool by what it is unsure of.

        This takes time, and may run in another thread while answers come in.
        """
        self._pool.fill(self._is_done)
        self._put_in_use(tagger)
        return tagger

    def _put_in_use(self, tagger: Tagger) -> None:
        done, records = self._is_done, self._pool.records
        keys = [key for key in records if key not in done]
        places = self._order_by(tagger, TokensOfRecords([records[key] for key in keys]))
        with self._lock:
            self._model = _Model(tagger, self._next_round, [keys[place] for place in places])
            self._next_round += 1

    # -------------------------------------------------------------------------------------------- progress

    def progress(self) -> dict[str, Any]:
        """How much is done, ready for JSON."""
        with self._lock:
            done, answers = self._is_done, list(self._journal)
            skipped = sum(answer.is_skipped for answer in answers)
            return {
                "answered": len(answers) - skipped,
                "skipped": skipped,
                "spans": sum(len(answer.spans) for answer in answers if not answer.is_skipped),
                "waiting": sum(key not in done for key in self._pool.records),
                "more": not self._pool.is_at_end,
                "problem": self._pool.problem,
                "round": self._model.round,
                "every": self.every if self.learns else None,
                "until": max(0, self.every - self._since) if self.learns else None,
            }

    def curve(self) -> dict[str, Any]:
        """How well the models in use have agreed with the answers that came after they were trained."""
        with self._lock:
            return curve_of(self._used())


@final
class _Done(Container[str]):
    """Keys of records that are not asked for."""

    def __init__(self, journal: Journal, known: frozenset[str]) -> None:
        self._journal, self._known = journal, known

    def __contains__(self, key: object) -> bool:
        return key in self._journal or key in self._known


# ------------------------------------------------------------------------------------------------ small parts


def checked_class(name: str) -> str:
    """A name for a class of spans that every format can hold."""
    is_odd = not name.isprintable() or any(map(str.isspace, name)) or looks_like_mark(name) or "|" in name
    if not name or name == "O" or is_odd or len(name) > _LONGEST_CLASS:
        expected = f"a name without spaces and |, other than O and ?, of at most {_LONGEST_CLASS} characters"
        raise DataError("a class", expected=f"must be {expected}", got=shortened(name, 30))
    return name


def _classes(
    wanted: Sequence[str], tagger: Tagger | None, labelled: Labelled | None, pool: Pool, journal: Journal
) -> list[str]:
    found = list(map(checked_class, wanted))
    if not found and tagger is not None:
        found += tagger.model.codec.classes
    if not found and labelled is not None:
        found += sorted({label.partition("-")[2] for labels in labelled[1] for label in labels} - {""})
    if tagger is None:
        found += sorted({span.label for record in pool.records.values() for span in record.spans or ()})
    found += sorted({span.label for answer in journal for span in answer.spans})
    return list(dict.fromkeys(found))


def _checked(spans: Sequence[Span], length: int) -> tuple[Span, ...]:
    """The spans in their order; DataError if they are not spans of the record, or overlap."""
    ordered = sorted(spans, key=lambda span: span.start)
    for before, span in zip([None, *ordered], ordered, strict=False):
        if not 0 <= span.start < span.end <= length:
            raise DataError("a span", expected=f"must be within the {length} words", got=f"{span.start}:{span.end}")
        if before is not None and before.end > span.start:
            raise DataError("spans", expected="must not overlap", got=f"{before.start}:{before.end} and {span.start}")
    return tuple(ordered)


def _unknown(key: str) -> DataError:
    return DataError("a record", expected="must be one of the pool", got=shortened(key))


# ------------------------------------------------------------------------------------------------ agreement


WINDOW = 20
"""Answers over which a point of the curve is computed; the first one comes after ``FEWEST``."""
FEWEST = 5
MOST_POINTS = 200


def curve_of(answers: Sequence[Answer]) -> dict[str, Any]:
    """How well predictions agreed with the answers that came after them.

    points   after each answer, over the last ``WINDOW`` that had a prediction; at most ``MOST_POINTS`` of them
    rounds   over all answers that came while one model was in use

    Each has precision, recall and F1 of the spans, and the share of records in which nothing was changed.
    """
    judged = [(number, one) for number, one in enumerate(answers, 1) if one.predicted is not None]
    counts = np.array([_counts(one) for _, one in judged], dtype=np.int64).reshape(-1, 5)
    sums = np.concatenate([np.zeros((1, 5), np.int64), counts.cumsum(axis=0)])
    ends = np.unique(np.linspace(FEWEST, len(judged), MOST_POINTS).round().astype(int)) if len(judged) >= FEWEST else ()
    points = [(judged[end - 1][0], sums[end] - sums[max(0, end - WINDOW)]) for end in ends]
    rounds: dict[int, list[int]] = {}
    for place, (_, one) in enumerate(judged):
        rounds.setdefault(one.round or 0, []).append(place)
    return {
        "points": [{"answers": number, **_agreement(total)} for number, total in points],
        "rounds": [
            {"round": key, "answers": judged[places[-1]][0], **_agreement(counts[places].sum(axis=0))}
            for key, places in sorted(rounds.items())
        ],
    }


def _counts(answer: Answer) -> tuple[int, int, int, int, int]:
    """Records, unchanged records, spans that agree, spans of the answer, spans of the prediction."""
    gold, guessed = set(answer.spans), set(answer.predicted or ())
    return 1, gold == guessed, len(gold & guessed), len(gold), len(guessed)


def _agreement(counts: Any) -> dict[str, Any]:
    records, unchanged, right, gold, guessed = map(int, counts)
    return {
        "records": records,
        "unchanged": unchanged / records,
        "precision": right / guessed if guessed else None,
        "recall": right / gold if gold else None,
        "f1": 2 * right / (gold + guessed) if gold + guessed else None,
    }
