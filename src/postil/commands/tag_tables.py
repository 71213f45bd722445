"""``postil tag`` for tables: a column of Parquet or CSV files, tagged into Parquet or CSV."""

import json
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from postil.commands.models import ruled_model
from postil.commands.notices import note, progress_line
from postil.commands.output import CSV, PARQUET, check_output
from postil.errors import ConfigurationError
from postil.extras import needed
from postil.files import replaced
from postil.integrations import column_files
from postil.integrations.arrow import asked_parts, model_of
from postil.models.storage import to_bytes
from postil.models.tagger import Tagger
from postil.tagging import TaggingOptions
from postil.tagging.options import SPECIAL_OPTIONS, chosen, threshold_of
from postil.text.report import counted

TABLES = (PARQUET, CSV)
"""Values of --from, and of --to."""


def tag_tables(arguments: Namespace, options: TaggingOptions) -> int:
    """Tag tables into a folder or a file."""
    kind = _kind(arguments)
    if not arguments.files or "-" in arguments.files:
        raise ConfigurationError(f"--from {kind}", expected="needs files")
    if arguments.to not in TABLES:
        expected = "must be written as Parquet or CSV: -o FOLDER, -o FILE.parquet or -o FILE.csv"
        raise ConfigurationError("a table of texts", expected=expected, got=arguments.to)
    if arguments.output is None:
        raise ConfigurationError("a table of texts", expected="needs -o FOLDER, -o FILE.parquet or -o FILE.csv")
    options.refuse(*SPECIAL_OPTIONS, why="it does not apply to tables")
    output: str = arguments.output
    whole, path = ruled_model(arguments)
    model = model_of(chosen(whole, arguments.task))
    job = column_files.TableJob(
        column=arguments.column or column_files.TableJob.column,
        tasks=tuple(arguments.task),
        parts=asked_parts(arguments.parts and arguments.parts.split(","), model),
        offsets=arguments.offsets,
        threshold=_threshold(options, model),
        input=kind,
        encoding=arguments.encoding,
        model=column_files.hash_of(path) if path else sha256(to_bytes(whole)).hexdigest(),
    )
    is_file = arguments.to == CSV or output.endswith(f".{PARQUET}")
    if is_file:
        inputs = [arguments.model, *arguments.files]
        check_output(output, arguments.to, inputs=inputs, overwrite=arguments.overwrite)
    target = _written_as_csv(output, job) if arguments.to == CSV else nullcontext(output)
    with progress_line("rows", to_file=True) as progress, target as place:
        done = column_files.tag_files(arguments.files, model, job, place, threads=arguments.threads, progress=progress)
    others = f", {done.done_before:,} already complete" if done.done_before else ""
    others += f", {done.redone:,} damaged and written again" if done.redone else ""
    note(f"{output}: {done.rows:,} rows in {counted(done.parts, 'file')}{others}")
    return 0


@contextmanager
def _written_as_csv(output: str, job: column_files.TableJob) -> Iterator[str]:
    """The name of a Parquet file that becomes the CSV file ``output``. CSV has no lists: they are written as JSON."""

    def spelt(row: list[Any], text: str) -> str:
        """A list as JSON; entities with their words, for people who open the file in a spreadsheet."""
        for entity in row if job.offsets == "characters" else []:
            if isinstance(entity, dict) and {"start", "end", "label"} <= entity.keys():
                probability = entity.pop("probability", None)
                entity["text"] = text[entity["start"] : entity["end"]]
                entity["probability"] = None if probability is None else round(probability, 6)
        return json.dumps(row, ensure_ascii=False)

    pa, csv, parquet = (needed(name, "arrow") for name in ("pyarrow", "pyarrow.csv", "pyarrow.parquet"))
    with TemporaryDirectory(prefix=".tagged-", dir=Path(output).resolve().parent) as folder:
        yield str(path := Path(folder) / "rows.parquet")

        def flat(column: Any, texts: Any) -> Any:
            if not pa.types.is_nested(column.type):
                return column
            pairs = zip(column.to_pylist(), texts.to_pylist(), strict=True)
            return pa.array((None if row is None else spelt(row, text) for row, text in pairs), pa.string())

        with parquet.ParquetFile(path) as file, replaced(output) as stream:
            names = file.schema_arrow.names
            is_first = True
            for batch in file.iter_batches() if file.metadata.num_rows else [file.schema_arrow.empty_table()]:
                table = pa.table([flat(column, batch.column(job.column)) for column in batch.columns], names)
                csv.write_csv(table, stream, csv.WriteOptions(include_header=is_first))
                is_first = False


def _threshold(options: TaggingOptions, model: Any) -> Mapping[str, float] | None:
    """The lowest probability of each class that the command line asks for."""
    if isinstance(model, Tagger):
        return threshold_of(model.model.codec, options)
    several = bool(getattr(model, "tasks", None))
    why = "it is a multi-task model; choose a task with --task" if several else "a detector has no probabilities"
    options.refuse("threshold", why=why)
    return None


def _kind(arguments: Namespace) -> str:
    if arguments.source_format in TABLES:
        return str(arguments.source_format)
    option = "--column" if arguments.column is not None else "Parquet output"
    if arguments.source_format is None and arguments.files and arguments.text is None:
        endings = {Path(name).suffix for name in arguments.files}
        if endings == {f".{PARQUET}"}:
            return PARQUET
        if endings <= {".csv", ".tsv"}:
            return CSV
    got = arguments.source_format or ("--text" if arguments.text is not None else ", ".join(arguments.files[:3]))
    expected = "needs tables: files that end in .parquet, .csv or .tsv, or --from parquet or csv"
    raise ConfigurationError(option, expected=expected, got=got or "standard input")
