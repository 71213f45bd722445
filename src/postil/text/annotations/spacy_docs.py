"""spaCy's files of docs (DocBin, ``.spacy``): labelled sentences in and out. They need the extra spacy.

A doc is a text, sentences, tokens and entities, or tags where it has no entities. White-space tokens are left out when
it is read, and put back where the text needs them when it is written.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from postil.errors import DataError
from postil.extras import needed
from postil.files import replaced
from postil.text.annotations.annotated import Record
from postil.text.document import OUTSIDE, Sentence
from postil.text.labels.schemes import spans_from_labels
from postil.text.lines import NumberedLines
from postil.text.options import ReadOptions, WriteOptions
from postil.text.output import Target
from postil.text.report import Report

_LOST = {"DEP": "dependencies", "LEMMA": "lemmas", "MORPH": "morphology"}


def is_space(token: Any) -> bool:
    """Whether a token is white space; ``token.is_space`` knows it only with the vocabulary of a language."""
    return not token.text.strip()


def read_docs(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[Sentence]:
    """The sentences of a file of docs. What else a doc has is counted."""
    content = Path(lines.name).read_bytes()
    tokens, vocab = needed("spacy.tokens", "spacy"), needed("spacy.vocab", "spacy").Vocab()
    try:
        docs = list(tokens.DocBin().from_bytes(content).get_docs(vocab))
    except Exception as error:  # zlib's, msgpack's and spaCy's own: whatever a foreign file causes
        raise DataError("not a file of spaCy's DocBin", got=type(error).__name__, where=lines.name) from None
    for doc in docs:
        report.notes["docs"] += 1
        report.dropped.update({f"docs with {what}": 1 for name, what in _LOST.items() if doc.has_annotation(name)})
        if doc.has_annotation("ENT_IOB"):
            report.dropped["docs with tags in addition to entities"] += doc.has_annotation("TAG")
            report.changed["tokens not annotated for entities, read as O"] += sum(token.ent_iob == 0 for token in doc)
        report.dropped["spans of groups"] += sum(map(len, doc.spans.values()))
        report.dropped["categories"] += len(doc.cats)
        report.dropped["docs without words"] += all(map(is_space, doc))
        text, record, parts = doc.text, Record({}), list(_sentences(doc))
        for number, (words, labels) in enumerate(parts):
            yield Sentence(
                [token.text for token in words],
                labels=labels,
                text=text,
                starts=[token.idx for token in words],
                ends=[token.idx + len(token) for token in words],
                document="" if number == 0 and len(parts) > 1 else None,
                rest=record,
            )


def _sentences(doc: Any) -> Iterator[tuple[list[Any], list[str] | None]]:
    """The tokens of each sentence that are not white space, and their labels."""
    for sentence in doc.sents if doc.has_annotation("SENT_START") else [doc[:]]:
        tokens = [token for token in sentence if not is_space(token)]
        if tokens:
            yield tokens, _labels(doc, tokens)


def _labels(doc: Any, tokens: list[Any]) -> list[str] | None:
    """BIO labels: an entity that begins with white space, or goes on from the sentence before, begins here."""
    if not doc.has_annotation("ENT_IOB"):
        known = [attribute for name, attribute in (("TAG", "tag_"), ("POS", "pos_")) if doc.has_annotation(name)]
        return [getattr(token, known[0]) for token in tokens] if known else None
    labels, is_inside = [], False
    for token in tokens:
        letter = "I" if token.ent_iob_ == "I" and is_inside else "B"
        is_inside = token.ent_iob_ in ("B", "I")
        labels.append(f"{letter}-{token.ent_type_}" if is_inside else OUTSIDE)
    return labels


# ------------------------------------------------------------------------------------------------ writing


def save_docs(sentences: Iterable[Sentence], target: Target, options: WriteOptions, report: Report) -> None:
    """Write a doc for each text; for sentences without one, for each document, or each sentence where none are known.

    Labels without a scheme become tags.
    """
    tokens, vocab = needed("spacy.tokens", "spacy"), needed("spacy.vocab", "spacy").Vocab()
    docs = tokens.DocBin(attrs=["ORTH", "SPACY", "ENT_IOB", "ENT_TYPE", "SENT_START", "TAG"])
    for group in _groups(sentences):
        docs.add(_doc(group, options.scheme, tokens, vocab))
        report.dropped["extra columns of tokens"] += sum(len(s) for s in group if s.columns and any(s.columns))
    if isinstance(target, str | os.PathLike) and os.fspath(target) != "-":
        with replaced(target) as stream:
            stream.write(docs.to_bytes())
    else:
        (sys.stdout.buffer if isinstance(target, str | os.PathLike) else target).write(docs.to_bytes())


def _groups(sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    group: list[Sentence] = []
    in_document = False
    for sentence in sentences:
        if sentence.text is not None:
            goes_on = bool(group) and sentence.text is group[0].text and sentence.rest is group[0].rest
        else:
            in_document = in_document or sentence.document is not None
            goes_on = bool(group) and in_document and sentence.document is None and group[0].text is None
        if group and not goes_on:
            yield group
            group = []
        group.append(sentence)
    if group:
        yield group


def _doc(group: list[Sentence], scheme: str, tokens: Any, vocab: Any) -> Any:
    words, spaces, places = _words(group)
    doc = tokens.Doc(vocab, words=words, spaces=spaces)
    for token in doc:
        token.is_sent_start = token.i == 0
    ents, first = [], 0
    for sentence in group:
        if len(sentence):
            doc[places[first]].is_sent_start = True
        if scheme == "none":
            for place, label in zip(places[first:], sentence.labels or (), strict=False):
                doc[place].tag_ = label
        else:
            for span in spans_from_labels(sentence.labels or [OUTSIDE] * len(sentence), scheme):
                end = places[first + span.end - 1] + 1
                ents.append(tokens.Span(doc, places[first + span.start], end, label=span.label))
        first += len(sentence)
    if scheme != "none" and any(sentence.labels is not None for sentence in group):
        doc.set_ents(ents, default="outside")
    return doc


def _words(group: list[Sentence]) -> tuple[list[str], list[bool], list[int]]:
    """Words of a doc, white space among them, whether a space follows each, and the place of each token."""
    text = group[0].text
    tokens = [token for sentence in group for token in sentence.tokens]
    if text is None:
        return tokens, [True] * len(tokens), list(range(len(tokens)))
    starts = [start for sentence in group for start in sentence.starts or ()]
    ends = [end for sentence in group for end in sentence.ends or ()]
    words: list[str] = []
    spaces: list[bool] = []
    places: list[int] = []

    def add(word: str) -> None:
        words.append(word)
        spaces.append(False)

    end = 0
    for start, after in [*zip(starts, ends, strict=True), (len(text), len(text))]:
        gap = text[end:start]
        if gap.startswith(" ") and words:
            spaces[-1], gap = True, gap[1:]
        if gap:
            add(gap)
        if after > start:
            places.append(len(words))
            add(text[start:after])
        end = after
    return words, spaces, places
