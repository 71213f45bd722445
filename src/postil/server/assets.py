"""The files of the page, read once from the package and served from memory."""

import hashlib
from importlib.resources import files
from typing import NamedTuple

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


def assets() -> dict[str, Asset]:
    """Path -> file; the page itself is at /."""
    found = {}
    for file in files("postil.server").joinpath("page").iterdir():
        kind = TYPES.get(file.name.rpartition(".")[2])
        if kind is not None:
            found["/" if file.name == "index.html" else f"/page/{file.name}"] = _asset(file.read_bytes(), kind)
    for name in SHARED:
        content = files("postil.markup").joinpath(name).read_bytes()
        found[f"/page/{name}"] = _asset(content, TYPES[name.rpartition(".")[2]])
    return found


def _asset(content: bytes, kind: str) -> Asset:
    return Asset(content, kind, f'"{hashlib.sha256(content).hexdigest()[:16]}"')
