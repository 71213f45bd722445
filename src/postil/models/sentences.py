"""Between texts and estimators: sentences and tokens on the way in, entities on the way out."""

import warnings
from collections.abc import Iterable

from postil.errors import DataError, UnspacedTextWarning
from postil.features.inputs import Token
from postil.models.inputs import described
from postil.text import Entity, Sentence
from postil.text.splitting.segmenter import ENGLISH, Segmenter, is_unspaced


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
    """Warn if the tokeniser of words does not find the words of a text."""
    if is_unspaced(text):
        what = "text without spaces: a whole run of it is one token; train on single characters to label what is inside"
        warnings.warn(what, UnspacedTextWarning, stacklevel=stacklevel)


def sentences_of(text: str, segmenter: Segmenter = ENGLISH) -> list[Sentence]:
    """A raw text cut into sentences of tokens."""
    checked_text(text)
    if segmenter.has_rules:
        warn_of_unspaced(text)
    return segmenter.sentences(text)


def tokens_of(sentence: Sentence) -> list[Token]:
    """A sentence's tokens as an estimator takes them: with the extra columns, if the source had any."""
    given: object = sentence
    if not isinstance(given, Sentence):
        expected = "a postil.text.Sentence (predict takes lists of tokens)"
        raise DataError("a sentence to annotate", expected=expected, got=f"a {type(given).__name__}")
    if sentence.columns is None:
        return list(sentence.tokens)
    return [(form, *columns) for form, columns in zip(sentence.tokens, sentence.columns, strict=True)]


def entity(
    sentence: Sentence, label: str, start: int, end: int, probability: float | None = None, group: str | None = None
) -> Entity:
    """The tokens ``start:end`` as an entity; its offsets count characters if the sentence has a text."""
    if sentence.text is None or sentence.starts is None or sentence.ends is None:
        words = " ".join(sentence.tokens[start:end])
        return Entity(text=words, label=label, start=start, end=end, probability=probability, group=group)
    first, last = sentence.starts[start], sentence.ends[end - 1]
    words = sentence.text[first:last]
    return Entity(text=words, label=label, start=first, end=last, probability=probability, group=group)
