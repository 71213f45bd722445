"""Labelled files that fit in memory, and places in them."""

from typing import NamedTuple

from postil.errors import DataError
from postil.text.document import Sentence
from postil.text.lines import shortened


class LabelledFile(NamedTuple):
    """The sentences of a file with labels, and what is needed to name a place in it."""

    path: str
    format: str
    sentences: list[Sentence]

    @property
    def tokens(self) -> list[list[str]]:
        return [sentence.tokens for sentence in self.sentences]

    @property
    def labels(self) -> list[list[str]]:
        return [sentence.labels or [] for sentence in self.sentences]

    def place(self, sentence: int, token: int) -> str:
        """``line N`` of a token, both counted from 0; with the number of the token if a line has several."""
        line = self.sentences[sentence].line
        return f"line {line + token}" if self.format == "conll" else f"line {line}, token {token + 1}"

    def where(self, sentence: int, token: int) -> str:
        """The place, after the name of the file."""
        return f"{self.path}, {self.place(sentence, token)}"


def check_same_tokens(gold: LabelledFile, other: LabelledFile) -> None:
    """Raise DataError if two files differ in their tokens, with the first place where they do."""
    for number, (one, two) in enumerate(zip(gold.tokens, other.tokens, strict=False)):
        if one == two:
            continue
        common = min(len(one), len(two))
        token = next((t for t in range(common) if one[t] != two[t]), common)
        if token < common:
            what = f"the token differs from {gold.where(number, token)}"
            where, got = other.where(number, token), shortened(two[token])
            raise DataError(what, expected=shortened(one[token]), got=got, where=where)
        what = f"the sentence is {'shorter' if len(two) < len(one) else 'longer'} than at {gold.where(number, 0)}"
        where = other.where(number, min(token, len(two) - 1))
        raise DataError(what, expected=f"{len(one)} tokens", got=len(two), where=where)
    if len(gold.sentences) != len(other.sentences):
        shorter, longer = sorted((gold, other), key=lambda file: len(file.sentences))
        raise DataError(
            f"{shorter.path} ends before sentence {len(shorter.sentences) + 1:,}",
            expected=f"{len(gold.sentences):,} sentences as in {gold.path}",
            got=f"{len(other.sentences):,}",
            where=longer.where(len(shorter.sentences), 0),
        )
