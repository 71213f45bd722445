"""Request bodies: received within a limit of size, parsed as JSON and checked against a schema.

``deadlines`` ends those that are slow.
"""

import json
import re
from typing import Any

from postil.server.failures import ClientLeft, refused
from postil.server.guard import Receive
from postil.server.schema import Schema, SchemaError, check

DISCARDED = 1 << 26
"""Bytes of a body that is too large which are received, and dropped, before the answer."""
_JSON = b"application/json"
_SURROGATE = re.compile(rb"\\u[dD][89abABcdefCDEF]")


async def checked_body(scope: Any, receive: Receive, schema: Schema, most: int) -> dict[str, Any]:
    """The value of a body of at most ``most`` bytes that matches the schema; anything else is refused."""
    value: dict[str, Any] = _parsed(await _body(scope, receive, most))
    try:
        check(value, schema)
    except SchemaError as error:
        raise refused("schema", str(error)) from None
    return value


async def _body(scope: Any, receive: Receive, most: int) -> bytes:
    """The whole body, if it is not too large."""
    kind = announced = b""
    for name, value in scope["headers"]:
        if name == b"content-type":
            kind = value
        elif name == b"content-length":
            announced = value
    if kind != _JSON and kind.partition(b";")[0].strip().lower() != _JSON:  # forms of other sites are not
        raise refused("type", "the content type must be application/json")
    is_large = announced.isdigit() and int(announced) > most
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        body, more = message.get("body", b""), message.get("more_body", False)
        size += len(body)
        is_large = is_large or size > most
        if not is_large:
            parts.append(body)
            if not more:
                return body if len(parts) == 1 else b"".join(parts)
        elif not more or size > DISCARDED:  # a client that is still sending would not see an answer
            raise refused("body", f"the body is too large: at most {most:,} bytes are read")


def _parsed(body: bytes) -> Any:
    """JSON in UTF-8, strictly: no NaN, no half of a surrogate pair."""
    try:
        value = _DECODER.decode(body.decode("utf-8"))
        if _SURROGATE.search(body):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeError:
        raise refused("json", "the body must be JSON in UTF-8, without halves of surrogate pairs") from None
    except ValueError as error:
        raise refused("json", f"the body must be JSON: {error}") from None
    except RecursionError:
        raise refused("json", "the body is nested too deeply") from None
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
