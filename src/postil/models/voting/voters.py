"""The rules of a tagger: their votes on a sentence as evidence about its labels, and how a model file holds them."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from postil.arrays import Array, offsets_from_lengths
from postil.errors import ConfigurationError, ModelFileError
from postil.features.inputs import Token, forms_of
from postil.models.decoding.codec import LabelCodec
from postil.models.voting.reliability import Reliability, Votes
from postil.models.voting.rule import ListRule, PatternRule, Rule, Rules, rule_of_table
from postil.objectives.crf import Lattice, expected_counts
from postil.reading import parsed_json

MOST_BYTES = 8 << 20
"""Of the rules in a model file."""
_PASSES = 2  # over the votes, to estimate how reliable rules are


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
        reliability = Reliability.prior(rules, codec.labels).updated(known)
        if known is not None and len(known.shares) == len(codec.labels):
            reliability = Reliability(reliability.of_rules, known.shares)
        return cls(rules, reliability)

    def evidence(self, sentences: Sequence[Sequence[Token]], codec: LabelCodec) -> Array:
        """(N, L) log P(votes | label) of every token of the sentences, up to a constant."""
        forms = [forms_of(tokens) for tokens in sentences]
        return self._votes(forms, codec).evidence(self.reliability)

    def _votes(self, forms: Sequence[Sequence[str]], codec: LabelCodec) -> Votes:
        return Votes(self.rules.votes(forms), [len(tokens) for tokens in forms], codec.labels, codec.inner)

    def judged(
        self, lattices: Iterable[tuple[Sequence[int], Lattice]], forms: Sequence[Sequence[str]], codec: LabelCodec
    ) -> "Voters":
        """The same rules with the reliability that a model's lattices of raw sentences suggest."""
        votes, reliability = self._votes(forms, codec), self.reliability
        rows: list[Array] = [np.zeros((0, len(codec.labels)))] * len(forms)
        chain = None
        for which, lattice in lattices:
            chain = lattice.chain
            for place, of_sentence in zip(which, np.split(lattice.unary, lattice.offsets[1:-1]), strict=True):
                rows[place] = of_sentence
        if chain is None:
            return self
        scores, offsets = np.concatenate(rows), offsets_from_lengths([len(tokens) for tokens in forms])
        for _ in range(_PASSES):
            lattice = Lattice(unary=scores + votes.evidence(reliability), offsets=offsets, chain=chain)
            reliability = votes.estimated(expected_counts(lattice).unary, reliability)
        return Voters(self.rules, reliability)

    # -------------------------------------------------------------------------------------------- in a model file

    def to_bytes(self) -> bytes:
        """The rules as JSON; an error for rules that are not lists or patterns."""
        for rule in self.rules:
            if not is_plain(rule):
                expected = "lists, and patterns without <pos:TAG>: other rules cannot be stored"
                raise ConfigurationError("rules of a model file", expected=expected, got=f"rule {rule.name!r}")
        tables = [rule.to_table() for rule in self.rules]
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
        if len(reliability.shares) != len(codec.labels):
            L = len(codec.labels)
            raise ModelFileError("reliability of rules", expected=f"{L} shares of labels", got=len(reliability.shares))
        return cls(rules, reliability)


def is_plain(rule: Rule) -> bool:
    """Whether a model file can hold a rule: a list, or a pattern that needs no other model."""
    return isinstance(rule, ListRule) or (isinstance(rule, PatternRule) and not rule.asks_for_tags)
