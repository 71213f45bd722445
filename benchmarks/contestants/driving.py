"""The driver's side of the protocol: tools with environments of their own, and their processes."""

import json
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from benchmarks.environments import environment

CRFSUITE = ["python-crfsuite==0.9.12", "nltk==3.9.1"]


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A contestant: its environment, and the script with its arguments."""

    environment: str
    packages: Sequence[str]
    script: Sequence[str]

    def command(self) -> list[str]:
        python = environment(self.environment, self.packages)
        return [str(python), str(Path(__file__).parent / self.script[0]), *self.script[1:]]


class Process:
    """A contestant that waits for requests."""

    def __init__(self, command: Sequence[str], threads: int) -> None:
        limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
        self.begun = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **limits}
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{' '.join(map(str, self.process.args))} gave up; its message stands above")  # type: ignore[arg-type]
        answer: dict[str, Any] = json.loads(line)
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
