"""Trainings that the page starts: labelled files of one folder in, a model of that folder out, served at once.

Everything stays in the folder that ``--allow-training`` names: names with "..", absolute ones and links that lead out
of it are refused. Every route needs the token of the run. No answer contains the path of the folder.
"""

import json
import re
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, final

from postil.errors import DataError
from postil.models.config import PRESETS
from postil.models.sentences import tokens_of
from postil.models.tagger import Tagger
from postil.server.background import BackgroundTraining
from postil.server.failures import refused
from postil.server.registry import Registry
from postil.text import Sentence
from postil.text.formats import FORMATS, read

MOST_FILES = 500
MOST_BYTES = 200_000_000
"""Of a labelled file: the server has to stay small."""
DEEPEST = 4
HELD_OUT = 10
"""Without a file for it, every tenth sentence is held out to score epochs."""
FEWEST = 2 * HELD_OUT
END_SECONDS = 10.0
PRESETS_OFFERED = tuple(name for name in PRESETS if name != "margin")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SUFFIX = ".postil"
_NOT_DATA = (_SUFFIX, ".checkpoint", ".html", ".svg", ".png", ".py")


@final
class Trainer:
    """One training at a time, from the files of a folder."""

    def __init__(self, folder: Path, registry: Registry) -> None:
        self._folder, self._registry = folder.resolve(strict=True), registry
        self._training = BackgroundTraining()
        self._keeping = threading.Lock()
        self._asked: dict[str, Any] = {}
        self._kept = ""

    def state(self) -> dict[str, Any]:
        """Where the training stands, what it was started with, and under which name its model was kept."""
        status = self._training.status()
        if status["error"] is not None:
            status["error"] = self._without_folder(status["error"])
        can_keep = not self._training.is_running and self._training.result() is not None and not self._kept
        return {"training": status, "asked": self._asked, "kept": self._kept, "can_keep": can_keep}

    def files(self) -> dict[str, Any]:
        """The files that may be chosen, by their names in the folder, and the presets."""
        names = sorted(self._names(self._folder, 1))[:MOST_FILES]
        return {"files": names, "presets": list(PRESETS_OFFERED)}

    def start(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Check the names at once; read and train in the background."""
        train = self.inside(asked["train"])
        dev = self.inside(asked["dev"]) if asked.get("dev") else None
        if dev == train:
            raise refused("unfit", "dev must be another file: a score on the training data says nothing")
        settings: dict[str, Any] = {"preset": asked.get("preset", "fast"), "seed": int(asked.get("seed", 0))}
        if "epochs" in asked:
            settings["epochs"] = int(asked["epochs"])

        def make() -> tuple[Any, Any]:
            tagger = Tagger(**settings)
            sentences = _labelled(train)
            held_out = _labelled(dev) if dev is not None else _tenth(sentences)
            learnt = sentences if dev is not None or not held_out else _others(sentences)
            return tagger, tagger.fitting(*_examples(learnt), _examples(held_out) if held_out else None)

        with self._keeping:
            self._training.start(make)
            self._asked, self._kept = dict(asked), ""
        return self.state()

    def stop(self, asked: dict[str, Any]) -> dict[str, Any]:
        """End the training after this batch; the best of its complete epochs can be kept."""
        self._training.stop()
        return self.state()

    def keep(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Write the model under a new name in the folder, beside and renamed, and serve it."""
        name = asked["name"].removesuffix(_SUFFIX)
        if not NAME.fullmatch(name):
            raise refused("unfit", "the name may have letters, digits, dots, dashes and underscores, 64 at most")
        with self._keeping:
            model = self._training.result()
            if model is None or self._training.is_running:
                raise refused("unfit", "there is no model to keep: no training has ended with one")
            path = self._folder / f"{name}{_SUFFIX}"
            if path.is_symlink() or path.exists() or name in {served.name for served in self._registry}:
                raise refused("unfit", "a model of this name is there already: choose another name")
            model.save(path)
            self._registry.add(name, path)
            self._kept = name
        return self.state()

    def end(self) -> None:
        """Stop what is under way, when the server ends."""
        self._training.stop()
        self._training.join(END_SECONDS)

    # -------------------------------------------------------------------------------------------- files

    def inside(self, name: str) -> Path:
        """The file of this name in the folder; whatever leads out of it is as if it were not there."""
        missing = refused("unfit", "there is no such file in the folder for training")
        parts = name.split("/")
        if not name or "\0" in name or "\\" in name or any(part in ("", ".", "..") for part in parts):
            raise missing
        try:
            path = (self._folder / name).resolve(strict=True)
            about = path.stat()
        except (OSError, RuntimeError, ValueError):
            raise missing from None
        if not path.is_relative_to(self._folder) or not stat.S_ISREG(about.st_mode):
            raise missing
        if about.st_size > MOST_BYTES:
            raise refused("unfit", f"the file is too large: at most {MOST_BYTES:,} bytes are read")
        return path

    def _names(self, folder: Path, depth: int) -> Iterator[str]:
        """Names of regular files that ``inside`` accepts and that may be labelled data."""
        try:
            entries = sorted(folder.iterdir())
        except OSError:
            return
        for entry in entries[: 4 * MOST_FILES]:
            if entry.name.startswith("."):
                continue
            if entry.is_dir() and not entry.is_symlink():
                yield from self._names(entry, depth + 1) if depth < DEEPEST else ()
            elif not entry.name.endswith(_NOT_DATA) and self._is_inside(entry):
                yield entry.relative_to(self._folder).as_posix()

    def _is_inside(self, path: Path) -> bool:
        try:
            return path.resolve(strict=True).is_relative_to(self._folder) and path.is_file()
        except (OSError, RuntimeError):
            return False

    def _without_folder(self, message: str) -> str:
        return message.replace(f"{self._folder}/", "").replace(str(self._folder), "the folder")


def _labelled(path: Path) -> list[Sentence]:
    """The sentences of a labelled file of any format but trees."""
    with read(str(path), features=()) as reading:
        if reading.format == "trees":
            raise DataError("a file of trees", expected="labels of words: postil train learns from trees", where=path)
        sentences, form = list(reading), reading.format
    if not sentences or any(sentence.labels is None for sentence in sentences):
        raise DataError("no labels", expected="a label for every token", got=FORMATS[form].title, where=path)
    return sentences


def _tenth(sentences: list[Sentence]) -> list[Sentence]:
    return sentences[HELD_OUT - 1 :: HELD_OUT] if len(sentences) >= FEWEST else []


def _others(sentences: list[Sentence]) -> list[Sentence]:
    return [sentence for number, sentence in enumerate(sentences, 1) if number % HELD_OUT]


def _examples(sentences: list[Sentence]) -> tuple[list[Any], list[list[str]]]:
    return [tokens_of(sentence) for sentence in sentences], [list(sentence.labels or ()) for sentence in sentences]


def as_body(content: dict[str, Any]) -> bytes:
    return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
