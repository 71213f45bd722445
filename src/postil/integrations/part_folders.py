"""What all jobs that write folders of Parquet parts share: which job a folder belongs to, which parts are done.

``column_files`` does such a job in one process, ``parquet_parts`` cuts one up for Ray. A part is done if the folder
``_parts`` has a receipt for it, and the part still has the size and the SHA-256 that the receipt says. A part that was
cut, changed or replaced is written again. Readers of such folders skip names that begin with ``_`` or ``.``.
"""

import hashlib
import json
import posixpath
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, final

from postil.errors import ConfigurationError, DataError
from postil.integrations.arrow import is_text, known_column
from postil.integrations.extras import needed
from postil.reading import parsed_json

_RECEIPTS = "_parts"
_MOST_RECEIPT = 1 << 16  # bytes
_UNFINISHED = ".partial"
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


@final
class Hashed:
    """A stream that is written to, and the size and the SHA-256 of what was written."""

    closed = False

    def __init__(self, stream: Any) -> None:
        self._stream, self._sha256, self.size = stream, hashlib.sha256(), 0

    def write(self, content: Any) -> int:
        given = memoryview(content)
        self._stream.write(given)
        self._sha256.update(given)
        self.size += given.nbytes
        return given.nbytes

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        self._stream.flush()

    def close(self) -> None:
        """The one who opened the stream closes it."""

    def receipt(self) -> dict[str, Any]:
        return {"bytes": self.size, "sha256": self._sha256.hexdigest()}


def write_beside(out: Any, path: str, fill: Callable[[Hashed], object], *, receipted: bool = False) -> None:
    """Write beside the place and rename: the file is complete or it is not there. A part gets a receipt before."""
    folder, name = posixpath.split(path)
    unfinished = f"{folder}/.{name}.{secrets.token_hex(4)}{_UNFINISHED}"
    with out.open_output_stream(unfinished) as stream:
        fill(hashed := Hashed(stream))
    if receipted:
        give_receipt(out, path, hashed)
    out.move(unfinished, path)


def give_receipt(out: Any, part: str, written: Hashed) -> None:
    """Note what a part will hold, on an Arrow file system: just before it gets its name."""
    path, receipt = _receipt_of(part), written.receipt()
    out.create_dir(posixpath.dirname(path), recursive=True)
    write_beside(out, path, lambda stream: stream.write(json.dumps(receipt).encode()))


def is_done(out: Any, part: str) -> bool:
    """Whether a part is there as its receipt says."""
    try:
        with out.open_input_stream(_receipt_of(part)) as stream:
            receipt = parsed_json(bytes(stream.read(_MOST_RECEIPT)))
        info, sha256 = out.get_file_info(part), hashlib.sha256()
        if not isinstance(receipt, dict) or not info.is_file or info.size != receipt.get("bytes"):
            return False
        with out.open_input_stream(part) as stream:
            while piece := stream.read(1 << 20):
                sha256.update(piece)
        return sha256.hexdigest() == receipt.get("sha256")
    except (OSError, ValueError):  # Arrow's errors are of these kinds
        return False


def remove_unfinished(out: Any, folder: str) -> None:
    """Remove what killed processes left, once the folder is complete."""
    fs = needed("pyarrow.fs", "arrow")
    for place, beginning in ((folder, ".part-"), (f"{folder}/{_RECEIPTS}", ".")):
        for info in out.get_file_info(fs.FileSelector(place, allow_not_found=True)):
            if posixpath.basename(info.path).startswith(beginning) and info.path.endswith(_UNFINISHED):
                out.delete_file(info.path)


def _receipt_of(part: str) -> str:
    folder, name = posixpath.split(part)
    return f"{folder}/{_RECEIPTS}/{name}.json"


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
