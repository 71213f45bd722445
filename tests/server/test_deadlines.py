"""One timer for all requests: those that take too long are refused, and clients that leave are seen."""

import asyncio

import pytest

from oracles import loops
from postil.server import batching as deadlines
from postil.server.batching import Deadlines, Visit, Worker
from postil.server.requests import ClientLeft, Refusal

pytestmark = pytest.mark.extra("starlette")


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(deadlines, "PATIENCE", 0.01)


async def never():
    await asyncio.Event().wait()


async def waiting_job(worker):
    """A job whose thread is never started."""
    worker._loop = asyncio.get_running_loop()
    worker._is_busy = True
    return worker.submit("g", 1, 1)


def test_what_does_not_arrive_or_is_not_answered_in_time_is_refused():
    async def main():
        under_way, worker = Deadlines(0.05), Worker(lambda group, contents: contents, queue=9, wait=9.0)
        with pytest.raises(Refusal, match="did not arrive in time"), Visit(under_way, never) as visit:
            await never()
        job = await waiting_job(worker)
        with pytest.raises(Refusal, match="took too long"), Visit(under_way, never) as visit:
            await visit.answer(worker, job)
        assert worker.waiting == 0, "its place is free"
        assert asyncio.current_task().cancelling() == 0, "the task can go on"

    loops.run(main())


def test_a_client_that_leaves_ends_the_wait():
    async def leaves():
        await asyncio.sleep(0.02)
        return {"type": "http.disconnect"}

    async def main():
        worker = Worker(lambda group, contents: contents, queue=9, wait=9.0)
        job = await waiting_job(worker)
        with pytest.raises(ClientLeft), Visit(Deadlines(30.0), leaves) as visit:
            await visit.answer(worker, job)
        assert worker.waiting == 0

    loops.run(main())


def test_a_cancelled_request_is_not_called_slow():
    async def main():
        async def visited():
            with Visit(Deadlines(30.0), never):
                await never()

        task = asyncio.create_task(visited())
        await asyncio.sleep(0.03)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    loops.run(main())


def test_thousands_of_requests_need_one_timer_which_ends_with_them():
    async def main():
        loop, under_way, timers = asyncio.get_running_loop(), Deadlines(30.0), []
        later = loop.call_later

        def noted(seconds, function, *arguments):
            timers.extend([function] if function == under_way._look else [])
            return later(seconds, function, *arguments)

        loop.call_later = noted
        for _ in range(1_000):
            with Visit(under_way, never):
                pass
        assert len(timers) == 1
        await asyncio.sleep(0.05)
        assert len(timers) == 1 and not under_way._is_looking
        with Visit(under_way, never):
            pass
        assert len(timers) == 2

    loops.run(main())
