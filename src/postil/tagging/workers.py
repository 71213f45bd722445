"""Worker processes that label passages.

Inside one process Python runs one thread at a time, and most of tagging a file is Python: reading, looking words up,
writing. So each worker is a separate process with the same model file open. It reads the model and the options, then
passages, from its standard input and writes the labelled passages to its standard output until its input ends.

A worker may die, be stopped, or run out of memory; none of that changes the output. What it does not answer is labelled
in this process, and a dead worker is started again a few times. One that is silent for long is reported, then replaced.
When this process dies, for whatever reason, a worker's input ends; Linux kills the worker, even a stopped one.
"""

import contextlib
import os
import pickle
import subprocess
import sys
import time
import warnings
from collections import deque
from queue import SimpleQueue
from threading import Lock
from typing import IO, Any, BinaryIO, Self, final

from postil.errors import LongSentenceWarning, WorkerWarning
from postil.models.storage import load
from postil.tagging.fast_path import Labeller
from postil.tagging.options import Labelled
from postil.text.lines import Passage

REPORTED_AFTER = 30.0  # seconds without an answer after which a worker is reported
LOST_AFTER = 300.0  # seconds without an answer after which a worker is killed. Its passage is then labelled elsewhere.
GRACE = 1.0  # seconds in which all workers have to end once there is nothing more to do
QUESTIONS = 2
"""Passages that a worker is given at a time: it begins with the second while the answer to the first is read."""
RESTARTS = 2  # times that a worker is started again

# If the system can (Linux), it kills the worker with the thread that has started it. That thread outlives its work;
# if not, the work is done elsewhere. Before the imports, which take a while.
_BODY = """
import os, sys
if sys.platform == "linux":
    import ctypes
    ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
if os.getppid() == int(sys.argv[1]):
    from postil.tagging.workers import main
    main()
"""


@final
class WorkerPool:
    """``Labeller.label``, done by several processes."""

    def __init__(self, labeller: Labeller, count: int) -> None:
        task = (labeller.whole if labeller.path is None else labeller.path, labeller.options)
        self._all: list[_Worker] = []
        self._free: SimpleQueue[_Worker] = SimpleQueue()
        self.questions = QUESTIONS * count  # that can be asked at a time
        try:
            for _ in range(count):
                self._all.append(_Worker(task))
            for worker in self._all * QUESTIONS:
                self._free.put(worker)
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *exception: object) -> None:
        if kind is not None:
            self.kill()
        ends = time.monotonic() + GRACE
        for worker in self._all:
            worker.closed = True
            worker.drop(worker.process.stdin)
        for worker in self._all:
            worker.close(max(0.0, ends - time.monotonic()))

    def ask(self, passage: Passage) -> Labelled | None:
        """Wait for a worker that has less than QUESTIONS to do and return its answer; None if it has failed."""
        worker = self._free.get()
        try:
            return worker.ask(passage)
        finally:
            self._free.put(worker)

    def watch(self) -> None:
        """Report workers that are silent for long, with a WorkerWarning; give up those that are lost."""
        for worker in self._all:
            worker.watch()

    def kill(self) -> None:
        """End all processes at once, whatever state they are in: whoever waits for one of them gets None."""
        for worker in self._all:
            worker.kill()


@final
class _Worker:
    """The near end of one process."""

    def __init__(self, task: Any) -> None:
        self._task, self._restarts, self.closed = task, RESTARTS, False
        self._lock = Lock()  # between those who start a process and those who end it
        self._sending, self._receiving = Lock(), Lock()
        self._questions: deque[Passage] = deque()  # that are not answered yet
        self._asked = 0.0  # when the first of them was, or had its turn
        self._reported = False
        self._start()

    def _start(self) -> None:
        # In a separate process group: Ctrl-C goes to this process alone, which then ends the worker. And if this
        # process is killed, the system wakes up a stopped worker with a SIGHUP, as its group has lost its parent.
        # Its error output is dropped: a defect shows again when its work is repeated here. It computes on one core:
        # NumPy's import would start threads for the others, which only wait, and use up CPU time with it.
        self.process = subprocess.Popen(
            [sys.executable, "-c", _BODY, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
            process_group=None if sys.platform == "win32" else 0,
        )
        self._is_new = True

    def ask(self, passage: Passage) -> Labelled | None:
        """The passage with labels, or None if the process has failed. Several threads may ask."""
        with self._sending:
            self._questions.append(passage)
            if len(self._questions) == 1:
                self._begin_to_wait()
            process = self._asked_process(passage)
            self._receiving.acquire()  # answers come in the order of the questions
        try:
            if process is None:
                return None
            answer: Labelled = pickle.load(process.stdout)  # type: ignore[arg-type]
            return answer
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            assert process is not None
            process.kill()  # half an answer may still be on its way
            return None
        finally:
            self._questions.popleft()
            self._begin_to_wait()
            self._receiving.release()

    def _begin_to_wait(self) -> None:
        self._asked, self._reported = time.monotonic(), False

    def _asked_process(self, passage: Passage) -> "subprocess.Popen[bytes] | None":
        """The process that will answer; None if there is none. A dead one is replaced if it has not died too often."""
        with self._lock:
            if self.closed:
                return None
            if self.process.poll() is not None:
                if not self._restarts:
                    return None
                self._restarts -= 1
                self.drop(self.process.stdin, self.process.stdout)
                try:
                    self._start()
                except OSError:  # no more processes or memory: there is nothing to ask
                    self._restarts = 0
                    return None
        try:
            assert self.process.stdin is not None
            for content in (self._task, passage) if self._is_new else (passage,):
                pickle.dump(content, self.process.stdin, pickle.HIGHEST_PROTOCOL)
                self.process.stdin.flush()
            self._is_new = False
            return self.process
        except (OSError, ValueError):
            self.process.kill()
            return None

    def watch(self) -> None:
        try:
            passage = self._questions[0]
        except IndexError:
            return
        seconds = time.monotonic() - self._asked
        if seconds > LOST_AFTER:
            self.process.kill()
        elif seconds > REPORTED_AFTER and not self._reported:
            self._reported = True
            warnings.warn(
                f"{passage.where(passage.first)}: worker process {self.process.pid} has not answered for "
                f"{seconds:.0f} s; after {LOST_AFTER:.0f} s it is replaced",
                WorkerWarning,
                stacklevel=1,
            )

    def kill(self) -> None:
        with self._lock:
            self.closed = True
            self.process.kill()

    def close(self, seconds: float) -> None:
        """Wait for the end of the process for some seconds, then end it."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        finally:
            self.drop(self.process.stdin, self.process.stdout)

    def drop(self, *streams: IO[bytes] | None) -> None:
        for stream in streams:
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()


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
