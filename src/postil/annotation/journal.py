"""A person's answers in a file of JSON Lines, which survives anything and which ``postil train`` reads as it is.

Every line is one record in our JSON Lines, as one sentence with its tokens and spans:

    {"text": …, "tokens": […], "spans": […], "answer": "accept", "annotation": {"key": …, "predicted": …, …}, …}

A new answer is appended, and is on the disk before it counts. Nothing is ever removed: an answer that was undone, or
replaced by a later one about the same record, stays in its place with ``"answer": "ignore"``, which readers leave out;
for that the file is written under another name and renamed. So at any moment the file holds either what it held before,
or that and one thing more. The unfinished last line of a killed process is dropped when the file is opened again.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Self, final

import msgspec

from postil.errors import ConfigurationError, DataError
from postil.files import append_line, held_alone, replaced
from postil.reading import MOST_LIST_BYTES, DoubleKey, TooDeep, parsed_json, read_bytes
from postil.text.annotations.records import json_line, parse, token_objects
from postil.text.labels.schemes import Span
from postil.text.lines import shortened

OWN = "annotation"  # the field with what only a journal needs
ACCEPTED, IGNORED = "accept", "ignore"
UNDONE, REPLACED = "undone", "replaced"


@final
@dataclass(frozen=True, kw_only=True)
class Answer:
    """A person's answer about one record: its spans, or that it was skipped."""

    key: str
    """Which record it is, whatever its place in the pool."""
    text: str
    tokens: tuple[tuple[int, int], ...]
    """Where the tokens begin and end in the text."""
    spans: tuple[Span, ...] = ()
    """Over tokens."""
    is_skipped: bool = False
    round: int | None = None
    """The model that was asked before the person was: how often it had been trained; None: there was none."""
    predicted: tuple[Span, ...] | None = None
    """The spans that this model predicted."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Other fields of the record in the pool."""

    @property
    def words(self) -> list[str]:
        return [self.text[start:end] for start, end in self.tokens]

    def record(self, state: str | None = None) -> dict[str, Any]:
        """The line of this answer. One with a state is left out by readers."""
        given = IGNORED if self.is_skipped else ACCEPTED
        own = {"key": self.key, "round": self.round, "predicted": self._placed(self.predicted)}
        if state is not None:
            own |= {"state": state, "given": given}
        return {
            **self.fields,
            "text": self.text,
            "tokens": token_objects(self.text, self.tokens),
            "spans": self._placed(self.spans),
            "answer": IGNORED if state is not None else given,
            OWN: own,
        }

    def _placed(self, spans: Sequence[Span] | None) -> list[dict[str, Any]] | None:
        """Spans in characters, as a reader of the line needs them, and in tokens."""
        if spans is None:
            return None
        return [
            {"start": self.tokens[start][0], "end": self.tokens[end - 1][1], "label": label}
            | {"token_start": start, "token_end": end - 1}
            for label, start, end in spans
        ]

    @classmethod
    def of_record(cls, record: Mapping[str, Any], where: str) -> "tuple[Answer, str | None]":
        """The answer of a line, every field checked, and its state."""
        try:
            line = msgspec.convert(record, _Line)
            tokens, own = tuple((one.start, one.end) for one in line.tokens), line.annotation
            borders = [0, *(border for token in tokens for border in token), len(line.text)]
            if borders != sorted(borders):
                raise ValueError("tokens overlap")
            answer = cls(
                key=own.key,
                text=line.text,
                tokens=tokens,
                spans=_spans(line.spans or (), len(tokens)),
                is_skipped=(line.answer if own.given is None else own.given) == IGNORED,
                round=own.round,
                predicted=None if own.predicted is None else _spans(own.predicted, len(tokens)),
                fields={name: value for name, value in record.items() if name not in _Line.__struct_fields__},
            )
        except ValueError:
            expected = "a line that postil annotate has written"
            got = shortened(json.dumps(record, ensure_ascii=False))
            raise DataError("not an answer", expected=expected, got=got, where=where) from None
        return answer, own.state


# The fields of a line, as they are read.


class _Token(msgspec.Struct):
    start: int
    end: int


class _Placed(msgspec.Struct):
    label: Annotated[str, msgspec.Meta(min_length=1)]
    token_start: Annotated[int, msgspec.Meta(ge=0)]
    token_end: int


class _Own(msgspec.Struct):
    key: str
    round: Annotated[int, msgspec.Meta(ge=0, le=1 << 53)] | None
    predicted: list[_Placed] | None
    state: Literal["undone", "replaced"] | None = None
    given: Any = None


class _Line(msgspec.Struct):
    text: str
    tokens: list[_Token]
    spans: list[_Placed] | None
    answer: Any
    annotation: _Own


def _spans(values: Iterable[_Placed], tokens: int) -> tuple[Span, ...]:
    """Spans over tokens that do not overlap."""
    spans = tuple(Span(one.label, one.token_start, one.token_end + 1) for one in values)
    borders = [border for span in sorted(spans, key=lambda one: one.start) for border in (span.start, span.end)]
    if borders != sorted(borders) or any(not span.start < span.end <= tokens for span in spans):
        raise ValueError("not spans of these tokens, or spans that overlap")
    return spans


@final
class Journal:
    """The answers in a file. A context manager: meanwhile no other process can open the same file.

    An answer counts from the moment ``add`` returns.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.torn: str | None = None
        """The unfinished last line of a killed process, which was dropped when the file was opened."""
        self._entries: list[Answer] = []
        self._undone: set[int] = set()
        self._current: dict[str, int] = {}  # key -> its entry that counts
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            try:
                stack.enter_context(held_alone(self.path))
            except BlockingIOError:
                expected = "must not be in use by another process"
                raise ConfigurationError("the file of answers", expected=expected, where=self.path) from None
            self._load()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def __len__(self) -> int:
        return len(self._current)

    def __contains__(self, key: object) -> bool:
        return key in self._current

    def get(self, key: str) -> Answer | None:
        """The answer about a record, if there is one."""
        return self._entries[self._current[key]] if key in self._current else None

    def __iter__(self) -> Iterator[Answer]:
        """The answers that count, in the order in which they were given."""
        return (self._entries[place] for place in sorted(self._current.values()))

    def add(self, answer: Answer) -> None:
        """Keep an answer. It replaces an earlier one about the same record."""
        if answer.key in self._current:
            self._rewrite([*self._entries, answer], self._undone)
        else:
            append_line(self.path, json_line(answer.record()).rstrip("\n"), sync=True)
        self._entries.append(answer)  # what is not on the disk does not count
        self._current[answer.key] = len(self._entries) - 1

    def undo(self) -> Answer | None:
        """Take the last answer back, and return it; None if there is none. An answer that it replaced counts again.

        Can be repeated until nothing is left.
        """
        last = max((place for place in range(len(self._entries)) if place not in self._undone), default=None)
        if last is None:
            return None
        self._rewrite(self._entries, self._undone | {last})
        self._undone.add(last)
        self._current = _counting(self._entries, self._undone)
        return self._entries[last]

    def _rewrite(self, entries: Sequence[Answer], undone: set[int]) -> None:
        counting = set(_counting(entries, undone).values())
        with replaced(self.path) as stream:
            for place, answer in enumerate(entries):
                state = None if place in counting else UNDONE if place in undone else REPLACED
                stream.write(json_line(answer.record(state)).encode())

    def _load(self) -> None:
        if not self.path.exists():
            with replaced(self.path):  # an empty file: that it cannot be written is found now
                pass
        content = read_bytes(self.path, "the answers", MOST_LIST_BYTES, unpack=False)
        end = 0
        for number, line in enumerate(content.split(b"\n"), 1):
            where = f"{self.path}, line {number}"
            try:
                if line.strip():
                    answer, state = Answer.of_record(parse(line.decode(), where), where)
                    if state == UNDONE:
                        self._undone.add(len(self._entries))
                    self._entries.append(answer)
            except (DataError, UnicodeDecodeError) as error:
                if not content[end + len(line) :].strip() and _is_torn(line):
                    self.torn = f"{where}: an unfinished line is dropped; its record will be asked again"
                    with self.path.open("rb+") as file:
                        file.truncate(end)
                        os.fsync(file.fileno())
                    break
                if isinstance(error, DataError):
                    raise
                raise DataError("not UTF-8", where=where) from None
            end += len(line) + 1
        self._current = _counting(self._entries, self._undone)


def _counting(entries: Sequence[Answer], undone: set[int]) -> dict[str, int]:
    """The places of the answers that count: of several about a record, the last one that was not undone."""
    return {answer.key: place for place, answer in enumerate(entries) if place not in undone}


def _is_torn(line: bytes) -> bool:
    """Whether a line is the beginning of one of ours: no other program's data is ever cut off.

    Where the power fails, a line may also end in, or be, zeros that the disk has never written.
    """
    try:
        parsed_json(line, finite=False)
    except (TooDeep, DoubleKey):
        return False
    except ValueError:
        return line.startswith(b"{") or not line.strip(b"\0")
    return False
