"""The worker: batches, a queue that cannot grow, places that are given back."""

import asyncio
import threading

import pytest

from oracles import loops
from postil.server.batching import MOST_AT_ONCE, Worker
from postil.server.requests import Refusal


def run(story, work, **limits):
    """Run a coroutine of a started worker."""
    worker = Worker(work, **{"queue": 100, "wait": 60.0, **limits})

    async def main():
        worker.start()
        try:
            return await story(worker)
        finally:
            await worker.stop()

    return loops.run(main())


class Gate:
    """Work that waits until it is let go; ``batches`` are the contents it was called with."""

    def __init__(self):
        self.open, self.begun, self.batches = threading.Event(), threading.Event(), []

    def __call__(self, group, contents):
        self.batches.append(list(contents))
        self.begun.set()
        assert self.open.wait(10)
        return [content * 10 for content in contents]


def test_what_waits_becomes_one_batch_and_each_gets_its_own_answer():
    gate = Gate()

    async def story(worker):
        first = worker.submit("a", 1, 1)
        await asyncio.to_thread(gate.begun.wait, 10)
        others = [worker.submit("a", n, 1) for n in range(2, 6)] + [worker.submit("b", 9, 1)]
        gate.open.set()
        return [await job.future for job in (first, *others)]

    assert run(story, gate) == [10, 20, 30, 40, 50, 90]
    assert gate.batches == [[1], [2, 3, 4, 5], [9]]


def test_a_batch_has_a_largest_size():
    gate = Gate()

    async def story(worker):
        jobs = [worker.submit("a", 0, 1)]
        await asyncio.to_thread(gate.begun.wait, 10)
        jobs += [worker.submit("a", n, 1) for n in range(MOST_AT_ONCE + 5)]
        gate.open.set()
        await asyncio.gather(*(job.future for job in jobs))

    run(story, gate)
    assert list(map(len, gate.batches)) == [1, MOST_AT_ONCE, 5]


def test_a_full_queue_refuses_at_once_and_a_client_that_leaves_frees_its_place():
    gate = Gate()

    async def story(worker):
        jobs = [worker.submit("a", 0, 1)]
        await asyncio.to_thread(gate.begun.wait, 10)
        jobs += [worker.submit("a", n, 1) for n in (1, 2)]
        with pytest.raises(Refusal) as caught:
            worker.submit("a", 9, 1)
        assert caught.value.status == 503 and caught.value.headers["retry-after"] in ("1", "2", "3")
        worker.leave(jobs[2])
        worker.leave(jobs[2])  # twice is once
        late = worker.submit("a", 4, 1)
        gate.open.set()
        assert await late.future == 40
        return worker.waiting, jobs[2].future.done()

    assert run(story, gate, queue=3) == (0, False)
    assert gate.batches == [[0], [1, 4]], "nobody works for a client that has left"


def test_slow_work_is_refused_by_the_seconds_that_wait():
    gate = Gate()
    gate.open.set()

    async def story(worker):
        worker._pace = 0.01  # seconds per unit
        worker.submit("a", 1, 1_000)  # alone: whatever its size
        with pytest.raises(Refusal):
            worker.submit("a", 1, 1)

    run(story, gate, wait=1.0)


def test_an_error_reaches_the_jobs_of_its_group_only():
    def work(group, contents):
        if group == "bad":
            raise ValueError("no")
        return contents

    async def story(worker):
        bad, good = worker.submit("bad", 1, 1), worker.submit("good", 2, 1)
        with pytest.raises(ValueError, match="no"):
            await bad.future
        return await good.future, worker.waiting

    assert run(story, work) == (2, 0)


def test_stop_finishes_what_was_submitted():
    seen = []

    async def story(worker):
        return [worker.submit("a", n, 1) for n in range(5)]

    def work(group, contents):
        seen.extend(contents)
        return contents

    run(story, work)
    assert seen == [0, 1, 2, 3, 4]


def test_short_work_is_done_in_the_event_loop_and_other_work_is_not():
    threads = {}

    def work(group, contents):
        threads[contents[0]] = threading.current_thread().name
        if contents[0] == "bad":
            raise ValueError("no")
        return list(contents)

    async def main():
        worker = Worker(work, queue=8, wait=1.0, is_short=lambda batch: batch[0].size < 5)
        worker.start()
        threads["loop"] = threading.current_thread().name
        assert await worker.submit("g", "small", 1).future == "small"
        assert await worker.submit("g", "large", 10).future == "large"
        with pytest.raises(ValueError, match="no"):
            await worker.submit("g", "bad", 1).future
        assert await worker.submit("g", "again", 1).future == "again", "a mistake does not stop it"
        assert worker.waiting == 0
        await worker.stop()

    loops.run(main())
    assert threads["large"] == "postil-worker"
    assert threads["small"] == threads["again"] == threads["loop"]


def test_a_full_queue_is_seen_before_a_request_is_read():
    entered, leave = threading.Event(), threading.Event()

    def work(group, contents):
        entered.set()
        leave.wait(10)
        return list(contents)

    async def main():
        worker = Worker(work, queue=2, wait=10.0)
        worker.start()
        worker.check_room()
        jobs = [worker.submit("g", number, 1) for number in range(2)]
        waits = set()
        for _ in range(60):
            with pytest.raises(Refusal) as caught:
                worker.check_room()
            waits.add(int(caught.value.headers["retry-after"]))
        assert waits == {1, 2, 3}, "clients that are refused together come back at different times"
        leave.set()
        assert await asyncio.gather(*(job.future for job in jobs)) == [0, 1]
        worker.check_room()
        await worker.stop()

    loops.run(main())


def test_work_in_steps_is_given_up_when_its_client_leaves_or_the_worker_ends():
    seen, go_on = [], threading.Semaphore(0)

    def steps(name, number):
        try:
            for step in range(number):
                assert go_on.acquire(timeout=10)
                seen.append((name, step))
                yield
            return f"{name} done"
        finally:
            seen.append((name, "closed"))

    async def main():
        worker = Worker(lambda group, contents: [steps(*content) for content in contents], queue=8, wait=9.0)
        worker.start()
        left = worker.submit("a", ("left", 1_000), 1)
        go_on.release()
        while ("left", 0) not in seen:
            await asyncio.sleep(0.001)
        worker.leave(left)
        go_on.release()
        whole = worker.submit("b", ("whole", 2), 1)
        while not whole.future.done():
            go_on.release()
            await asyncio.sleep(0.001)
        assert whole.future.result() == "whole done"
        assert len([name for name, _ in seen if name == "left"]) <= 3, "one step at most after its client has left"
        last = worker.submit("c", ("last", 1_000_000), 1)
        ending = asyncio.create_task(worker.stop(0.05))
        while not ending.done():
            go_on.release()
            await asyncio.sleep(0.001)
        return worker._thread, last

    thread, _ = loops.run(main())
    go_on.release()
    thread.join(10)
    assert not thread.is_alive() and seen[-1] == ("last", "closed")


def test_stop_does_not_wait_for_what_never_ends():
    gate = Gate()

    async def main():
        worker = Worker(gate, queue=8, wait=9.0)
        worker.start()
        worker.submit("a", 1, 1)
        await asyncio.to_thread(gate.begun.wait, 10)
        await worker.stop(0.05)
        assert worker._thread.is_alive()
        gate.open.set()

    loops.run(main())
