"""Clients that harm a server on purpose: slow heads, giant heads, requests that cost too much, and SIGTERM meanwhile.

Trials as in ``oracles.faults``, on a real server whose time limits are short. What must hold: useless connections are
closed, memory does not grow, other clients are answered, and SIGTERM ends the process in time.
"""

import contextlib
import json
import random
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from oracles import faults
from oracles.faults import SLACK, Laboratory, Violation, demand

HEAD_SECONDS, KEEP_ALIVE_SECONDS, DRAIN_SECONDS, SECONDS = 0.5, 1, 6, 2
GROWTH = 40_000_000
"""Bytes by which a server may grow during a trial."""
SERVE = f"""
import sys
from postil.commands.main import main
from postil.server import running
running.HEAD_SECONDS, running.KEEP_ALIVE_SECONDS = {HEAD_SECONDS}, {KEEP_ALIVE_SECONDS}
running.DRAIN_SECONDS = {DRAIN_SECONDS}
sys.exit(main(["serve", *sys.argv[1:], "--port", "0", "--timeout", "{SECONDS}"]))
"""
POST = b"POST /api/tag HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
GET = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
BODY = b'{"text": "Anna"}'


class Server:
    """A server in a process of its own."""

    def __init__(self, lab: Laboratory) -> None:
        words = [sys.executable, "-c", SERVE, str(lab.model), str(_trees(lab))]
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        assert self.process.stderr is not None
        lines = [self.process.stderr.readline()]
        while (found := re.search(r"http://([\d.]+):(\d+)", lines[-1])) is None:
            demand(lines[-1], "".join(lines))
            lines.append(self.process.stderr.readline())
        self.address, self._place = found.group(), (found[1], int(found[2]))

    def connect(self, *sent: bytes) -> socket.socket:
        connection = socket.create_connection(self._place, timeout=SLACK)
        for part in sent:
            connection.sendall(part)
        return connection

    def ask(self, path: str, content: Any) -> int:
        """The status of an answer."""
        request = urllib.request.Request(
            self.address + path, json.dumps(content).encode(), {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=SECONDS + 3 * SLACK) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                demand(b'"code"' in error.read(), f"{path}: an error without its form")
                return error.code

    def demand_answers(self, path: str, content: Any) -> None:
        """Others are answered: what is busy becomes free."""
        ends = time.monotonic() + 2 * SLACK
        while (status := self.ask(path, content)) != 200:
            demand(status == 503 and time.monotonic() < ends, f"{path}: {status} after a trial")
            time.sleep(0.05)

    @property
    def memory(self) -> int:
        """Bytes, at most so far."""
        about = Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(re.search(r"VmHWM:\s+(\d+)", about)[1])  # type: ignore[index]

    def end(self) -> None:
        """SIGTERM ends it in time, whatever is under way, without a stack trace."""
        self.process.send_signal(signal.SIGTERM)
        try:
            _, errors = self.process.communicate(timeout=DRAIN_SECONDS + SLACK)
        except subprocess.TimeoutExpired:
            raise Violation(f"SIGTERM: no end after {DRAIN_SECONDS + SLACK:.0f} s") from None
        demand(self.process.returncode == 0, f"SIGTERM: exit {self.process.returncode}: {errors}")
        demand("Traceback" not in errors, errors)


@contextlib.contextmanager
def served(lab: Laboratory) -> Iterator[Server]:
    server = Server(lab)
    try:
        yield server
        server.end()
    finally:
        server.process.kill()
        server.process.wait()
        assert server.process.stderr is not None
        server.process.stderr.close()


def _trees(lab: Laboratory) -> Path:
    path = lab.folder / "trees.postil"
    if not path.exists():
        import numpy as np

        import postil
        from postil.samples.corpora import made_up_trees

        postil.TreeClassifier(epochs=1).fit(made_up_trees(30, np.random.default_rng(0))).save(path)
    return path


# ------------------------------------------------------------------------------------------------ slow and giant heads

# Name -> what is sent at once, and what follows, byte by byte or by the megabyte.
SLOW = {
    "nothing": (b"", b""),
    "a head": (b"GET / HTTP/1.1\r\nX: ", b"y"),
    "line ends": (b"", b"\r\n"),
    "a second head": (GET + b"\r\nGET / HTTP/1.1\r\nX: ", b"y"),
    "line ends after an answer": (GET + b"\r\n", b"\r\n"),
    "a body after its answer": (GET + b"Content-Length: 1000000\r\n\r\n", b"y"),
    "a body": (POST + b"Content-Length: 1000000\r\n\r\n", b" "),
    "a trailer": (CHUNKED + b"10\r\n" + BODY + b"\r\n0\r\nX: ", b"y"),
    "silence after an answer": (GET + b"\r\n", b""),
}
GIANT = {
    "lines": (b"GET / HTTP/1.1\r\n", b"X-Name: value\r\n"),
    "lines of a second head": (GET + b"\r\nGET / HTTP/1.1\r\n", b"X-Name: value\r\n"),
    "one line": (b"GET / HTTP/1.1\r\nX: ", b"y"),
    "a name": (b"GET / HTTP/1.1\r\n", b"y"),
    "an address": (b"GET /", b"y"),
    "trailers": (CHUNKED + b"10\r\n" + BODY + b"\r\n0\r\n", b"X-Name: value\r\n"),
    "an extension": (CHUNKED + b"10;x=", b"y"),
}


def slow_heads(lab: Laboratory, rng: random.Random, number: int = 60) -> Counter[str]:
    """Connections that send too slowly are closed, each of their requests anew; others are answered."""
    kinds = [*SLOW, *rng.choices(list(SLOW), k=number - len(SLOW))]
    with served(lab) as server, contextlib.ExitStack() as stack:
        open_ = {stack.enter_context(server.connect(SLOW[kind][0])): kind for kind in kinds}
        ends = time.monotonic() + HEAD_SECONDS + KEEP_ALIVE_SECONDS + SECONDS + 2 * SLACK
        while open_:
            demand(time.monotonic() < ends, f"still open: {sorted(set(open_.values()))}")
            for connection, kind in list(open_.items()):
                if _is_closed(connection, SLOW[kind][1]):
                    del open_[connection]
            server.demand_answers("/api/tag", {"text": "Anna"})
            time.sleep(0.05)
    return Counter(kinds)


def _is_closed(connection: socket.socket, sent: bytes) -> bool:
    connection.settimeout(0)
    try:
        if sent:
            connection.send(sent)
        while connection.recv(1 << 16):
            pass
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def giant_heads(lab: Laboratory, rng: random.Random, megabytes: int = 32) -> Counter[str]:
    """Heads without an end are refused early; memory does not grow with them."""
    with served(lab) as server:
        before = server.memory
        for kind, (first, repeated) in GIANT.items():
            block, sent = repeated * (rng.choice([1 << 12, 1 << 16, 1 << 20]) // len(repeated)), 0
            with server.connect(first) as connection, contextlib.suppress(OSError):
                while sent < megabytes << 20:
                    connection.sendall(block)
                    sent += len(block)
            demand(sent < megabytes << 20, f"{kind}: {sent:,} bytes were read")
            demand(server.memory - before < GROWTH, f"{kind}: memory grew by {server.memory - before:,} bytes")
        server.demand_answers("/api/tag", {"text": "Anna"})
    return Counter(list(GIANT))


# ------------------------------------------------------------------------------------------------ expensive requests


def expensive(rng: random.Random) -> list[tuple[str, dict[str, Any]]]:
    """Requests that pass the limits of size and would take long."""
    word = rng.choice(["Anna", "Oslo", "Paris"])
    many, long = rng.randint(400, 1500), rng.randint(5_000, 9_000)
    capitals = [rng.choice(["Anna", "in", "Oslo"]) for _ in range(many)]
    right = "".join(f"(1 (1 w{i}) " for i in range(many)) + "(1 end)" + ")" * many
    return [
        ("/api/explain", {"model": "tagger", "text": f"{word} " * many}),
        ("/api/explain", {"model": "tagger", "tokens": capitals}),
        ("/api/explain", {"model": "tagger", "text": f"{word} met Anna in Oslo. " * many}),
        ("/api/explain", {"model": "tagger", "tokens": [word] * long, "span": {"start": 5, "end": 6}, "label": "LOC"}),
        ("/api/explain", {"model": "trees", "text": "good " * many}),
        ("/api/explain", {"model": "trees", "brackets": right}),
        ("/api/tree", {"model": "trees", "text": "good " * long, "shape": "right"}),
        ("/api/tree", {"model": "trees", "brackets": right}),
        ("/api/lattice", {"model": "tagger", "text": f"{word} " * many, "nbest": 50}),
        ("/api/lattice", {"model": "tagger", "text": f"{word}. " * many, "nbest": 50}),
        (
            "/api/graph",
            {
                "model": "tagger",
                "tokens": [word] * 60,
                "edits": [{"optimiser": "adam", "rate": 0.1}] * 100,
                "check": {"node": "#1", "step": 1e-5},
            },
        ),
        ("/api/tag", {"model": "tagger", "tokens": [word] * long, "options": {"all_above": 1e-9}}),
        ("/api/tag", {"model": "tagger", "tokens": [word] * 19_000, "options": {"nbest": 50, "marginals": True}}),
    ]


def expensive_requests(lab: Laboratory, rng: random.Random, number: int = 8) -> Counter[str]:
    """What costs too much is refused or ends soon after its client; others are answered; SIGTERM ends in time."""
    counts: Counter[str] = Counter()
    with served(lab) as server:
        requests = expensive(rng)
        before = server.memory
        for path, content in rng.sample(requests, min(number, len(requests))):
            status = server.ask(path, content)
            demand(status in (200, 408, 413, 422, 503), f"{path}: {status}")
            counts[f"status {status}"] += 1
            server.demand_answers("/api/tag", {"model": "tagger", "text": "Anna"})
            server.demand_answers("/api/explain", {"model": "tagger", "text": "Anna lives in Oslo."})
        demand(server.memory - before < 10 * GROWTH, f"memory grew by {server.memory - before:,} bytes")
        left = []
        for path, content in requests:  # clients that go, and work that is under way when the signal comes
            body = json.dumps(content).encode()
            head = POST.replace(b"/api/tag", path.encode()) + b"Content-Length: %d\r\n\r\n" % len(body)
            left.append(server.connect(head, body))
            if rng.random() < 0.5:
                left.pop().close()
        time.sleep(rng.uniform(0, 0.3))
        counts["SIGTERM under load"] += 1
    for connection in left:
        connection.close()
    return counts


TRIALS: dict[str, faults.Trial] = {
    "slow heads": slow_heads,
    "giant heads": giant_heads,
    "expensive requests": expensive_requests,
}
faults.TRIALS.update(TRIALS)
