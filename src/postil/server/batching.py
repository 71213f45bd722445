"""Work outside the event loop: one thread that takes whatever waits as one batch, and a queue that cannot grow.

Nothing is delayed to make a batch larger: while one batch is at work, the next one gathers. The thread is woken once
per batch, after all requests that have arrived together are read: a thread that is woken for every request would fight
with the event loop for Python's lock. Work that takes no longer than handing it to a thread and back, such as a single
short text, is done in the event loop. A request is rejected at once if the queue is full, by number
or by the seconds that its work is expected to take. One whose client has left gives its place back and is skipped; work
in steps that has begun is given up before its next step.
"""

import asyncio
import contextlib
import random
import threading
import time
from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from types import TracebackType
from typing import Any, final

from postil.errors import PostilError
from postil.server.requests import ClientLeft, Receive, refused, unfit

MOST_AT_ONCE = 64
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


# ------------------------------------------------------------------------------------------------ time
# One timer for all requests ends those that take too long, and sees clients that leave: a timeout for each would cost
# more than all other checks, and most requests are answered at once.

PATIENCE = 0.1
"""Seconds between two looks at the requests under way; younger ones are left alone."""


@final
class Deadlines:
    """The requests under way, oldest first, each with the same time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.under_way: dict[Visit, None] = {}
        self._is_looking = False

    def add(self, visit: "Visit") -> None:
        self.under_way[visit] = None
        if not self._is_looking:
            self._is_looking = True
            visit.loop.call_later(PATIENCE, self._look, visit.loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_looking = bool(self.under_way)
        if self._is_looking:
            loop.call_later(PATIENCE, self._look, loop)
        now = loop.time()
        for visit in list(self.under_way):
            if now - visit.began < PATIENCE:
                break
            visit.look(now - visit.began > self._seconds)


@final
class Visit:
    """One request from its first byte to its answer; it is rejected when its time is over."""

    __slots__ = ("_deadlines", "_is_over", "_job", "_receive", "_task", "_watching", "began", "loop")

    def __init__(self, deadlines: Deadlines, receive: Receive) -> None:
        self._deadlines, self._receive = deadlines, receive
        self.loop = asyncio.get_running_loop()
        self.began = self.loop.time()
        self._task = asyncio.current_task()
        self._job: Job | None = None
        self._watching: asyncio.Task[None] | None = None
        self._is_over = False

    def __enter__(self) -> "Visit":
        self._deadlines.add(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        del self._deadlines.under_way[self]
        if self._watching is not None:
            self._watching.cancel()
        if self._is_over and kind is asyncio.CancelledError:
            assert self._task is not None, "it was cancelled"
            self._task.uncancel()
            if self._job is None:
                raise refused("slow", "the request did not arrive in time") from None
            raise refused("slow", "the answer took too long; send fewer tokens at once") from None

    async def answer(self, worker: Worker, job: Job) -> bytes:
        """Wait for the answer of a job. If the client leaves or time runs out, the job frees its slot."""
        self._job = job
        try:
            content: bytes = await job.future
        except PostilError as error:
            raise unfit(error) from None
        finally:
            worker.leave(job)
        return content

    def look(self, is_late: bool) -> None:
        """End the request if its time is over; else watch whether the client of a waiting job is still connected."""
        if is_late and not self._is_over and self._task is not None:
            self._is_over = True
            self._task.cancel()
        elif not is_late and self._job is not None and self._watching is None:
            self._watching = self.loop.create_task(self._until_left(self._job))

    async def _until_left(self, job: Job) -> None:
        await self._receive()  # after the body comes only that the client has left
        if not job.future.done():
            job.future.set_exception(ClientLeft())
