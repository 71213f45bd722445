"""Requests a second and their times, at 1 to 600 connections, beside an empty endpoint of the same stack.

    python -m benchmarks.serving MODEL [--seconds 5] [--connections 1 8 32 128 600] [--text "…"]

Client and servers share this machine, so the client's own work is in every figure, in the same way for both. Clients
send the next request as soon as they have an answer; one that is refused (503) waits as long as Retry-After says.
Refusals are counted, and timed, on their own.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

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
TEXT = "Museums in Paris are amazing, said Anna Berg of the Nordic Council in Oslo on Monday."


@dataclass
class Times:
    """Of one load: seconds of answers and of refusals."""

    answers: list[float] = field(default_factory=list)
    refusals: list[float] = field(default_factory=list)
    others: int = 0


async def client(port: int, request: bytes, until: float, times: Times) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.perf_counter() < until:
        began = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        took, status = time.perf_counter() - began, head[9:12]
        if status == b"200":
            times.answers.append(took)
        elif status == b"503":
            times.refusals.append(took)
            await asyncio.sleep(float(head.lower().split(b"retry-after: ")[1].split(b"\r\n")[0]))
        else:
            times.others += 1
    writer.close()


async def load(port: int, request: bytes, connections: int, seconds: float) -> Times:
    times, until = Times(), time.perf_counter() + seconds
    await asyncio.gather(*(client(port, request, until, times) for _ in range(connections)))
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
    arguments = parser.parse_args()
    body = json.dumps({"text": arguments.text}).encode()
    head = f"POST /api/tag HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    request = head.encode() + b"\r\n\r\n" + body
    print(f"in a loop: {in_a_loop(arguments.model, arguments.text, arguments.seconds):,.0f} calls/s")
    ports = {"empty": 8761, "postil": 8762}
    servers = [
        subprocess.Popen([sys.executable, "-c", EMPTY, str(ports["empty"])]),
        subprocess.Popen([sys.executable, "-m", "postil", "serve", arguments.model, "--port", str(ports["postil"])]),
    ]
    try:
        for port in ports.values():
            waited_for(port)
        for port in ports.values():
            asyncio.run(load(port, request, 8, 1))  # warm
        print("connections  server   answers/s  share   p50 ms   p99 ms  refused/s  p99 ms of refusals  CPU us/request")
        for connections in arguments.connections:
            rates = {}
            for (name, port), server in zip(ports.items(), servers, strict=True):
                before = cpu_seconds(server)
                times = asyncio.run(load(port, request, connections, arguments.seconds))
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
