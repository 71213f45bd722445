"""Columns of text: Arrow, pandas and Polars. Entities come as a column of lists of structs.

An Arrow column of strings is UTF-8 bytes and offsets: what the kernels take. Their answers are arrays, and of such a
column of lists is made. So no Python object is made for a text, a token or an entity.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError, DataError
from postil.integrations.column_answers import (
    ENTITIES,
    LABELS,
    TOKENS,
    Answers,
    ColumnTagger,
    Spans,
    Threshold,
    checked_parts,
    checked_units,
)
from postil.integrations.extras import needed
from postil.integrations.task_columns import TaskColumnTagger
from postil.models import load
from postil.models.answers.tagged import BATCH
from postil.models.answers.task_labels import known_tasks
from postil.models.detector import Detector
from postil.models.inputs import described
from postil.models.multi_task_tagger import MultiTaskTagger
from postil.models.tagger import Tagger
from postil.serving.bulk import check_threads, in_order
from postil.threads import one_blas_thread

__all__ = ["tag", "tag_table"]


def tag(
    data: Any,
    model: Tagger | Detector | MultiTaskTagger | str | os.PathLike[str],
    column: str = "text",
    *,
    tasks: Iterable[str] | None = None,
    parts: str | Iterable[str] | None = None,
    offsets: str = "characters",
    threshold: Threshold = None,
    threads: int = 1,
) -> Any:
    """Entities of every text of a column, as ``list<struct<start, end, label, probability>>``.

    ``data`` is an Arrow Array, ChunkedArray, RecordBatch or Table, a pandas Series or DataFrame, a Polars Series or
    DataFrame, or anything that exports Arrow data; of a table, ``column`` is tagged. The answer is a column of the same
    kind and length: null for a null, an empty list for a text without entities. It says what ``model.tag`` says about
    each text.

    ``parts`` asks for other answers: ``"tokens"`` (every token with its label; the default where the labels of the
    model have no spans), ``"labels"`` (the labels alone), ``"sentences"`` (start, end, and the probability of the whole
    labelling). Several of them come as one column of structs. ``offsets`` count ``"characters"``, ``"utf16"`` units or
    ``"bytes"``. Entities less probable than ``threshold`` are dropped. ``model`` may be the path of a model file.

    Of a model of several tasks, the answer is a column of structs with a field for each task (of ``tasks``), which
    holds what ``tag(data, model[task])`` answers. ``threshold`` is for the tasks with spans.
    """
    source = _Source(data, column)
    answered = _tagged(source.chunks, model_of(model), tasks, parts, offsets, threshold, threads)
    return source.like(answered)


def tag_table(
    data: Any,
    model: Tagger | Detector | MultiTaskTagger | str | os.PathLike[str],
    column: str = "text",
    *,
    tasks: Iterable[str] | None = None,
    parts: str | Iterable[str] | None = None,
    offsets: str = "characters",
    threshold: Threshold = None,
    threads: int = 1,
) -> Any:
    """An Arrow table or record batch with the answers added: one column for each part, named after it.

    Of a model of several tasks, one column for each task, named after the task. A column that has the name already is
    replaced.
    """
    pa = needed("pyarrow", "arrow")
    if not isinstance(data, pa.Table | pa.RecordBatch):
        raise DataError("a table to tag", expected="an Arrow Table or RecordBatch", got=described(data))
    loaded = model_of(model)
    is_multiple = isinstance(loaded, MultiTaskTagger)
    asked = list(asked_tasks(tasks, loaded) or (loaded.tasks if is_multiple else checked_parts(parts, loaded)))
    if column in asked:
        raise ConfigurationError(
            f"the answers {column!r} would replace the texts", expected="another name of the column"
        )
    source = _Source(data, column)
    answered = source.like(_tagged(source.chunks, loaded, tasks, parts, offsets, threshold, threads))
    for name in asked:
        values = answered
        if is_multiple or len(asked) > 1:
            compute = needed("pyarrow.compute", "arrow")
            values = compute.struct_field(answered, name)
        place = data.schema.get_field_index(name)
        data = data.append_column(name, values) if place < 0 else data.set_column(place, name, values)
    return data


def model_of(model: Any) -> Any:
    """A fitted model whose answers are spans; it may be given by its file."""
    if isinstance(model, str | os.PathLike):
        model = load(model)
    if not isinstance(model, Tagger | Detector | MultiTaskTagger):
        expected = "must be a Tagger, a MultiTaskTagger, a Detector or the file of one"
        raise ConfigurationError("model", expected=expected, got=described(model))
    model.fitted_parts()
    return model


def asked_tasks(tasks: Iterable[str] | None, model: Any) -> tuple[str, ...]:
    """The tasks that are chosen of a model of several, in its order; none where all are asked for."""
    if tasks is None:
        return ()
    if not isinstance(model, MultiTaskTagger):
        raise ConfigurationError("tasks cannot be chosen here: the model has one task")
    asked = tuple(known_tasks(tasks, model.tasks))
    if not asked:
        raise ConfigurationError("tasks", expected="at least one of " + ", ".join(model.tasks), got="none")
    return asked


# ------------------------------------------------------------------------------------------------ what is tagged


class _Source:
    """A column of texts in any of the forms, and how its answers take the same form."""

    def __init__(self, data: Any, column: str) -> None:
        self._pa = pa = needed("pyarrow", "arrow")
        self._data, self._library = data, type(data).__module__.partition(".")[0]
        self._name = getattr(data, "name", None)
        if self._library == "pandas":
            data = self._of_pandas(data, column)
        elif self._library == "polars":
            data = data.get_column(known_column(column, data.columns)) if hasattr(data, "get_column") else data
            data = data.to_arrow()
        elif not isinstance(data, pa.Array | pa.ChunkedArray | pa.Table | pa.RecordBatch):
            data = self._of_capsule(data)
        if isinstance(data, pa.Table | pa.RecordBatch):
            data = data.column(known_column(column, data.schema.names))
        self._is_chunked = isinstance(data, pa.ChunkedArray)
        self.chunks: list[Any] = data.chunks if self._is_chunked else [data]
        if self._is_chunked and not self.chunks:
            self.chunks = [pa.array([], data.type)]

    def _of_pandas(self, data: Any, column: str) -> Any:
        series = data[known_column(column, data.columns)] if data.ndim == 2 else data
        try:
            return self._pa.array(series, from_pandas=True)
        except (ValueError, TypeError) as error:  # pyarrow's errors are of these kinds
            raise DataError("the column to tag", expected="strings", got=str(error)) from None

    def _of_capsule(self, data: Any) -> Any:
        """Anything else that exports Arrow data: tables of DuckDB, arrays of other libraries."""
        pa = self._pa
        if hasattr(data, "__arrow_c_array__"):
            array = pa.array(data)
            return pa.RecordBatch.from_struct_array(array) if pa.types.is_struct(array.type) else array
        if hasattr(data, "__arrow_c_stream__"):
            column = pa.chunked_array(data)
            return pa.Table.from_struct_array(column) if pa.types.is_struct(column.type) else column
        expected = "an Arrow, pandas or Polars column or table"
        raise DataError("data to tag", expected=expected, got=described(data))

    def like(self, answered: list[Any]) -> Any:
        """The answers about all chunks in the form of what was given."""
        column = self._pa.chunked_array(answered)
        if self._library == "pandas":
            pandas = needed("pandas", "arrow")
            values = pandas.arrays.ArrowExtensionArray(column)
            return pandas.Series(values, index=self._data.index, name=self._name)
        if self._library == "polars":
            series = needed("polars", "arrow").from_arrow(column)
            return series.rename(self._name) if self._name else series
        return column if self._is_chunked else answered[0]


def known_column(column: str, names: Iterable[Any]) -> str:
    listed = [str(name) for name in names]
    if listed.count(column) > 1:
        raise DataError(f"several columns {column!r}", expected="one")
    if column not in listed:
        raise DataError(f"no column {column!r}", got=f"the columns are {', '.join(listed)}" if listed else "no columns")
    return column


def is_text(kind: Any) -> bool:
    """Whether a column of this Arrow type is text."""
    types = needed("pyarrow.types", "arrow")
    if types.is_dictionary(kind):
        return is_text(kind.value_type)
    return any(test(kind) for test in (types.is_string, types.is_large_string, types.is_string_view, types.is_null))


def _strings(pa: Any, array: Any) -> Any:
    """An array of UTF-8 bytes and offsets; DataError if it is not text."""
    if not is_text(array.type):
        raise DataError("the column to tag", expected="strings", got=str(array.type))
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        array = array.cast(pa.large_string())
    try:
        array.validate(full=True)
    except ValueError as error:
        raise DataError("the column to tag", expected="strings in UTF-8", got=str(error)) from None
    return array


# ------------------------------------------------------------------------------------------------ tagging


def _tagged(
    chunks: Sequence[Any],
    model: Any,
    tasks: Iterable[str] | None,
    parts: Any,
    offsets: str,
    threshold: Threshold,
    threads: int,
) -> list[Any]:
    check_threads(threads)
    units = checked_units(offsets)
    tagger: ColumnTagger | TaskColumnTagger
    if isinstance(model, MultiTaskTagger):
        tagger = TaskColumnTagger(model, asked_tasks(tasks, model) or None, parts, units, threshold)
    else:
        asked_tasks(tasks, model)
        tagger = ColumnTagger(model, checked_parts(parts, model), units, threshold)
    with one_blas_thread():  # once: to change the limit in each thread would cost more than the products
        return [_tagged_array(chunk, tagger, threads) for chunk in chunks]


def _tagged_array(array: Any, tagger: ColumnTagger | TaskColumnTagger, threads: int) -> Any:
    pa = needed("pyarrow", "arrow")
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_dictionary(array.type):  # every distinct text once
        return _tagged_array(array.dictionary, tagger, threads).take(array.indices)
    array = _strings(pa, array)
    pieces = _pieces(array)

    def answers(piece: tuple[bytes, Array]) -> Any:
        return tagger.answers(*piece)

    answered = list(in_order(answers, pieces, threads) if threads > 1 else map(answers, pieces))
    missing = array.is_null()
    if isinstance(tagger, ColumnTagger):
        return _answers(pa, tagger, answered, missing)
    fields = {task: _answers(pa, one, [of[task] for of in answered], missing) for task, one in tagger.tasks.items()}
    return pa.StructArray.from_arrays(list(fields.values()), names=list(fields), mask=missing)


def _answers(pa: Any, tagger: ColumnTagger, answered: Sequence[Answers], missing: Any) -> Any:
    """The column of one task: of the one part that is asked for, or structs of several."""
    fields = {
        part: _column(pa, part, [one[_source(part)] for one in answered], tagger.names, missing)
        for part in tagger.parts
    }
    if len(fields) == 1:
        return fields[tagger.parts[0]]
    return pa.StructArray.from_arrays(list(fields.values()), names=list(fields), mask=missing)


def _source(part: str) -> str:
    return TOKENS if part == LABELS else part


def _pieces(array: Any) -> Iterator[tuple[bytes, Array]]:
    """The bytes of some texts, and the first byte and the end of each text among them, (D, 2)."""
    _, places, content = array.buffers()
    wide = np.int64 if str(array.type) == "large_string" else np.int32
    edges = np.zeros(1, np.int64)
    if len(array):
        edges = np.frombuffer(places, wide)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    documents = np.stack([edges[:-1], edges[1:]], axis=1)
    if array.null_count:
        missing = array.is_null().to_numpy(zero_copy_only=False)
        documents[missing, 1] = documents[missing, 0]  # whatever bytes stand there
    view = memoryview(b"" if content is None else content)
    first = 0
    while first < len(documents):
        end = max(int(np.searchsorted(edges, edges[first] + BATCH, side="right")) - 1, first + 1)
        end = min(end, len(documents))
        yield bytes(view[edges[first] : edges[end]]), documents[first:end] - edges[first]
        first = end


# ------------------------------------------------------------------------------------------------ columns of answers


def _column(pa: Any, part: str, spans: Sequence[Spans], names: dict[str, list[str]], missing: Any) -> Any:
    """The answers about all pieces as one Arrow array of lists."""
    places = np.concatenate([np.zeros((0, 2), np.int64), *(one.places for one in spans)])
    counts = np.concatenate([np.zeros(0, np.int64), *(np.diff(one.edges) for one in spans)])
    edges = np.concatenate([[0], np.cumsum(counts)])
    M = len(places)
    if np.iinfo(np.int32).max < M:
        raise DataError("a column to tag", expected="at most 2,147,483,647 answers in one chunk", got=f"{M:,}")
    fields = {"start": pa.array(places[:, 0].astype(np.int32)), "end": pa.array(places[:, 1].astype(np.int32))}
    if part in (ENTITIES, TOKENS, LABELS):
        numbers = np.concatenate([np.zeros(0, np.int64), *(one.labels for one in spans if one.labels is not None)])
        fields["label"] = pa.DictionaryArray.from_arrays(
            pa.array(numbers.astype(np.int32)), pa.array(names[_source(part)], pa.string())
        )
    fields["probability"] = _probabilities(pa, spans, M)
    values = (
        fields["label"] if part == LABELS else pa.StructArray.from_arrays(list(fields.values()), names=list(fields))
    )
    return pa.ListArray.from_arrays(pa.array(edges.astype(np.int32)), values, mask=missing)


def _probabilities(pa: Any, spans: Sequence[Spans], M: int) -> Any:
    known = [one.probabilities for one in spans if one.probabilities is not None]
    if sum(map(len, known)) < M:
        return pa.nulls(M, pa.float32())
    return pa.array(np.concatenate([np.zeros(0), *known]).astype(np.float32))
