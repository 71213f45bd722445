"""Where the constraints on a sentence come from: the options, its JSON record, gazetteers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

from postil.errors import DataError
from postil.features.gazetteer import Gazetteer
from postil.models.answers.constraints import Constraints
from postil.models.answers.labelling import Labelling
from postil.serving.options import TaggingOptions
from postil.text import Sentence, Tokens, tokenise
from postil.text.annotations.records import Record
from postil.text.splitting.characters import characters

FIELD = "constraints"  # of a JSON object


@final
@dataclass(frozen=True, kw_only=True)
class ConstraintSource:
    """Finds the constraints on each sentence."""

    of_text: Constraints
    gazetteers: Sequence[Gazetteer]
    source: str

    @classmethod
    def of(cls, labelling: Labelling, options: TaggingOptions) -> "ConstraintSource":
        cut = characters if options.reading.characters else tokenise
        gazetteers = [_gazetteer(labelling, label, path, cut) for label, path in options.gazetteer_constraints]
        return cls(of_text=options.constraints, gazetteers=gazetteers, source=options.source)

    def of_block(self, block: list[Sentence]) -> list[Constraints | None] | None:
        """The constraints on every sentence, in tokens; None if there are none at all."""
        if not (self.of_text or self.gazetteers or any(map(_is_constrained, block))):
            return None
        constraints: list[Constraints | None] = [self._of_sentence(sentence) for sentence in block]
        return constraints if any(constraints) else None

    def _of_sentence(self, sentence: Sentence) -> Constraints:
        constraints = self.of_text.in_tokens(sentence) if self.of_text else self._of_record(sentence)
        return constraints.with_names(self.gazetteers, sentence.tokens) if self.gazetteers else constraints

    def _of_record(self, sentence: Sentence) -> Constraints:
        """Offsets count characters of the text, or tokens if the record lists them."""
        record, where = sentence.rest, self._where(sentence)
        if not isinstance(record, Record) or not _is_constrained(sentence):
            return Constraints(where=where)
        constraints = Constraints.from_json(record.fields[FIELD], where)
        return constraints if record.tokens is not None else constraints.in_tokens(sentence)

    def _where(self, sentence: Sentence) -> str:
        return f"{self.source}, line {sentence.line}" if self.source else f"line {sentence.line}"


def _is_constrained(sentence: Sentence) -> bool:
    """Whether the sentence's JSON object has constraints."""
    return isinstance(sentence.rest, Record) and sentence.rest.fields.get(FIELD) is not None


def _gazetteer(labelling: Labelling, label: str, path: str, cut: Callable[[str], Tokens]) -> Gazetteer:
    if not labelling.has_spans or label not in labelling.classes:
        known = ", ".join(labelling.classes[:12]) if labelling.has_spans else "those of a model of spans"
        raise DataError("class of a gazetteer constraint", expected=f"must be one of {known}", got=repr(label))
    return Gazetteer.load(path, label=label, tokenise=lambda name: cut(name).tokens)
