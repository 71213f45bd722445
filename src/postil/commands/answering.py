"""The options of ``postil tag`` that ask a tagger for certain answers: thresholds, constraints, all probable spans."""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from postil.commands.marking import in_characters
from postil.errors import ConfigurationError, DataError
from postil.features.gazetteer import Gazetteer
from postil.models.answers.constraints import Constraints
from postil.models.answers.decoding import check_probability, lowest_probabilities
from postil.models.tagger import Tagger
from postil.text import Sentence, tokenise
from postil.text.records import Record

OPTIONS = ("threshold", "all_above", "force", "forbid", "allow", "gazetteer_constraint")
"""A model that detects one label has none of them."""
FIELD = "constraints"  # of a JSON object
_SPANS = "START:END or START:END=CLASS"


def add_answer_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("answers of taggers")
    group.add_argument(
        "--threshold",
        action="append",
        default=[],
        metavar="[CLASS=]P",
        help="drop entities that are less probable than P, of a class or of all; may be repeated",
    )
    group.add_argument(
        "--all-above",
        type=float,
        metavar="P",
        help="jsonl: also every span with at least this probability, on the best labelling or not (spans_above)",
    )
    meanings = {
        "force": ("START:END[=CLASS]", "these characters of --text are an entity, of a class or of any"),
        "forbid": ("START:END[=CLASS]", "exactly these characters of --text are not an entity of a class, or of any"),
        "allow": ("START:END=LABEL,…", "the words in these characters of --text have one of these labels or classes"),
    }
    for name, (shape, meaning) in meanings.items():
        group.add_argument(f"--{name}", action="append", default=[], metavar=shape, help=meaning)
    group.add_argument(
        "--gazetteer-constraint",
        action="append",
        default=[],
        metavar="CLASS=FILE",
        help="every name in this list (a name a line) is an entity of the class wherever it stands; may be repeated",
    )


@final
@dataclass(frozen=True, kw_only=True)
class Answering:
    """What was asked for."""

    threshold: float | Mapping[str, float] | None
    all_above: float | None
    of_text: Constraints
    gazetteers: list[Gazetteer]
    source: str = ""

    @classmethod
    def of(cls, tagger: Tagger, arguments: argparse.Namespace) -> "Answering":
        if arguments.all_above is not None:
            _check_all_above(tagger, arguments)
        files = arguments.files
        return cls(
            threshold=_threshold(tagger, arguments.threshold),
            all_above=arguments.all_above,
            of_text=_of_text(arguments),
            gazetteers=[_gazetteer(tagger, text) for text in arguments.gazetteer_constraint],
            source=files[0] if len(files) == 1 and files[0] != "-" else "",
        )

    def constraints(self, block: list[Sentence]) -> list[Constraints | None] | None:
        """Of every sentence, counted in its tokens; None where there are none at all."""
        if not (self.of_text or self.gazetteers or any(map(_is_constrained, block))):
            return None
        found = [self._of_sentence(sentence) for sentence in block]
        return found if any(found) else None

    def _of_sentence(self, sentence: Sentence) -> Constraints | None:
        own = self.of_text.in_tokens(sentence) if self.of_text else self._of_record(sentence)
        return own.with_names(self.gazetteers, sentence.tokens) if self.gazetteers else own

    def _of_record(self, sentence: Sentence) -> Constraints:
        """Characters of the text, or where the record brings its tokens, those."""
        record, where = sentence.rest, self._where(sentence)
        if not isinstance(record, Record) or not _is_constrained(sentence):
            return Constraints(where=where)
        given = Constraints.from_json(record.fields[FIELD], where)
        return given if record.tokens is not None else given.in_tokens(sentence)

    def _where(self, sentence: Sentence) -> str:
        return f"{self.source}, line {sentence.line}" if self.source else f"line {sentence.line}"


def _is_constrained(sentence: Sentence) -> bool:
    """Whether the sentence's JSON object has constraints."""
    return isinstance(sentence.rest, Record) and sentence.rest.fields.get(FIELD) is not None


def spans_above(tagger: Tagger, block: list[Sentence], answering: Answering) -> list[list[dict[str, Any]]]:
    """Every probable span of each sentence as a JSON object, by its characters."""
    assert answering.all_above is not None
    found = tagger.entities_above(block, answering.all_above, constraints=answering.constraints(block))
    return [
        [
            {**place._asdict(), "text": e.text, "probability": round(e.probability or 0.0, 6)}
            for place, e in zip(in_characters(sentence, entities), entities, strict=True)
        ]
        for sentence, entities in zip(block, found, strict=True)
    ]


def _check_all_above(tagger: Tagger, arguments: argparse.Namespace) -> None:
    if arguments.output != "jsonl":
        got = f"--output {arguments.output or 'conll'}"
        raise ConfigurationError("--all-above", expected="needs --output jsonl", got=got)
    if not 0 < arguments.all_above <= 1:
        raise ConfigurationError("--all-above", expected="above 0 and at most 1", got=arguments.all_above)
    if not tagger.labelling.has_spans:
        raise ConfigurationError("--all-above", expected="needs a model of spans", got="labels without spans")


def _threshold(tagger: Tagger, words: list[str]) -> float | Mapping[str, float] | None:
    """``0.8`` for all classes, ``LOC=0.8`` for one; that of a class counts before that of all."""
    if not words:
        return None
    for_all: dict[str, float] = {}
    by_class: dict[str, float] = {}
    for word in words:
        name, equals, number = word.rpartition("=")
        try:
            lowest = check_probability(float(number), f"--threshold {word}")
        except ValueError as error:
            if isinstance(error, ConfigurationError):
                raise
            raise ConfigurationError("--threshold", expected="P or CLASS=P", got=repr(word)) from None
        if equals:
            by_class[name] = lowest
        else:
            for_all = dict.fromkeys(tagger.labelling.classes, lowest)
    return lowest_probabilities(for_all | by_class, tagger.labelling)


def _of_text(arguments: argparse.Namespace) -> Constraints:
    given = [name for name in ("force", "forbid", "allow") if getattr(arguments, name)]
    if not given:
        return Constraints()
    if arguments.text is None or "\n" in arguments.text.strip("\n"):
        expected = "needs --text with a single line (the records of a JSON Lines file carry their own constraints)"
        raise ConfigurationError(
            f"--{given[0]}", expected=expected, got="no --text" if not arguments.text else "several lines"
        )
    return Constraints(
        force=[_place("force", word, _SPANS) for word in arguments.force],
        forbid=[_place("forbid", word, _SPANS) for word in arguments.forbid],
        allow=[_allowed(word) for word in arguments.allow],
        where="--text",
    )


def _allowed(word: str) -> tuple[int, int, list[str]]:
    start, end, labels = _place("allow", word, "START:END=LABEL,…")
    if not labels:
        raise ConfigurationError("--allow", expected="START:END=LABEL,…", got=repr(word))
    return start, end, labels.split(",")


def _place(option: str, word: str, expected: str) -> tuple[int, int, str | None]:
    place, _, label = word.partition("=")
    start, _, end = place.partition(":")
    if not (start.isdecimal() and end.isdecimal()) or word.endswith("="):
        raise ConfigurationError(f"--{option}", expected=expected, got=repr(word))
    return int(start), int(end), label or None


def _gazetteer(tagger: Tagger, word: str) -> Gazetteer:
    label, equals, path = word.partition("=")
    if not equals or not path:
        raise ConfigurationError("--gazetteer-constraint", expected="CLASS=FILE", got=repr(word))
    if not tagger.labelling.has_spans or label not in tagger.labelling.classes:
        known = ", ".join(tagger.labelling.classes[:12]) if tagger.labelling.has_spans else "(a model of spans)"
        raise DataError("class of --gazetteer-constraint", expected=f"must be one of {known}", got=repr(label))
    return Gazetteer.load(path, label=label, tokenise=lambda name: tokenise(name).tokens)
