"""The time of requests: those that take too long are refused, and clients that leave are seen."""

import asyncio

import pytest

from oracles import loops
from postil.server import batching
from postil.server.batching import Worker
from postil.server.requests import ClientLeft, Refusal, body_of

pytestmark = pytest.mark.extra("starlette")


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(batching, "PATIENCE", 0.01)


async def never():
    await asyncio.Event().wait()


def until(seconds):
    return asyncio.get_running_loop().time() + seconds


async def waiting_job():
    """A worker, and a job whose thread is never started."""
    worker = Worker(lambda group, contents: contents, queue=9, wait=9.0)
    worker._loop = asyncio.get_running_loop()
    worker._is_busy = True
    return worker, worker.submit("g", 1, 1)


def test_what_does_not_arrive_or_is_not_answered_in_time_is_refused():
    async def main():
        scope = {"headers": [(b"content-type", b"application/json")]}
        with pytest.raises(Refusal, match="did not arrive in time"):
            await body_of(scope, never, 100, until(0.05))
        for seconds in (0.05, -1):
            worker, job = await waiting_job()
            with pytest.raises(Refusal, match="took too long"):
                await worker.answer(job, never, until(seconds))
            assert worker.waiting == 0, "its place is free"
        assert asyncio.current_task().cancelling() == 0, "the task can go on"

    loops.run(main())


def test_a_client_that_leaves_ends_the_wait():
    async def leaves():
        await asyncio.sleep(0.02)
        return {"type": "http.disconnect"}

    async def main():
        worker, job = await waiting_job()
        with pytest.raises(ClientLeft):
            await worker.answer(job, leaves, until(30.0))
        assert worker.waiting == 0

    loops.run(main())


def test_a_cancelled_request_is_not_called_slow_and_leaves_nothing_behind():
    async def main():
        worker, job = await waiting_job()
        task = asyncio.create_task(worker.answer(job, never, until(30.0)))
        await asyncio.sleep(0.03)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0)
        assert worker.waiting == 0 and asyncio.all_tasks() == {asyncio.current_task()}

    loops.run(main())
