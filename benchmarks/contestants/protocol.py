"""How a contestant and the driver speak: one JSON object a line, in and out. Standard library only.

    {"do": "train", "data": PATH, "model": PATH, "minutes": M}    -> {"checkpoints": [{"cpu", "wall", "f1"}, …]}
    {"do": "load", "model": PATH}                                 -> {}
    {"do": "tag", "data": PATH}                                   -> {"cpu", "wall", "tokens"}
    {"do": "file", "text": PATH, "output": PATH, "threads": N, "probabilities": B}    -> {"cpu", "wall", "tokens"} or {}
    {"do": "labels", "data": PATH}                                -> {"labels": [[…], …]}
    {"do": "memory"}                                              -> {"megabytes"}: the most that was ever resident

Data are JSON: {"train": [[tokens, labels], …], "dev": [[tokens, labels], …], "test": [tokens, …]}, labels as IOBES.
What the clock measures is lists of words in, lists of labels out; of "file", a file of raw text in, a file of columns
out, with the tool's own tokeniser, and {} from a tool that cannot do it. It stands while a checkpoint is scored on dev.
"""

import json
import os
import resource
import sys
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any


class Contestant(ABC):
    """A tool that trains on sentences and tags others."""

    @abstractmethod
    def train(self, train: list[Any], model: str, stopwatch: "Stopwatch") -> None:
        """Learn, calling ``stopwatch.checkpoint()`` wherever the model could be used, and write the model."""

    @abstractmethod
    def load(self, model: str) -> None:
        """Read a model that ``train`` has written."""

    @abstractmethod
    def tag(self, sentences: list[list[str]]) -> list[list[str]]:
        """The labels of every sentence."""

    def tag_file(self, text: Path, output: Path, threads: int, probabilities: bool) -> int | None:
        """Label a file of raw text, a paragraph a line, into a file of columns: the number of tokens; None: cannot."""
        return None


class Stopwatch:
    """Time of training, standing while a checkpoint labels the dev sentences."""

    def __init__(self, contestant: Contestant, dev: list[Any], minutes: float | None) -> None:
        self.contestant, self.minutes = contestant, minutes
        self.dev, self.dev_labels = [words for words, _ in dev], [labels for _, labels in dev]
        self.checkpoints: list[dict[str, float]] = []
        self.cpu = self.wall = 0.0
        self.start()

    def start(self) -> None:
        self.begun = time.process_time(), time.perf_counter()

    def stop(self) -> None:
        self.cpu += time.process_time() - self.begun[0]
        self.wall += time.perf_counter() - self.begun[1]

    def checkpoint(self, score: float | None = None) -> float:
        """Note the time and the F1 on dev; a tool that has its score already hands it over."""
        self.stop()
        f1 = span_f1(self.dev_labels, self.contestant.tag(self.dev)) if score is None else score
        self.checkpoints.append({"cpu": self.cpu, "wall": self.wall, "f1": 100 * f1})
        self.start()
        return f1

    @property
    def is_over(self) -> bool:
        """The allowed minutes of CPU time are used up."""
        return self.minutes is not None and self.cpu + time.process_time() - self.begun[0] > 60 * self.minutes


def span_f1(gold: list[list[str]], found: list[list[str]]) -> float:
    """F1 of the spans of IOBES labels, 0 to 1."""
    right, wanted = ({(i, *span) for i, labels in enumerate(y) for span in spans(labels)} for y in (gold, found))
    return 2 * len(right & wanted) / max(len(right) + len(wanted), 1)


def spans(labels: list[str]) -> list[tuple[int, int, str]]:
    """Start, end and class; a label that does not fit to the one before it begins a new span, as conlleval reads it."""
    found: list[tuple[int, int, str]] = []
    start, before = 0, "O"
    for i, label in enumerate([*labels, "O"]):
        goes_on = label[0] in "IE" and before[0] in "BI" and label[2:] == before[2:]
        if before != "O" and not goes_on:
            found.append((start, i, before[2:]))
        if not goes_on:
            start = i
        before = label
    return found


def serve(contestant: Contestant) -> None:
    """Answer requests until the input ends. Whatever the tool prints goes to standard error."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        answer = _answer(contestant, json.loads(line))
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _answer(contestant: Contestant, request: dict[str, Any]) -> dict[str, Any]:
    do = request["do"]
    data = json.loads(Path(request["data"]).read_text(encoding="utf8")) if "data" in request else {}
    if do == "train":
        stopwatch = Stopwatch(contestant, data["dev"], request.get("minutes"))
        contestant.train(data["train"], request["model"], stopwatch)
        return {"checkpoints": stopwatch.checkpoints}
    if do == "load":
        contestant.load(request["model"])
        return {}
    if do == "tag":
        cpu, wall = time.process_time(), time.perf_counter()
        labels = contestant.tag(data["test"])
        times = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
        return {**times, "tokens": sum(map(len, labels))}
    if do == "file":
        return _file(contestant, request)
    if do == "labels":
        return {"labels": contestant.tag(data["test"])}
    return {"megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def _file(contestant: Contestant, request: dict[str, Any]) -> dict[str, Any]:
    """CPU time is that of the tool's processes together."""
    cpu, wall = _cpu(), time.perf_counter()
    paths = Path(request["text"]), Path(request["output"])
    tokens = contestant.tag_file(*paths, request["threads"], request["probabilities"])
    return {} if tokens is None else {"cpu": _cpu() - cpu, "wall": time.perf_counter() - wall, "tokens": tokens}


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
