"""Worker processes that label passages.

Inside one process Python runs one thread at a time, and most of tagging a file is Python: reading, looking words up,
writing. So each worker is a process of its own with the same model file open. It reads the model and the options, then
passages, from its standard input and writes the labelled passages to its standard output until its input ends. When
this process dies, for whatever reason, the worker's input ends.
"""

import contextlib
import pickle
import subprocess
import sys
import warnings
from queue import SimpleQueue
from typing import Any, BinaryIO, Self, final

from postil.errors import LongSentenceWarning
from postil.models.storage import load
from postil.serving.labelled import Labelled
from postil.serving.labeller import Labeller
from postil.text.passages import Passage


@final
class Workers:
    """``Labeller.label``, done by several processes."""

    def __init__(self, labeller: Labeller, count: int) -> None:
        self._labeller = labeller
        model = labeller.model if labeller.path is None else labeller.path
        self._all = [_Worker((model, labeller.options)) for _ in range(count)]
        self._free: SimpleQueue[_Worker] = SimpleQueue()
        for worker in self._all:
            self._free.put(worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        for worker in self._all:
            worker.close()

    def label(self, passage: Passage) -> Labelled:
        """Wait for a free worker and return its answer. What a worker fails to do is done here."""
        worker = self._free.get()
        try:
            answer = worker.ask(passage)
        finally:
            self._free.put(worker)
        return self._labeller.label(passage) if answer is None else answer


@final
class _Worker:
    """The near end of one process."""

    def __init__(self, task: Any) -> None:
        self._task = task
        # In a session of its own: Ctrl-C goes to this process alone, which then ends the worker's input.
        # Its error output is dropped: a defect shows again when its work is repeated here.
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from postil.serving.workers import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def ask(self, passage: Passage) -> Labelled | None:
        """The passage with labels, or None where the process has failed."""
        try:
            if self._task is not None:
                self._send(self._task)
                self._task = None
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
        model, options = pickle.load(source)
        labeller = Labeller(load(model) if isinstance(model, str) else model, options)
        while True:
            answer = labeller.label(pickle.load(source))
            pickle.dump(answer, target, pickle.HIGHEST_PROTOCOL)
            target.flush()


def main() -> None:
    """The body of a worker process."""
    warnings.simplefilter("ignore", LongSentenceWarning)  # the near end reports long sentences
    work(sys.stdin.buffer, sys.stdout.buffer)
