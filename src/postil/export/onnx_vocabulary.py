"""The tables by which words become ids, as plain JSON: what the look-ups of an exported folder read."""

from typing import Any

from postil.features.inputs import InputFeatures
from postil.features.spelling import LONGEST
from postil.features.vectors import digit_mark
from postil.features.vocabulary import Vocabulary
from postil.features.words import WordFeatures


def vocabulary_of(features: InputFeatures) -> dict[str, Any]:
    """``words``: the features of a word, in the order of its ids; ``columns``: those of further columns of the data;
    ``gazetteer``: lists of names of several words. ``unicode`` is the version that case and categories are from."""
    return {
        "unicode": features.unicode,
        "words": _word_columns(features.words),
        "columns": [{"values": list(vocabulary)} for vocabulary in features.columns],
        "gazetteer": _gazetteer(features),
    }


def _word_columns(words: WordFeatures) -> list[dict[str, Any]]:
    columns: list[dict[str, Any]] = []
    for column in words.rules.columns:
        content: dict[str, Any] = {"kind": column.kind}
        if column.length:
            content["length"] = column.length
        if column.kind == "vector":
            continue
        if column.table is not None:
            content["values"] = [column.table.string(i) for i in range(len(column.table))]
        columns.append(content)
    for lexicon in words.lexicons.values():
        columns.append({"kind": "lexicon", **_looked_up(lexicon.words), "codes": lexicon.codes.tolist()})
    if words.alphabet is not None:
        columns.append({"kind": "characters", "values": list(words.vocabularies["character"]), "longest": LONGEST})
    if words.config.vector_dim:
        columns.append({"kind": "vector", **_looked_up(words.vocabularies["vector"])})
    return columns


def _looked_up(words: Vocabulary) -> dict[str, Any]:
    return {"values": list(words), "digit_mark": digit_mark(words)}


def _gazetteer(features: InputFeatures) -> dict[str, Any] | None:
    gazetteer = features.gazetteer
    if gazetteer is None:
        return None
    folded = None
    if gazetteer.ignore_case:  # what a program without Python's ``casefold`` has to know besides lower case
        folded = {c: c.casefold() for c in map(chr, range(0x110000)) if c.casefold() != c.lower()}
    return {"width": len(gazetteer.columns), "folded": folded, "names": gazetteer.classes_of_names()}
