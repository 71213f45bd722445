"""Text that waits for labels: sentences of a file that may be larger than memory, read as they are needed."""

import hashlib
import threading
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, final

from postil.errors import DataError
from postil.text import Report, Sentence, Span
from postil.text.annotations.annotated import Record, place_of
from postil.text.document import OUTSIDE
from postil.text.labels.schemes import PartialLabel, recognise, spans_from_labels

WINDOW = 50_000
"""Records that are kept at a time, waiting to be asked about."""
AT_FIRST = 1_000
"""Records that are read before the first question: enough to recognise a labelling scheme."""
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
        window: int = WINDOW,
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
