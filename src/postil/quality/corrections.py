"""Suspected errors as a file to look through, and back into the data.

A record is a sentence with the labels that the models suggest, in our JSON Lines:

    {"text": …, "tokens": […], "spans": […], "sentence": 17, "where": "train.txt, line 203", "answer": null, …}

A person sets ``answer`` to "accept" (after changing the spans, if need be) or "reject". Annotation tools that do not
know the field drop it: a record without it counts as reviewed and is accepted as it is.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from postil.errors import DataError
from postil.quality.diagnosis import Diagnosis
from postil.quality.suggestion import text_and_tokens
from postil.quality.suspicions import Suspicion
from postil.text import Sentence, Span
from postil.text.annotations.annotated import Record
from postil.text.labels.schemes import convert, recognise

TAKEN = "accept"
LEFT = ("reject", "ignore", None)


class Applied(NamedTuple):
    """How many records changed a sentence, agreed with it, or were not answered (readers drop what was rejected)."""

    changed: int
    unchanged: int
    left: int


def review(diagnosis: Diagnosis, most: int | None = None) -> Iterator[str]:
    """The lines of a review file: a record for each sentence with a suspected error, the most suspicious first."""
    split = diagnosis.splits[0]
    by_sentence: dict[int, list[Suspicion]] = {}
    for suspicion in diagnosis.suspicions[:most]:
        by_sentence.setdefault(suspicion.sentence, []).append(suspicion)
    for sentence, found in by_sentence.items():
        gold = split.spans[sentence]
        if split.scheme == "none":
            gold = [Span(label, t, t + 1) for t, label in enumerate(split.labels[sentence])]
        doubted = {span for one in found for span in one.gold}
        kept = [span for span in gold if span not in doubted]
        spans = sorted([*kept, *(span for one in found for span in one.suggestion)], key=lambda span: span.start)
        text, tokens = text_and_tokens(Sentence(split.tokens[sentence]))
        record = {
            "text": text,
            "tokens": tokens,
            "spans": [
                {"start": tokens[span.start]["start"], "end": tokens[span.end - 1]["end"], "label": span.label}
                for span in spans
            ],
            "sentence": sentence,
            "answer": None,
            "where": diagnosis.where(found[0]),
            "doubts": [
                {"in the data": diagnosis.spelt(one, one.gold), "models": diagnosis.spelt(one, one.suggestion)}
                | {"probability": round(one.gold_probability, 4), "of models": round(one.suggestion_probability, 4)}
                for one in found
            ],
        }
        yield json.dumps(record, ensure_ascii=False) + "\n"


def apply(reviewed: Iterable[Sentence], sentences: Sequence[Sentence], scheme: str, where: str = "") -> Applied:
    """Put the reviewed labels into the sentences that they belong to; ``scheme`` is that of their labels."""
    by_tokens: dict[tuple[str, ...], int] = {}
    for number, sentence in enumerate(sentences):
        by_tokens.setdefault(tuple(sentence.tokens), number)
    counts = dict.fromkeys(Applied._fields, 0)
    for corrected in reviewed:
        fields = corrected.rest.fields if isinstance(corrected.rest, Record) else {}
        if fields.get("answer", TAKEN) in LEFT:
            counts["left"] += 1
            continue
        # Which sentence it is: by its number, and by its tokens if a tool lost the number.
        given, tokens = fields.get("sentence"), tuple(corrected.tokens)
        if not (isinstance(given, int) and 0 <= given < len(sentences) and tuple(sentences[given].tokens) == tokens):
            if tokens not in by_tokens:
                expected, place = "must be in the data", f"{where}, line {corrected.line}" if where else None
                raise DataError("a reviewed sentence", expected=expected, got=" ".join(tokens)[:60], where=place)
            given = by_tokens[tokens]
        labels = _labels(corrected, scheme)
        counts["unchanged" if labels == sentences[given].labels else "changed"] += 1
        sentences[given].labels = labels
    return Applied(**counts)


def _labels(corrected: Sentence, scheme: str) -> list[str]:
    labels = corrected.labels or ["O"] * len(corrected)
    own = recognise([labels])
    if scheme == "none":
        return [label if own == "none" else label.partition("-")[2] or label for label in labels]
    return convert(labels, "bio" if own == "none" else own, scheme)
