"""Entry point of ``postil``: find the command, let it parse its words and run, print errors as one line.

Exit codes: 0 success, 1 a user error or a failed check, 2 a wrong command line, 3 a gate was not
passed (``extend``), 130 interrupted, 143 terminated.
"""

import argparse
import codecs
import errno
import gc
import io
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from postil import errors
from postil.commands.notices import note
from postil.commands.parser import COMMANDS, GROUPS, Parser, check_options, command_module, command_parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    # BLAS is held to one thread (see threads.py); the others would only cost time, from the import of NumPy on.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # No character stops a command, whatever the locale can encode. Pipes and files get UTF-8, as all files do that
    # commands write; on a terminal, what it cannot show is escaped.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not stream.closed:
            encodes_all = codecs.lookup(stream.encoding).name.startswith("utf")
            if stream is sys.stdout and not encodes_all and not stream.isatty():
                stream.reconfigure(encoding="utf-8")
            stream.reconfigure(errors="backslashreplace")
    try:
        with _ended_by_sigterm():
            code = _dispatch(words)
            sys.stdout.flush()  # here, where a closed pipe can still be told from an error
            return code
    except errors.PostilError as error:
        return _complain(str(error))
    except BrokenPipeError:  # the reader closed the pipe: `postil … | head`
        _discard_output()
        return 0
    except OSError as error:
        where = error.filename
        if not where and error.errno in _NO_ROOM:  # whoever writes a file names it
            where = "standard output"
            _discard_output()
        return _complain(f"{where}: {error.strerror or error}" if where else error.strerror or str(error))
    except Terminated:
        return _complain("terminated", code=143)
    except KeyboardInterrupt:
        return _complain("interrupted", code=130)


_NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


def _discard_output() -> None:
    """Send what is still buffered nowhere: Python would fail to write it again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Terminated(KeyboardInterrupt):
    """SIGTERM: everything is cleaned up as after Ctrl-C."""


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """SIGTERM raises Terminated instead of ending the process where it stands, with files and workers left behind."""

    def end(number: int, frame: object) -> NoReturn:
        raise Terminated

    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _dispatch(words: list[str]) -> int:
    with warnings.catch_warnings():
        # Of these, commands themselves warn with a number, with a place, or in the first lines of a training run.
        for quiet in (errors.LongSentenceWarning, errors.SchemeWarning, errors.SlowTrainingWarning):
            warnings.simplefilter("ignore", quiet)
        for category in _SHOWN:
            warnings.simplefilter("always", category)
        warnings.simplefilter("once", errors.UnspacedTextWarning)
        otherwise = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any) -> None:
            """Print those warnings of the library that are meant for a user of commands as one line each."""
            if issubclass(category, (*_SHOWN, errors.UnspacedTextWarning)):
                note(str(message))
            else:
                otherwise(message, category, *place)

        warnings.showwarning = show  # type: ignore[assignment]
        if not words or words[0] not in COMMANDS:
            return _run_without_command(words)
        gc.disable()  # imports leave nothing to collect
        try:
            parser = command_parser(words[0])
            gc.freeze()  # nor to look through, at the first collection after them
        finally:
            gc.enable()
        # Signals come after parsing: interrupted there, argparse fails with another error.
        can_hold = hasattr(signal, "pthread_sigmask")
        before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM)) if can_hold else set()
        try:  # options may come anywhere (`postil tag MODEL --probabilities FILE`), which parse_args does not accept
            arguments = parser.parse_intermixed_args(words[1:])
        finally:
            if can_hold:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        try:
            check_options(parser, arguments)
            command = command_module(words[0])
            if hasattr(arguments, "output") or hasattr(arguments, "report"):
                from postil.commands.output import check_outputs  # which `postil --help` does not need

                check_outputs(parser, arguments)
            code: int = command.run(arguments)
            return code
        except errors.PostilError as error:
            return _complain(_as_typed(error, parser))


_SHOWN = (
    errors.CalibrationWarning,
    errors.CheckpointWarning,
    errors.ForgettingWarning,
    errors.RepairWarning,
    errors.SlowKernelsWarning,
    errors.WorkerWarning,
)


def _as_typed(error: errors.PostilError, parser: argparse.ArgumentParser) -> str:
    """The message with options as they are typed: the library calls --keep-gold keep_gold, and --to output."""
    options = {action.dest: action.option_strings[-1] for action in parser._actions if action.option_strings}
    message = str(error)
    if error.what in options:
        message = errors.format_message(options[error.what], error.expected, error.got, error.where)
    if "--to" in options.values():
        message = message.replace(" needs output ", " needs --to ")
    return _PYTHON_NAME.sub(lambda match: options.get(match[0], match[0]), message)


_PYTHON_NAME = re.compile(r"(?<![\w/.'\"=-])[a-z]+(?:_[a-z]+)+(?![\w/.'\"=-])")
"""Not part of a path or of something quoted."""


def _run_without_command(words: list[str]) -> int:
    """Print the help or the version, or say what is wrong."""
    width = max(map(len, COMMANDS))
    listing = "\n\n".join(
        "\n".join([f"{title}:", *(f"  {name:<{width}}  {text}" for name, text in group.items())])
        for title, group in GROUPS.items()
    )
    parser = Parser("postil", "Label words and phrases: train and run neural taggers on an ordinary CPU.")
    parser.usage = "postil COMMAND [OPTIONS]"
    parser.epilog = f"{listing}\n\n`postil COMMAND --help` explains one command."
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    parser.add_argument("--verbose", action="store_true", help="--version: with the kernels and the BLAS in use")
    parser.add_argument("command", nargs="?", choices=list(COMMANDS), metavar="COMMAND", help=argparse.SUPPRESS)
    if not words:
        parser.print_help()
        return 0
    if not words[0].startswith("-"):
        parser.error(f"unknown command {words[0]!r}{errors.similar(words[0], COMMANDS)}")
    options = parser.parse_args(words)
    if not options.version:
        parser.error("COMMAND is missing")
    import postil
    from postil.kernels import IN_USE, in_use

    print(f"postil {postil.__version__}, kernels: {IN_USE}")
    if options.verbose:  # everything that the speed depends on
        import platform

        import numpy as np

        found = in_use()
        general = "general step: C cannot call the matrix product of this BLAS"
        for name, value in (
            ("Python", f"{platform.python_version()} on {platform.platform()}"),
            ("NumPy", np.__version__),
            ("kernels", f"{found.kernels}: {found.reason}" if found.reason else found.kernels),
            ("BLAS", f"{found.blas} ({found.blas_source})"),
            ("training", "fused step" if found.fused else general),
        ):
            print(f"  {name:<8} {value}")
    return 0


def _complain(message: str, code: int = 1) -> int:
    print(f"postil: {message}", file=sys.stderr)
    return code
