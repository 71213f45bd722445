"""Requests a second and their times, at 1 to 600 connections, beside an empty endpoint of the same stack.

    python -m benchmarks.serving MODEL [--seconds 5] [--connections 1 8 32 128 600] [--text "…"]
    python -m benchmarks.serving MODEL --memory 100000 [--minutes 5]      resident memory over many requests

Client and servers share this machine, so the client's own work is in every figure, in the same way for both. Clients
send the next request as soon as they have an answer; one that is refused (503) waits as long as Retry-After says.
Refusals are counted, and timed, on their own. Where spaCy, a model of it (``--spacy en_core_web_sm`` or a folder) and
FastAPI are installed, here or in another environment (``--spacy-python``), the same load is put on them.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import cycle, islice, repeat
from pathlib import Path
from typing import final

EMPTY = """
import sys
import uvicorn
from starlette.responses import Response
from starlette.requests import Request
from starlette.routing import Route, Router
async def answer(request: Request) -> Response:
    await request.body()
    return Response(b'{}', media_type="application/json")
app = Router([Route("/api/tag", answer, methods=["POST"])])
options = {"log_config": None, "access_log": False, "server_header": False, "http": "httptools", "ws": "none"}
uvicorn.run(app, port=int(sys.argv[1]), **options)
"""
SPACY = """
import sys
import spacy, uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
nlp = spacy.load(sys.argv[2], exclude=["tagger", "parser", "attribute_ruler", "lemmatizer"])
app = FastAPI()
class Asked(BaseModel):
    text: str
@app.post("/api/tag")
def tag(asked: Asked) -> list[dict[str, object]]:
    found = nlp(asked.text).ents
    return [{"text": one.text, "label": one.label_, "start": one.start_char, "end": one.end_char} for one in found]
options = {"log_config": None, "access_log": False, "server_header": False, "http": "httptools", "ws": "none"}
uvicorn.run(app, port=int(sys.argv[1]), **options)
"""
TEXT = "Museums in Paris are amazing, said Anna Berg of the Nordic Council in Oslo on Monday."
MEMORY_CONNECTIONS = 16


@dataclass
class Times:
    """Of one load: seconds of answers and of refusals, and the number of other answers and of lost connections."""

    answers: list[float] = field(default_factory=list)
    refusals: list[float] = field(default_factory=list)
    others: int = 0


@final
class Client(asyncio.Protocol):
    """One connection: sends the next request as soon as it has an answer, or when it may try again.

    A protocol on prepared bytes instead of streams: a client that costs more than the server would measure itself.
    """

    def __init__(self, requests: Iterator[bytes], times: Times) -> None:
        self._requests, self._times = requests, times
        self._received, self._until = b"", 0.0
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self._times.others += 1
            self.ended.set_result(None)

    def start(self, until: float) -> None:
        self._until = until
        self._send()

    def _send(self) -> None:
        self._began = time.perf_counter()
        request = next(self._requests, None) if self._began < self._until else None
        if request is None:
            self.ended.set_result(None)
            self._transport.close()
        else:
            self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head = self._received.find(b"\r\n\r\n")
        if head < 0 or len(self._received) < head + 4 + int(_header(self._received, b"content-length: ")):
            return
        answer, self._received = self._received, b""
        took, status = time.perf_counter() - self._began, answer[9:12]
        if status == b"503":
            self._times.refusals.append(took)
            asyncio.get_running_loop().call_later(float(_header(answer, b"retry-after: ")), self._send)
            return
        if status == b"200":
            self._times.answers.append(took)
        else:
            self._times.others += 1
        self._send()


def _header(answer: bytes, name: bytes) -> bytes:
    start = answer.index(name) + len(name)
    return answer[start : answer.index(b"\r", start)]


async def load(port: int, requests: Iterator[bytes], connections: int, seconds: float) -> Times:
    """All connect, then all begin, and take the next of the requests until there is none or the time is over."""
    loop, times = asyncio.get_running_loop(), Times()
    clients = [
        (await loop.create_connection(lambda: Client(requests, times), "127.0.0.1", port))[1]
        for _ in range(connections)
    ]
    until = time.perf_counter() + seconds
    for one in clients:
        one.start(until)
    await asyncio.wait([one.ended for one in clients], timeout=seconds + 10)
    return times


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] * 1000 if values else float("nan")


def in_a_loop(model: str, text: str, seconds: float) -> float:
    """Calls of ``tag`` a second in this process: the limit."""
    import postil

    tagger, calls, began = postil.load(model), 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        list(tagger.tag(text).entities)
        calls += 1
    return calls / (time.perf_counter() - began)


def cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    """Of the server so far; not a number where the system does not tell. Other programs hardly change this figure."""
    stat = Path(f"/proc/{process.pid}/stat")
    if not stat.exists():
        return float("nan")
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def has_spacy(python: str, model: str) -> bool:
    """Whether this interpreter can serve spaCy's model."""
    tried = f"import spacy, fastapi, uvicorn, httptools; spacy.load({model!r})"
    return subprocess.run([python, "-c", tried], stderr=subprocess.DEVNULL).returncode == 0


def resident(process: subprocess.Popen[bytes]) -> float:
    """Megabytes of the server's memory; not a number where the system does not tell."""
    status = Path(f"/proc/{process.pid}/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), float("nan"))


def watch_memory(port: int, server: subprocess.Popen[bytes], text: str, requests: int, minutes: float) -> None:
    """Print the memory after every tenth of the requests, which together have some thousand words.

    Words are cached up to a fixed size (256 MB of rows): with ever new words, memory grows up to there.
    """
    until, sent, step = time.monotonic() + 60 * minutes, 0, max(1, requests // 10)
    prepared = cycle([posted(f"{text} No{number} New{number}.") for number in range(1000)])
    print("requests  refused  MB")
    while sent < requests and (left := until - time.monotonic()) > 0:
        times = asyncio.run(load(port, islice(prepared, step), MEMORY_CONNECTIONS, left))
        sent += len(times.answers)
        print(f"{sent:>8,}  {len(times.refusals):>7,}  {resident(server):.1f}", flush=True)


def posted(text: str) -> bytes:
    """A request to /api/tag."""
    body = json.dumps({"text": text}).encode()
    head = f"POST /api/tag HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


def waited_for(port: int) -> None:
    import socket

    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"no server at port {port}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 8, 32, 128, 600])
    parser.add_argument("--text", default=TEXT)
    parser.add_argument(
        "--spacy",
        default="en_core_web_sm",
        metavar="MODEL",
        help="of spaCy, to compare with: a package or a folder",
    )
    parser.add_argument(
        "--spacy-python",
        default=sys.executable,
        metavar="PYTHON",
        help="interpreter with spaCy, FastAPI, uvicorn and httptools (default: this one)",
    )
    parser.add_argument("--memory", type=int, metavar="N", help="watch the memory over N requests instead")
    parser.add_argument("--minutes", type=float, default=5, help="--memory: end after this time (default: 5)")
    arguments = parser.parse_args()
    if arguments.memory:
        server = subprocess.Popen([sys.executable, "-m", "postil", "serve", arguments.model, "--port", "8762"])
        try:
            waited_for(8762)
            watch_memory(8762, server, arguments.text, arguments.memory, arguments.minutes)
        finally:
            server.terminate()
            server.wait()
        return
    request = posted(arguments.text)
    print(f"in a loop: {in_a_loop(arguments.model, arguments.text, arguments.seconds):,.0f} calls/s")
    ports = {"empty": 8761, "postil": 8762}
    servers = [
        subprocess.Popen([sys.executable, "-c", EMPTY, str(ports["empty"])]),
        subprocess.Popen([sys.executable, "-m", "postil", "serve", arguments.model, "--port", str(ports["postil"])]),
    ]
    if has_spacy(arguments.spacy_python, arguments.spacy):
        ports["spacy"] = 8763
        servers.append(subprocess.Popen([arguments.spacy_python, "-c", SPACY, str(ports["spacy"]), arguments.spacy]))
    else:
        print(f"spaCy behind FastAPI is left out: spacy, fastapi or {arguments.spacy} is not installed")
    try:
        for port in ports.values():
            waited_for(port)
        for port in ports.values():
            asyncio.run(load(port, repeat(request), 8, 1))  # warm
        print("connections  server   answers/s  share   p50 ms   p99 ms  refused/s  p99 ms of refusals  CPU us/request")
        for connections in arguments.connections:
            rates = {}
            for (name, port), server in zip(ports.items(), servers, strict=True):
                before = cpu_seconds(server)
                times = asyncio.run(load(port, repeat(request), connections, arguments.seconds))
                cost = (cpu_seconds(server) - before) / max(1, len(times.answers) + len(times.refusals))
                rates[name] = len(times.answers) / arguments.seconds
                print(
                    f"{connections:>11}  {name:<7} {rates[name]:>10,.0f}  {rates[name] / rates['empty']:>5.0%} "
                    f"{percentile(times.answers, 0.5):>8.2f} {percentile(times.answers, 0.99):>8.2f} "
                    f"{len(times.refusals) / arguments.seconds:>10,.0f}  {percentile(times.refusals, 0.99):>18.2f} "
                    f"{cost * 1e6:>15,.0f}",
                    flush=True,
                )
                if times.others:
                    print(f"             {times.others} other answers")
    finally:
        for server in servers:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
