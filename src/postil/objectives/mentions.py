"""Answers without places: "Bill is a PER in this text" says that at least one occurrence of Bill is an entity.

Such a mention weighs labellings y of all sentences of its text by

    f(y) = 1 if at least one of its spans is an entity of its kind in y, else ``doubt``
         = 1 - (1 - doubt) 1[none of the spans is an entity in y]

With Z the sum over all labellings and Z_none over those without any of the spans, which is a product over the sentences
(``without_spans``), the weight of one mention is Z - (1 - doubt) Z_none. For several, the product of the factors is
expanded: a sum over the subsets S of mentions of (-1)^|S| Π_S (1 - doubt) Z_none(S). Expected counts are sums of the
same terms, each with the counts of the labellings without the spans of S. So everything is exact.

Mentions that share a sentence depend on each other. Of those, at most ``TOGETHER`` are expanded together; each of the
others counts as if it were the only one, by the change that it makes to the probabilities of single labels.

Shapes: T tokens of a sentence, L labels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import exp, log, prod
from typing import NamedTuple

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError
from postil.graph import Node, Result
from postil.objectives.crf import ChainScores, Lattice, Moments, best_paths, expected_counts
from postil.objectives.spans import EntityLabels, SpanOfKind, without_spans

TOGETHER = 4
"""Mentions that are expanded together. Each doubles the sum, and the digits that its differences lose."""
_LEAST = 1e-12  # a share of all labellings that is still more than rounding


class Mention(NamedTuple):
    """Spans (sentence, start, end) of which at least one is an entity of this kind, or ``doubt`` weighs the others."""

    spans: Sequence[tuple[int, int, int]]
    kind: int
    doubt: float = 0.0


class Change(NamedTuple):
    """By how much the expected counts of a sentence change."""

    unary: Array  # (T, L)
    transitions: Array  # (L, L)


def given_mentions(
    lattice: Lattice, mentions: Sequence[Mention], entities: Sequence[EntityLabels]
) -> tuple[float, dict[int, Change]]:
    """The logarithm of the expected weight of all mentions, and how they change the counts of each of their sentences.

    Kinds are places in ``entities``. Mentions that no labelling can have, and that leave no doubt, are an error.
    """
    groups: list[tuple[set[int], list[Mention]]] = []  # mentions that share sentences, directly or through others
    for mention in mentions:
        sentences, together = {sentence for sentence, _, _ in mention.spans}, [mention]
        apart = []
        for group in groups:
            if sentences.isdisjoint(group[0]):
                apart.append(group)
            else:
                sentences, together = sentences | group[0], group[1] + together
        groups = [*apart, (sentences, together)]
    changes: dict[int, Change] = {}
    return sum(_condition(lattice, together, entities, changes) for _, together in groups), changes


def mention_loss(
    scores: Node, chain: ChainScores, mentions: Sequence[Mention], entities: Sequence[EntityLabels]
) -> Result:
    """A node with -log of the expected weight of the mentions.  scores (N, L), a node that carries offsets.

    Its derivative by a score is what the model expects minus what it expects given the mentions.
    """
    lattice = Lattice.over(scores.value, scores.offsets, chain)
    total, changes = given_mentions(lattice, mentions, entities)

    def pullback(dY: Array) -> list[Array]:
        dU = np.zeros_like(lattice.unary)
        for sentence, change in changes.items():
            dU[lattice.offsets[sentence] : lattice.offsets[sentence + 1]] = -change.unary
        return [(dU * float(dY)).astype(scores.dtype)]

    return Result(np.asarray(-total, scores.dtype), (scores,), pullback, "mentions")


def _condition(
    lattice: Lattice, mentions: Sequence[Mention], entities: Sequence[EntityLabels], changes: dict[int, Change]
) -> float:
    """Add the changes that connected mentions make to ``changes``; the logarithm of their expected weight."""
    total = 0.0
    alone: dict[int, Array] = {}  # changes of unary scores
    for mention in mentions[TOGETHER:]:
        of_one: dict[int, Change] = {}
        total += _condition(lattice, [mention], entities, of_one)
        for sentence, change in of_one.items():
            p = expected_counts(lattice.selected(np.array([sentence]))[0]).unary
            more = np.log(np.maximum(p + change.unary, _LEAST)) - np.log(np.maximum(p, _LEAST))
            alone[sentence] = alone.get(sentence, 0.0) + more
    mentions = mentions[:TOGETHER]
    of_sentence = {}  # the mentions that have a span in each sentence
    for sentence in sorted({sentence for mention in mentions for sentence, _, _ in mention.spans} | set(alone)):
        has_span = [any(span[0] == sentence for span in mention.spans) for mention in mentions]
        of_sentence[sentence] = [number for number, is_in in enumerate(has_span) if is_in]
    terms, plain = {}, {}
    for sentence, here in of_sentence.items():
        plain[sentence], _ = lattice.selected(np.array([sentence]))
        base = replace(plain[sentence], unary=plain[sentence].unary + alone.get(sentence, 0.0))
        terms[sentence] = _terms(base, sentence, here, mentions, entities)
    weights = {sentence: dict.fromkeys(of_subsets, 0.0) for sentence, of_subsets in terms.items()}
    for subset in product((False, True), repeat=len(mentions)):
        chosen = [number for number, is_in in enumerate(subset) if is_in]
        keys = {sentence: tuple(n for n in here if subset[n]) for sentence, here in of_sentence.items()}
        sign = prod(mentions[number].doubt - 1 for number in chosen)
        term = sign * prod(terms[sentence][key][0] for sentence, key in keys.items())
        for sentence, key in keys.items():
            weights[sentence][key] += term
    first = min(of_sentence)
    share = sum(weights[first].values())
    if not share > _LEAST:
        expected = "at least one occurrence that the labels allow"
        raise ConfigurationError("mentions", expected=expected, got="none", where=f"sentence {first}")
    for sentence in of_sentence:
        before = expected_counts(plain[sentence])
        given = [(weight / share, terms[sentence][key][1]) for key, weight in weights[sentence].items()]
        unary = np.sum([weight * moments.unary for weight, moments in given], axis=0)
        steps = np.sum([weight * moments.transitions for weight, moments in given], axis=0)
        changes[sentence] = Change(np.maximum(unary, 0) - before.unary, np.maximum(steps, 0) - before.transitions)
    return total + log(share)


def _terms(
    lattice: Lattice, sentence: int, here: list[int], mentions: Sequence[Mention], entities: Sequence[EntityLabels]
) -> Mapping[tuple[int, ...], tuple[float, Moments]]:
    """For each set of mentions in one sentence: the share of its labellings without their spans, and their counts."""
    everything = expected_counts(lattice)
    terms: dict[tuple[int, ...], tuple[float, Moments]] = {(): (1.0, everything)}
    for subset in product((False, True), repeat=len(here)):
        key = tuple(number for number, is_in in zip(here, subset, strict=True) if is_in)
        if not key:
            continue
        places = [(n, start, end) for n in key for at, start, end in mentions[n].spans if at == sentence]
        spans = {SpanOfKind(start, end, mentions[n].kind) for n, start, end in places}
        moments = _counts_without(lattice, spans, entities)
        if moments is None:
            terms[key] = 0.0, everything
        else:
            terms[key] = exp(float(moments.log_weight[0] - everything.log_weight[0])), moments
    return terms


def _counts_without(lattice: Lattice, spans: set[SpanOfKind], entities: Sequence[EntityLabels]) -> Moments | None:
    """The expected counts of the labellings on which none of the spans is an entity; None if there is no such one."""
    unary, longer = lattice.unary.copy(), []
    for span in sorted(spans):
        entity = entities[span.kind]
        if span.end - span.start == 1 and not (entity.only & entity.first).any():
            unary[span.start, entity.only] = -np.inf  # a label of one token says it all
        else:
            longer.append(span)
    wider, meaning = replace(lattice, unary=unary), np.arange(lattice.chain.labels)
    if longer:
        wider, meaning = without_spans(wider, longer, entities)
    if best_paths(wider)[1][0] == -np.inf:
        return None
    log_weight, of_tokens, of_steps = expected_counts(wider)
    L = lattice.chain.labels
    counts, steps = np.zeros((len(of_tokens), L)), np.zeros((L, L))
    np.add.at(counts.T, meaning, of_tokens.T)
    np.add.at(steps, (meaning[:, None], meaning[None, :]), of_steps)
    return Moments(log_weight, counts, steps)
