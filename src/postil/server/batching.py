"""Work beside the event loop: one thread that takes whatever waits as one batch, and a queue that cannot grow.

Nothing is delayed to make a batch larger: while one batch is at work, the next one gathers. A request is refused at
once where the queue is full, by number or by the seconds that its work is expected to take. One whose client has left
gives its place back and is skipped.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, final

from postil.server.failures import refused

MOST_AT_ONCE = 64
RETRY_AFTER = "1"
_SMOOTHING = 0.1


@final
@dataclass(eq=False, slots=True)
class Job:
    """One request's work. Jobs of equal ``group`` are done together."""

    group: Hashable
    content: Any
    size: int
    future: "asyncio.Future[Any]"
    is_waiting: bool = True


Work = Callable[[Hashable, Sequence[Any]], Sequence[Any]]
"""From a group and the contents of its jobs to their answers; an answer may be an exception."""


@final
class Worker:
    """Runs jobs in a thread of its own."""

    def __init__(self, work: Work, *, queue: int, wait: float, watch: Callable[[int], None] | None = None) -> None:
        """``watch`` is told the size of every batch."""
        self._work, self._most, self._wait, self._watch = work, queue, wait, watch
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self.waiting, self._waiting_size = 0, 0  # changed in the event loop only
        self._pace = 0.0  # seconds per unit of size, as measured

    def start(self) -> None:
        """In the event loop that will submit."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="postil-worker", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        """Finish what was submitted, then end the thread."""
        if self._thread is not None:
            self._jobs.put(None)
            await asyncio.to_thread(self._thread.join)

    def submit(self, group: Hashable, content: Any, size: int) -> Job:
        """Queue a job whose work grows with ``size``; its ``future`` has the answer. Refused where too much waits."""
        is_full = self.waiting >= self._most or (self.waiting and self._waiting_size * self._pace > self._wait)
        if is_full:
            raise refused("busy", "too many requests are waiting; try again", {"retry-after": RETRY_AFTER})
        assert self._loop is not None, "started"
        job = Job(group, content, size, self._loop.create_future())
        self.waiting += 1
        self._waiting_size += size
        self._jobs.put(job)
        return job

    def leave(self, job: Job) -> None:
        """Give the job's place back: its client is gone, or its time is over."""
        if job.is_waiting:
            job.is_waiting = False
            self.waiting -= 1
            self._waiting_size -= job.size

    # -------------------------------------------------------------------------------------------- in the thread

    def _run(self) -> None:
        while True:
            batch, is_last = self._gathered()
            if batch:
                self._answer(batch)
            if is_last:
                return

    def _gathered(self) -> tuple[list[Job], bool]:
        """The jobs that wait, at least one; whether the end has come."""
        first = self._jobs.get()
        if first is None:
            return [], True
        batch = [first]
        while len(batch) < MOST_AT_ONCE:
            try:
                job = self._jobs.get_nowait()
            except Empty:
                break
            if job is None:
                return batch, True
            batch.append(job)
        return batch, False

    def _answer(self, batch: list[Job]) -> None:
        groups: dict[Hashable, list[Job]] = {}
        for job in batch:
            if job.is_waiting:  # a little late it may still be answered, for nobody
                groups.setdefault(job.group, []).append(job)
        for group, jobs in groups.items():
            began = time.perf_counter()
            answers: Sequence[Any]
            try:
                answers = self._work(group, [job.content for job in jobs])
            except Exception as error:
                answers = [error] * len(jobs)
            size = max(1, sum(job.size for job in jobs))
            self._pace += _SMOOTHING * ((time.perf_counter() - began) / size - self._pace)
            if self._watch is not None:
                self._watch(len(jobs))
            assert self._loop is not None, "started"
            self._loop.call_soon_threadsafe(self._deliver, jobs, answers)

    def _deliver(self, jobs: list[Job], answers: Sequence[Any]) -> None:
        for job, answer in zip(jobs, answers, strict=True):
            self.leave(job)
            if job.future.done():
                continue
            if isinstance(answer, Exception):
                job.future.set_exception(answer)
            else:
                job.future.set_result(answer)
