"""Between texts and estimators: sentences and tokens on the way in, entities on the way out."""

from collections.abc import Iterable

from postil.errors import DataError
from postil.features.inputs import Token
from postil.models.inputs import described
from postil.text import Entity, Sentence, split_sentences, tokenise


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


def sentences_of(text: str) -> list[Sentence]:
    """A raw text cut into sentences of tokens."""
    tokens = tokenise(checked_text(text))
    return [
        Sentence(
            tokens=tokens.tokens[first:end], text=text, starts=tokens.starts[first:end], ends=tokens.ends[first:end]
        )
        for first, end in split_sentences(tokens)
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
        return Entity(" ".join(sentence.tokens[start:end]), label, start, end, probability)
    first, last = sentence.starts[start], sentence.ends[end - 1]
    return Entity(sentence.text[first:last], label, first, last, probability)
