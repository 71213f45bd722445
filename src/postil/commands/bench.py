"""``postil bench``: how fast this machine trains and tags, or labels a file, and how close that is to the limit."""

import argparse
import json
from pathlib import Path

from postil.commands.options.models import open_model
from postil.commands.terminal.display import make_console, show_table
from postil.commands.terminal.notices import warn
from postil.errors import ConfigurationError
from postil.machine.measurements import Measured, machine, measurements
from postil.metrics.tables import Table
from postil.models.tagger import Tagger
from postil.serving.options import TaggingOptions

DESCRIPTION = """\
Measure training and tagging on generated sentences, in less than a minute, and compare with the physical limit: the
matrix products that are needed, at the speed of this machine's BLAS, and the bytes that must move, at the bandwidth of
its memory. With a MODEL and a FILE, measure each step of labelling that file: reading, splitting, looking up words, the
network, labels, probabilities, writing.

examples:
  postil bench --threads 2
  postil bench ner.postil article.txt
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", nargs="?", help="a tagger, to label FILE with")
    parser.add_argument("file", metavar="FILE", type=Path, nargs="?", help="text, tokens, CoNLL columns or JSON Lines")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="number of cores for training (default: 1)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the generated sentences (default: 0)")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def run(arguments: argparse.Namespace) -> int:
    if arguments.model is not None:
        return _of_file(arguments)
    if arguments.threads < 1:
        raise ConfigurationError("threads", expected="must be at least 1", got=arguments.threads)
    console = make_console()
    if not arguments.json:
        console.print(
            " · ".join(f"{name} {value}" for name, value in machine(arguments.threads).items()), soft_wrap=True
        )
    rows = list(measurements(arguments.threads, arguments.seed))
    if arguments.json:
        print(json.dumps({"machine": machine(arguments.threads), "rows": [row._asdict() for row in rows]}, indent=2))
        return 0
    show_table(console, _table(rows, arguments.threads))
    return 0


def _table(rows: list[Measured], threads: int) -> Table:
    cells = [
        (row.what, f"{row.per_second:,.0f} {row.unit}/s", f"{row.microseconds:,.1f}", _percent(row.share))
        for row in rows
    ]
    clock = "CPU time" if threads == 1 else "wall time in training, CPU time in tagging"
    return Table(
        title="Speed on generated sentences",
        columns=("what", "speed", "µs each", "share of limit"),
        rows=cells,
        note=f"{clock}; the limit counts only the necessary matrix products and bytes (docs/internals/speed.md)",
    )


def _of_file(arguments: argparse.Namespace) -> int:
    from postil.serving.stages import MOST_BYTES, stages

    if arguments.file is None:
        raise ConfigurationError("postil bench MODEL needs a FILE to label")
    model = open_model(arguments.model)
    if not isinstance(model, Tagger):
        raise ConfigurationError("the model", expected="a tagger", got=f"a {model.KIND}", where=arguments.model)
    measured = stages(model, arguments.file, TaggingOptions())
    rates = {step.name: measured.tokens / max(step.seconds, 1e-9) for step in measured.steps}
    if arguments.json:
        rows = [
            {**step._asdict(), "tokens_per_second": rates[step.name], "share": _share(step.limit, step.seconds)}
            for step in measured.steps
        ]
        told = {"machine": machine(1), "tokens": measured.tokens, "bytes": measured.bytes, "steps": rows}
        print(json.dumps(told | {"takes_fast_path": measured.takes_fast_path}, indent=2))
        return 0
    if not measured.takes_fast_path:
        warn("this model or file takes the general path, whose steps cannot be measured one by one")
    nanoseconds = 1e9 / measured.tokens
    cells = [
        (
            step.name,
            f"{rates[step.name]:,.0f} tokens/s",
            f"{step.seconds * nanoseconds:,.0f}",
            "" if step.limit is None else f"{step.limit * nanoseconds:,.0f}",
            _percent(_share(step.limit, step.seconds)),
        )
        for step in measured.steps
    ]
    cut = f", the first {MOST_BYTES / 1e6:.0f} MB" if measured.bytes >= MOST_BYTES else ""
    table = Table(
        title=f"Labelling {arguments.file}{cut}: {measured.tokens:,} tokens",
        columns=("step", "speed", "ns a token", "limit", "share of limit"),
        rows=cells,
        note="CPU time on one core, all words known; for what each limit counts see docs/internals/speed.md",
    )
    show_table(make_console(), table)
    return 0


def _share(limit: float | None, seconds: float) -> float | None:
    return None if limit is None else limit / max(seconds, 1e-9)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"
