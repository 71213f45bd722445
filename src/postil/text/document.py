"""What the readers give and the writers take: sentences, entities, documents.

A sentence holds parallel lists, never one object per token, so that a million tokens are cheap to read.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

from postil.text.later import Later


class Rest(ABC):
    """What only the writer of the same format understands: dependency columns, other JSON fields."""

    __slots__ = ()

    @abstractmethod
    def lost(self) -> Mapping[str, int]:
        """What another format's writer leaves out, in plain words, and how many of each."""


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

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(slots=True, frozen=True)
class Entity:
    """A labelled span ``start:end`` of a text, in characters."""

    text: str
    label: str
    start: int
    end: int
    probability: float | None = None


@dataclass(slots=True)
class Document(Later):
    """A raw text with its sentences (their offsets refer to ``text``) and entities."""

    text: str
    sentences: list[Sentence] = field(default_factory=list)
    entities: list[Entity] = field(default_factory=list)
