"""What all jobs that write folders of Parquet parts share: which job a folder belongs to, how large row groups are.

``column_files`` does such a job in one process, ``parquet_parts`` cuts one up for Ray.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from postil.errors import ConfigurationError, DataError
from postil.integrations.arrow import is_text, known_column
from postil.integrations.extras import needed

ROWS_WRITTEN, BYTES_WRITTEN = 1 << 16, 1 << 26
"""A row group is written when it has this many rows or bytes."""


def as_stored(job: Any) -> dict[str, Any]:
    """A job, a dataclass, as the folder's file of it is read again."""
    stored: dict[str, Any] = json.loads(json.dumps(asdict(job)))
    return stored


def check_same_job(known: Mapping[str, Any], asked: Mapping[str, Any], folder: object) -> None:
    """Refuse to add the parts of one job to those of another, naming the first setting in which they differ."""
    for name, value in asked.items():
        if known.get(name) != value:
            what = "the folder holds parts of another job"
            expected = f"a new folder, or {name} {known.get(name)!r}"
            raise ConfigurationError(what, expected=expected, got=repr(value), where=folder)


def check_text_column(schema: Any, column: str, where: object) -> None:
    """Refuse a file that lacks the column, or has no texts in it."""
    try:
        kind = schema.field(known_column(column, schema.names)).type
    except DataError as error:
        raise DataError(error.what, expected=error.expected, got=error.got, where=where) from None
    if not is_text(kind):
        raise DataError(f"the column {column!r}", expected="strings", got=str(kind), where=where)


def gathered(tables: Iterable[Any], extra: str) -> Iterator[Any]:
    """Small tables or record batches put together to tables of the size of a row group."""
    pa = needed("pyarrow", extra)
    held: list[Any] = []
    for table in tables:
        held.append(table if isinstance(table, pa.Table) else pa.Table.from_batches([table]))
        if sum(one.num_rows for one in held) >= ROWS_WRITTEN or sum(one.nbytes for one in held) >= BYTES_WRITTEN:
            yield pa.concat_tables(held)
            held = []
    if held:
        yield pa.concat_tables(held)
