"""Report on rules applied to raw text: coverage, conflicts, reliability, dead rules, and ideas for the next rule."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, final

from postil.metrics.tables import Table, text
from postil.models.voting.rule import Tokens, Vote
from postil.rules.learning import Learned
from postil.text import Sentence
from postil.text.report import counted

_EXAMPLES, _LIKELY, _SURE = 3, 0.5, 0.9


class RuleRow(NamedTuple):
    """One rule."""

    rule: str
    classes: str
    votes: int
    sentences: int
    alone: int
    """Votes that touch no other rule's vote."""
    conflicts: int
    """Votes on a span where another rule votes for another span or class."""
    precision: float | None
    """The share of votes that are estimated to be right; None for a rule that never votes."""
    outvoted: list[str]
    """Examples that the model and the other rules contradict."""


@final
@dataclass(frozen=True, kw_only=True)
class RuleReport:
    """The result of ``check``."""

    sentences: int
    tokens: int
    covered: int
    """Sentences with at least one vote."""
    rows: list[RuleRow]
    suggestions: list[tuple[str, str, int]]
    """Phrases that the model labels with high probability and no rule knows: phrase, class, occurrences."""

    @property
    def dead(self) -> list[str]:
        """Rules that never vote."""
        return [row.rule for row in self.rows if not row.votes]

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "rows": [row._asdict() for row in self.rows], "dead": self.dead}

    def __str__(self) -> str:
        share = 100 * self.covered / max(1, self.sentences)
        size = f"{counted(len(self.rows), 'rule')}, {counted(self.sentences, 'sentence')}"
        lines = [f"{size}, {share:.1f} % of them with a vote", ""]
        columns = ("rule", "class", "votes", "alone", "conflicts", "right, %")
        cells = [
            (row.rule, row.classes, row.votes, row.alone, row.conflicts, row.precision and 100 * row.precision)
            for row in self.rows
        ]
        lines.append(text(Table("", columns, cells)))
        lines += [f"{row.rule} is outvoted: {'; '.join(row.outvoted)}" for row in self.rows if row.outvoted]
        if self.dead:
            lines.append(f"never vote: {', '.join(self.dead)}")
        if self.suggestions:
            named = ", ".join(f"{phrase} ({label}, {count})" for phrase, label, count in self.suggestions)
            lines.append(f"no rule knows, the model is sure: {named}")
        return "\n".join(lines)


def check(learned: Learned, sentences: Sequence[Tokens], *, suggestions: int = 15) -> RuleReport:
    """Look at the votes of rules with the eyes of the model that was trained on them."""
    rows = []
    entities = learned.tagger.entities_above([Sentence(list(tokens)) for tokens in sentences], _LIKELY)
    found = [[(e.start, e.end, e.label, e.probability) for e in of_sentence] for of_sentence in entities]
    votes = learned.rules.votes(sentences)
    for rule in learned.rules:
        cast = conflicts = alone = touched = 0
        outvoted: list[str] = []
        for tokens, of_sentence, spans in zip(sentences, votes, found, strict=True):
            own = [vote for vote in of_sentence if vote.rule == rule.name]
            touched += bool(own)
            for vote in own:
                cast += 1
                others = [
                    other
                    for other in of_sentence
                    if other.rule != rule.name and vote.start < other.end and other.start < vote.end
                ]
                alone += not others
                conflicts += any(_disagree(vote, other) for other in others)
                answered = any((start, end, label) == vote[1:4] for start, end, label, _ in spans)
                if answered == vote.negated and len(outvoted) < _EXAMPLES:
                    outvoted.append(_quoted(tokens, vote))
        shares = [learned.reliability.precision(rule.name, label) for label in rule.labels]
        precision = sum(shares) / len(shares) if cast and shares else None
        rows.append(RuleRow(rule.name, " ".join(rule.labels), cast, touched, alone, conflicts, precision, outvoted))
    unknown: Counter[tuple[str, str]] = Counter()
    for tokens, of_sentence, spans in zip(sentences, votes, found, strict=True):
        spoken = {place for vote in of_sentence for place in range(vote.start, vote.end)}
        for start, end, label, probability in spans:
            if probability >= _SURE and spoken.isdisjoint(range(start, end)):
                unknown[" ".join(tokens[start:end]), label] += 1
    return RuleReport(
        sentences=len(sentences),
        tokens=sum(map(len, sentences)),
        covered=sum(map(bool, votes)),
        rows=rows,
        suggestions=[(phrase, label, count) for (phrase, label), count in unknown.most_common(suggestions)],
    )


def _disagree(one: Vote, other: Vote) -> bool:
    if one.negated != other.negated:
        return one.label == other.label
    return not one.negated and one[1:4] != other[1:4]


def _quoted(tokens: Tokens, vote: Vote) -> str:
    before, after = tokens[max(0, vote.start - 3) : vote.start], tokens[vote.end : vote.end + 3]
    return " ".join([*before, "[" + " ".join(tokens[vote.start : vote.end]) + "]", *after])
