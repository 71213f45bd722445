"""Between texts and estimators: sentences and tokens on the way in, entities on the way out."""

import warnings
from collections.abc import Iterable
from typing import Any

from postil.errors import DataError, UnspacedTextWarning
from postil.features.inputs import Token
from postil.models.inputs import described
from postil.models.parts import Parts
from postil.text import Entity, Sentence, split_sentences, tokenise
from postil.text.splitting.characters import character_sentences, characters, is_unspaced

INPUT, CHARACTERS = "input", "characters"
"""Entry of ``Parts.about``, and its value in models whose tokens are characters."""


def takes_characters(parts: Parts[Any, Any]) -> bool:
    """Whether the tokens of a model are the characters of a text, not its words."""
    return parts.about.get(INPUT) == CHARACTERS


def checked_text(text: str, where: str | None = None) -> str:
    """A text to tag."""
    given: object = text
    if not isinstance(given, str):
        expected = "must be a string; predict takes lists of tokens"
        raise DataError("a text to tag", expected=expected, got=described(given), where=where)
    return text


def listed_texts(texts: Iterable[str]) -> list[str]:
    """Texts to tag, as a list."""
    given: object = texts
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise DataError("texts to tag", expected="must be a list of strings", got=described(given))
    return [checked_text(text, f"text {i}") for i, text in enumerate(texts)]


def warn_of_unspaced(text: str, stacklevel: int = 4) -> None:
    """Warn where the tokeniser of words does not find the words of a text."""
    if is_unspaced(text):
        what = "text without spaces: a whole run of it is one token; train on single characters to label what is inside"
        warnings.warn(what, UnspacedTextWarning, stacklevel=stacklevel)


def sentences_of(text: str, by_characters: bool = False) -> list[Sentence]:
    """A raw text cut into sentences of tokens: words, or characters."""
    if not by_characters:
        warn_of_unspaced(checked_text(text))
    tokens = characters(checked_text(text)) if by_characters else tokenise(text)
    return [
        Sentence(
            tokens=tokens.tokens[first:end], text=text, starts=tokens.starts[first:end], ends=tokens.ends[first:end]
        )
        for first, end in (character_sentences(tokens) if by_characters else split_sentences(tokens))
    ]


def tokens_of(sentence: Sentence) -> list[Token]:
    """A sentence's tokens as an estimator takes them: with the extra columns, if the source had any."""
    given: object = sentence
    if not isinstance(given, Sentence):
        expected = "a postil.text.Sentence (predict takes lists of tokens)"
        raise DataError("a sentence to annotate", expected=expected, got=f"a {type(given).__name__}")
    if sentence.columns is None:
        return list(sentence.tokens)
    return [(form, *columns) for form, columns in zip(sentence.tokens, sentence.columns, strict=True)]


def entity(sentence: Sentence, label: str, start: int, end: int, probability: float | None = None) -> Entity:
    """The tokens ``start:end`` as an entity; its offsets count characters where the sentence has a text."""
    if sentence.text is None or sentence.starts is None or sentence.ends is None:
        words = " ".join(sentence.tokens[start:end])
        return Entity(text=words, label=label, start=start, end=end, probability=probability)
    first, last = sentence.starts[start], sentence.ends[end - 1]
    return Entity(text=sentence.text[first:last], label=label, start=first, end=last, probability=probability)
