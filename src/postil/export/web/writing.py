"""A model file written for the web: what is written is decided by the name of the target."""

import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import postil
from postil import files
from postil.errors import ConfigurationError
from postil.export.flat import Change, change, exported, halved, licences, sample
from postil.export.web import assembly
from postil.models.tree_classifier import TreeClassifier
from postil.reports.card import card_of

MARK = "runtime.mjs"
"""A folder with this file is an earlier export, which a new one replaces."""


@final
@dataclass(frozen=True, kw_only=True)
class Written:
    """The result of an export."""

    path: Path
    half: bool
    """Whether tables have half precision."""
    change: Change | None
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
    if not path.absolute().parent.is_dir():
        raise ConfigurationError(
            "output", expected="must be in an existing folder", got=f"no {path.parent}", where=path
        )
    estimator = postil.load(source)
    content = exported(estimator, half=bool(half))  # refuses what is not supported before anything else is done
    tried = None
    if not isinstance(estimator, TreeClassifier):
        _, tried = as_exported(estimator, half=half, sentences=sentences)
        half = tried.labels == 0 if half is None else half
        content = exported(estimator, half=True) if half else content
    about, terms = described(source), licences(source)
    match path.suffix.lower():
        case ".html" | ".htm":
            total = _write_file(path, assembly.page(content, about, version=postil.__version__, licences=terms))
        case ".mjs" | ".js":
            total = _write_file(path, assembly.module(content, version=postil.__version__, licences=terms))
        case _:
            name = assembly.npm_name(path.name)
            total = _write_folder(path, assembly.package(content, about, name=name, version="0.1.0", licences=terms))
    return Written(path=path, half=bool(half), change=tried, model_bytes=len(content), total_bytes=total)


def as_exported(
    estimator: Any, *, half: bool | None = None, sentences: Sequence[Sequence[str]] | None = None
) -> tuple[Any, Change]:
    """The estimator with the weights that are exported, and what half precision changes.

    The answers in JavaScript are those of this estimator.
    """
    rounded = halved(estimator)
    found = change(estimator, rounded, sample(estimator) if sentences is None else sentences)
    return (rounded if half or (half is None and found.labels == 0) else estimator), found


def described(model: Path) -> dict[str, Any]:
    """The card of a model as JSON values, for the page."""
    card = card_of(model, model.stem)
    tables = [{"title": t.title, "columns": t.columns, "rows": t.rows, "note": t.note} for t in card.tables]
    return {
        "title": card.title,
        "about": card.texts.get("about"),
        "facts": [list(row) for row in card.facts_table().rows],
        "tables": tables,
        "weaknesses": list(card.weaknesses),
    }


def _write_file(path: Path, text: str) -> int:
    content = text.encode()
    with files.replaced(path) as stream:
        stream.write(content)
    return len(content)


def _write_folder(path: Path, package: dict[str, bytes]) -> int:
    """Write the files next to the folder, then replace it."""
    if path.exists() and (not path.is_dir() or (any(path.iterdir()) and not (path / MARK).is_file())):
        raise ConfigurationError(
            "folder", expected="a new one, an empty one or an earlier export", got="other files", where=path
        )
    parent = path.absolute().parent
    with files.naming(path), tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=parent) as beside:
        made = Path(beside) / "made"
        made.mkdir()
        for name, content in package.items():
            (made / name).write_bytes(content)
        if path.exists():
            shutil.move(path, Path(beside) / "earlier")
        made.replace(path)
    return sum(map(len, package.values()))
