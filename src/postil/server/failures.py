"""Error responses: an HTTP status, a code for programs and a message for people."""

from typing import final


@final
class Refusal(Exception):
    """An answer with an error. Its message names nothing of the server's own: no path, no stack trace."""

    def __init__(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.headers = status, code, message, headers or {}

    def to_dict(self) -> dict[str, dict[str, str]]:
        return {"error": {"code": self.code, "message": self.message}}


class ClientLeft(Exception):
    """Nobody waits for the answer any more."""


# Word for programs -> statuses it comes with, and what it means. The OpenAPI description lists these.
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


def refused(code: str, message: str, headers: dict[str, str] | None = None) -> Refusal:
    """The refusal of this code."""
    return Refusal(CODES[code][0], code, message, headers)
