"""A model file written for the web as one page, one ES module, or the files of an npm package.

The name of the target decides which of them it is.
"""

import base64
import gzip
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any, final
from urllib.parse import quote

import postil
from postil import files
from postil.export import flat
from postil.html import escaped
from postil.models.tree_classifier import TreeClassifier
from postil.reports.card import card_of

MARK = "runtime.mjs"  # a folder with this file is an earlier export, which a new one replaces


@final
@dataclass(frozen=True, kw_only=True)
class Written:
    """The result of an export."""

    path: Path
    half: bool  # whether tables have half precision
    change: flat.Rounding | None
    """The effect of half precision, used or not; None for tree classifiers, which have single precision."""
    model_bytes: int
    total_bytes: int


def write(
    model: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    half: bool | None = None,
    sentences: Sequence[Sequence[str]] | None = None,
) -> Written:
    """Write a model file as a page (``.html``), as one ES module (``.mjs``, ``.js``) or as a folder for npm.

    Tables of words have half precision if that changes no label of ``sentences``, or if ``half`` says so.
    """
    path, source = Path(path), Path(model)
    is_page, is_module = path.suffix.lower() in (".html", ".htm"), path.suffix.lower() in (".mjs", ".js")
    flat.check_target(path, *([] if is_page or is_module else [MARK]))
    estimator = postil.load(source)
    content = flat.exported(estimator, half=bool(half))  # refuses what is not supported before anything else is done
    tried = None
    if not isinstance(estimator, TreeClassifier):
        _, tried = as_exported(estimator, half=half, sentences=sentences)
        half = tried.labels == 0 if half is None else half
        content = flat.exported(estimator, half=True) if half else content
    about, terms = described(source), {"version": postil.__version__, "licences": flat.licences(source)}
    if is_page or is_module:
        text = (page(content, about, **terms) if is_page else module(content, **terms)).encode()
        with files.replaced(path) as stream:
            stream.write(text)
        total = len(text)
    else:
        made = package(content, about, name=npm_name(path.name), version="0.1.0", licences=terms["licences"])
        flat.write_folder(path, made)
        total = sum(map(len, made.values()))
    return Written(path=path, half=bool(half), change=tried, model_bytes=len(content), total_bytes=total)


def as_exported(
    estimator: Any, *, half: bool | None = None, sentences: Sequence[Sequence[str]] | None = None
) -> tuple[Any, flat.Rounding]:
    """The estimator with the weights that are exported, and what half precision changes.

    The answers in JavaScript are those of this estimator.
    """
    rounded = flat.halved(estimator)
    found = flat.change(estimator, rounded, flat.sample(estimator) if sentences is None else sentences)
    return flat.whole_tokens(rounded if half or (half is None and found.labels == 0) else estimator), found


def described(model: Path) -> dict[str, Any]:
    """The card of a model as JSON values, for the page."""
    card = card_of(model, model.stem)
    return {**card.to_dict(), "title": card.title, "facts": [*map(list, card.facts_table().rows)]}


POLICY = (
    "default-src 'none'; script-src '{script}' 'wasm-unsafe-eval'; style-src '{style}'; img-src data:; "
    "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)  # content security policy of the page: its own script and style, by their hashes, and nothing from elsewhere


def page(model: bytes, about: Mapping[str, Any], *, version: str, licences: str) -> str:
    """One self-contained HTML file. ``about`` is what the page says of the model; every string in it is escaped."""
    return assembled(
        about,
        {"wasm-plain": binary("postil.wasm"), "wasm-simd": binary("postil-simd.wasm"), "model": model},
        styles=[source("try.css")],
        scripts=[source("runtime.mjs"), source("try.js")],
        note="The model runs inside this page. What you type never leaves it.",
        version=version,
        licences=licences,
    )


def assembled(
    about: Mapping[str, Any],
    blocks: Mapping[str, bytes],
    *,
    styles: Sequence[str],
    scripts: Sequence[str],
    note: str,
    version: str,
    licences: str,
) -> str:
    """A page of what it says, blocks of data by their ids, styles and scripts after those that all pages share."""
    style = "\n" + "".join([*map(shared, ("palette.css", "page.css")), *styles])
    script = "\n" + bundled([shared("dom.js"), *scripts])
    element = '  <script type="application/octet-stream" id="{}">{}</script>'
    return Template(source("page.html")).substitute(
        policy=escaped(POLICY.format(script=_digest(script), style=_digest(style))),
        version=escaped(version),
        title=escaped(str(about["title"])),
        icon="data:image/svg+xml," + quote(shared("icon.svg").strip()),
        style=style,
        script=script,
        about=json.dumps(about).replace("<", "\\u003c"),  # nothing in it can end the element or begin a comment
        note=note,
        licences=escaped(licences),
        blocks="\n".join(element.format(name, packed(content)) for name, content in blocks.items()),
    )


def module(model: bytes, *, version: str, licences: str) -> str:
    """One self-contained ES module that exports ``load``."""
    return Template(source("single.mjs")).substitute(
        version=version,
        licences=licences.replace("*/", "* /"),
        runtime=bundled([source("runtime.mjs")]),
        plain=packed(binary("postil.wasm")),
        simd=packed(binary("postil-simd.wasm")),
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
        "files": ["*.mjs", "*.d.ts", "*.wasm", "model.bin", flat.FILE],
        "license": f"SEE LICENSE IN {flat.FILE}",
        "engines": {"node": ">=18"},
        "sideEffects": False,
    }
    title = re.sub(r"[<>`\[\]]", "", str(about["title"]))
    texts = {
        "package.json": json.dumps(described, indent=2, ensure_ascii=False) + "\n",
        "README.md": Template(source("README.md")).substitute(name=name, title=" ".join(title.split())),
        flat.FILE: licences,
        **{name: source(name) for name in ("index.mjs", "index.d.ts", "runtime.mjs")},
    }
    compiled = {name: binary(name) for name in ("postil.wasm", "postil-simd.wasm")}
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


def shared(name: str) -> str:
    """A file that the page of the server also has."""
    return resources.files("postil.html").joinpath(name).read_text(encoding="utf8")


def source(name: str) -> str:
    return resources.files("postil.export.web").joinpath(name).read_text(encoding="utf8")


def binary(name: str) -> bytes:
    return resources.files("postil.export.web").joinpath(name).read_bytes()
