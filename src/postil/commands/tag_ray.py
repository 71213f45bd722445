"""``postil tag --engine ray``: Parquet files into a folder of Parquet parts, on the cores of one machine or of many."""

import argparse
import logging
import os

from postil.commands.models import open_model
from postil.commands.tag_options import tagging_options
from postil.commands.terminal.notices import warn
from postil.errors import ConfigurationError
from postil.integrations.extras import needed

_OBJECT_STORE = 200_000_000  # bytes; a Ray of our own passes paths around, and at most the model
# What has no place in a column of entities.
_REFUSED = ("text", "input", "output", "keep_gold", "tree", "scores", "nbest", "all_above", "force", "forbid", "allow")


def add_ray_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Parquet files on many cores or machines (needs the extra ray)")
    group.add_argument("--engine", choices=["ray"], help="tag Parquet files with Ray Data, into the folder -o")
    group.add_argument(
        "--address", metavar="ADDRESS", help="Ray cluster to use: auto or HOST:PORT (default: a new one)"
    )
    group.add_argument("--workers", type=int, metavar="N", help="most worker processes (default: one per core)")
    group.add_argument("--column", default="text", metavar="NAME", help="column of the texts (default: text)")
    group.add_argument(
        "-o", dest="folder", metavar="FOLDER", help="folder of the parts; existing ones are not done again"
    )
    group.add_argument("--ship-model", action="store_true", help="send the model file to machines that cannot read it")


def run_on_ray(arguments: argparse.Namespace) -> int:
    given = [name for name in _REFUSED if getattr(arguments, name)]
    if given:
        raise ConfigurationError(f"--{given[0].replace('_', '-')} cannot be combined with --engine ray")
    if not arguments.folder or not arguments.files:
        raise ConfigurationError("--engine ray", expected="needs Parquet files and -o FOLDER")
    if arguments.workers is not None and arguments.workers < 1:
        raise ConfigurationError("--workers", expected="must be at least 1", got=arguments.workers)
    from postil.integrations.ray import tag_files

    threshold = _threshold(arguments)
    _start_ray(arguments.address)
    done = tag_files(
        arguments.files,
        arguments.model,
        arguments.folder,
        arguments.column,
        threshold=threshold,
        workers=None if arguments.workers is None else (1, arguments.workers),
        ship=arguments.ship_model,
    )
    before = f" ({done.done_before:,} were there already)" if done.done_before else ""
    warn(f"{done.parts:,} parts with {done.rows:,} rows written to {arguments.folder}{before}")
    return 0


def _threshold(arguments: argparse.Namespace) -> dict[str, float] | float | None:
    """One for all classes, or one for each where some have their own."""
    options, model = tagging_options(arguments), open_model(arguments.model)
    labelling = getattr(model, "labelling", None)
    if labelling is None or not options.class_thresholds or options.threshold is None:
        return dict(options.class_thresholds) or options.threshold
    return dict.fromkeys(labelling.classes, options.threshold) | dict(options.class_thresholds)


def _start_ray(address: str | None) -> None:
    """Connect to a cluster, or start one on this machine that speaks only of errors."""
    for name, value in (("RAY_BACKEND_LOG_LEVEL", "fatal"), ("RAY_USAGE_STATS_ENABLED", "0")):
        os.environ.setdefault(name, value)
    ray = needed("ray", "ray")
    data = needed("ray.data", "ray")
    data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    if ray.is_initialized():
        return
    quiet = {"logging_level": "ERROR", "log_to_driver": False}
    if address is None:
        ray.init(include_dashboard=False, object_store_memory=_OBJECT_STORE, **quiet)
        return
    try:
        ray.init(address=address, **quiet)
    except (ConnectionError, ValueError) as error:
        raise ConfigurationError("--address", expected="must be that of a running Ray cluster", got=error) from None
