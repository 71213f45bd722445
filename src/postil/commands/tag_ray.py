"""``postil tag --engine ray``: Parquet files into a folder of Parquet parts, on the cores of one machine or of many."""

import argparse
import os

from postil.commands.kinds.table import refuse
from postil.commands.options.models import open_model
from postil.commands.tag_columns import PARQUET, check_for_tables, threshold_for_tables
from postil.commands.terminal.notices import warn
from postil.errors import ConfigurationError
from postil.integrations.extras import needed

_OBJECT_STORE = 200_000_000  # bytes; a Ray of our own passes paths around, and at most the model


def add_ray_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Parquet files on many cores or machines (needs the extra ray)")
    group.add_argument("--engine", choices=["ray"], help="tag Parquet files with Ray Data, into the folder -o")
    group.add_argument(
        "--address", metavar="ADDRESS", help="Ray cluster to use: auto or HOST:PORT (default: a new one)"
    )
    group.add_argument("--workers", type=int, metavar="N", help="most worker processes (default: one per core)")
    group.add_argument("--ship-model", action="store_true", help="send the model file to machines that cannot read it")


def refuse_ray_arguments(arguments: argparse.Namespace) -> None:
    """An error for options that nothing would heed without Ray."""
    for name in ("address", "workers", "ship_model"):
        if getattr(arguments, name) not in (None, False):
            raise ConfigurationError(f"--{name.replace('_', '-')}", expected="needs --engine ray")


def run_on_ray(arguments: argparse.Namespace) -> int:
    if arguments.text is not None or arguments.input not in (None, PARQUET):
        raise ConfigurationError("--engine ray", expected="needs Parquet files", got=arguments.input or "--text")
    check_for_tables(arguments, PARQUET)
    if len(arguments.task) == 1:
        refuse(arguments, "task", "save one task of the model as a file of its own: tagger[task].save(FILE)")
    if arguments.workers is not None and arguments.workers < 1:
        raise ConfigurationError("--workers", expected="must be at least 1", got=arguments.workers)
    from postil.integrations.arrow import model_of  # needs an extra
    from postil.integrations.ray import tag_files

    threshold = threshold_for_tables(arguments, model_of(open_model(arguments.model)))
    _start_ray(arguments.address)
    done = tag_files(
        arguments.files,
        arguments.model,
        arguments.target,
        arguments.column,
        tasks=arguments.task or None,
        parts=arguments.parts and arguments.parts.split(","),
        offsets=arguments.offsets,
        threshold=threshold,
        workers=None if arguments.workers is None else (1, arguments.workers),
        ship=arguments.ship_model,
    )
    files = f"{done.parts:,} file{'' if done.parts == 1 else 's'}"
    before = f", {done.done_before:,} were there" if done.done_before else ""
    warn(f"{arguments.target}: {done.rows:,} rows in {files}{before}")
    return 0


def _start_ray(address: str | None) -> None:
    """Connect to a cluster, or start one on this machine that speaks only of errors."""
    for name, value in (("RAY_BACKEND_LOG_LEVEL", "fatal"), ("RAY_USAGE_STATS_ENABLED", "0")):
        os.environ.setdefault(name, value)
    ray = needed("ray", "ray")
    data = needed("ray.data", "ray")
    data.DataContext.get_current().enable_progress_bars = False
    import logging

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
    except (OSError, ValueError) as error:  # ConnectionError, too
        raise ConfigurationError("--address", expected="must be that of a running Ray cluster", got=error) from None


def _check_reachable(address: str) -> None:
    """Ray itself waits for minutes where nobody answers."""
    import socket

    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=5).close()
