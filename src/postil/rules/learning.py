"""Training a tagger on the votes of rules: EM, with the tagger's CRF as the distribution of the labels.

    0  votes alone            rates and the posterior of labels, by EM on a chain without scores
    1  fit                    the tagger learns the posterior (its expected counts, exactly)
    2  the tagger's scores + evidence of the votes -> a better posterior, from which the rates are estimated again
    3  1 and 2 for a number of rounds

Sentences with gold labels have a posterior with one path. Whatever no rule speaks about is decided by the tagger.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, final

import numpy as np

from postil.arrays import Array, offsets_from_lengths
from postil.errors import ConfigurationError, DataError
from postil.models.decoding.codec import LabelCodec
from postil.objectives.crf import ChainScores, Lattice, expected_counts
from postil.rules.reliability import Reliability, Votes
from postil.rules.rule import Rules, Tokens, Vote

ROUNDS = 1
"""How often the tagger is fitted again to its own posterior with the votes."""


@final
@dataclass(frozen=True, eq=False)
class Learned:
    """A tagger that was trained on votes, and what was found out about the rules."""

    tagger: Any
    rules: Rules
    reliability: Reliability
    votes: Sequence[Sequence[Vote]]


@final
class _Posterior:
    """A teacher whose lattices are scores with the evidence of votes: see ``models.fitting.training_set``."""

    def __init__(self, codec: LabelCodec, sentences: Sequence[Tokens], scores: Sequence[Array], chain: ChainScores):
        self.model, self._posteriors = SimpleNamespace(codec=codec), self
        self._scores = {tuple(tokens): rows for tokens, rows in zip(sentences, scores, strict=True)}
        self._chain = chain

    def lattices(self, X: Sequence[Tokens]) -> Iterator[tuple[list[int], Lattice]]:
        for place, tokens in enumerate(X):
            offsets = np.array([0, len(tokens)])
            yield [place], Lattice(unary=self._scores[tuple(tokens)], offsets=offsets, chain=self._chain)


def learn(
    tagger: Any,
    sentences: Sequence[Tokens],
    rules: Rules,
    *,
    gold: tuple[Sequence[Tokens], Sequence[Sequence[str]]] | None = None,
    dev: Any = None,
    rounds: int = ROUNDS,
    on_round: Callable[[int, Reliability], None] | None = None,
    **options: Any,
) -> Learned:
    """Fit ``tagger`` to the votes of rules about raw sentences, and to gold labels if there are some.

    Parameters
    ----------
    tagger : Tagger
        An estimator with the objective ``crf``; it is fitted in place.
    sentences : sequence of token lists
        Raw sentences.
    rules : Rules
    gold, dev : pairs (X, y), optional
        Labelled sentences to learn from as well, and held-out ones to choose the best epoch on.
    rounds : int
        How often the tagger is fitted again to its own posterior with the votes.
    on_round : callable, optional
        Is called with the number of each round and the reliability of the rules.
    options
        Passed to ``tagger.fit``.

    Returns
    -------
    Learned
        The tagger, and the reliability of every rule.
    """
    sentences = [list(tokens) for tokens in dict.fromkeys(map(tuple, sentences)) if tokens]
    if not sentences:
        raise DataError("raw text", expected="at least one sentence with a word", got="none")
    if rounds < 0:
        raise ConfigurationError("rounds", expected="0 or more", got=rounds)
    X_gold, y_gold = ([], []) if gold is None else (list(gold[0]), list(gold[1]))
    codec = LabelCodec.of([*y_gold, [f"{role}-{label}" for label in rules.labels for role in "BI"], ["O"]])
    if not codec.has_spans:
        raise DataError("gold labels", expected="spans, as the rules vote for them", got="labels of single words")
    cast = rules.votes(sentences)
    votes = Votes(cast, [len(tokens) for tokens in sentences], codec.labels, codec.inner)
    if not any(cast):
        raise DataError("the rules", expected="at least one vote on the raw text", got="none")
    mask = codec.mask
    chain = ChainScores.under_mask(
        len(codec.labels),
        allowed_transitions=mask.transitions,
        allowed_start=mask.start,
        allowed_end=mask.end,
    )
    reliability = Reliability.prior(rules, codec.labels)
    scores: Array = np.broadcast_to(np.log(reliability.shares), (votes.tokens, len(codec.labels)))
    # One raw sentence stands among the labelled ones with every label open: so the labels are known without gold.
    everything = "|".join(codec.answers)
    X, y = [sentences[0], *X_gold], [[everything] * len(sentences[0]), *y_gold]
    for number in range(rounds + 1):
        if on_round is not None:
            on_round(number, reliability)
        teacher = _Posterior(codec, sentences, votes.by_sentence(scores + votes.evidence(reliability)), chain)
        tagger.fit(X, y, dev=dev, unlabelled=sentences[1:], teachers=[teacher], partial=True, **options)
        if number < rounds:
            scores, chain = _scores(tagger, sentences, votes)
            for _ in range(2):
                posterior = _marginals(scores + votes.evidence(reliability), votes, chain)
                reliability = votes.estimated(posterior, reliability)
    return Learned(tagger, rules, reliability, cast)


def _scores(tagger: Any, sentences: Sequence[Tokens], votes: Votes) -> tuple[Array, ChainScores]:
    """The network's scores of all tokens (N, L), and its chain."""
    rows: list[Array] = [np.empty(0)] * len(sentences)
    for which, lattice in tagger._posteriors.network_lattices(sentences):
        for place, of_sentence in zip(which, np.split(lattice.unary, lattice.offsets[1:-1]), strict=True):
            rows[place] = of_sentence
        chain = lattice.chain
    return np.concatenate(rows), chain


def _marginals(scores: Array, votes: Votes, chain: ChainScores) -> Array:
    """(N, L) the probability of every label of every token."""
    lengths = [len(rows) for rows in votes.by_sentence(scores)]
    return expected_counts(Lattice(unary=scores, offsets=offsets_from_lengths(lengths), chain=chain)).unary
