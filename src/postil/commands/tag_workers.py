"""Processes that label passages for ``postil tag --threads N``.

Inside one process Python runs one thread at a time, and most of tagging a file is Python: reading, looking words up,
writing. So each worker is a process of its own with the same model file open. It reads the command's options, then
passages from its standard input and writes them labelled to its standard output until its input ends; when this
process dies, whatever the reason, its input ends.
"""

import contextlib
import pickle
import subprocess
import sys
import warnings
from queue import SimpleQueue
from typing import Any, BinaryIO, Self, final

from postil.commands.labeller import Labelled, Labeller
from postil.errors import LongSentenceWarning
from postil.text.passages import Passage


@final
class Workers:
    """``label`` of one process, done by several."""

    def __init__(self, labeller: Labeller, count: int) -> None:
        self._labeller = labeller
        self._all = [_Worker(labeller.arguments) for _ in range(count)]
        self._free: SimpleQueue[_Worker] = SimpleQueue()
        for worker in self._all:
            self._free.put(worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        for worker in self._all:
            worker.close()

    def label(self, passage: Passage) -> Labelled:
        """Waits for a free worker. What a worker cannot do is done here."""
        worker = self._free.get()
        try:
            answer = worker.ask(passage)
        finally:
            self._free.put(worker)
        return self._labeller.label(passage) if answer is None else answer


@final
class _Worker:
    """The near end of one process."""

    def __init__(self, arguments: Any) -> None:
        self._arguments = arguments
        # In a session of its own: Ctrl-C is for this process alone, which then ends the worker's input.
        # Nothing is heard of its defects: they show again where its work is done again.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "postil.commands.tag_workers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def ask(self, passage: Passage) -> Labelled | None:
        """The passage with labels, or None where the process has failed."""
        try:
            if self._arguments is not None:
                self._send(self._arguments)
                self._arguments = None
            self._send(passage)
            answer: Labelled = pickle.load(self._process.stdout)  # type: ignore[arg-type]
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            return None
        return answer

    def _send(self, content: Any) -> None:
        assert self._process.stdin is not None
        pickle.dump(content, self._process.stdin, pickle.HIGHEST_PROTOCOL)
        self._process.stdin.flush()

    def close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        self._process.wait()


def work(source: BinaryIO, target: BinaryIO) -> None:
    """The far end: answer until the source ends."""
    with contextlib.suppress(EOFError):
        labeller = Labeller(pickle.load(source))
        while True:
            answer = labeller.label(pickle.load(source))
            pickle.dump(answer, target, pickle.HIGHEST_PROTOCOL)
            target.flush()


if __name__ == "__main__":
    warnings.simplefilter("ignore", LongSentenceWarning)  # told by the near end
    work(sys.stdin.buffer, sys.stdout.buffer)
