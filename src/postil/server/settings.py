"""Settings of the server: address, access and limits."""

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import final

from postil.errors import ConfigurationError

TOKEN_LENGTH = 16


@final
@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """Settings of one server. The defaults are safe: this machine only, small requests, a short queue."""

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    """Bearer token of every request to the API. Needed if other machines can connect."""
    hosts: tuple[str, ...] = ()
    """Names by which the server may be called, in addition to addresses and ``localhost``."""
    origins: tuple[str, ...] = ()
    """Other origins whose pages may call the API (CORS), such as https://example.org."""
    max_body: int = 1_000_000
    """Bytes of a request."""
    max_tokens: int = 20_000
    """Tokens of all texts in a request."""
    seconds: float = 10.0
    """From the first byte of a request to its answer."""
    queue: int = 64
    """Requests that may wait for an answer; more are rejected."""
    wait: float = 0.05
    """Seconds of work that may wait for an answer; more is rejected."""
    training: Path | None = None
    """The folder whose files the page may train on. None: the server has no routes for training."""
    run_token: str | None = None
    """Made for one run of the server; needed by every route that changes something."""

    def __post_init__(self) -> None:
        for name in ("max_body", "max_tokens", "queue"):
            if getattr(self, name) < 1:
                raise ConfigurationError(name, expected="at least 1", got=getattr(self, name))
        for name in ("seconds", "wait"):
            if not getattr(self, name) > 0:
                raise ConfigurationError(name, expected="above 0", got=getattr(self, name))
        if not 0 <= self.port < 65536:
            raise ConfigurationError("port", expected="0 to 65535", got=self.port)
        if self.token is not None and (len(self.token) < TOKEN_LENGTH or not self.token.isascii()):
            expected = f"must be at least {TOKEN_LENGTH} ASCII characters"
            raise ConfigurationError("token", expected=expected, got=f"{len(self.token)} characters")
        if self.training is not None and (self.run_token is None or len(self.run_token) < TOKEN_LENGTH):
            raise ConfigurationError("training", expected="needs a token of the run")
        if self.training is not None and not self.training.is_dir():
            raise ConfigurationError("--allow-training", expected="must be a folder", got=str(self.training))
        if self.token is None and not self.is_local:
            expected = "needs a token, as other machines can connect: --token-file FILE, or the variable POSTIL_TOKEN"
            raise ConfigurationError(f"--host {self.host}", expected=expected)

    @property
    def is_local(self) -> bool:
        """Whether only this machine can connect."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether a host name is this machine's own."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
