"""A server as a process: its end, its patience, and clients that behave badly."""

import json
import shutil
import signal
import socket
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from oracles import loops

HEAD = b"POST /api/tag HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
pytestmark = pytest.mark.extra("uvicorn")


def ask(address, body, timeout=30, path="/api/tag", **headers):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(
        address + path, data=content, headers={"Content-Type": "application/json", **headers}
    )
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def connected(address):
    host, port = address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=30)


def test_sigterm_finishes_what_is_under_way(start, names_model):
    process, address = start(names_model)
    long = {"text": "Anna lives in Oslo. " * 2_000}
    with ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(ask, address, long) for _ in range(2)]
        time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        assert [answer.result()[0] for answer in answers] == [200, 200]
    assert process.wait(30) == 0
    with pytest.raises((urllib.error.URLError, ConnectionError)):
        ask(address, long)


def test_silent_connections_do_not_keep_others_out(address):
    silent = [connected(address) for _ in range(1_000)]
    try:
        assert ask(address, {"text": "Anna"})[0] == 200
    finally:
        for connection in silent:
            connection.close()


def test_a_silent_connection_is_closed_after_a_while(registry, monkeypatch):
    import asyncio

    import uvicorn

    from postil.server import running
    from postil.server.app import create_app

    monkeypatch.setattr(running, "HEAD_SECONDS", 0.2)

    async def story():
        config = uvicorn.Config(create_app(registry), http=running.PatientProtocol, port=0, log_config=None, ws="none")
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server._serve())
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        closed = []
        for sent in (b"", b"GET / HTTP/1.1\r\nHost: 127"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            closed.append(await asyncio.wait_for(reader.read(), 10))
            writer.close()
        server.should_exit = True
        await serving
        return closed

    assert loops.run(story()) == [b"", b""]


def test_a_slow_body_gets_a_clear_answer(start, names_model):
    _, address = start(names_model, "--timeout", "0.5")
    with connected(address) as connection:
        connection.sendall(HEAD % 99 + b"{")
        answer = connection.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 408") and b'"code": "slow"' in answer


def test_a_short_answer_comes_as_one_piece(start, names_model):
    """Head and body in two writes would cost twice."""
    _, address = start(names_model)
    body = json.dumps({"text": "Anna lives in Oslo."}).encode()
    with connected(address) as connection:
        for _ in range(3):
            connection.sendall(HEAD % len(body) + body)
            answer = connection.recv(1 << 16)
            assert answer.startswith(b"HTTP/1.1 200") and answer.endswith(b"}]}")


def test_large_and_hostile_bodies(address):
    assert ask(address, b'{"text": "' + b"a" * 10_000_000 + b'"}')[1]["error"]["code"] == "body"
    assert ask(address, b'{"a":' * 50_000)[1]["error"]["code"] == "json"
    hostile = '<script>alert(1)</script> "><img src=x onerror=alert(1)> \x00 \u202e'
    assert ask(address, {"text": hostile})[1]["documents"][0]["text"] == hostile


def test_a_client_that_leaves_frees_its_place(start, names_model):
    _, address = start(names_model, "--queue", "4")
    body = json.dumps({"text": "Anna lives in Oslo. " * 3_000}).encode()
    for _ in range(8):  # twice the queue
        with connected(address) as connection:
            connection.sendall(HEAD % len(body) + body)
    deadline = time.monotonic() + 30
    while (status := ask(address, {"text": "Anna"})[0]) != 200 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert status == 200


def test_load_beyond_capacity_is_refused_quickly(start, names_model):
    _, address = start(names_model, "--queue", "2")
    body = json.dumps({"text": "Anna lives in Oslo. " * 3_000}).encode()
    began = []

    def one(_):
        before = time.monotonic()
        status, _ = ask(address, body)
        began.append((status, time.monotonic() - before))

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(one, range(48)))
    assert {status for status, _ in began} == {200, 503}


def test_a_replaced_model_is_picked_up(start, names_model, speech_model, tmp_path):
    path, new = tmp_path / "model.postil", tmp_path / "new.postil"
    shutil.copy(names_model, path)
    _, address = start(path, "--reload")
    assert "spans" in ask(address, {"text": "Anna"})[1]["documents"][0]
    shutil.copy(speech_model, new)
    new.replace(path)
    deadline = time.monotonic() + 30
    while "spans" in ask(address, {"text": "Anna"})[1]["documents"][0]:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_the_process_ends_in_time_though_a_thread_does_not(tmp_path):
    """A disk that hangs holds a thread which nothing can end."""
    import subprocess
    import sys

    script = """
import asyncio, signal, time
from postil.server import running
from postil.server.settings import ServerSettings
running.DRAIN_SECONDS = 2
signal.signal(signal.SIGTERM, signal.default_int_handler)  # as commands do
async def app(scope, receive, send):
    if scope["type"] == "http":
        await asyncio.to_thread(time.sleep, 600)
    while scope["type"] == "lifespan":
        kind = (await receive())["type"]
        await send({"type": kind + ".complete"})
        if kind == "lifespan.shutdown":
            return
listening = running.bound(ServerSettings(port=0))
running.run(app, listening, lambda: print(listening.getsockname()[1], flush=True))
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        try:
            port = int(process.stdout.readline())
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                time.sleep(0.2)
                process.send_signal(signal.SIGTERM)
                assert process.wait(60) == 0
        finally:
            process.kill()


def test_a_head_has_a_limit_exactly(address):
    """Up to it in one piece, with and without a body behind it; beyond it in one piece and in many."""
    from postil.server.running import HEAD_BYTES

    def answered(size, pieces=1, body=b""):
        start = b"POST /api/tag HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\n"
        start += b"Content-Length: %d\r\nX: " % len(body)
        sent = start + b"y" * (size - len(start) - 4) + b"\r\n\r\n" + body
        with connected(address) as connection:
            for first in range(0, len(sent), step := -(-len(sent) // pieces)):
                connection.sendall(sent[first : first + step])
            return connection.makefile("rb").read()

    body = json.dumps({"text": "Anna " * 3_000}).encode()
    assert answered(HEAD_BYTES - 100, body=body).startswith(b"HTTP/1.1 200")
    assert answered(HEAD_BYTES - 100, 7, body).startswith(b"HTTP/1.1 200")
    for refused in (answered(HEAD_BYTES + 1_000), answered(HEAD_BYTES + 1_000, body=body)):
        assert refused.startswith(b"HTTP/1.1 431") and b'"code": "head"' in refused
        assert b"65,536 bytes" in refused


def test_trailers_are_not_headers(start, names_model):
    """Whoever adds lines after the body must not add to what was checked before it."""
    token = "0123456789abcdef"
    _, address = start(names_model, POSTIL_TOKEN=token)
    sent = b"POST /api/tag HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\n"
    sent += b'Transfer-Encoding: chunked\r\n\r\n10\r\n{"text": "Anna"}\r\n0\r\nAuthorization: Bearer %b\r\n\r\n'
    with connected(address) as connection:
        connection.sendall(sent % token.encode())
        assert connection.makefile("rb").read().startswith(b"HTTP/1.1 401")


def test_an_answer_that_nobody_reads_does_not_stay(registry, monkeypatch):
    import asyncio

    import uvicorn

    from postil.server import running

    async def app(scope, receive, send):
        body = b"x" * 30_000_000
        headers = [(b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def story():
        config = uvicorn.Config(
            app, http=running.PatientProtocol, port=0, log_config=None, ws="none", lifespan="off", timeout_keep_alive=1
        )
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server._serve())
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            ends = time.monotonic() + 60
            seen = 0
            while (now := len(server.server_state.connections)) or not seen:
                seen = max(seen, now)
                assert time.monotonic() < ends, "still open"
                await asyncio.sleep(0.05)
        server.should_exit = True
        await serving

    loops.run(story())


def test_a_port_in_use_is_one_clear_line(capfd):
    from postil.errors import ConfigurationError
    from postil.server.running import bound
    from postil.server.settings import ServerSettings

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"127.0.0.1:{port}: the server cannot listen"):
            bound(ServerSettings(port=port))
