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
from postil.errors import ConfigurationError, printable
from postil.models.tagger import Tagger
from postil.serving.options import chosen, threshold_of

PARQUET, CSV = "parquet", "csv"
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
    group.add_argument("--column", default="text", metavar="NAME", help="column of the texts (default: text)")
    group.add_argument(
        "--parts",
        metavar="PART,…",
        help="answers to add: entities, tokens, labels, sentences (default: entities; tokens for labels without spans)",
    )
    group.add_argument(
        "--offsets",
        choices=["characters", "utf16", "bytes"],
        default="characters",
        help="what offsets count (default: characters)",
    )


def asks_for_columns(arguments: argparse.Namespace) -> bool:
    """Whether the inputs are tables."""
    if arguments.input is not None:
        return arguments.input in COLUMN_INPUTS or arguments.output == PARQUET
    return arguments.output == PARQUET or (bool(arguments.files) and arguments.files[0].endswith(f".{PARQUET}"))


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
    if arguments.input is None and arguments.files:
        endings = {Path(name).suffix for name in arguments.files}
        if endings == {f".{PARQUET}"}:
            return PARQUET
        if endings <= {".csv", ".tsv"}:
            return CSV
    raise ConfigurationError("--output parquet", expected="needs --input parquet or csv", got=arguments.input)


def check_for_tables(arguments: argparse.Namespace, kind: str) -> None:
    """Whether there are files to read and a place to write, and no option that does not apply to tables."""
    if not arguments.files or "-" in arguments.files:
        raise ConfigurationError(f"--input {kind}", expected="needs files")
    if arguments.output not in (None, PARQUET):
        raise ConfigurationError(f"--input {kind}", expected="needs --output parquet", got=arguments.output)
    if arguments.target is None:
        raise ConfigurationError("--output parquet", expected="needs -o FOLDER or -o FILE.parquet")
    for name, unused in _OTHER_OPTIONS.items():
        if getattr(arguments, name) != unused:
            option = f"--{name.replace('_', '-')}"
            raise ConfigurationError(f"{option} cannot be used here: it does not apply to tables")
