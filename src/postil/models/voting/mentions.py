"""Answers without places: names and their classes for each text, as language models give them.

A name that occurs once in its text is a vote for that span, like any other. If it occurs more often, or was given
several classes, at least one of the occurrences is an entity of the class: ``objectives/mentions.py`` sums over them.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, final

from postil.models.voting.rule import ListRule, Tokens, Vote

Occurrence = tuple[tuple[str, ...], int, int]
"""A sentence, and where the name begins and ends in it."""


class TextAnswer(NamedTuple):
    """The sentences of a text, and the names in it with their classes."""

    sentences: Sequence[Tokens]
    mentions: Sequence[tuple[str, str]]


class Ambiguous(NamedTuple):
    """A name of which at least one occurrence is an entity of the class."""

    label: str
    occurrences: Sequence[Occurrence]


def _spelt(text: str) -> str:
    """A name as lists look it up: it does not depend on how a tokeniser cuts it."""
    return "".join(unicodedata.normalize("NFKC", text).split())


@final
@dataclass(frozen=True, kw_only=True)
class MentionRule:
    """Names and their classes in texts. Of names that overlap, the longest counts; one that is not found is ignored."""

    name: str
    texts: Sequence[TextAnswer]

    @property
    def labels(self) -> Sequence[str]:
        return sorted({label for answer in self.texts for _, label in answer.mentions})

    @property
    def sentences(self) -> list[Tokens]:
        """Those of all texts: they are learned from, whether other raw text has them or not."""
        return [tokens for answer in self.texts for tokens in answer.sentences]

    @cached_property
    def _found(self) -> tuple[dict[tuple[str, ...], list[Vote]], list[Ambiguous]]:
        votes: dict[tuple[str, ...], list[Vote]] = {}
        ambiguous = []
        for sentences, mentions in self.texts:
            classes: dict[str, set[str]] = {}
            for text, label in mentions:
                classes.setdefault(_spelt(text), set()).add(label)
            # A text can repeat a sentence: its labels are the same then.
            distinct = list(dict.fromkeys(tuple(tokens) for tokens in sentences if tokens))
            finder = ListRule(name=self.name, label="", phrases=list(classes))
            places: dict[str, list[Occurrence]] = {}
            for tokens, found in zip(distinct, finder.votes(distinct), strict=True):
                for vote in found:
                    text = _spelt("".join(tokens[vote.start : vote.end]))
                    places.setdefault(text, []).append((tokens, vote.start, vote.end))
            for text, occurrences in places.items():
                labels = sorted(classes.get(text, ()))
                tokens, start, end = occurrences[0]
                if len(occurrences) == len(labels) == 1:
                    of_sentence = votes.setdefault(tokens, [])
                    if all(end <= other.start or other.end <= start for other in of_sentence):
                        of_sentence.append(Vote(self.name, start, end, labels[0]))
                else:
                    ambiguous += [Ambiguous(label, occurrences) for label in labels]
        return votes, ambiguous

    @property
    def ambiguous(self) -> list[Ambiguous]:
        """The names that are not votes."""
        return self._found[1]

    def votes(self, sentences: Sequence[Tokens]) -> list[list[Vote]]:
        return [sorted(self._found[0].get(tuple(tokens), ())) for tokens in sentences]
