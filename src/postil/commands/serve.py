"""``postil serve``: an HTTP API for models, and a web page to try them."""

import logging
import os
import secrets
import sys
import warnings
import webbrowser
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

from postil.commands.models import take_model
from postil.commands.notices import note
from postil.commands.parser import option
from postil.errors import ConfigurationError, UnspacedTextWarning
from postil.extras import needed
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


OPTIONS = {
    "": [
        option("MODEL", "model files, or names of installed models (default: english)", nargs="*", dest="models"),
        option("--host HOST", "address to listen on (default: 127.0.0.1)", default="127.0.0.1"),
        option("--port PORT=8000", "port to listen on; 0: any free one"),
        option("--open", "open the page in the browser"),
        option("--against [MODEL=]FILE …", "compare texts with FILE, from evaluate --expected --json, in /metrics"),
        option("--reload", "reload a model file when it is replaced"),
        option(
            "--allow-training FOLDER",
            "let the page train on labelled files in FOLDER and write models there (without FOLDER: the current one)",
            type=Path,
            nargs="?",
            const=Path(),
        ),
    ],
    "access": [
        option("--token-file FILE", f"file with the token (or {VARIABLE})", type=Path),
        option("--allow-host NAME …", "another host name of this server"),
        option("--allow-origin URL …", "site whose pages may call the API"),
    ],
    "limits": [
        option("--max-body BYTES=1000000", "size of a request"),
        option("--max-tokens N=20000", "tokens of a request"),
        option("--timeout S=10.0", "seconds for a request"),
        option("--queue N=64", "requests that may wait"),
    ],
}


def run(arguments: Namespace) -> int:
    check_extra()
    from postil.server import Registry, create_app

    settings = server_settings(arguments)
    paths = [located(name) for name in arguments.models] or [Path(take_model([])[0])]
    for path, name in zip(paths, arguments.models, strict=False):
        if not path.is_file():
            raise ConfigurationError("no such model file", got=misspelt(name))
    registry = Registry.of_files(paths)
    warnings.simplefilter("ignore", UnspacedTextWarning)  # clients choose the texts; nobody reads about each of them
    taggers = [served.name for served in registry if served.kind == "tagger"]
    bases: dict[str, Any] = {}  # the profile of the data with which a tagger's texts are compared, by default the first
    for word in arguments.against:
        from postil.commands.evaluate import stored_profile  # serving as such needs none of this

        name, equals, path = word.partition("=")
        if not equals or Path(word).exists():
            name, path = next(iter(taggers), ""), word
        if not Path(path).is_file():
            raise ConfigurationError("--against: no such file", got=path)
        if name not in taggers:
            raise ConfigurationError("--against", expected=f"the name of a tagger: {', '.join(taggers)}", got=name)
        if name in bases:
            raise ConfigurationError("--against", expected="one base for each model", got=f"two for {name}")
        bases[name] = stored_profile(path)
        if bases[name] is None:
            raise ConfigurationError("--against", expected="the output of postil evaluate --expected --json", got=path)
    app = create_app(registry, settings, reload=arguments.reload, bases=bases)
    names = ", ".join(served.name for served in registry)

    def told(address: str) -> list[str]:
        """Where the server is. The part of an address after # is never sent to a server."""
        if arguments.open:
            webbrowser.open(address)
        train = [] if settings.run_token is None else [f"to train, open {address}/#/train?run={settings.run_token}"]
        return [f"serving {names} at {address} (Ctrl-C ends it)", *train]

    listen(app, settings, told)
    return 0


def check_extra() -> None:
    """Raise an error with one clear line if the packages of the server are missing."""
    for name in ("uvicorn", "starlette", "httptools", "prometheus_client"):
        needed(name, "serve")


def listen(app: Any, settings: Any, told: Callable[[str], list[str]]) -> None:
    """Run an application until Ctrl-C or SIGTERM. ``told`` makes the lines that are printed when it can be reached."""
    from postil.server import bound, run

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="postil: %(message)s")
    logging.getLogger("postil.server").setLevel(logging.INFO)
    listening = bound(settings)
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host

    def announce() -> None:
        for line in told(f"http://{shown}:{port}"):
            note(line)

    try:
        run(app, listening, announce)
    except KeyboardInterrupt:  # also SIGTERM: uvicorn has finished what was under way
        note("stopped")
    finally:
        listening.close()


def server_settings(arguments: Namespace) -> Any:
    """The settings that the command line asks for."""
    from postil.server import ServerSettings

    return ServerSettings(
        token=token_of(arguments.token_file),
        hosts=tuple(arguments.allow_host),
        origins=tuple(arguments.allow_origin),
        seconds=arguments.timeout,
        training=arguments.allow_training,
        run_token=None if arguments.allow_training is None else secrets.token_urlsafe(24),
        **{name: getattr(arguments, name) for name in ("host", "port", "max_body", "max_tokens", "queue")},
    )


def token_of(path: Path | None) -> str | None:
    """The token that a file or the environment holds."""
    if path is not None:
        return path.read_text(encoding="utf8").strip()
    return os.environ.get(VARIABLE) or None
