"""Simulated labelling errors: to learn what such errors look like, and to measure how well they are found."""

from collections.abc import Iterator, Sequence

import numpy as np

from postil.text import Span

KINDS = ("removed", "moved", "swapped")


def altered(
    span: Span, gold: Sequence[Span], tokens: int, classes: Sequence[str], scheme: str, rng: np.random.Generator
) -> Iterator[Span | None]:
    """One error of each kind that is possible with an entity of a sentence: None where it is left out altogether."""
    for kind in KINDS if scheme != "none" else ("swapped",):
        found = alternatives(kind, span, gold, tokens, classes)
        if found:
            yield found[int(rng.integers(len(found)))]


def alternatives(kind: str, span: Span, gold: Sequence[Span], tokens: int, classes: Sequence[str]) -> list[Span | None]:
    """What may stand in the place of an entity after an error of this kind."""
    if kind == "removed":
        return [None]
    if kind == "swapped":
        return [span._replace(label=label) for label in classes if label != span.label]
    taken = {t for other in gold if other != span for t in range(other.start, other.end)}
    edges = [
        *((span.start - 1, span.end), (span.start + 1, span.end)),
        *((span.start, span.end - 1), (span.start, span.end + 1)),
    ]
    return [
        span._replace(start=start, end=end)
        for start, end in edges
        if 0 <= start < end <= tokens and not taken.intersection(range(start, end))
    ]
