"""The files of the page, read once from the package and served from memory."""

import hashlib
from importlib.resources import files
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
# Also used elsewhere: the colours by reports and notebooks, all of them by exported pages.
SHARED = ("palette.css", "page.css", "dom.js", "icon.svg")


class Asset(NamedTuple):
    content: bytes
    type: str
    tag: str
    """Entity tag: browsers ask with it whether their copy is still good."""


def assets(home: str = "index.html") -> dict[str, Asset]:
    """Path -> file; the page itself, ``home``, is at /."""
    found = {}
    for file in files("postil.server").joinpath("page").iterdir():
        ending = file.name.rpartition(".")[2]
        if ending in TYPES and (ending != "html" or file.name == home):
            path = "/" if file.name == home else f"/page/{file.name}"
            found[path] = _asset(file.read_bytes(), TYPES[ending])
    for name in SHARED:
        content = files("postil.markup").joinpath(name).read_bytes()
        found[f"/page/{name}"] = _asset(content, TYPES[name.rpartition(".")[2]])
    return found


def _asset(content: bytes, kind: str) -> Asset:
    return Asset(content, kind, f'"{hashlib.sha256(content).hexdigest()[:16]}"')


async def send_asset(request: Request, asset: Asset) -> Response:
    """A file of the page, or that the browser's copy of it is still good."""
    headers = {"etag": asset.tag, "cache-control": "no-cache"}
    if request.headers.get("if-none-match") == asset.tag:
        return Response(status_code=304, headers=headers)
    return Response(asset.content, media_type=asset.type, headers=headers)
