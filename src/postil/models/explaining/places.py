"""Which tokens to explain: those that were named, or every entity that a model finds."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from postil.errors import ConfigurationError
from postil.models.decoding.codec import LabelCodec
from postil.text import Sentence, spans_from_labels
from postil.text.lines import shortened


class Place(NamedTuple):
    """Tokens of one sentence and the label to explain (None: the one that the model predicts)."""

    sentence: Sentence
    start: int
    end: int
    label: str | None


def place_of_span(sentences: list[Sentence], start: int, end: int, label: str | None, what: str = "span") -> Place:
    """The span of tokens that are numbered through all sentences. ``what`` is its name in messages."""
    first = 0
    for sentence in sentences:
        if first <= start < end <= first + len(sentence):
            return Place(sentence, start - first, end - first, label)
        first += len(sentence)
    room = f"must satisfy 0 <= START < END <= {first}" + (", inside one sentence" if len(sentences) > 1 else "")
    raise ConfigurationError(what, expected=room, got=f"{start}:{end}")


def places_of_words(sentences: list[Sentence], words: list[str], label: str | None, what: str) -> list[Place]:
    """Every occurrence of these words."""
    places = [
        Place(sentence, start, start + len(words), label)
        for sentence in sentences
        for start in range(len(sentence) - len(words) + 1)
        if words and sentence.tokens[start : start + len(words)] == words
    ]
    if not places:
        tokens = " ".join(token for sentence in sentences for token in sentence.tokens)
        raise ConfigurationError(
            what, expected=f"must be whole words of {shortened(tokens)}", got=repr(" ".join(words))
        )
    return places


def places_of_entities(
    model: Any, sentences: list[Sentence], label: str | None, *, what: str = "label", instead: str = "a span"
) -> Iterator[Place]:
    """The entities that the model finds; with ``label`` only those. ``instead``: what names a word in messages."""
    learnt = model.model.codec
    scheme = learnt.scheme if isinstance(learnt, LabelCodec) else learnt.span_codec.scheme
    if scheme == "none":
        raise ConfigurationError("labels without spans need a word to explain", expected=instead)
    known = learnt.classes if isinstance(learnt, LabelCodec) else (learnt.label,)
    if label is not None and label not in known:
        raise ConfigurationError(what, expected=f"one of {', '.join(known)}", got=repr(label))
    model.annotate(sentences)
    for sentence in sentences:
        for span in spans_from_labels(sentence.labels or [], scheme):
            if label in (None, span.label):
                yield Place(sentence, span.start, span.end, span.label)
