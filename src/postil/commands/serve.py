"""``postil serve``: an HTTP API for models, and a web page to try them."""

import argparse
import logging
import os
import secrets
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from postil.commands.models import take_model
from postil.commands.notices import note
from postil.errors import ConfigurationError, UnspacedTextWarning
from postil.integrations.extras import needed
from postil.models.storage import located, misspelt

DESCRIPTION = """\
Serve models through an HTTP API, with a web page to tag text, explain results and look inside a model. Needs the extra
serve.

  postil serve                                                    the installed English model
  postil serve ner.postil
  postil serve ner.postil pos.postil sentiment.postil --port 8080
  postil serve ner.postil --reload                                reload a model file when it is replaced
  postil serve ner.postil --allow-training data                   train on the page, with the files of a folder
  POSTIL_TOKEN=$(cat secret) postil serve ner.postil --host 0.0.0.0

  curl -s localhost:8000/api/tag -H 'Content-Type: application/json' -d '{"text": "Museums in Paris are amazing."}'

By default, the server can be reached from this machine only. With another --host it needs a token of at least 16
characters, which requests send as "Authorization: Bearer TOKEN". On Ctrl-C or SIGTERM it completes the current requests
and stops. docs/how-to/serving.md documents the API; /api/openapi.json is its OpenAPI description.
"""
VARIABLE = "POSTIL_TOKEN"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "models", metavar="MODEL", nargs="*", help="model files, or names of installed models (default: english)"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, help="port to listen on; 0: any free one (default: 8000)")
    parser.add_argument("--reload", action="store_true", help="reload a model file when it is replaced")
    parser.add_argument(
        "--allow-training",
        type=Path,
        nargs="?",
        const=Path(),
        metavar="FOLDER",
        help="let the page train on labelled files in FOLDER and write models there (without FOLDER: the current one)",
    )
    access = parser.add_argument_group("access")
    access.add_argument("--token-file", type=Path, metavar="FILE", help=f"file with the token (or {VARIABLE})")
    access.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="another host name of this server (repeatable)",
    )
    access.add_argument(
        "--allow-origin",
        action="append",
        default=[],
        metavar="URL",
        help="site whose pages may call the API (repeatable)",
    )
    limits = parser.add_argument_group("limits")
    limits.add_argument(
        "--max-body", type=int, default=1_000_000, metavar="BYTES", help="size of a request (default: 1000000)"
    )
    limits.add_argument(
        "--max-tokens", type=int, default=20_000, metavar="N", help="tokens of a request (default: 20000)"
    )
    limits.add_argument("--timeout", type=float, default=10.0, metavar="S", help="seconds for a request (default: 10)")
    limits.add_argument("--queue", type=int, default=64, metavar="N", help="requests that may wait (default: 64)")


def run(arguments: argparse.Namespace) -> int:
    check_extra()
    from postil.server import create_app

    settings = server_settings(arguments)
    registry = _registry(arguments.models)
    warnings.simplefilter("ignore", UnspacedTextWarning)  # clients choose the texts; nobody reads about each of them
    app = create_app(registry, settings, reload=arguments.reload)
    names = ", ".join(served.name for served in registry)
    listen(app, settings, lambda address: _announced(names, address, settings.run_token))
    return 0


def _announced(names: str, address: str, run_token: str | None) -> str:
    """Where the server is. The part of an address after # is never sent to a server."""
    train = "" if run_token is None else f"\nto train, open {address}/#/train?run={run_token}"
    return f"serving {names} at {address} (Ctrl-C ends it){train}"


def check_extra() -> None:
    """Raise an error with one clear line if the packages of the server are missing."""
    for name in ("uvicorn", "starlette", "httptools", "prometheus_client"):
        needed(name, "serve")


def listen(app: Any, settings: Any, told: Callable[[str], str]) -> None:
    """Run an application until Ctrl-C or SIGTERM. ``told`` makes the lines that are printed when it can be reached."""
    from postil.server import bound, run

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="postil: %(message)s")
    logging.getLogger("postil.server").setLevel(logging.INFO)
    listening = bound(settings)
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    try:
        run(app, listening, lambda: _note_lines(told(f"http://{shown}:{port}")))
    except KeyboardInterrupt:  # also SIGTERM: uvicorn has finished what was under way
        note("stopped")
    finally:
        listening.close()


def _note_lines(text: str) -> None:
    for line in text.splitlines():
        note(line)


def server_settings(arguments: argparse.Namespace) -> Any:
    """The settings that the command line asks for."""
    from postil.server import ServerSettings

    return ServerSettings(
        host=arguments.host,
        port=arguments.port,
        token=token_of(arguments.token_file),
        hosts=tuple(arguments.allow_host),
        origins=tuple(arguments.allow_origin),
        max_body=arguments.max_body,
        max_tokens=arguments.max_tokens,
        seconds=arguments.timeout,
        queue=arguments.queue,
        training=arguments.allow_training,
        run_token=None if arguments.allow_training is None else secrets.token_urlsafe(24),
    )


def token_of(path: Path | None) -> str | None:
    """The token that a file or the environment holds."""
    if path is not None:
        return path.read_text(encoding="utf8").strip()
    return os.environ.get(VARIABLE) or None


def _registry(models: list[str]) -> Any:
    from postil.server import Registry

    paths = [located(name) for name in models] or [Path(take_model([])[0])]
    for path, name in zip(paths, models, strict=False):
        if not path.is_file():
            raise ConfigurationError("no such model file", got=misspelt(name))
    return Registry.of_files(paths)
