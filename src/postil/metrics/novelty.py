"""How much was new: scores apart for what the training data had and for what it had not.

seen entity       the same words with the same class stood in the training data
new entity        a new combination, or a new class, of words that all stood there
unseen word       at least one of its words never stood there
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from postil.metrics.spans import Spans, SpanScores, spans_by
from postil.metrics.tokens import TokenScores
from postil.text.labels.schemes import PartialLabel, Span

SPAN_NOVELTIES = ("seen entity", "new entity", "unseen word")
WORD_NOVELTIES = ("seen word", "unseen word")


class Known(NamedTuple):
    """The words of the training data, and its entities as (class, words)."""

    words: frozenset[str]
    entities: frozenset[tuple[str, tuple[str, ...]]]


def known_from(tokens: Sequence[Sequence[str]], spans: Spans = ()) -> Known:
    """Collect the words, and the entities if there are spans, of the training data."""
    entities = (
        (span.label, tuple(words[span.start : span.end]))
        for words, sentence in zip(tokens, spans, strict=False)
        for span in sentence
    )
    return Known(frozenset(word for words in tokens for word in words), frozenset(entities))


def span_novelty(words: Sequence[str], span: Span, known: Known) -> str:
    """One of `SPAN_NOVELTIES`."""
    covered = tuple(words[span.start : span.end])
    if (span.label, covered) in known.entities:
        return "seen entity"
    return "new entity" if known.words.issuperset(covered) else "unseen word"


def spans_by_novelty(
    tokens: Sequence[Sequence[str]], gold: Spans, predicted: Spans, known: Known
) -> dict[str, SpanScores]:
    """Scores by novelty; they add up to the whole. A pair is counted in the group of its gold span."""
    found = spans_by(gold, predicted, lambda number, span: span_novelty(tokens[number], span, known))
    return {novelty: found.get(novelty, SpanScores()) for novelty in SPAN_NOVELTIES}


def tokens_by_novelty(
    tokens: Sequence[Sequence[str]], gold: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]], known: Known
) -> dict[str, TokenScores]:
    """Separate token scores for words that do and do not occur in the training data."""
    cells: dict[str, Counter[tuple[str, str]]] = {novelty: Counter() for novelty in WORD_NOVELTIES}
    for words, *columns in zip(tokens, gold, predicted, strict=True):
        for word, one, other in zip(words, *columns, strict=True):
            if isinstance(one, PartialLabel):
                continue
            cells["seen word" if word in known.words else "unseen word"][one, other] += 1
    return {novelty: TokenScores(counter) for novelty, counter in cells.items()}
