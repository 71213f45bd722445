"""Columns of text: Arrow, pandas and Polars. Entities come as a column of lists of structs.

An Arrow column of strings is UTF-8 bytes and offsets: what the kernels take. Their answers are arrays, and of such a
column of lists is made. So no Python object is made for a text, a token or an entity.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.errors import ConfigurationError, DataError
from postil.extras import needed
from postil.kernels.plain_records import UNITS
from postil.models import load
from postil.models.decoding.codec import LabelCodec
from postil.models.decoding.posteriors import Decoded, Posteriors, Threshold
from postil.models.decoding.tagged import ALL_GROUPS, BATCH, Tagged
from postil.models.detector import Detector
from postil.models.inputs import described
from postil.models.multi_task_tagger import MultiTaskTagger
from postil.models.sentences import warn_of_unspaced
from postil.models.tagger import Tagger
from postil.tagging.bulk import check_threads, in_order
from postil.tagging.options import has_groups
from postil.threads import one_blas_thread

__all__ = ["tag", "tag_table"]

# ------------------------------------------------------------------------------------------------ answers as arrays

ENTITIES, TOKENS, LABELS, SENTENCES = "entities", "tokens", "labels", "sentences"
PARTS = (ENTITIES, TOKENS, LABELS, SENTENCES)
"""Answers that can be requested."""


@final
class _Column:
    """The answers of one head of a model, made into an Arrow column. Threads may share one."""

    def __init__(self, codec: LabelCodec, parts: Sequence[str], units: str, groups: Sequence[str] = ()) -> None:
        """``groups`` of the classes of ``codec``, if these may overlap."""
        pa = needed("pyarrow", "arrow")
        self.parts, self._units, self._groups = list(parts), units, None
        names = list(dict.fromkeys(codec.spellings))
        self._names = {ENTITIES: pa.array(codec.classes if codec.has_spans else [], pa.string())}
        self._names |= dict.fromkeys((TOKENS, LABELS), pa.array(names, pa.string()))
        """Of labels that entities and tokens can have, each once."""
        self._numbers = np.array([names.index(name) for name in codec.spellings])
        if groups:
            listed = list(dict.fromkeys(groups))
            self._groups = np.array([listed.index(name) for name in groups], np.int32), pa.array(listed, pa.string())

    @property
    def has_labels(self) -> bool:
        """Whether the labels of tokens are requested."""
        return not {TOKENS, LABELS}.isdisjoint(self.parts)

    def of(self, tagged: Tagged, task: str, missing: Any) -> Any:
        """The answers of a task: a list for each text, or null; of several parts, a struct of lists."""
        decoded, columns = tagged.tasks[task], {}
        for part in self.parts:
            labels, figures = None, decoded.probabilities
            if part == ENTITIES:
                assert decoded.spans is not None, "asked for"
                edges, places = tagged.entity_edges[task], tagged.entity_places(task)
                labels, figures = decoded.spans[:, 3], decoded.span_probabilities
            elif part == SENTENCES:
                cells, offsets = tagged.cells, tagged.offsets
                edges = tagged.sentence_edges
                places = np.stack([cells[offsets[:-1], 0], cells[offsets[1:] - 1, 1]], axis=1)
            else:
                assert tagged.document_tokens is not None, "of raw texts"
                edges, places = tagged.document_tokens, tagged.cells
                labels, figures = self._numbers[decoded.places()], decoded.label_probabilities
            columns[part] = self._lists(part, tagged, edges, places, labels, figures, missing)
        return _struct(columns, missing) if len(columns) > 1 else columns[self.parts[0]]

    def _lists(
        self, part: str, tagged: Tagged, edges: Array, places: Array, labels: Any, figures: Any, missing: Any
    ) -> Any:
        """Spans as an Arrow array of lists: texts ``edges`` (D + 1,) among them, ``places`` (M, 2) in all texts."""
        pa, M = needed("pyarrow", "arrow"), len(places)
        fields = {}
        if labels is not None:
            fields["label"] = pa.DictionaryArray.from_arrays(pa.array(labels.astype(np.int32)), self._names[part])
        values = fields.get("label")
        if part != LABELS:
            counted = _counted(tagged, edges, places, self._units).astype(np.int32)
            fields = {"start": pa.array(counted[:, 0]), "end": pa.array(counted[:, 1]), **fields}
            if self._groups is not None:
                of_classes, names = self._groups
                fields["group"] = pa.DictionaryArray.from_arrays(pa.array(of_classes[labels]), names)
            is_known = figures is not None
            fields["probability"] = pa.array(figures.astype(np.float32)) if is_known else pa.nulls(M, pa.float32())
            values = pa.StructArray.from_arrays(list(fields.values()), names=list(fields))
        return pa.ListArray.from_arrays(pa.array(edges.astype(np.int32)), values, mask=missing)


def _struct(columns: Mapping[str, Any], missing: Any) -> Any:
    arrays = list(columns.values())
    return needed("pyarrow", "arrow").StructArray.from_arrays(arrays, names=list(columns), mask=missing)


@final
class _Question:
    """A tagging request for a model, which may have several tasks."""

    def __init__(self, model: Any, tasks: Iterable[str] | None, parts: Any, units: str, threshold: Threshold) -> None:
        models, units = model.by_task(tasks), checked_units(units)
        self._heads = {task: Posteriors(head.model) for task, head in models.items()}
        self._segmenter, self._threshold = model.model.segmenter, threshold
        # With a threshold each task is asked alone: whether an entity is dropped changes the labels around it.
        self._together = [list(models)] if threshold is None else [[task] for task in models]
        parts = parts if parts is None or isinstance(parts, str) else list(parts)
        self._has_groups = has_groups(model, models) and parts in (None, ENTITIES, [ENTITIES])
        self.has_tasks = isinstance(model, MultiTaskTagger) and not self._has_groups
        if self._has_groups:
            classes = {name: task for task, head in self._heads.items() for name in head.codec.classes}
            codec, groups = LabelCodec("bio", tuple(classes)), list(classes.values())
            self.tasks = {ALL_GROUPS: _Column(codec, [ENTITIES], units, groups)}
        else:
            asked = {task: checked_parts(parts, head) for task, head in models.items()}
            self.tasks = {task: _Column(self._heads[task].codec, names, units) for task, names in asked.items()}

    def answers(self, content: bytes, documents: Array, missing: Any) -> Any:
        """A column of answers about the texts at ``documents`` (D, 2), first byte and end of each, of UTF-8 bytes."""
        if self._segmenter.has_rules:
            warn_of_texts(content, documents)
        cut, tasks = Tagged.cut(content, documents, self._segmenter), dict[str, Decoded]()
        for names in self._together:
            with_labels = any(self.tasks[task].has_labels for task in names if task in self.tasks)
            heads = {task: self._heads[task] for task in names}
            codec, lowest = heads[names[0]].codec, self._threshold
            if self._has_groups and isinstance(lowest, Mapping):  # of a group that of its classes
                lowest = {name: least for name, least in lowest.items() if name in codec.classes}
            elif self.has_tasks and not codec.has_spans:
                lowest = None
            tasks |= cut.by(heads, threshold=lowest, label_probabilities=with_labels).tasks
        tagged = replace(cut, tasks=tasks)
        tagged = tagged.grouped() if self._has_groups else tagged
        columns = {task: column.of(tagged, task, missing) for task, column in self.tasks.items()}
        return _struct(columns, missing) if self.has_tasks else next(iter(columns.values()))


def asked_parts(parts: str | Iterable[str] | None, model: Any) -> tuple[str, ...]:
    """The parts that are requested of any model; none if each of several tasks has its own."""
    return () if parts is None and getattr(model, "tasks", None) else tuple(checked_parts(parts, model))


def checked_parts(parts: str | Iterable[str] | None, model: Any) -> list[str]:
    """The parts that are asked for. None: the entities, or the tokens where the labels of the model have no spans."""
    if parts is None:
        return [ENTITIES if not isinstance(model, Tagger) or model.model.codec.has_spans else TOKENS]
    asked = [parts] if isinstance(parts, str) else list(dict.fromkeys(parts))
    for part in asked:
        if part not in PARTS:
            raise ConfigurationError("parts", expected=f"must be some of {', '.join(PARTS)}", got=repr(part))
    if not asked:
        raise ConfigurationError("parts", expected=f"must be some of {', '.join(PARTS)}", got="none")
    return asked


def checked_units(units: str) -> str:
    if units not in UNITS:
        raise ConfigurationError("offsets", expected=f"must be {', '.join(UNITS[:-1])} or {UNITS[-1]}", got=repr(units))
    return units


def _counted(tagged: Tagged, edges: Array, places: Array, units: str) -> Array:
    """Places (M, 2) in the bytes of all texts, counted in ``units`` from the first byte of each text."""
    assert tagged.documents is not None, "of raw texts"
    content, firsts = tagged.text, np.repeat(tagged.documents[:, 0], np.diff(edges))
    offsets = np.column_stack([firsts, places])
    if units != "bytes" and not content.isascii():
        order = np.unique(offsets)
        counted = kernels.character_offsets(content, order)
        if units == "utf16":
            counted = counted + np.searchsorted(np.flatnonzero(np.frombuffer(content, np.uint8) >= 0xF0), order)
        offsets = counted[np.searchsorted(order, offsets)]
    return np.asarray(offsets[:, 1:] - offsets[:, :1])


_LEADS = np.zeros(256, bool)  # first bytes of characters that writing without spaces has, and of some others
_LEADS[[0xE0, 0xE1, *range(0xE3, 0xEA), 0xEF, 0xF0]] = True


def warn_of_texts(content: bytes, documents: Array) -> None:
    """Warn of texts without spaces. Only texts that may be written so are decoded."""
    if content.isascii():
        return
    leads = np.flatnonzero(_LEADS[np.frombuffer(content, np.uint8)])
    counts = np.diff(np.searchsorted(leads, documents), axis=1).ravel()
    for start, end in documents[counts > 0].tolist():
        warn_of_unspaced(content[start:end].decode(), stacklevel=6)


# ------------------------------------------------------------------------------------------------ columns


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

    ``parts`` asks for other answers: ``"tokens"`` (every token with its label; the default if the labels of the
    model have no spans), ``"labels"`` (the labels alone), ``"sentences"`` (start, end, and the probability of the whole
    labelling). Several of them come as one column of structs. ``offsets`` count ``"characters"``, ``"utf16"`` units or
    ``"bytes"``. Entities less probable than ``threshold`` are dropped. ``model`` may be the path of a model file.

    Of a multi-task model, the answer is a column of structs with a field for each task (of ``tasks``), which
    holds what ``tag(data, model[task])`` answers. ``threshold`` is for the tasks with spans. If its tasks are groups of
    classes, the entities of all groups are one column, with the group of each.
    """
    source = _Source(data, column)
    return _tagged(source, _Question(model_of(model), tasks, parts, offsets, threshold), threads)


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

    Of a multi-task model, one column for each task, named after the task. A column that has the name already is
    replaced.
    """
    pa = needed("pyarrow", "arrow")
    if not isinstance(data, pa.Table | pa.RecordBatch):
        raise DataError("a table to tag", expected="an Arrow Table or RecordBatch", got=described(data))
    loaded = model_of(model)
    question = _Question(loaded, tasks, parts, offsets, threshold)
    asked = list(question.tasks) if question.has_tasks else next(iter(question.tasks.values())).parts
    if column in asked:
        what = f"the answers {column!r} would replace the texts"
        raise ConfigurationError(what, expected="another name of the column")
    answered = _tagged(_Source(data, column), question, threads)
    for name in asked:
        is_field = question.has_tasks or len(asked) > 1
        values = needed("pyarrow.compute", "arrow").struct_field(answered, name) if is_field else answered
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
    _ = model.model  # an error before fit
    return model


# ------------------------------------------------------------------------------------------------ what is tagged


class _Source:
    """A column of texts in any of the forms, and how its answers take the same form."""

    def __init__(self, data: Any, column: str) -> None:
        self._pa = pa = needed("pyarrow", "arrow")
        self._data, self._library = data, type(data).__module__.partition(".")[0]
        self._name = getattr(data, "name", None)
        if self._library == "pandas":
            series = data[known_column(column, data.columns)] if data.ndim == 2 else data
            try:
                data = pa.array(series, from_pandas=True)
            except (ValueError, TypeError) as error:  # pyarrow's errors are of these kinds
                raise DataError("the column to tag", expected="strings", got=str(error)) from None
        elif self._library == "polars":
            data = data.get_column(known_column(column, data.columns)) if hasattr(data, "get_column") else data
            data = data.to_arrow()
        elif not isinstance(data, pa.Array | pa.ChunkedArray | pa.Table | pa.RecordBatch):
            if hasattr(data, "__arrow_c_array__"):  # tables of DuckDB, arrays of other libraries
                data = pa.array(data)
            elif hasattr(data, "__arrow_c_stream__"):
                data = pa.chunked_array(data)
            else:
                expected = "an Arrow, pandas or Polars column or table"
                raise DataError("data to tag", expected=expected, got=described(data))
            if pa.types.is_struct(data.type):
                kind = pa.RecordBatch if isinstance(data, pa.Array) else pa.Table
                data = kind.from_struct_array(data)
        if isinstance(data, pa.Table | pa.RecordBatch):
            data = data.column(known_column(column, data.schema.names))
        self._is_chunked = isinstance(data, pa.ChunkedArray)
        self.chunks: list[Any] = data.chunks if self._is_chunked else [data]
        if self._is_chunked and not self.chunks:
            self.chunks = [pa.array([], data.type)]

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
        got = f"choose one of the columns {', '.join(listed)}" if listed else "no columns"
        raise DataError(f"no column {column!r}", got=got)
    return column


def is_text(kind: Any) -> bool:
    """Whether a column of this Arrow type is text."""
    types = needed("pyarrow.types", "arrow")
    if types.is_dictionary(kind):
        return is_text(kind.value_type)
    return any(test(kind) for test in (types.is_string, types.is_large_string, types.is_string_view, types.is_null))


# ------------------------------------------------------------------------------------------------ tagging


def _tagged(source: _Source, question: _Question, threads: int) -> Any:
    """The answers, in the form of the source."""
    check_threads(threads)
    with one_blas_thread():  # once: to change the limit in each thread would cost more than the products
        return source.like([_tagged_array(chunk, question, threads) for chunk in source.chunks])


def _tagged_array(array: Any, question: _Question, threads: int) -> Any:
    pa = needed("pyarrow", "arrow")
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_dictionary(array.type):  # every distinct text once
        return _tagged_array(array.dictionary, question, threads).take(array.indices)
    if not is_text(array.type):
        raise DataError("the column to tag", expected="strings", got=str(array.type))
    if not len(array):
        return _tagged_array(pa.array([""]), question, threads).slice(1)
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        array = array.cast(pa.large_string())
    try:
        array.validate(full=True)
    except ValueError as error:
        raise DataError("the column to tag", expected="strings in UTF-8", got=str(error)) from None

    def answers(piece: tuple[bytes, Array, Any]) -> Any:
        return question.answers(*piece)

    answered = list(in_order(answers, _pieces(array), threads) if threads > 1 else map(answers, _pieces(array)))
    try:
        return pa.concat_arrays(answered)
    except pa.ArrowInvalid as error:  # offsets of lists have 31 bits
        raise DataError("a column to tag", expected="at most 2,147,483,647 answers in one chunk", got=error) from None


def _pieces(array: Any) -> Iterator[tuple[bytes, Array, Any]]:
    """The bytes of some texts, the first byte and the end of each text among them (D, 2), and which are null."""
    _, places, content = array.buffers()
    wide = np.int64 if str(array.type) == "large_string" else np.int32
    edges = np.frombuffer(places, wide)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    documents = np.stack([edges[:-1], edges[1:]], axis=1)
    missing = array.is_null()
    if array.null_count:
        places = missing.to_numpy(zero_copy_only=False)
        documents[places, 1] = documents[places, 0]  # whatever bytes stand there
    view = memoryview(b"" if content is None else content)
    first = 0
    while first < len(documents):
        end = max(int(np.searchsorted(edges, edges[first] + BATCH, side="right")) - 1, first + 1)
        end = min(end, len(documents))
        yield bytes(view[edges[first] : edges[end]]), documents[first:end] - edges[first], missing[first:end]
        first = end
