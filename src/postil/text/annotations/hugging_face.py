"""Data for Hugging Face ``datasets``: JSON Lines and Parquet with ``tokens`` and ``ner_tags``, and datasets in memory.

    {"id": "0", "tokens": ["Anna", "left"], "ner_tags": ["B-PER", "O"]}

In Parquet and in memory, tags are numbers, and the schema holds their names. Parquet needs pyarrow.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from postil.errors import ConfigurationError, DataError
from postil.extras import needed
from postil.files import replaced
from postil.reading import parsed_json
from postil.text.annotations.records import json_line, name_of
from postil.text.document import Sentence
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
        _count_losses(sentence, report)
        fields: dict[str, Any] = {"id": str(number), "tokens": sentence.tokens}
        if sentence.labels is not None:
            fields["ner_tags"] = [str(label) for label in sentence.labels]
        yield json_line(fields)


def _count_losses(sentence: Sentence, report: Report) -> None:
    report.dropped["extra columns of tokens"] += len(sentence) if sentence.columns is not None else 0
    report.dropped["comments"] += len(sentence.comments)
    report.dropped["document marks"] += sentence.document is not None


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
    for part in (feature, _part(feature, "feature"), feature[0] if isinstance(feature, list) and feature else None):
        names = _part(part, "names")
        if isinstance(names, Mapping):  # {"0": "O", …}, in the cards of older datasets
            names = [names[key] for key in sorted(names, key=int)]
        if isinstance(names, Sequence) and names and not isinstance(names, str):
            return [str(name) for name in names]
    return None


def _part(thing: Any, name: str) -> Any:
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


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
            labels, names = _schema(file, options, lines.name)
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


def _schema(file: Any, options: ReadOptions, where: str) -> tuple[str | None, Sequence[str] | None]:
    """The column of labels, and the names of its numbers: given by the user, or from the schema."""
    schema = file.schema_arrow
    if "tokens" not in schema.names:
        raise DataError("no column of tokens", expected="'tokens'", got=", ".join(schema.names), where=where)
    if options.label is None:
        return None, None
    is_named = isinstance(options.label, str) and options.label != "auto"
    labels = str(options.label) if is_named else _label_column(schema.names)
    if labels not in schema.names:
        raise DataError("no such column", expected=", ".join(schema.names), got=labels, where=where)
    if options.label_names is not None:
        return labels, [options.label_names.get(n, str(n)) for n in range(max(options.label_names, default=-1) + 1)]
    try:
        info = parsed_json((schema.metadata or {}).get(_KEY, b"{}"), finite=False)
        return labels, _names_of(info["info"]["features"][labels])
    except (ValueError, KeyError, TypeError):
        return labels, None


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
    for row in rows:
        _count_losses(row, report)
    table = arrow.table(columns).replace_schema_metadata({_KEY: json.dumps({"info": {"features": features}})})
    with replaced(target) as stream:
        parquet.write_table(table, stream)
