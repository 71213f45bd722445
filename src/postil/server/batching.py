"""Work outside the event loop: one thread that takes whatever waits as one batch, and a queue that cannot grow.

Nothing is delayed to make a batch larger: while one batch is at work, the next one gathers. The thread is woken once
per batch, after all requests that have arrived together are read: a thread that is woken for every request would fight
with the event loop for Python's lock. Work that takes no longer than handing it to a thread and back, such as a single
short text, is done in the event loop. A request is rejected at once if the queue is full, by number
or by the seconds that its work is expected to take. One whose client has left, or whose time is over, gives its place
back and is skipped; work in steps that has begun is given up before its next step.
"""

import asyncio
import contextlib
import random
import threading
import time
from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, final

from postil.errors import PostilError
from postil.server.requests import ClientLeft, Receive, refused, unfit

MOST_AT_ONCE = 64
PATIENCE = 0.1
"""Seconds after which the client of a job that still waits is watched."""
RETRY_AFTER = (1, 3)
"""Seconds, drawn at random: clients that are rejected together must not retry together."""
_SMOOTHING = 0.1


@final
@dataclass(eq=False, slots=True)
class Job:
    """One request's work. Jobs of equal ``group`` are done together."""

    group: Any
    content: Any
    size: int
    future: "asyncio.Future[Any]"
    is_waiting: bool = True


Work = Callable[[Hashable, Sequence[Any]], Sequence[Any]]
"""From a group and the contents of its jobs to their answers; an answer may be an exception, or ``Steps``."""
Steps = Generator[None, None, Any]
"""Work that stops between its steps, so that it can be given up there, and returns the answer."""
END_SECONDS = 3.0
"""Work that is under way at the end is waited for this long; its thread ends with the process."""


@final
class Worker:
    """Runs jobs in a separate thread."""

    def __init__(
        self,
        work: Work,
        *,
        queue: int,
        wait: float,
        watch: Callable[[int], None] | None = None,
        is_short: "Callable[[Sequence[Job]], bool] | None" = None,
    ) -> None:
        """``watch`` gets the size of every batch. Batches for which ``is_short`` is true are done in the event loop."""
        self._is_short = is_short
        self._work, self._most, self._wait, self._watch = work, queue, wait, watch
        self._batches: SimpleQueue[list[Job] | None] = SimpleQueue()
        self._pending: list[Job] = []
        self._is_busy = self._is_ending = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self.waiting, self._waiting_size = 0, 0  # changed in the event loop only
        self._pace = 0.0  # seconds per unit of size, as measured

    def start(self) -> None:
        """In the event loop that will submit."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="postil-worker", daemon=True)
        self._thread.start()

    async def stop(self, seconds: float = END_SECONDS) -> None:
        """Finish what was submitted, then end the thread. Work that takes longer than ``seconds`` is given up."""
        assert self._loop is not None, "started"
        ends = self._loop.time() + seconds
        while (self._pending or self._is_busy) and self._loop.time() < ends:
            await asyncio.sleep(0.005)
        self._is_ending = True
        self._batches.put(None)
        while self._thread is not None and self._thread.is_alive() and self._loop.time() < ends:
            await asyncio.sleep(0.005)  # not in a separate thread, which would wait forever

    def submit(self, group: Hashable, content: Any, size: int) -> Job:
        """Queue a job whose work grows with ``size``; its ``future`` has the answer. Refused if too much waits."""
        self.check_room()
        assert self._loop is not None, "started"
        job = Job(group, content, size, self._loop.create_future())
        self.waiting += 1
        self._waiting_size += size
        self._pending.append(job)
        if not self._is_busy:
            self._is_busy = True
            self._loop.call_soon(self._send)  # with whatever else is read by then
        return job

    def check_room(self) -> None:
        """Refuse if too much waits: called before a request is even read, this costs the least."""
        if self.waiting >= self._most or (self.waiting and self._waiting_size * self._pace > self._wait):
            seconds = random.randint(*RETRY_AFTER)
            raise refused("busy", "too many requests are waiting; try again", {"retry-after": str(seconds)})

    def _send(self) -> None:
        """Give the thread the next batch, if there is one; work on a small one here."""
        while self._pending:
            batch = [job for job in self._pending[:MOST_AT_ONCE] if job.is_waiting]
            del self._pending[:MOST_AT_ONCE]
            if not batch:
                continue
            if self._is_short is not None and self._is_short(batch):
                self._deliver(*self._answered(batch))
                return
            self._batches.put(batch)
            return
        self._is_busy = False

    async def answer(self, job: Job, receive: Receive, ends: float) -> bytes:
        """Wait for the answer of a job. If the client leaves or time runs out, the job frees its slot."""
        assert self._loop is not None, "started"
        watching: list[asyncio.Task[None]] = []  # most jobs are done before their clients are watched
        later = self._loop.call_later(
            PATIENCE, lambda: watching.append(asyncio.create_task(self._watch_client(job, receive, ends)))
        )
        try:
            content: bytes = await job.future
        except PostilError as error:
            raise unfit(error) from None
        finally:
            later.cancel()
            for task in watching:
                task.cancel()
            self.leave(job)
        return content

    async def _watch_client(self, job: Job, receive: Receive, ends: float) -> None:
        """End the wait for a job if its client leaves or its time is over."""
        error: Exception = refused("slow", "the answer took too long; send fewer tokens at once")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(ends):
                await receive()  # after the body comes only that the client has left
                error = ClientLeft()
        if not job.future.done():
            job.future.set_exception(error)

    def leave(self, job: Job) -> None:
        """Give the job's place back: its client is gone, or its time is over."""
        if job.is_waiting:
            job.is_waiting = False
            self.waiting -= 1
            self._waiting_size -= job.size

    def _run(self) -> None:
        assert self._loop is not None, "started"
        while (batch := self._batches.get()) is not None:
            answered = self._answered(batch)
            with contextlib.suppress(*([RuntimeError] if self._is_ending else [])):  # the event loop has ended
                self._loop.call_soon_threadsafe(self._deliver, *answered)

    def _answered(self, batch: list[Job]) -> tuple[list[tuple[Job, Any]], float]:
        """The jobs with their answers, and the seconds they took."""
        groups: dict[Hashable, list[Job]] = {}
        for job in batch:
            groups.setdefault(job.group, []).append(job)
        began, answered = time.perf_counter(), list[tuple[Job, Any]]()
        for group, jobs in groups.items():
            try:
                answers = self._work(group, [job.content for job in jobs])
            except Exception as error:
                answers = [error] * len(jobs)
            answered += [(job, self._finished(job, answer)) for job, answer in zip(jobs, answers, strict=True)]
            if self._watch is not None:
                self._watch(len(jobs))
        return answered, time.perf_counter() - began

    def _finished(self, job: Job, answer: Any) -> Any:
        """The answer itself, after all of its steps."""
        if not isinstance(answer, Generator):
            return answer
        try:
            while job.is_waiting and not self._is_ending:
                next(answer)
        except StopIteration as end:
            return end.value
        except Exception as error:
            return error
        answer.close()
        return ClientLeft()

    def _deliver(self, answered: list[tuple[Job, Any]], seconds: float) -> None:
        self._send()
        size = max(1, sum(job.size for job, _ in answered))
        self._pace += _SMOOTHING * (seconds / size - self._pace)
        for job, answer in answered:
            is_gone = job.future.done() or not job.is_waiting
            self.leave(job)
            if is_gone:
                continue
            if isinstance(answer, Exception):
                job.future.set_exception(answer)
            else:
                job.future.set_result(answer)
