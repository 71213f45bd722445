"""Data of other libraries: Hugging Face ``datasets`` and spaCy's files of docs.

Hugging Face: JSON Lines and Parquet with ``tokens`` and ``ner_tags``, and datasets in memory.

    {"id": "0", "tokens": ["Anna", "left"], "ner_tags": ["B-PER", "O"]}

In Parquet and in memory, tags are numbers, and the schema holds their names. Parquet needs pyarrow.

spaCy's files of docs (DocBin, ``.spacy``) need the extra spacy. A doc is a text, sentences, tokens and entities, or
tags where it has no entities. White-space tokens are left out when it is read, and put back where the text needs them
when it is written.
"""

import contextlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from postil.errors import ConfigurationError, DataError
from postil.extras import needed
from postil.files import replaced
from postil.reading import parsed_json
from postil.text.annotations.annotated import Record, grouped
from postil.text.annotations.records import json_line, name_of
from postil.text.document import OUTSIDE, Sentence
from postil.text.labels.schemes import spans_from_labels
from postil.text.lines import NumberedLines, shortened
from postil.text.options import ReadOptions, WriteOptions
from postil.text.output import Target
from postil.text.report import Report

LABEL_COLUMNS = ("ner_tags", "tags", "labels", "ner", "pos_tags", "upos", "chunk_tags")
_ROWS = 1000
_KEY = b"huggingface"


def write_datasets(sentences: Iterable[Sentence], options: WriteOptions, report: Report) -> Iterator[str]:
    """JSON Lines for ``datasets.load_dataset("json", …)``; tags are names, as JSON has no schema for numbers."""
    for number, sentence in enumerate(sentences):
        fields: dict[str, Any] = {"id": str(number), "tokens": sentence.tokens}
        if sentence.labels is not None:
            fields["ner_tags"] = [str(label) for label in sentence.labels]
        yield json_line(fields)


def from_datasets(
    dataset: Any, *, tokens: str = "tokens", labels: str | None = None
) -> tuple[list[list[str]], list[list[str]]]:
    """Tokens and labels of a split of a Hugging Face dataset, ready for ``fit``.

    Works on anything that has ``features`` and rows that are mappings, in any of its formats. Numbers become the names
    that ``features`` has for them. ``labels`` is the column of the labels; by default the first of ner_tags, tags,
    labels, ner, pos_tags, upos and chunk_tags that is there.
    """
    features = getattr(dataset, "features", None)
    if isinstance(dataset, Mapping):
        splits = ", ".join(map(str, dataset))
        raise ConfigurationError("a dataset with several splits", expected=f"one of them: {splits}", got="all of them")
    if features is not None and tokens not in features:
        raise DataError("no column of tokens", expected=repr(tokens), got=", ".join(features), where="dataset")
    if hasattr(dataset, "with_format"):
        dataset = dataset.with_format(None)  # rows of NumPy, Arrow or pandas would not be plain lists
    X: list[list[str]] = []
    y: list[list[str]] = []
    names: Sequence[str] | None = None
    for number, row in enumerate(dataset):
        if not X:
            labels = labels or _label_column(features or row)
            names = _names_of(features[labels]) if features is not None and labels in features else None
        sentence = _sentence(row, tokens, labels, names, f"dataset, row {number}")
        X.append(sentence.tokens)
        y.append(sentence.labels or [])
    return X, y


def _label_column(columns: Iterable[str]) -> str:
    known = list(columns)
    found = next((name for name in LABEL_COLUMNS if name in known), None)
    if found is None:
        raise DataError("no column of labels", expected=", ".join(LABEL_COLUMNS), got=", ".join(known))
    return found


def _names_of(feature: Any) -> Sequence[str] | None:
    """The names of the classes of a feature: of ``Sequence(ClassLabel(names=…))``, or of its description in a file."""

    def part(thing: Any, name: str) -> Any:
        return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)

    for one in (feature, part(feature, "feature"), feature[0] if isinstance(feature, list) and feature else None):
        names = part(one, "names")
        if isinstance(names, Mapping):  # {"0": "O", …}, in the cards of older datasets
            names = [names[key] for key in sorted(names, key=int)]
        if isinstance(names, Sequence) and names and not isinstance(names, str):
            return [str(name) for name in names]
    return None


def _sentence(row: Any, tokens: str, labels: str | None, names: Sequence[str] | None, where: str) -> Sentence:
    words = row.get(tokens) if isinstance(row, Mapping) else None
    if not isinstance(words, Sequence) or isinstance(words, str) or not all(isinstance(word, str) for word in words):
        raise DataError(
            "not a list of tokens", expected=f"{tokens}: a list of strings", got=shortened(str(words)), where=where
        )
    if labels is None:
        return Sentence(list(words))
    tags = row.get(labels)
    if not isinstance(tags, Sequence) or isinstance(tags, str) or len(tags) != len(words):
        expected = f"{len(words)}, one a token"
        raise DataError("wrong number of labels", expected=expected, got=shortened(str(tags)), where=where)
    by_number = dict(enumerate(names or ()))
    for tag in tags:
        if not isinstance(tag, str) and type(tag) is not int:
            raise DataError("not a label", expected="a number or a name", got=shortened(str(tag)), where=where)
        if not isinstance(tag, str) and names is None:
            expected = "their names in the features of the dataset"
            raise DataError("the labels are numbers", expected=expected, got=tag, where=where)
    return Sentence(list(words), [tag if isinstance(tag, str) else name_of(tag, by_number, where) for tag in tags])


def read_parquet(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[Sentence]:
    """The sentences of a Parquet file, some row groups at a time."""
    parquet = needed("pyarrow.parquet", "arrow")
    try:
        with parquet.ParquetFile(lines.name) as file:
            schema = file.schema_arrow
            names: Sequence[str] | None = None
            if "tokens" not in schema.names:
                got = ", ".join(schema.names)
                raise DataError("no column of tokens", expected="'tokens'", got=got, where=lines.name)
            labels = None if options.label is None else str(options.label)
            labels = _label_column(schema.names) if labels == "auto" or isinstance(options.label, int) else labels
            if labels is not None and labels not in schema.names:
                raise DataError("no such column", expected=", ".join(schema.names), got=labels, where=lines.name)
            if labels is not None and options.label_names is not None:
                last = max(options.label_names, default=-1)
                names = [options.label_names.get(n, str(n)) for n in range(last + 1)]
            elif labels is not None:
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    info = parsed_json((schema.metadata or {}).get(_KEY, b"{}"), finite=False)
                    names = _names_of(info["info"]["features"][labels])
            columns = ["tokens"] if labels is None else ["tokens", labels]
            ignored = [name for name in file.schema_arrow.names if name not in columns]
            number = 0
            for batch in file.iter_batches(batch_size=_ROWS, columns=columns):
                for row in batch.to_pylist():
                    number += 1
                    sentence = _sentence(row, "tokens", labels, names, f"{lines.name}, row {number}")
                    sentence.line = number
                    for name in ignored:
                        report.dropped[f"column {name!r}"] += 1
                    if sentence.tokens:
                        yield sentence
                    else:
                        report.dropped["rows without tokens"] += 1
    except (DataError, FileNotFoundError):
        raise
    except (ValueError, OSError, NotImplementedError) as error:  # pyarrow's errors are of these kinds
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError("not a Parquet file that can be read", expected="Parquet", got=what, where=lines.name) from None


def save_parquet(sentences: Iterable[Sentence], target: Target, options: WriteOptions, report: Report) -> None:
    """Write ``id``, ``tokens`` and ``ner_tags`` as numbers, whose names are in the schema as ``datasets`` has them."""
    if not isinstance(target, str | os.PathLike) or os.fspath(target) == "-":
        raise ConfigurationError("the output", expected="must be a file for Parquet", got="a stream")
    arrow, parquet = needed("pyarrow", "arrow"), needed("pyarrow.parquet", "arrow")
    rows = list(sentences)  # the schema, which comes first, needs all the labels
    names = sorted({str(label) for row in rows for label in row.labels or ()}, key=lambda name: (name != "O", name))
    numbers = {name: number for number, name in enumerate(names)}
    columns: dict[str, Any] = {
        "id": arrow.array([str(number) for number in range(len(rows))], arrow.string()),
        "tokens": arrow.array([row.tokens for row in rows], arrow.list_(arrow.string())),
    }
    features: dict[str, Any] = {
        "id": {"dtype": "string", "_type": "Value"},
        "tokens": {"feature": {"dtype": "string", "_type": "Value"}, "_type": "Sequence"},
    }
    if all(row.labels is not None for row in rows):
        tags = [[numbers[label] for label in row.labels or ()] for row in rows]
        columns["ner_tags"] = arrow.array(tags, arrow.list_(arrow.int64()))
        features["ner_tags"] = {"feature": {"names": names, "_type": "ClassLabel"}, "_type": "Sequence"}
    table = arrow.table(columns).replace_schema_metadata({_KEY: json.dumps({"info": {"features": features}})})
    with replaced(target) as stream:
        parquet.write_table(table, stream)


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
        text, record = doc.text, Record({})
        sentences = doc.sents if doc.has_annotation("SENT_START") else [doc[:]]
        parts = [words for one in sentences if (words := [token for token in one if not is_space(token)])]
        for number, words in enumerate(parts):
            yield Sentence(
                [token.text for token in words],
                labels=_labels(doc, words),
                text=text,
                starts=[token.idx for token in words],
                ends=[token.idx + len(token) for token in words],
                document="" if number == 0 and len(parts) > 1 else None,
                rest=record,
            )


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


def save_docs(sentences: Iterable[Sentence], target: Target, options: WriteOptions, report: Report) -> None:
    """Write a doc for each text, or else for each document or sentence. Labels without a scheme become tags."""
    tokens, vocab = needed("spacy.tokens", "spacy"), needed("spacy.vocab", "spacy").Vocab()
    docs = tokens.DocBin(attrs=["ORTH", "SPACY", "ENT_IOB", "ENT_TYPE", "SENT_START", "TAG"])
    in_document = False

    def goes_on(group: list[Sentence], sentence: Sentence) -> bool:
        nonlocal in_document
        if sentence.text is not None:
            return sentence.text is group[0].text and sentence.rest is group[0].rest
        in_document |= any(one.text is None and one.document is not None for one in (group[0], sentence))
        return in_document and sentence.document is None and group[0].text is None

    for group in grouped(sentences, goes_on):
        words, spaces, places = _words(group, report)
        doc = tokens.Doc(vocab, words=words, spaces=spaces)
        for token in doc:
            token.is_sent_start = token.i == 0
        ents, first = [], 0
        for sentence in group:
            if len(sentence):
                doc[places[first]].is_sent_start = True
            if options.scheme == "none":
                for place, label in zip(places[first:], sentence.labels or (), strict=False):
                    doc[place].tag_ = label
            else:
                for span in spans_from_labels(sentence.labels or [OUTSIDE] * len(sentence), options.scheme):
                    end = places[first + span.end - 1] + 1
                    ents.append(tokens.Span(doc, places[first + span.start], end, label=span.label))
            first += len(sentence)
        if options.scheme != "none" and any(sentence.labels is not None for sentence in group):
            doc.set_ents(ents, default="outside")
        docs.add(doc)
    if isinstance(target, str | os.PathLike) and os.fspath(target) != "-":
        with replaced(target) as stream:
            stream.write(docs.to_bytes())
    else:
        (sys.stdout.buffer if isinstance(target, str | os.PathLike) else target).write(docs.to_bytes())


def _words(group: list[Sentence], report: Report) -> tuple[list[str], list[bool], list[int]]:
    """Words of a doc, white space among them, whether a space follows each, and the place of each token."""
    text = group[0].text
    tokens = [token for sentence in group for token in sentence.tokens]
    if text is not None:
        try:
            words, spaces = needed("spacy.util", "spacy").get_words_and_spaces(tokens, text)
            return words, spaces, [place for place, word in enumerate(words) if not word.isspace()]
        except ValueError:
            report.changed["texts rebuilt from tokens that do not match them"] += 1
    return tokens, [True] * len(tokens), list(range(len(tokens)))
