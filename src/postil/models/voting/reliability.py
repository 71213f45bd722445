"""How much a vote counts: how often each rule is right, estimated by EM from the votes and a model's posterior.

A token's true label y and a vote for the label v (the label that the token would have if the voted span were right)
stand in one of four relations. For every rule and class, π is the share of its votes in each relation:

    same      y is v
    boundary  y has the class of v, another position: a span that is too long or too short
    class     y has another class
    outside   y is O

By Bayes' rule, P(vote | y) ∝ π(relation of y and v) / P(relation): a vote adds log π - log P to the score of every
label of its tokens. One vote alone then gives the posterior π, and two that agree give more. A rule that abstains adds
nothing: that it does not know a name says little. Before there is a model that could tell, the event that *no* rule
votes for a token adds log P(silence | y is O) or log P(silence | y is in an entity). A vote *against* a class has two
relations: y has that class, or it has not.

π is expected counts divided by votes, under the posterior of any lattice to which the evidence was added. It starts
from a prior of some imagined votes, so that a rule with one vote is not trusted blindly.

Shapes: T tokens of a sentence, N of all, L labels.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError, ModelFileError
from postil.features.inputs import Sentences, forms_of
from postil.models.decoding.codec import LabelCodec
from postil.models.voting.rule import ListRule, PatternRule, Rule, Rules, Vote, rule_of_table, table_of
from postil.reading import parsed_json
from postil.text.labels.schemes import Span as TokenSpan
from postil.text.labels.schemes import labels_from_spans, parse_label

Key = tuple[str, str, bool]  # a rule, a class, and whether the votes are against it
# Shares of votes in each relation that are believed before any are seen, and the number of votes this counts for.
_PRIOR = np.array([0.7, 0.15, 0.03, 0.12])
_AGAINST = 0.1  # a vote against a class makes it this much less probable
_STRENGTH = 30.0
_SILENCE = np.array([0.99, 0.2])  # P(no rule votes | O), P(no rule votes | in an entity)
_OUTSIDE = 0.93  # share of tokens that are O


@final
@dataclass(frozen=True, eq=False)
class Reliability:
    """π of all rules, and the share of each label among the tokens.

    ``of_rules``: (rule, class, against) -> (4,) by relation, or (2,) for votes against the class.
    """

    of_rules: Mapping[Key, Array]
    shares: Array  # (L,)

    @classmethod
    def prior(cls, rules: Rules, labels: Sequence[str]) -> "Reliability":
        """The reliability that is assumed before any vote is seen."""
        keys = [(rule.name, label, against) for rule in rules for label in rule.labels for against in (False, True)]
        is_outside = np.array([parse_label(label).role == "O" for label in labels])
        shares = np.where(is_outside, _OUTSIDE, (1 - _OUTSIDE) / max(1, (~is_outside).sum()))
        return cls({key: _prior(key, labels, shares) for key in keys}, shares)

    def precision(self, rule: str, label: str) -> float:
        """The share of the rule's voted tokens that are of this class."""
        return float(self.of_rules[rule, label, False][:2].sum())

    def to_dict(self) -> dict[str, Any]:
        """For the model file."""
        rates = [[*key, *map(float, rates)] for key, rates in self.of_rules.items()]
        return {"rates": rates, "shares": list(map(float, self.shares))}

    @classmethod
    def from_dict(cls, content: Any) -> "Reliability":
        """The reliability whose ``to_dict`` this is, checked completely."""
        what, expected = "reliability of rules", "shares of each rule and class, above 0, that sum to 1"
        try:
            rates = {
                (str(rule), str(label), bool(against)): np.array(list(map(float, numbers)))
                for rule, label, against, *numbers in content["rates"]
            }
            shares = np.array(list(map(float, content["shares"])))
        except (TypeError, ValueError, KeyError, OverflowError):
            raise ModelFileError(what, expected=expected, got="others") from None
        fits = all(len(numbers) == (2 if key[2] else 4) for key, numbers in rates.items())
        if not fits or not all((some > 0).all() and abs(some.sum() - 1) < 1e-6 for some in (*rates.values(), shares)):
            raise ModelFileError(what, expected=expected, got="others")
        return cls(rates, shares)


def _prior(key: Key, labels: Sequence[str], shares: Array) -> Array:
    if not key[2]:
        return _PRIOR
    share = _AGAINST * shares[[parse_label(label).label == key[1] for label in labels]].sum()
    return np.array([share, 1 - share])


@final
class Votes:
    """The votes about a list of sentences, as relations of the labels of a model to each voted token."""

    def __init__(self, votes: Sequence[Sequence[Vote]], lengths: Sequence[int], labels: Sequence[str], scheme: str):
        tags = [parse_label(label) for label in labels]
        number = {label: place for place, label in enumerate(labels)}
        self._classes = np.array([tag.label if tag.role != "O" else "" for tag in tags], dtype=object)
        self._is_outside = np.array([tag.role == "O" for tag in tags])
        self._labels = labels
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self.tokens = int(starts[-1])
        places: dict[tuple[str, str, bool], list[tuple[int, int]]] = {}  # token, label number that was voted for
        spoken = np.zeros(self.tokens, bool)
        for first, of_sentence in zip(starts, votes, strict=False):
            for vote in of_sentence:
                tokens = range(int(first) + vote.start, int(first) + vote.end)
                spoken[tokens.start : tokens.stop] = True
                inside = labels_from_spans([TokenSpan(vote.label, 0, len(tokens))], len(tokens), scheme)
                rows = places.setdefault((vote.rule, vote.label, vote.negated), [])
                rows += [(token, number.get(label, -1)) for token, label in zip(tokens, inside, strict=True)]
        self._places = {key: np.array(rows, np.int64).reshape(-1, 2) for key, rows in places.items()}
        self._silent = np.flatnonzero(~spoken)

    def _relations(self, key: tuple[str, str, bool], voted: Array) -> Array:
        """(n, L) the relation of every label to each voted label, as a number."""
        label, is_against = key[1], key[2]
        of_class = self._classes == label
        if is_against:
            return np.broadcast_to(np.where(of_class, 0, 1), (len(voted), len(of_class)))
        relation = np.where(self._is_outside, 3, np.where(of_class, 1, 2))
        rows = np.repeat(relation[None], len(voted), axis=0)
        exact = voted >= 0
        rows[np.flatnonzero(exact), voted[exact]] = 0
        return rows

    def evidence(self, reliability: Reliability, *, silence: bool = False) -> Array:
        """(N, L) log P(votes | label) of every token, up to a constant; with ``silence`` also that nobody votes."""
        scores = np.zeros((self.tokens, len(self._classes)))
        for key in reliability.of_rules:  # always in this order: sums depend on nothing but the sentence
            if (places := self._places.get(key)) is not None:
                np.add.at(scores, places[:, 0], self._lifts(key, reliability))
        if silence:
            scores[self._silent] += np.where(self._is_outside, *np.log(_SILENCE))
        return scores

    def _lifts(self, key: Key, reliability: Reliability) -> Array:
        """(n, L) log π - log P(relation) of every label, for each voted token of a rule."""
        relations, rates = self._relations(key, self._places[key][:, 1]), reliability.of_rules[key]
        # P(relation): the share of all labels that stand in the same relation to the voted label.
        same = relations[:, :, None] == np.arange(len(rates))
        share = np.maximum((same * reliability.shares[:, None]).sum(axis=1), 1e-9)  # (n, relations)
        return np.take_along_axis(np.log(rates) - np.log(share), relations, axis=1)

    def estimated(self, posterior: Array, reliability: Reliability) -> Reliability:
        """The share of each rule's votes in every relation, judged by everything but the rule itself.

        ``posterior`` (N, L) has the probabilities of the labels with all votes. Divided by what the rule's own vote
        contributed, they are those without it: a rule cannot confirm itself.
        """
        rates = {}
        for key in reliability.of_rules:
            counts = _prior(key, self._labels, reliability.shares) * _STRENGTH
            if (places := self._places.get(key)) is not None:
                others = posterior[places[:, 0]] * np.exp(-self._lifts(key, reliability))
                others /= np.maximum(others.sum(axis=1, keepdims=True), 1e-300)
                np.add.at(counts, self._relations(key, places[:, 1]), others)
            rates[key] = counts / counts.sum()
        return Reliability(rates, reliability.shares)


MOST_BYTES = 8 << 20  # of the rules in a model file


@final
@dataclass(frozen=True, eq=False)
class Voters:
    """Rules that vote on what is tagged, and their reliability."""

    rules: Rules
    reliability: Reliability

    @classmethod
    def of(cls, rules: Rules, codec: LabelCodec, known: Reliability | None = None) -> "Voters":
        """Voters for a model with these labels. Rules that are not ``known`` have the reliability of the prior."""
        if not codec.has_spans:
            raise ConfigurationError("rules", expected="need a model of spans", got="labels without spans")
        if unknown := sorted(set(rules.labels) - set(codec.classes)):
            expected = f"must vote for classes of the model: {', '.join(codec.classes[:12])}"
            raise ConfigurationError("rules", expected=expected, got=", ".join(unknown)[:80])
        reliability = Reliability.prior(rules, codec.labels)
        if known is not None:
            rates = {key: known.of_rules.get(key, rates) for key, rates in reliability.of_rules.items()}
            is_of_labels = len(known.shares) == len(codec.labels)
            reliability = Reliability(rates, known.shares if is_of_labels else reliability.shares)
        return cls(rules, reliability)

    def evidence(self, sentences: Sentences, codec: LabelCodec) -> Array:
        """(N, L) log P(votes | label) of every token of the sentences, up to a constant."""
        forms = [forms_of(tokens) for tokens in sentences]
        votes = Votes(self.rules.votes(forms), list(map(len, forms)), codec.labels, codec.inner)
        return votes.evidence(self.reliability)

    def to_bytes(self) -> bytes:
        """The rules as JSON; an error for rules that are not lists or patterns."""
        for rule in self.rules:
            if not is_plain(rule):
                expected = "lists, and patterns without <pos:TAG>: other rules cannot be stored"
                raise ConfigurationError("rules of a model file", expected=expected, got=f"rule {rule.name!r}")
        tables = [table_of(rule) for rule in self.rules]
        content = json.dumps({"rules": tables, "reliability": self.reliability.to_dict()}).encode()
        if len(content) > MOST_BYTES:
            expected = f"at most {MOST_BYTES >> 20} MiB"
            raise ConfigurationError("rules of a model file", expected=expected, got=f"{len(content):,} bytes")
        return content

    @classmethod
    def from_bytes(cls, content: bytes, codec: LabelCodec) -> "Voters":
        """Invert ``to_bytes``. The content may come from a stranger and is checked completely."""
        if len(content) > MOST_BYTES:
            raise ModelFileError("rules", expected=f"at most {MOST_BYTES >> 20} MiB", got=f"{len(content):,} bytes")
        try:
            parts: Any = parsed_json(content)
        except (ValueError, RecursionError) as error:
            raise ModelFileError("rules", expected="JSON", got=str(error)[:80]) from None
        tables = parts.get("rules") if isinstance(parts, dict) and set(parts) == {"rules", "reliability"} else None
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise ModelFileError("rules", expected="rules and reliability", got="others")
        rules = Rules([rule_of_table(table, n, f"rule {n}") for n, table in enumerate(tables, 1)])
        voters, reliability = cls.of(rules, codec), Reliability.from_dict(parts["reliability"])
        if reliability.of_rules.keys() != voters.reliability.of_rules.keys():
            raise ModelFileError("reliability of rules", expected="that of every rule and no other", got="others")
        if len(reliability.shares) != (L := len(codec.labels)):
            raise ModelFileError("reliability of rules", expected=f"{L} shares of labels", got=len(reliability.shares))
        return cls(rules, reliability)


def is_plain(rule: Rule) -> bool:
    """Whether a model file can hold a rule: a list, or a pattern that needs no other model."""
    return isinstance(rule, ListRule) or (isinstance(rule, PatternRule) and not rule.asks_for_tags)
