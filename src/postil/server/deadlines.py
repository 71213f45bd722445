"""The time of requests: one timer for all of them ends those that take too long, and sees clients that leave.

A timeout of its own would cost each request more than all its checks, and most requests are answered at once.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from types import TracebackType
from typing import Any, final

from postil.errors import PostilError
from postil.server.answers import unfit
from postil.server.batching import Job, Worker
from postil.server.failures import ClientLeft, refused

PATIENCE = 0.1
"""Seconds between two looks at the requests under way; younger ones are left alone."""


@final
class Deadlines:
    """The requests under way, oldest first, each with the same time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._under_way: dict[Visit, None] = {}
        self._is_looking = False

    def visit(self, receive: Callable[[], Awaitable[MutableMapping[str, Any]]]) -> "Visit":
        """A context in which a request is received and answered; refused where its time is over."""
        return Visit(self, receive)

    def add(self, visit: "Visit") -> None:
        self._under_way[visit] = None
        if not self._is_looking:
            self._is_looking = True
            visit.loop.call_later(PATIENCE, self._look, visit.loop)

    def remove(self, visit: "Visit") -> None:
        del self._under_way[visit]

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_looking = bool(self._under_way)
        if self._is_looking:
            loop.call_later(PATIENCE, self._look, loop)
        now = loop.time()
        for visit in list(self._under_way):
            if now - visit.began < PATIENCE:
                break
            if now - visit.began > self._seconds:
                visit.end()
            else:
                visit.watch()


@final
class Visit:
    """One request from its first byte to its answer."""

    __slots__ = ("_deadlines", "_is_over", "_job", "_receive", "_task", "_watching", "began", "loop")

    def __init__(self, deadlines: Deadlines, receive: Callable[[], Awaitable[MutableMapping[str, Any]]]) -> None:
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
        self._deadlines.remove(self)
        if self._watching is not None:
            self._watching.cancel()
        if self._is_over and kind is asyncio.CancelledError:
            assert self._task is not None, "it was cancelled"
            self._task.uncancel()
            if self._job is None:
                raise refused("slow", "the request did not arrive in time") from None
            raise refused("slow", "the answer took too long; send fewer tokens at once") from None

    async def answer(self, worker: Worker, job: Job) -> bytes:
        """The job's answer. A client that leaves, or time that runs out, gives the job's place to others."""
        self._job = job
        try:
            content: bytes = await job.future
        except PostilError as error:
            raise unfit(error) from None
        finally:
            worker.leave(job)
        return content

    def end(self) -> None:
        """Its time is over."""
        if not self._is_over and self._task is not None:
            self._is_over = True
            self._task.cancel()

    def watch(self) -> None:
        """See from now on whether the client of a waiting job is still there."""
        if self._job is not None and self._watching is None:
            self._watching = self.loop.create_task(self._until_left(self._job))

    async def _until_left(self, job: Job) -> None:
        await self._receive()  # after the body comes only that the client has left
        if not job.future.done():
            job.future.set_exception(ClientLeft())
