"""Training a tagger on the votes of rules: EM, with the tagger's CRF as the distribution of the labels.

    0  votes alone            rates and the posterior of labels, by EM on a chain without scores
    1  fit                    the tagger learns the posterior (its expected counts, exactly)
    2  the tagger's scores + evidence of the votes -> a better posterior, from which the rates are estimated again
    3  1 and 2 for a number of rounds

Sentences with gold labels have a posterior with one path. Whatever no rule speaks about is decided by the tagger.

Raw text explains its abbreviations: "Wilms tumour (WT)". If a rule votes for the long form, the short form belongs to
the same class. So each class gets one more list, with the short forms that the text explains.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple, final

import numpy as np

from postil.arrays import Array, offsets_from_lengths
from postil.errors import ConfigurationError, DataError
from postil.metrics.tables import Table, text
from postil.models.config import EPOCHS, FEW_SENTENCES
from postil.models.decoding.codec import LabelCodec, possible
from postil.models.voting.reliability import Reliability, Votes
from postil.models.voting.rule import LONGEST_WORD, MOST_RULES, ListRule, MentionRule, Rule, Rules, Tokens, Vote
from postil.objectives.crf import ChainScores, Lattice, expected_counts
from postil.objectives.mentions import Change, Mention, given_mentions
from postil.text import Sentence
from postil.text.labels.partial import with_marks
from postil.text.report import counted

ROUNDS = 1  # how often the tagger is fitted again to its own posterior with the votes
AGAIN = 3  # epochs of the fit after a change of the rules, which starts from the tagger of before
_DOUBT = 1e-3, 10.0  # smallest and largest weight of labellings without a mention, if those with one weigh 1
Gold = tuple[Sequence[Tokens], Sequence[Sequence[str]]]


@final
@dataclass(frozen=True, eq=False)
class Learned:
    """A tagger that was trained on votes, and what was found out about the rules."""

    tagger: Any
    rules: Rules
    reliability: Reliability
    votes: Sequence[Sequence[Vote]]
    """About each of the sentences."""
    sentences: Sequence[Tokens] = ()
    """The raw sentences that it learned from, without repetitions."""
    gold: Gold | None = None

    def again(self, rules: Rules, **options: Any) -> "Learned":
        """Learn from the same sentences after a change of the rules: one short fit of another tagger.

        It starts from this tagger and from what is known about the rules that stay. Only rules that are new or
        different vote again. ``options`` are passed to ``fit``. This object stays as it is.
        """
        settings = {**self.tagger.get_params(), "epochs": min(AGAIN, self.tagger.model.config.epochs)}
        tagger = type(self.tagger)(**settings)
        learning = Learning(self.sentences, rules, self.gold, before=self)
        tagger.fit(**learning.data(), **options)
        return learning.learned(tagger)

    def predict(self, sentences: Sequence[Tokens]) -> list[list[str]]:
        """The labels of sentences if the rules vote on them as well: a new name on a list counts at once."""
        labels: list[list[str]] = self.tagger.with_rules(self.rules, reliability=self.reliability).predict(sentences)
        return labels


@final
class _Posterior:
    """A teacher whose lattices are scores with the evidence of votes: see ``models.fitting.training_set``."""

    def __init__(
        self,
        codec: LabelCodec,
        sentences: Sequence[Tokens],
        scores: Sequence[Array],
        chain: ChainScores,
        changes: Mapping[int, Change],
    ) -> None:
        self.model, self._posteriors = SimpleNamespace(codec=codec), self
        self._scores = {tuple(tokens): rows for tokens, rows in zip(sentences, scores, strict=True)}
        self._changes = {tuple(sentences[place]): change for place, change in changes.items()}
        self._chain = chain

    def unaries(self, X: Sequence[Tokens]) -> tuple[list[Array], ChainScores]:
        return [self._scores[tuple(tokens)] for tokens in X], self._chain

    def changes(self, X: Sequence[Tokens]) -> dict[int, Change]:
        """The changes by mentions, which a lattice cannot express."""
        changes = ((place, self._changes.get(tuple(tokens))) for place, tokens in enumerate(X))
        return {place: change for place, change in changes if change is not None}


@final
class Learning:
    """The rounds of EM, one fit of a tagger each: ``data`` is what it is fitted to, ``update`` takes the fitted one."""

    def __init__(
        self, sentences: Sequence[Tokens], rules: Rules, gold: Gold | None = None, *, before: Learned | None = None
    ) -> None:
        """``sentences`` are raw; empty ones and repetitions are left out. ``gold``: labelled sentences (X, y).

        Texts that a rule has answers about are learned from as well. ``before`` is what was learned with other rules:
        the first round then starts from its tagger.
        """
        self.gold = gold
        X, y = ([], []) if gold is None else gold
        answered = [tokens for rule in rules if isinstance(rule, MentionRule) for tokens in rule.sentences]
        labelled = set(map(tuple, X))
        distinct = dict.fromkeys(map(tuple, (*sentences, *answered)))
        self.sentences = [list(tokens) for tokens in distinct if tokens and tokens not in labelled]
        if not self.sentences:
            raise DataError("raw text", expected="at least one sentence with a word", got="none")
        marked = with_marks(y, X, partial=True)
        spelt = [*marked, [f"{role}-{label}" for label in rules.labels for role in "BI"], ["O"]]
        self.codec = LabelCodec.of(spelt) if before is None else before.tagger.model.codec.extended(spelt)
        if not self.codec.has_spans:
            raise DataError("gold labels", expected="spans, as the rules vote for them", got="labels of single words")
        self.votes = _votes(rules, self.sentences, before)
        explained = [rule for rule in abbreviations(self.sentences, self.votes) if rule.name not in rules.names]
        explained = explained[: MOST_RULES - len(rules)]
        for rule in explained:
            for votes, more in zip(self.votes, rule.votes(self.sentences), strict=True):
                votes += more
        self.rules = rules = Rules([*rules, *explained])
        # Gold sentences come last: the rules vote on them as well, which tells how good they are.
        self._all = [*self.sentences, *X]
        lengths, labels, mask = list(map(len, self._all)), self.codec.labels, self.codec.mask
        self._votes = Votes([*self.votes, *(rules.votes(X) if X else ())], lengths, labels, self.codec.inner)
        self._offsets = offsets_from_lengths(lengths)
        self._allowed = np.ones((self._votes.tokens, len(labels)), bool)
        gold_offsets = self._offsets[len(self.sentences) : -1]
        for first, numbers in zip(gold_offsets, self.codec.numbers(marked), strict=True):
            self._allowed[first : first + len(numbers)] = possible(numbers, len(labels))
        self.reliability, self._is_first = Reliability.prior(rules, labels), before is None
        # The rule, class, and spans of each name of which at least one occurrence is an entity.
        number = {tuple(tokens): place for place, tokens in enumerate(self._all)}
        self._mentions = [
            (rule.name, label, [(number[tokens], start, end) for tokens, start, end in occurrences])
            for rule in rules
            if isinstance(rule, MentionRule)
            for label, occurrences in rule.ambiguous
        ]
        if not any(self.votes) and not self._mentions:
            raise DataError("the rules", expected="at least one vote on the raw text", got="none")
        self._scores: Array = np.broadcast_to(np.log(self.reliability.shares), self._allowed.shape)
        self._chain = ChainScores.under_mask(
            len(labels), allowed_transitions=mask.transitions, allowed_start=mask.start, allowed_end=mask.end
        )
        # One raw sentence stands among the labelled ones with every label open: so the labels are known without gold.
        everything = ["|".join(self.codec.answers)] * len(self.sentences[0])
        self._lesson: dict[str, Any] = {"X": [self.sentences[0], *X], "y": [everything, *y], "partial": True}
        self._lesson["unlabelled"] = self.sentences[1:]
        if before is not None:
            self._lesson["warm_start"] = before.tagger
            self._go_on_from(before)

    def data(self) -> dict[str, Any]:
        """Arguments of ``fit`` and ``fitting``."""
        unary = self._scores + self._evidence(silence=self._is_first)
        scores = np.split(unary, self._offsets[1:-1])
        teacher = _Posterior(self.codec, self._all, scores, self._chain, self._changes(unary))
        return {**self._lesson, "teachers": [teacher]}

    def _evidence(self, *, silence: bool = False) -> Array:
        """(N, L) of the votes; a token that an answer may be about is not silent."""
        evidence = self._votes.evidence(self.reliability, silence=silence)
        if silence and self._mentions:
            voted = self._votes.evidence(self.reliability)
            for _, _, spans in self._mentions:
                for sentence, start, end in spans:
                    tokens = slice(self._offsets[sentence] + start, self._offsets[sentence] + end)
                    evidence[tokens] = voted[tokens]
        return evidence

    def _changes(self, unary: Array) -> dict[int, Change]:
        """The changes that mentions make to the expected counts of their sentences."""
        if not self._mentions:
            return {}
        first = {label: place for place, label in enumerate(self.codec.labels)}
        mentions = []
        for rule, label, spans in self._mentions:
            right = self.reliability.of_rules[rule, label, False][0]
            begin = first[f"B-{label}"]
            chance = min(0.5, len(spans) * float(self.reliability.shares[begin]))
            doubt = (1 - right) / right * chance / (1 - chance)
            mentions.append(Mention(spans, self.codec.classes.index(label), float(np.clip(doubt, *_DOUBT))))
        return given_mentions(self._lattice(unary), mentions, self.codec.entity_labels())[1]

    def _lattice(self, unary: Array) -> Lattice:
        """All sentences, those with gold labels on paths that agree with them."""
        allowed = np.where(self._allowed, unary, -np.inf)
        return Lattice(unary=allowed, offsets=self._offsets, chain=self._chain)

    def _go_on_from(self, before: Learned) -> None:
        """The scores of a tagger, except at tokens about which rules now say something else: there it is not asked.

        It has learned the votes of before. So it would outvote a rule that finds new names.
        """
        same = {rule.name for rule in self.rules if _is_same(rule, before.rules)}
        rates = {key: rates for key, rates in before.reliability.of_rules.items() if key[0] in same}
        self.reliability = Reliability({**self.reliability.of_rules, **rates}, self.reliability.shares)
        unknown = self._scores + self._evidence(silence=True) - self._evidence()
        self._take_scores(before.tagger)
        votes = before.votes if before.sentences == self.sentences else before.rules.votes(self.sentences)
        for first, old, new in zip(self._offsets, votes, self.votes, strict=False):
            for vote in set(old) ^ set(new):
                changed = slice(first + vote.start, first + vote.end)
                self._scores[changed] = unknown[changed]

    def _take_scores(self, tagger: Any) -> None:
        """Score a label that is new to the tagger like O, but lower."""
        codec, mask = tagger.model.codec, self.codec.mask
        number = {label: place for place, label in enumerate(codec.labels)}
        order = np.array([number.get(label, codec.outside) for label in self.codec.labels])
        shares = np.log(self.reliability.shares)
        is_unknown = np.array([label not in number for label in self.codec.labels])
        rarer = np.where(is_unknown, shares - shares[self.codec.outside], 0.0)
        rows, chain = tagger._posteriors.unaries(self._all, calibrated=False)
        self._scores, self._is_first = np.concatenate(rows)[:, order] + rarer, False
        self._chain = ChainScores(
            transitions=np.where(mask.transitions, chain.transitions[np.ix_(order, order)], -np.inf),
            start=np.where(mask.start, chain.start[order], -np.inf),
            end=np.where(mask.end, chain.end[order], -np.inf),
        )

    def update(self, tagger: Any) -> None:
        """The scores of a fitted tagger replace those of before, and judge the rules anew."""
        self._take_scores(tagger)
        for _ in range(2):
            unary = self._scores + self._evidence()
            posterior = expected_counts(self._lattice(unary)).unary
            for sentence, change in self._changes(unary).items():
                posterior[self._offsets[sentence] : self._offsets[sentence + 1]] += change.unary
            self.reliability = self._votes.estimated(np.maximum(posterior, 0), self.reliability)

    def learned(self, tagger: Any) -> Learned:
        """The result, after the last fit of the tagger."""
        self.update(tagger)
        return Learned(tagger, self.rules, self.reliability, self.votes, self.sentences, self.gold)


def _votes(rules: Rules, sentences: Sequence[Tokens], before: Learned | None) -> list[list[Vote]]:
    """The votes of all rules; unchanged rules keep theirs from before."""
    if before is None or before.sentences != sentences:
        return rules.votes(sentences)
    same = {rule.name for rule in rules if _is_same(rule, before.rules)}
    together = [[vote for vote in votes if vote.rule in same] for votes in before.votes]
    if others := [rule for rule in rules if rule.name not in same]:
        for votes, more in zip(together, Rules(others).votes(sentences), strict=True):
            votes += more
    return together


def _is_same(rule: Rule, rules: Rules) -> bool:
    return rule.name in rules.names and rules[rule.name] == rule


# ------------------------------------------------------------------------------------------------------- abbreviations


_SHORT = range(2, 11)  # characters of a short form


def abbreviations(sentences: Sequence[Tokens], votes: Sequence[Sequence[Vote]]) -> list[ListRule]:
    """A list for each class, of the short forms whose long forms most often have a vote for that class.

    A text explains a short form by putting it in parentheses behind the long form.
    """
    classes: dict[str, Counter[str | None]] = {}
    for tokens, of_sentence in zip(sentences, votes, strict=True):
        for place in range(1, len(tokens) - 2):
            short = tokens[place + 1]
            if tokens[place] != "(" or tokens[place + 2] not in (")", ",", ";") or len(short) not in _SHORT:
                continue
            first = max(0, place - min(len(short) + 5, 2 * len(short)))
            if not short[0].isalnum() or short == short.lower() or not _abbreviates(short, tokens[first:place]):
                continue
            labels = {vote.label for vote in of_sentence if vote.end == place and not vote.negated}
            classes.setdefault(short, Counter())[labels.pop() if len(labels) == 1 else None] += 1
    phrases: dict[str, list[str]] = {}
    for short, counts in classes.items():
        label, count = counts.most_common(1)[0]
        if label is not None and 2 * count > counts.total():
            phrases.setdefault(label, []).append(short)
    return [
        ListRule(name=f"{label} abbreviations"[:LONGEST_WORD], label=label, phrases=short)
        for label, short in sorted(phrases.items())
    ]


def _abbreviates(short: str, words: Tokens) -> bool:
    """Whether the letters of a short form occur in the words in this order, the first one at the beginning of a word.

    The algorithm of Schwartz and Hearst (2003): from the right to the left, each letter at its first occurrence.
    """
    text = " ".join(words).lower()
    place = len(text)
    letters = [letter for letter in short.lower() if letter.isalnum()]
    for number, letter in reversed(list(enumerate(letters))):
        place = text.rfind(letter, 0, place)
        while number == 0 and place > 0 and text[place - 1].isalnum():
            place = text.rfind(letter, 0, place)
        if place < 0:
            return False
    return short.lower() not in text[place:].split()


def shorter(tagger: Any, sentences: int) -> Any:
    """A tagger for a round before the last, which need not be finished: it has fewer epochs, unless data are few."""
    settings, epochs = tagger.get_params(), tagger.config.epochs
    if sentences >= FEW_SENTENCES:
        settings["epochs"] = max(1, 3 * (epochs or EPOCHS) // 10)
    elif epochs is not None:
        settings["epochs"] = max(1, epochs // 2)
    return type(tagger)(**settings)


def learn(
    tagger: Any,
    sentences: Sequence[Tokens],
    rules: Rules,
    *,
    gold: Gold | None = None,
    rounds: int = ROUNDS,
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
    gold : pair (X, y), optional
        Labelled sentences to learn from as well.
    rounds : int
        How often the tagger is fitted again to its own posterior with the votes.
    options
        Passed to ``tagger.fit``, such as ``dev``.

    Returns
    -------
    Learned
        The tagger, and the reliability of every rule.
    """
    if rounds < 0:
        raise ConfigurationError("rounds", expected="0 or more", got=rounds)
    learning = Learning(sentences, rules, gold)
    for _ in range(rounds):
        learning.update(shorter(tagger, len(learning.sentences)).fit(**learning.data(), **options))
    tagger.fit(**learning.data(), **options)
    return learning.learned(tagger)


# ----------------------------------------------------------------------------------------- a report on rules


_EXAMPLES, _LIKELY, _SURE = 3, 0.5, 0.9


class RuleRow(NamedTuple):
    """One rule."""

    rule: str
    classes: str
    votes: int
    sentences: int
    alone: int  # votes that touch no other rule's vote
    conflicts: int  # votes on a span where another rule votes for another span or class
    precision: float | None  # the share of votes that are estimated to be right; None for a rule that never votes
    outvoted: list[str]  # examples that the model and the other rules contradict


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
                near = [one for one in of_sentence if vote.start < one.end and one.start < vote.end]
                others = [one for one in near if one.rule != rule.name]
                alone += not others
                conflicts += any(
                    vote.label == one.label
                    if vote.negated != one.negated
                    else not vote.negated and vote[1:4] != one[1:4]
                    for one in others
                )
                answered = any((start, end, label) == vote[1:4] for start, end, label, _ in spans)
                if answered == vote.negated and len(outvoted) < _EXAMPLES:
                    voted = f"[{' '.join(tokens[vote.start : vote.end])}]"
                    around = tokens[max(0, vote.start - 3) : vote.start], tokens[vote.end : vote.end + 3]
                    outvoted.append(" ".join([*around[0], voted, *around[1]]))
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
