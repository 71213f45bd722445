"""``postil tag`` for tables: a column of Parquet or CSV files, tagged into Parquet."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from postil.commands.options.models import open_model
from postil.commands.options.writing import check_output
from postil.commands.tag_options import tagging_options
from postil.commands.terminal.tag_progress import progress_line
from postil.errors import ConfigurationError, DataError, printable
from postil.models.tagger import Tagger
from postil.serving.options import chosen, threshold_of
from postil.text.formats import format_of

PARQUET, CSV = "parquet", "csv"
TEXT_COLUMN = "text"
COLUMN_INPUTS = (PARQUET, CSV)
"""Values of --input."""
# Options of other outputs, by the names of their values, and the values that they have if they are not used.
_OTHER_OPTIONS: dict[str, Any] = {
    "keep_gold": False,
    "tree": None,
    "scores": False,
    "nbest": None,
    "all_above": None,
    "force": [],
    "forbid": [],
    "allow": [],
    "gazetteer_constraint": [],
}


def add_column_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("tables: Parquet and CSV")
    group.add_argument("--column", metavar="NAME", help=f"column of the texts (default: {TEXT_COLUMN})")
    group.add_argument(
        "--parts",
        metavar="PART,…",
        help="answers to add: entities, tokens, labels, sentences (default: entities; tokens for labels without spans)",
    )
    group.add_argument(
        "--offsets",
        choices=["characters", "utf16", "bytes"],
        default="characters",
        help="also JSON Lines: what offsets count (default: characters)",
    )


def asks_for_columns(arguments: argparse.Namespace) -> bool:
    """Whether the inputs are tables of texts, whose rows are kept.

    A CSV file can also be read as texts, or as a table of words, if nothing but its name says that it is a table.
    """
    if arguments.column is not None or arguments.output == PARQUET or arguments.input in COLUMN_INPUTS:
        return True
    if arguments.input is not None or not arguments.files:
        return False
    first = arguments.files[0]
    if first.endswith(f".{PARQUET}"):
        return True
    if not first.endswith(f".{CSV}") or arguments.output is not None or arguments.target is None:
        return False
    try:
        return format_of(first, arguments.encoding) != CSV
    except DataError:  # which the table's reader meets again
        return True


def tag_columns(arguments: argparse.Namespace) -> int:
    """Tag tables into a folder or a file."""
    from postil.integrations import column_files  # needs an extra
    from postil.integrations.arrow import model_of
    from postil.integrations.column_answers import asked_parts

    kind = _input_of(arguments)
    check_for_tables(arguments, kind)
    model = model_of(chosen(open_model(arguments.model), arguments.task))
    job = column_files.ColumnJob(
        column=arguments.column,
        tasks=tuple(arguments.task),
        parts=asked_parts(arguments.parts and arguments.parts.split(","), model),
        offsets=arguments.offsets,
        threshold=threshold_for_tables(arguments, model),
        input=kind,
        encoding=arguments.encoding,
        model=column_files.hash_of(arguments.model),
    )
    is_file = arguments.target.endswith(f".{PARQUET}")
    if is_file:
        check_output(arguments.target, "output", PARQUET, inputs=[arguments.model, *arguments.files])
    write = column_files.write_file if is_file else column_files.write_folder
    with progress_line("rows", to_file=True) as progress:
        written = write(arguments.files, model, job, arguments.target, threads=arguments.threads, progress=progress)
    kept = f", {len(written.kept):,} were there" if written.kept else ""
    kept += f", {len(written.redone):,} were damaged and written again" if written.redone else ""
    files = f"{len(written.parts):,} file{'' if len(written.parts) == 1 else 's'}"
    print(printable(f"{arguments.target}: {written.rows:,} rows in {files}{kept}"), file=sys.stderr)
    return 0


def threshold_for_tables(arguments: argparse.Namespace, model: Any) -> Mapping[str, float] | None:
    """The lowest probability of each class that the command line asks for."""
    options = tagging_options(arguments)
    if isinstance(model, Tagger):
        return threshold_of(model.labelling, options)
    from postil.models.multi_task_tagger import MultiTaskTagger  # most taggings are not of columns

    if isinstance(model, MultiTaskTagger):
        options.refuse("threshold", "class_thresholds", why="the model has several tasks; choose one with --task")
        return None
    options.refuse("threshold", "class_thresholds", why="a detector has no probabilities")
    return None


def _input_of(arguments: argparse.Namespace) -> str:
    if arguments.input in COLUMN_INPUTS:
        return str(arguments.input)
    option = "--column" if arguments.column is not None else "Parquet output"
    if arguments.input is None and arguments.files and arguments.text is None:
        endings = {Path(name).suffix for name in arguments.files}
        if endings == {f".{PARQUET}"}:
            return PARQUET
        if endings <= {".csv", ".tsv"}:
            return CSV
    got = arguments.input or ("--text" if arguments.text is not None else ", ".join(arguments.files[:3]))
    expected = "needs tables: files that end in .parquet, .csv or .tsv, or --input parquet or csv"
    raise ConfigurationError(option, expected=expected, got=got or "standard input")


def check_for_tables(arguments: argparse.Namespace, kind: str) -> None:
    """Check that there are files to read and a place to write, and fill in the format and the column.

    Options that do not apply to tables are errors.
    """
    if not arguments.files or "-" in arguments.files:
        raise ConfigurationError(f"--input {kind}", expected="needs files")
    if arguments.output not in (None, PARQUET):
        expected = "must be written as Parquet: -o FOLDER or -o FILE.parquet"
        raise ConfigurationError("a table of texts", expected=expected, got=arguments.output)
    if arguments.target is None:
        raise ConfigurationError("a table of texts", expected="needs -o FOLDER or -o FILE.parquet")
    arguments.output, arguments.column = PARQUET, arguments.column or TEXT_COLUMN
    for name, unused in _OTHER_OPTIONS.items():
        if getattr(arguments, name) != unused:
            option = f"--{name.replace('_', '-')}"
            raise ConfigurationError(f"{option} cannot be used here: it does not apply to tables")
