"""The parts of a web export put together: one page, one ES module, or the files of an npm package."""

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from string import Template
from typing import Any
from urllib.parse import quote

from postil.export.flat import FILE as LICENCES
from postil.html import escaped

POLICY = (
    "default-src 'none'; script-src '{script}' 'wasm-unsafe-eval'; style-src '{style}'; img-src data:; "
    "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Content security policy of the page: its own script and style, by their hashes, and nothing from elsewhere."""


def page(model: bytes, about: Mapping[str, Any], *, version: str, licences: str) -> str:
    """One self-contained HTML file. ``about`` is what the page says of the model; every string in it is escaped."""
    style = "\n" + "".join(map(_shared, ("palette.css", "page.css"))) + _text("try.css")
    script = "\n" + bundled([_shared("dom.js"), _text("runtime.mjs"), _text("try.js")])
    return Template(_text("page.html")).substitute(
        policy=escaped(POLICY.format(script=_digest(script), style=_digest(style))),
        version=escaped(version),
        title=escaped(str(about["title"])),
        icon="data:image/svg+xml," + quote(_shared("icon.svg").strip()),
        style=style,
        script=script,
        about=_json_block(about),
        licences=escaped(licences),
        plain=packed(_bytes("postil.wasm")),
        simd=packed(_bytes("postil-simd.wasm")),
        model=packed(model),
    )


def module(model: bytes, *, version: str, licences: str) -> str:
    """One self-contained ES module that exports ``load``."""
    return Template(_text("single.mjs")).substitute(
        version=version,
        licences=licences.replace("*/", "* /"),
        runtime=bundled([_text("runtime.mjs")]),
        plain=packed(_bytes("postil.wasm")),
        simd=packed(_bytes("postil-simd.wasm")),
        model=packed(model),
    )


def package(model: bytes, about: Mapping[str, Any], *, name: str, version: str, licences: str) -> dict[str, bytes]:
    """The files of an npm package: path -> content."""
    described = {
        "name": name,
        "version": version,
        "description": str(about["title"]),
        "type": "module",
        "main": "./index.mjs",
        "types": "./index.d.ts",
        "exports": {".": {"types": "./index.d.ts", "default": "./index.mjs"}, "./*": "./*"},
        "files": ["*.mjs", "*.d.ts", "*.wasm", "model.bin", LICENCES],
        "license": f"SEE LICENSE IN {LICENCES}",
        "engines": {"node": ">=18"},
        "sideEffects": False,
    }
    texts = {
        "package.json": json.dumps(described, indent=2, ensure_ascii=False) + "\n",
        "README.md": Template(_text("README.md")).substitute(name=name, title=_one_line(str(about["title"]))),
        LICENCES: licences,
        **{name: _text(name) for name in ("index.mjs", "index.d.ts", "runtime.mjs")},
    }
    compiled = {name: _bytes(name) for name in ("postil.wasm", "postil-simd.wasm")}
    return {path: text.encode() for path, text in texts.items()} | compiled | {"model.bin": model}


def bundled(scripts: Sequence[str]) -> str:
    """Modules as one script: imports go, and what was exported is in the same scope."""
    joined = "\n".join(scripts)
    return re.sub(r"^(?:import [^;]*;\n|export (?=(?:async )?function|const|class))", "", joined, flags=re.MULTILINE)


def packed(content: bytes) -> str:
    """Bytes as gzip in base64; the same bytes always become the same text."""
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()


def npm_name(title: str) -> str:
    """A name that npm allows, from the name of a model."""
    name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return f"postil-{name}"[:200] if name else "postil-model"


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _json_block(content: Mapping[str, Any]) -> str:
    """JSON for a script element: nothing in it can end the element or begin a comment."""
    return json.dumps(content).replace("<", "\\u003c")


def _one_line(text: str) -> str:
    return " ".join(re.sub(r"[<>`\[\]]", "", text).split())


def _shared(name: str) -> str:
    """A file that the page of the server also has."""
    return resources.files("postil.html").joinpath(name).read_text(encoding="utf8")


def _text(name: str) -> str:
    return resources.files("postil.export.web").joinpath(name).read_text(encoding="utf8")


def _bytes(name: str) -> bytes:
    return resources.files("postil.export.web").joinpath(name).read_bytes()
