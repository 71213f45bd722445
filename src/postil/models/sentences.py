"""Sentences on their way into a model and out of it: checks, tokens, blocks that are scored together, entities."""

from collections.abc import Iterator, Sequence

from postil.arrays import Array
from postil.errors import DataError
from postil.features.inputs import Token
from postil.models.scoring.fast import FastScorer
from postil.models.scoring.pieces import warn_of_long_sentences
from postil.text import Entity, Sentence, split_sentences, tokenise
from postil.text.lines import shortened
from postil.threads import one_blas_thread

TOKENS_PER_BLOCK = 4096  # scored at once: large enough for matrix products, small enough for the cache


def sentences_of(text: str) -> list[Sentence]:
    """A raw text cut into sentences of tokens."""
    tokens = tokenise(text)
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


def check_sentences(X: Sequence[Sequence[Token]]) -> None:
    """Refuse a text instead of its tokens: the commonest mistake, and its characters would be tagged."""
    for i, tokens in enumerate(X):
        if isinstance(tokens, str):
            raise DataError("a sentence", expected="a list of tokens", got=shortened(tokens), where=f"sentence {i}")


def scored(scorer: FastScorer, X: Sequence[Sequence[Token]]) -> Iterator[tuple[list[int], Array, Array]]:
    """Blocks of sentences of similar length: their places in X, the scores (N, L) of their tokens, their offsets."""
    check_sentences(X)
    lengths = [len(tokens) for tokens in X]
    warn_of_long_sentences(scorer.network.config, lengths)
    with one_blas_thread():
        for which in blocks(lengths):
            yield which, *scorer.scores([X[i] for i in which])


def blocks(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Places of sentences, by length, in blocks of TOKENS_PER_BLOCK; a longer sentence is a block of its own."""
    block: list[int] = []
    tokens = 0
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if block and tokens + lengths[i] > TOKENS_PER_BLOCK:
            yield block
            block, tokens = [], 0
        block.append(i)
        tokens += lengths[i]
    if block:
        yield block


def entity(sentence: Sentence, label: str, start: int, end: int, probability: float | None = None) -> Entity:
    """The tokens ``start:end`` as an entity; its offsets count characters where the sentence has a text."""
    if sentence.text is None or sentence.starts is None or sentence.ends is None:
        return Entity(" ".join(sentence.tokens[start:end]), label, start, end, probability)
    first, last = sentence.starts[start], sentence.ends[end - 1]
    return Entity(sentence.text[first:last], label, first, last, probability)
