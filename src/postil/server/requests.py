"""One request: its refusal, and its body within limits of size and time."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, final

from postil.errors import PostilError, format_message

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Any, Receive, Send], Awaitable[None]]

# ------------------------------------------------------------------------------------------------ refusals

# Code for programs -> HTTP status and meaning. The OpenAPI description lists these.
CODES: dict[str, tuple[int, str]] = {
    "json": (400, "The body is not JSON in UTF-8, or is nested too deeply."),
    "schema": (400, "The body does not match the schema of the request."),
    "http": (400, "These bytes are not a request of HTTP/1.1; the connection is closed."),
    "host": (400, "The Host header does not name this server."),
    "token": (401, "The bearer token is missing or wrong."),
    "run": (403, "The token of this run of the server (X-Postil-Run) is missing or wrong."),
    "origin": (403, "Another site's page must not call this server."),
    "path": (404, "There is nothing at this path."),
    "model": (404, "No served model has this name."),
    "method": (405, "This path does not answer this method."),
    "slow": (408, "The request was not received, or not answered, in time."),
    "body": (413, "The body is too large."),
    "tokens": (413, "There are too many tokens."),
    "cost": (413, "The answer would need too much work; the message says how much is done at once."),
    "type": (415, "The content type is not application/json."),
    "unfit": (422, "The request is well-formed, but does not fit the model or the text."),
    "head": (431, "The head of the request, or what its body is sent with, is too large."),
    "internal": (500, "A defect of the server; its log has the details."),
    "busy": (503, "The queue is full, or the server is stopping: try again after Retry-After seconds."),
}


@final
class Refusal(Exception):
    """An answer with an error: an HTTP status, a code for programs, a message for people.

    The message names nothing of the server's own: no path, no stack trace.
    """

    def __init__(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.headers = status, code, message, headers or {}

    def to_dict(self) -> dict[str, dict[str, str]]:
        return {"error": {"code": self.code, "message": self.message}}


class ClientLeft(Exception):
    """The client has disconnected: nobody waits for the answer."""


def refused(code: str, message: str, headers: dict[str, str] | None = None) -> Refusal:
    """Return the refusal with this code."""
    return Refusal(CODES[code][0], code, message, headers)


def unfit(error: PostilError) -> Refusal:
    """Return the refusal for an error of the library; lines of our own passages are documents of the request."""
    line = str(error.where or "").removeprefix("request, ").removeprefix("line ")
    place = f"document {int(line) - 1}" if line.isdecimal() else None
    return refused("unfit", format_message(error.what, error.expected, error.got, place))


# ------------------------------------------------------------------------------------------------ bodies

DISCARDED = 1 << 26
"""Bytes of an oversized body that are received and dropped before the answer."""
_JSON = b"application/json"


async def body_of(scope: Any, receive: Receive, limit: int, ends: float) -> bytes:
    """Receive a JSON body of at most ``limit`` bytes, until ``ends`` by the clock of the event loop."""
    kind = announced = b""
    for name, value in scope["headers"]:
        if name == b"content-type":
            kind = value
        elif name == b"content-length":
            announced = value
    if kind != _JSON and kind.partition(b";")[0].strip().lower() != _JSON:  # forms of other sites are not
        raise refused("type", "the content type must be application/json")
    is_large = announced.isdigit() and int(announced) > limit
    parts, size = [], 0
    try:
        async with asyncio.timeout_at(ends):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientLeft
                body, more = message.get("body", b""), message.get("more_body", False)
                size += len(body)
                is_large = is_large or size > limit
                if not is_large:
                    parts.append(body)
                    if not more:
                        return body if len(parts) == 1 else b"".join(parts)
                elif not more or size > DISCARDED:  # a client that is still sending would not see an answer
                    raise refused("body", f"the body is too large: at most {limit:,} bytes are read")
    except TimeoutError:
        raise refused("slow", "the request did not arrive in time") from None
