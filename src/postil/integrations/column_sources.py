"""Files of columns as parts, each a stream of record batches: row groups of Parquet, blocks of CSV."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias, final

from postil.errors import ConfigurationError, DataError
from postil.integrations.extras import needed
from postil.integrations.part_folders import check_text_column
from postil.reading import open_regular

ROWS = 1 << 12
"""Rows of a batch."""
CSV_BLOCK = 1 << 24
"""Bytes of a part of CSV. A line must be shorter."""

Batches: TypeAlias = Callable[[], Iterator[tuple[str, Any]]]
"""The record batches of a part, each with the name of the file."""


@final
class ParquetSource:
    """A Parquet file."""

    def __init__(self, path: str, encoding: str | None = None) -> None:
        parquet = needed("pyarrow.parquet", "arrow")
        if encoding is not None:
            raise ConfigurationError("--encoding", expected="needs --input csv", got="parquet")
        self.path = path
        with _told(path, "Parquet"):
            self._file = parquet.ParquetFile(path)
            self.schema = self._file.schema_arrow

    def parts(self) -> Iterator[tuple[int, Batches]]:
        """The number of each row group and its batches. A file without row groups is one part without batches."""
        for number in range(max(1, self._file.num_row_groups)):
            yield number, partial(self._batches, number)

    def _batches(self, number: int) -> Iterator[tuple[str, Any]]:
        groups = [number] if number < self._file.num_row_groups else []
        with _told(self.path, "Parquet"):
            for batch in self._file.iter_batches(ROWS, row_groups=groups, use_threads=False):
                yield self.path, batch


@final
class CSVSource:
    """A CSV file with a line of names; tabs separate the cells of a file whose name ends in .tsv.

    All columns are text, so that nothing is lost: a number keeps its zeros, an empty cell is an empty text.
    """

    def __init__(self, path: str, encoding: str | None = None) -> None:
        self.path, self._encoding = path, encoding or "utf8"
        pa = needed("pyarrow", "arrow")
        with _told(path, "CSV"), self._reader([]) as reader:
            names = reader.schema.names
        self.schema = pa.schema([(name, pa.string()) for name in names])

    def parts(self) -> Iterator[tuple[int, Batches]]:
        """The number of each block and its batches."""
        number = -1
        with _told(self.path, "CSV"), self._reader(self.schema.names) as reader:
            for number, block in enumerate(reader):
                yield number, partial(self._batches, block)
        if number < 0:
            yield 0, lambda: iter(())

    def _batches(self, block: Any) -> Iterator[tuple[str, Any]]:
        for first in range(0, block.num_rows, ROWS):
            yield self.path, block.slice(first, ROWS)

    def _reader(self, names: list[str]) -> Any:
        pa, csv = needed("pyarrow", "arrow"), needed("pyarrow.csv", "arrow")
        delimiter = "\t" if self.path.endswith(".tsv") else ","
        return csv.open_csv(
            self.path,
            csv.ReadOptions(block_size=CSV_BLOCK, encoding=self._encoding, use_threads=False),
            csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False),
        )


def checked_schema(source: ParquetSource | CSVSource, column: str) -> Any:
    """The schema of a file that has this column, and in it texts."""
    check_text_column(source.schema, column, source.path)
    return source.schema


@contextmanager
def _told(path: str, title: str) -> Iterator[None]:
    """The errors of pyarrow in one line that names the file."""
    open_regular(path).close()  # the system's own words if there is no such file, or if it is a pipe
    try:
        yield
    except (ValueError, OSError, NotImplementedError, LookupError) as error:  # pyarrow's errors are of these kinds
        if isinstance(error, DataError | ConfigurationError):
            raise
        raise DataError(f"cannot read the {title} file", got=str(error).partition("\n")[0], where=path) from None
