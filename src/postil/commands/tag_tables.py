"""``postil tag`` for tables: a column of Parquet or CSV files, tagged into Parquet, on one machine or by Ray."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from postil.commands.kinds.table import refuse
from postil.commands.models import open_model
from postil.commands.notices import progress_line
from postil.commands.output import check_output
from postil.errors import ConfigurationError, DataError, printable
from postil.models.tagger import Tagger
from postil.tagging import TaggingOptions
from postil.tagging.options import chosen, threshold_of
from postil.text.formats import format_of

PARQUET, CSV = "parquet", "csv"
TEXT_COLUMN = "text"
TABLES = (PARQUET, CSV)
"""Values of --from."""
# Options of other outputs, by the names of their values, and the values that they have if they are not used.
_OTHER_OPTIONS: dict[str, Any] = {
    "keep_gold": False,
    "tree": None,
    "scores": False,
    "nbest": None,
    "all_above": None,
    "require": [],
    "forbid": [],
    "allow": [],
    "gazetteer_constraint": [],
}
_OBJECT_STORE = 200_000_000  # bytes; our own Ray passes paths around, and at most the model

OptionsOf = Callable[[argparse.Namespace], TaggingOptions]


def add_table_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("tables: Parquet and CSV")
    group.add_argument("--column", metavar="NAME", help=f"tables: column of the texts (default: {TEXT_COLUMN})")
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


def add_ray_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Parquet files on many cores or machines (needs the extra ray)")
    group.add_argument("--engine", choices=["ray"], help="tag Parquet files with Ray Data, into the folder -o")
    group.add_argument(
        "--address", metavar="ADDRESS", help="Ray cluster to use: auto or HOST:PORT (default: a new one)"
    )
    group.add_argument("--workers", type=int, metavar="N", help="maximum number of workers (default: one per core)")
    group.add_argument("--ship-model", action="store_true", help="send the model file to machines that cannot read it")


def are_tables(arguments: argparse.Namespace) -> bool:
    """Whether the inputs are tables of texts, whose rows are kept.

    A CSV file can also be read as texts, or as a table of words, if nothing but its name says that it is a table.
    """
    if arguments.column is not None or arguments.to == PARQUET or arguments.source_format in TABLES:
        return True
    if arguments.source_format is not None or not arguments.files:
        return False
    first = arguments.files[0]
    if first.endswith(f".{PARQUET}"):
        return True
    if not first.endswith(f".{CSV}") or arguments.to is not None or arguments.output is None:
        return False
    try:
        return format_of(first, arguments.encoding) != CSV
    except DataError:  # which the table's reader meets again
        return True


def tag_tables(arguments: argparse.Namespace, options_of: OptionsOf) -> int:
    """Tag tables into a folder or a file."""
    if arguments.engine == "ray":
        return _tag_by_ray(arguments, options_of)
    from postil.integrations import column_files  # needs an extra
    from postil.integrations.arrow import asked_parts, model_of

    kind = _kind(arguments)
    _check(arguments, kind)
    model = model_of(chosen(open_model(arguments.model), arguments.task))
    job = column_files.ColumnJob(
        column=arguments.column,
        tasks=tuple(arguments.task),
        parts=asked_parts(arguments.parts and arguments.parts.split(","), model),
        offsets=arguments.offsets,
        threshold=_threshold(options_of(arguments), model),
        input=kind,
        encoding=arguments.encoding,
        model=column_files.hash_of(arguments.model),
    )
    is_file = arguments.output.endswith(f".{PARQUET}")
    if is_file:
        inputs = [arguments.model, *arguments.files]
        check_output(arguments.output, "output", PARQUET, inputs=inputs, overwrite=arguments.overwrite)
    write = column_files.write_file if is_file else column_files.write_folder
    with progress_line("rows", to_file=True) as progress:
        written = write(arguments.files, model, job, arguments.output, threads=arguments.threads, progress=progress)
    _report(arguments.output, written.rows, len(written.parts), len(written.kept), len(written.redone))
    return 0


def _report(output: str, rows: int, files: int, complete: int, redone: int = 0) -> None:
    others = f", {complete:,} already complete" if complete else ""
    others += f", {redone:,} damaged and written again" if redone else ""
    line = f"{output}: {rows:,} rows in {files:,} file{'' if files == 1 else 's'}{others}"
    print(f"postil: {printable(line)}", file=sys.stderr)


def _threshold(options: TaggingOptions, model: Any) -> Mapping[str, float] | None:
    """The lowest probability of each class that the command line asks for."""
    if isinstance(model, Tagger):
        return threshold_of(model.model.codec, options)
    several = bool(getattr(model, "tasks", None))
    why = "it is a multi-task model; choose a task with --task" if several else "a detector has no probabilities"
    options.refuse("threshold", "class_thresholds", why=why)
    return None


def _kind(arguments: argparse.Namespace) -> str:
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


def _check(arguments: argparse.Namespace, kind: str) -> None:
    """Check that there are files to read and a place to write, and fill in the format and the column.

    Options that do not apply to tables are errors.
    """
    if not arguments.files or "-" in arguments.files:
        raise ConfigurationError(f"--from {kind}", expected="needs files")
    if arguments.to not in (None, PARQUET):
        expected = "must be written as Parquet: -o FOLDER or -o FILE.parquet"
        raise ConfigurationError("a table of texts", expected=expected, got=arguments.to)
    if arguments.output is None:
        raise ConfigurationError("a table of texts", expected="needs -o FOLDER or -o FILE.parquet")
    arguments.to, arguments.column = PARQUET, arguments.column or TEXT_COLUMN
    for name, unused in _OTHER_OPTIONS.items():
        if getattr(arguments, name) != unused:
            option = "--require-names" if name == "gazetteer_constraint" else f"--{name.replace('_', '-')}"
            raise ConfigurationError(f"{option} cannot be used here: it does not apply to tables")


# ------------------------------------------------------------------------------------------------ Ray


def _tag_by_ray(arguments: argparse.Namespace, options_of: OptionsOf) -> int:
    if arguments.text is not None or arguments.source_format not in (None, PARQUET):
        got = arguments.source_format or "--text"
        raise ConfigurationError("--engine ray", expected="needs Parquet files", got=got)
    _check(arguments, PARQUET)
    if len(arguments.task) == 1:
        refuse(arguments, "task", "save the task as a model first: tagger[task].save(FILE)")
    if arguments.workers is not None and arguments.workers < 1:
        raise ConfigurationError("--workers", expected="must be at least 1", got=arguments.workers)
    from postil.integrations.arrow import model_of  # needs an extra
    from postil.integrations.ray import tag_files

    threshold = _threshold(options_of(arguments), model_of(open_model(arguments.model)))
    _start_ray(arguments.address)
    done = tag_files(
        arguments.files,
        arguments.model,
        arguments.output,
        arguments.column,
        tasks=arguments.task or None,
        parts=arguments.parts and arguments.parts.split(","),
        offsets=arguments.offsets,
        threshold=threshold,
        workers=None if arguments.workers is None else (1, arguments.workers),
        ship=arguments.ship_model,
    )
    _report(arguments.output, done.rows, done.parts, done.done_before)
    return 0


def _start_ray(address: str | None) -> None:
    """Connect to a cluster, or start one on this machine that prints only errors."""
    import logging

    from postil.integrations.extras import needed

    for name, value in (("RAY_BACKEND_LOG_LEVEL", "fatal"), ("RAY_USAGE_STATS_ENABLED", "0")):
        os.environ.setdefault(name, value)
    ray = needed("ray", "ray")
    needed("ray.data", "ray").DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    if ray.is_initialized():
        return
    quiet = {"logging_level": "ERROR", "log_to_driver": False}
    if address is None:
        ray.init(include_dashboard=False, object_store_memory=_OBJECT_STORE, **quiet)
        return
    try:
        _check_reachable(address)
        ray.init(address=address, **quiet)
    except (OSError, ValueError) as error:  # ConnectionError is an OSError
        raise ConfigurationError("--address", expected="must be that of a running Ray cluster", got=error) from None


def _check_reachable(address: str) -> None:
    """Ray itself waits for minutes if nothing answers."""
    import socket

    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=5).close()
