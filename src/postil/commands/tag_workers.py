"""Processes that label sentences for ``postil tag --threads N``.

Inside one process Python runs one thread at a time, and most of tagging a file is Python: reading, looking words up,
writing. So each worker is a process of its own with the same model file open. It reads blocks of tokens from its
standard input and writes blocks of labels to its standard output until its input ends; when this process dies, whatever
the reason, its input ends.
"""

import contextlib
import marshal
import subprocess
import sys
from collections.abc import Sequence
from queue import SimpleQueue
from typing import Any, BinaryIO, Self, final

from postil.commands.kinds import Mark
from postil.commands.marking import is_constrained
from postil.commands.models import open_model
from postil.models.estimator import tokens_of
from postil.text import Sentence

TURNS = 0.0005
"""Seconds after which a thread may ask for its turn. A worker's answer is taken by a thread that takes turns with the
one that reads and writes; with Python's 5 ms the worker would stand idle for a quarter of the time."""
_LENGTH = 8  # bytes of the number before each message


@final
class Workers:
    """``mark`` of one process, done by several: for the commonest case, labels and nothing else."""

    def __init__(self, model: str, count: int, mark: Mark) -> None:
        self._mark = mark
        self._all = [_Worker(model) for _ in range(count)]
        self._free: SimpleQueue[_Worker] = SimpleQueue()
        for worker in self._all:
            self._free.put(worker)

    def __enter__(self) -> Self:
        self._turns = sys.getswitchinterval()
        sys.setswitchinterval(TURNS)
        return self

    def __exit__(self, *exception: object) -> None:
        sys.setswitchinterval(self._turns)
        for worker in self._all:
            worker.close()

    def mark(self, block: list[Sentence]) -> list[Sentence]:
        """Waits for a free worker. What a worker cannot do is done here, where mistakes are told."""
        if any(map(is_constrained, block)):
            return self._mark(block)
        worker = self._free.get()
        try:
            answers = worker.labels([tokens_of(sentence) for sentence in block])
        finally:
            self._free.put(worker)
        if answers is None:
            return self._mark(block)
        for sentence, labels in zip(block, answers, strict=True):
            sentence.labels = labels
        return block


@final
class _Worker:
    """The near end of one process."""

    def __init__(self, model: str) -> None:
        command = [sys.executable, "-m", "postil.commands.tag_workers", model]
        # In a session of its own: Ctrl-C is for this process alone, which then ends the worker's input.
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)

    def labels(self, X: Sequence[Sequence[Any]]) -> list[list[str]] | None:
        """The labels of some sentences, or None where the process has failed."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            _send(X, self._process.stdin)
            answers: list[list[str]] | None = _receive(self._process.stdout)
        except (OSError, EOFError, ValueError):
            return None
        return answers

    def close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        self._process.wait()


def _send(content: Any, stream: BinaryIO | Any) -> None:
    """marshal: Python's own quick format, between two processes of the same Python."""
    message = marshal.dumps(content)
    stream.write(len(message).to_bytes(_LENGTH, "little"))
    stream.write(message)
    stream.flush()


def _receive(stream: BinaryIO | Any) -> Any:
    size = int.from_bytes(_exactly(stream, _LENGTH), "little")
    return marshal.loads(_exactly(stream, size))


def _exactly(stream: BinaryIO | Any, size: int) -> bytes:
    content: bytes = stream.read(size)
    if len(content) < size:
        raise EOFError
    return content


def work(model: str, source: BinaryIO | Any, target: BinaryIO | Any) -> None:
    """The far end: answer until the source ends."""
    tagger: Any = open_model(model)
    while True:
        try:
            X = _receive(source)
        except EOFError:
            return
        try:
            answers = tagger.predict(X)
        except Exception:  # the near end does it again, and tells what is wrong
            answers = None
        _send(answers, target)


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        work(sys.argv[1], sys.stdin.buffer, sys.stdout.buffer)
