"""Inputs of any size: passages go to other processes and come back labelled, in order; only a few are under way."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

from postil.commands.labeller import Labelled, Labeller
from postil.commands.tag_workers import Workers
from postil.text.passages import Passage

PASSAGE = 1 << 19  # characters
ALONE = 2  # passages before other processes are started

Item = TypeVar("Item")
Result = TypeVar("Result")


def labelled(passages: Iterator[Passage], labeller: Labeller, threads: int) -> Generator[Labelled, None, None]:
    """Processes take a moment to start: the first passages, and so all of a small input, are labelled in this one."""
    for passage in islice(passages, ALONE if threads > 1 else None):
        yield labeller.label(passage)
    following = next(passages, None)
    if following is not None:
        with Workers(labeller, threads) as workers:
            yield from in_order(workers.label, chain([following], passages), threads)


def in_order(function: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """Results in the order of the items. Where making an item fails, the results before it come first."""
    pool = ThreadPoolExecutor(threads)
    waiting: deque[Future[Result]] = deque()
    try:
        for future in _submitted(pool, function, items):
            waiting.append(future)
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _submitted(pool: Executor, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Future[Result]]:
    try:
        for item in items:
            yield pool.submit(function, item)
    except Exception as error:
        failed: Future[Result] = Future()
        failed.set_exception(error)
        yield failed
