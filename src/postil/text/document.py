"""Data types that the readers return and the writers accept: sentences, entities, documents.

A sentence holds parallel lists, never one object per token, so that a million tokens are cheap to read.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import accumulate, zip_longest
from typing import TYPE_CHECKING, Any, Self, TypeVar, final, overload

from postil.errors import printable

if TYPE_CHECKING:
    from postil.html import Markup
    from postil.text.labels.schemes import Span

OUTSIDE = "O"
T = TypeVar("T")
LONGEST_SHOWN = 20_000  # characters of a text that a notebook shows: more would make its page slow


class Rest(ABC):
    """Content that only the writer of the same format understands: dependency columns, other JSON fields."""

    __slots__ = ()

    @abstractmethod
    def lost(self) -> Mapping[str, int]:
        """The content that the writer of another format leaves out, in plain words, each with its count."""


@dataclass(slots=True)
class Sentence:
    """``T`` tokens with everything that their source says about them.

    ``tokens``, ``labels``, ``columns``, ``starts`` and ``ends`` have length T if they are not None.
    """

    tokens: list[str]
    labels: list[str] | None = None
    columns: list[tuple[str, ...]] | None = None
    """The extra feature columns of each token, in the order of the file."""
    text: str | None = None
    """The raw text that ``starts`` and ``ends`` refer to. Sentences of one text share it."""
    starts: list[int] | None = None
    ends: list[int] | None = None
    line: int = 0
    """Line of the first token in the source, counted from 1; 0 without a source."""
    document: str | None = None
    """Set if a document starts with this sentence: its name, or "" if it has none."""
    comments: list[str] = field(default_factory=list)
    """Comment lines before the sentence, unchanged, with their '#'."""
    rest: Rest | None = None
    """Data that only the writer of the same format understands. Sentences of one JSON record share it."""
    joined: list[bool] | None = None
    """Whether each word belongs to the same token of the text as the word before it, as ``le`` of French ``du`` =
    ``de`` + ``le`` does; None: no word does."""
    spans: "list[Span] | None" = None
    """Instead of labels: spans over tokens, of which some overlap."""

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(slots=True, frozen=True, kw_only=True)
class Entity:
    """A labelled span ``start:end`` of a text, in characters. Its fields are given by name."""

    text: str
    label: str
    start: int
    end: int
    probability: float | None = None
    group: str | None = None
    """The group of its class, if the classes of the model overlap."""

    def to_dict(self) -> dict[str, Any]:
        """Its fields, without a group if it has none."""
        return {name: value for name, value in asdict(self).items() if (name, value) != ("group", None)}


# ------------------------------------------------------------------------------------------------ made when looked at
# Answers about a million texts are mostly not looked at.


class Later:
    """A class with slots, some of which are filled when they are first read."""

    __slots__ = ("_source",)
    _source: Callable[[str], Any]

    @classmethod
    def later(cls, source: Callable[[str], Any], **known: Any) -> Self:
        """An object of which some attributes are known; ``source`` returns any other by its name."""
        made = cls.__new__(cls)
        made._source = source
        for name, value in known.items():
            setattr(made, name, value)
        return made

    def __getattr__(self, name: str) -> Any:
        """Called for slots that are empty, and for names that do not exist."""
        if name not in getattr(type(self), "__dataclass_fields__", ()):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = object.__getattribute__(self, "_source")(name)
        setattr(self, name, value)
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied like an object that was complete from the start."""
        return type(self), tuple(getattr(self, name) for name in getattr(type(self), "__dataclass_fields__", ()))


@final
class LaterItems(Sequence[T]):
    """A sequence whose items are made when they are first looked at; compared, copied and pickled like a list."""

    __slots__ = ("_items", "_make")

    def __init__(self, count: int, make: Callable[[int], T]) -> None:
        self._items: list[T | None] = [None] * count
        self._make = make

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        item = self._items[index]
        if item is None:
            item = self._items[index] = self._make(range(len(self))[index])
        return item

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LaterItems | list) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as of a list

    def __repr__(self) -> str:
        return repr(list(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


@dataclass(slots=True)
class Document(Later):
    """A raw text with its sentences (their offsets refer to ``text``) and entities."""

    text: str
    sentences: list[Sentence] = field(default_factory=list)
    entities: list[Entity] = field(default_factory=list)
    layers: "dict[str, Document]" = field(default_factory=dict)
    """The answers of each task of a multi-task model, as a document of the same text. ``sentences`` and
    ``entities`` are those of the first task with spans; ``entities`` of groups of classes are those of all groups."""

    def to_dict(self) -> dict[str, Any]:
        """The document as a dict, ready for JSON: ``text``, ``entities``, and the tokens of each of its ``sentences``.

        ``label`` is None for tokens without labels; without offsets, ``start`` and ``end`` are None. ``layers``, if
        there are any, are such dicts by task, without the text. A sentence with semantic roles has ``predicates``.
        """
        content: dict[str, Any] = {
            "text": self.text,
            "entities": [entity.to_dict() for entity in self.entities],
            "sentences": [],
        }
        for one in self.sentences:
            nothing = [None] * len(one)
            rows = zip(one.tokens, one.starts or nothing, one.ends or nothing, one.labels or nothing, strict=True)
            tokens = [dict(zip(("text", "start", "end", "label"), row, strict=True)) for row in rows]
            frames = frames_of(one)
            roles = {} if frames is None else {"predicates": record_of(one.tokens, frames)["predicates"]}
            content["sentences"].append({"tokens": tokens, **roles})
        layers = {task: layer.to_dict() for task, layer in self.layers.items()}
        for layer in layers.values():
            del layer["text"]
        return content | ({"layers": layers} if layers else {})

    def to_html(self, title: str | None = None) -> str:
        """A complete HTML page: the text with its entities marked, or every token with its label."""
        from postil.html.fragments import page_of

        return page_of(title, _marked(self, sys.maxsize))

    def _repr_html_(self) -> str:
        from postil.html.fragments import fragment

        return fragment(_marked(self, LONGEST_SHOWN))

    def __str__(self) -> str:
        """The text, and a line for each entity or predicate; of a model of single words, every token with its label."""
        if any(frames_of(one) is not None for one in self.sentences):
            lines = []
            for sentence in self.sentences:
                lines += [row_of(sentence), *(f"  {row_of(sentence, frame)}" for frame in frames_of(sentence) or ())]
            return "\n".join(lines)
        if not self.entities and any(label != OUTSIDE for one in self.sentences for label in one.labels or ()):
            lines = []
            for sentence in self.sentences:
                pairs = zip(sentence.tokens, sentence.labels or [OUTSIDE] * len(sentence), strict=True)
                lines.append(" ".join(f"{printable(token)}/{printable(label)}" for token, label in pairs))
            return "\n".join(lines)
        rows = []
        for one in self.entities:
            figure = "" if one.probability is None else f"{one.probability:.2f}"
            rows.append((printable(one.text), printable(one.label), f"{one.start}:{one.end}", figure))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        padded = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*map(printable, self.text.split("\n")), *(f"  {line}" for line in padded)])


def _marked(document: Document, most: int) -> "Markup":
    """About the first characters as HTML: the text, or each sentence once for every predicate, with its roles."""
    from postil.html import joined
    from postil.html.fragments import note
    from postil.html.highlight import Mark, lasting_colours, marked_text

    if not any(frames_of(one) is not None for one in document.sentences):
        entities = document.entities or [  # every token with its label, if labels are not those of entities
            Entity(text=token, label=label, start=start, end=end)
            for one in document.sentences
            for token, label, start, end in zip(
                one.tokens, one.labels or (), one.starts or (), one.ends or (), strict=False
            )
            if label != OUTSIDE
        ]
        # The last of those at one place, words of a multiword token, is shown first.
        marks = [Mark(one, False, True, one.probability) for one in reversed(entities) if one.end <= most]
        colours = lasting_colours({entity.label for entity in entities})
        rest = len(document.text) - most
        more = note(f"{rest:,} more characters are not shown; to_html() has them.") if rest > 0 else None
        nothing = note("No entities.") if not entities else None
        return joined([marked_text(document.text[:most], marks, colours), nothing, more])
    labels = {role.label for one in document.sentences for frame in frames_of(one) or () for role in frame.roles}
    colours, size = lasting_colours(labels), 0
    parts: list[Markup] = []
    for i, one in enumerate(document.sentences):
        if size > most:
            parts.append(note(f"{len(document.sentences) - i:,} more sentences are not shown; to_html() has them."))
            break
        text, starts, ends = one.text, one.starts, one.ends
        if text is None or starts is None or ends is None:
            ends = [end - 1 for end in accumulate(len(token) + 1 for token in one.tokens)]
            text, starts = " ".join(one.tokens), [end - len(token) for end, token in zip(ends, one.tokens, strict=True)]
        first = starts[0]
        text = text[first : ends[-1]]
        rows: list[list[Mark]] = []
        for frame in frames_of(one) or ():
            rows.append([])
            for (label, start, end), figure in zip_longest(frame.roles, frame.probabilities or ()):
                low, high = starts[start] - first, ends[end - 1] - first
                role = Entity(text=text[low:high], label=label, start=low, end=high)
                rows[-1].append(Mark(role, False, True, figure))
        parts += [marked_text(text, marks, colours) for marks in rows or [[]]]
        size += len(text)
    return joined(parts)


# ------------------------------------------------------------------------------------------------ semantic roles

VERB = "V"  # the role of the predicate itself


@final
@dataclass(frozen=True, slots=True)
class Frame:
    """A predicate, and a label for each of the T words of its sentence: the roles that they have for it, as BIO."""

    predicate: int
    """Which word it is, counted from 0."""
    labels: Sequence[str]
    lemma: str = ""
    probabilities: Sequence[float] | None = None
    """Of each of the ``roles``, if a model has found them."""

    @property
    def roles(self) -> "list[Span]":
        """The spans of words that have a role, and the predicate itself as V, in the order of the text."""
        from postil.text.labels.schemes import spans_from_labels

        return spans_from_labels(self.labels, "bio")


@dataclass(frozen=True, slots=True)
class Frames(Rest):
    """The predicates of a sentence with their roles."""

    frames: tuple[Frame, ...]

    def lost(self) -> Mapping[str, int]:
        return {"predicates with their roles": len(self.frames)}


def frames_of(sentence: Sentence) -> tuple[Frame, ...] | None:
    """The predicates of a sentence that was read from such columns; None of any other."""
    return sentence.rest.frames if isinstance(sentence.rest, Frames) else None


def record_of(tokens: Sequence[str], frames: Iterable[Frame], probabilities: bool = True) -> dict[str, Any]:
    """A sentence, ready for JSON: its tokens, and the predicates with the tokens ``start:end`` of each role."""
    predicates = []
    for frame in frames:
        roles: list[dict[str, Any]] = [{"label": role, "start": start, "end": end} for role, start, end in frame.roles]
        if probabilities and frame.probabilities is not None:
            for role, probability in zip(roles, frame.probabilities, strict=True):
                role["probability"] = round(probability, 4)
        predicates.append({"predicate": frame.predicate, "roles": roles})
    return {"tokens": list(tokens), "predicates": predicates}


def row_of(sentence: Sentence, frame: Frame | None = None) -> str:
    """A sentence in one line; or one of its predicates, and its roles with their words and probabilities."""
    if frame is None:
        return printable(_words(sentence, 0, len(sentence)))
    parts = [sentence.tokens[frame.predicate]]
    for (role, start, end), figure in zip_longest(frame.roles, frame.probabilities or ()):
        if role != VERB:
            words = f"{role} [{_words(sentence, start, end)}]"
            parts.append(words if figure is None else f"{words} {figure:.2f}")
    return printable("  ".join(parts))


def _words(sentence: Sentence, start: int, end: int) -> str:
    """Some tokens as the text has them, in one line; with spaces between them if there is no text."""
    if sentence.text is None or sentence.starts is None or sentence.ends is None or start == end:
        return " ".join(sentence.tokens[start:end])
    return " ".join(sentence.text[sentence.starts[start] : sentence.ends[end - 1]].split())
