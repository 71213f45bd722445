"""Objects that many threads use at once: every answer is the one that a single thread gets."""

import random
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import count
from types import FrameType
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """An answer as plain values, to be compared."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [plain(one) for one in value]
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return value


def compare_with_threads(
    calls: Mapping[str, Callable[[], Any]],
    *,
    shared: Mapping[str, Callable[[], Any]],
    threads: int = 8,
    rounds: int = 3,
) -> None:
    """The answers of ``calls``, one after another, against those of ``shared`` from many threads, in any order.

    ``shared`` are the same questions to objects that nothing has been asked before: threads also meet while caches and
    whatever else is made when it is first needed are made. Threads change places after every few instructions.
    """
    expected = {name: plain(call()) for name, call in calls.items()}
    wrong: list[str] = []
    ready = threading.Barrier(threads)

    def ask(seed: int) -> None:
        rng = random.Random(seed)
        ready.wait()
        for _ in range(rounds):
            for name in rng.sample(list(shared), len(shared)):
                try:
                    answer = plain(shared[name]())
                except Exception as error:  # whatever it is, it belongs to the report
                    answer = repr(error)
                if answer != expected[name]:
                    wrong.append(f"{name}: {answer!r:.300} instead of {expected[name]!r:.300}")

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        running = [threading.Thread(target=ask, args=(seed,)) for seed in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not wrong, f"{len(wrong)} answers differ: {wrong[:3]}"


Call = Callable[[], Any]


def interrupted_at_every_line(scenario: Callable[[], tuple[Call, Call, Call]], *, within: str) -> None:
    """Run two calls in two threads, the second at each line of the first in a module: an exhaustive race.

    ``scenario`` returns new objects each time: the first call, the second one, and a check of what both have left.
    Where the first call holds a lock that the second needs, the second waits and ends after it. At last the second runs
    after the first.
    """
    for line in count():
        first, second, check = scenario()
        was_interrupted = _interrupted(first, second, line, within)
        check()
        if not was_interrupted:
            assert line, f"the first call runs no line of {within}"
            return


def _interrupted(first: Call, second: Call, line: int, within: str) -> bool:
    other, left = threading.Thread(target=second), line

    def of_frame(frame: FrameType, event: str, argument: object) -> Any:
        return of_line if frame.f_code.co_filename.endswith(within) else None

    def of_line(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal left
        if event == "line":
            left -= 1
            if left == -1:
                other.start()
                other.join(0.1)
        return of_line

    before = sys.gettrace()
    sys.settrace(of_frame)
    try:
        first()
    finally:
        sys.settrace(before)
    if left >= 0:
        other.start()
    other.join()
    return left < 0
