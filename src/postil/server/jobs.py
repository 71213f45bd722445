"""Training in the server: one run at a time in a thread, and runs that the page starts on files of one folder.

    run = BackgroundTraining()
    run.start(lambda: (tagger, tagger.fitting(X, y, dev)))
    run.status()        TrainingStatus(state="running", epoch=3, loss=0.41, score=0.87, history=(…), …)
    run.stop()          keeps the best of the epochs that are complete
    run.result()        the tagger; None if nothing was kept

The kernels release Python's lock, so requests are answered meanwhile.

``FolderTrainer`` stays in the folder that ``--allow-training`` names: names with "..", absolute ones and links that
lead out of it are rejected. Every route needs the token of the run. No answer contains the path of the folder.
"""

import logging
import os
import re
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Final, final

import msgspec

from postil.errors import ConfigurationError, DataError, PostilError
from postil.models.fitting.fitting import Fitting
from postil.models.sentences import tokens_of
from postil.models.tagger import Tagger
from postil.optimisation.loop import Epoch
from postil.server.api import PRESETS_OFFERED, Nothing, TrainingKeep, TrainingStart, TrainingStatus
from postil.server.registry import Registry
from postil.server.requests import Refusal, refused
from postil.text.formats import FORMATS, read

STEP_SECONDS: Final = 0.1
"""The status follows batches at most this often; every epoch at once."""
Make = Callable[[], tuple[Any, Fitting]]
"""Prepares a training run: the estimator, and what ``estimator.fitting`` returns. Called in the thread."""
log = logging.getLogger("postil.server")


@final
class BackgroundTraining:
    """At most one training at a time. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._status = TrainingStatus()
        self._result: Any = None
        self._thread: threading.Thread | None = None

    def start(self, make: Make, then: Callable[[Any], Any] | None = None) -> int:
        """Begin a training run and return its number, counted from 1. One that is under way is an error.

        ``then`` is called in the thread with the fitted estimator; what it returns is the result.
        """
        with self._lock:
            if self.is_running:
                what = "a training run is already in progress"
                raise ConfigurationError(what, expected="stop it first, or wait for its end")
            self._result, before = None, self._status
            self._status = TrainingStatus(run=before.run + 1, state="running", version=before.version + 1)
            self._thread = threading.Thread(target=self._train, args=(make, then), name="postil-training", daemon=True)
            self._thread.start()
            return self._status.run

    def stop(self) -> None:
        """Ask the training to end after this batch: the best of its complete epochs is kept. Returns at once."""
        with self._lock:
            if self._status.state == "running":
                self._update(state="stopping")

    def join(self, seconds: float | None = None) -> bool:
        """Wait for the end of the training run; False if the time ran out first."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)
        return not self.is_running

    @property
    def is_running(self) -> bool:
        return self._status.state in ("running", "stopping")

    def status(self) -> TrainingStatus:
        """Where the training stands; it does not change any more."""
        return self._status

    def result(self) -> Any:
        """The fitted estimator of the last training run (or the result of ``then``); None if there is none."""
        return self._result

    def _train(self, make: Make, then: Callable[[Any], Any] | None) -> None:
        try:
            estimator, fitting = make()
            self._update(epochs=fitting.training.epochs)
            state, told, progress = "finished", 0.0, fitting.training.progress
            for event in fitting:
                now = time.monotonic()
                if isinstance(event, Epoch) or now - told >= STEP_SECONDS:
                    told = now
                    if isinstance(event, Epoch):
                        changes = {"epoch": event.epoch, "loss": event.loss, "score": event.score}
                    else:
                        loss = {} if self._status.epoch else {"loss": event.loss}
                        changes = {"progress": event.progress, **loss}
                    figures = {name: getattr(progress, name) for name in ("best_score", "best_epoch", "seconds")}
                    self._update(**changes, **figures, history=tuple({**epoch} for epoch in progress.history))
                if self._status.state == "stopping":
                    state = "stopped"
                    break
            if state == "finished" or progress.epoch:
                if state == "stopped":
                    fitting.stop()
                self._result = estimator if then is None else then(estimator)
            self._update(state=state, **({"progress": 1.0} if state == "finished" else {}))
        except PostilError as error:
            self._update(state="failed", error=str(error))
        except MemoryError:
            self._update(state="failed", error="the training ran out of memory")
        except Exception:
            log.exception("a training run failed")
            self._update(state="failed", error="the training failed; the log has the details")

    def _update(self, **changes: Any) -> None:
        with self._lock:
            self._status = msgspec.structs.replace(self._status, version=self._status.version + 1, **changes)


# ------------------------------------------------------------------------------------------------ files of a folder

MOST_FILES = 500
MOST_BYTES = 200_000_000
"""Of a labelled file: the server has to stay small."""
DEEPEST = 4
HELD_OUT = 10
"""Without a file for it, every tenth sentence is held out to score epochs."""
FEWEST = 2 * HELD_OUT
END_SECONDS = 10.0
"""A run that is under way when the server ends is waited for this long."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SUFFIX = ".postil"
_NOT_DATA = (_SUFFIX, ".checkpoint", ".html", ".svg", ".png", ".py")


@final
class FolderTrainer:
    """One training at a time, from the files of a folder."""

    def __init__(self, folder: Path, registry: Registry) -> None:
        self._folder, self._registry = folder.resolve(strict=True), registry
        self._training = BackgroundTraining()
        self._keeping = threading.Lock()
        self._asked: dict[str, Any] = {}
        self._kept = ""

    def state(self) -> dict[str, Any]:
        """Where the training stands, what it was started with, and under which name its model was kept."""
        status: dict[str, Any] = msgspec.to_builtins(self._training.status())
        if status["error"] is not None:
            status["error"] = status["error"].replace(f"{self._folder}/", "").replace(str(self._folder), "the folder")
        can_keep = not self._training.is_running and self._training.result() is not None and not self._kept
        return {"training": status, "asked": self._asked, "kept": self._kept, "can_keep": can_keep}

    def files(self) -> dict[str, Any]:
        """The files that may be chosen, by their names in the folder, and the presets."""
        return {"files": sorted(islice(self._names(), MOST_FILES)), "presets": list(PRESETS_OFFERED)}

    def start(self, asked: TrainingStart) -> dict[str, Any]:
        """Check the names at once; read and train in the background."""
        train = self.inside(asked.train)
        dev = self.inside(asked.dev) if asked.dev else None
        if dev == train:
            raise refused("unfit", "dev must be another file: a score on the training data says nothing")
        settings: dict[str, Any] = {"preset": asked.preset, "seed": asked.seed}
        if asked.epochs:
            settings["epochs"] = asked.epochs

        def make() -> tuple[Any, Any]:
            tagger = Tagger(**settings)
            X, y = _labelled(train)
            if dev is not None:
                return tagger, tagger.fitting(X, y, _labelled(dev))
            if len(X) < FEWEST:
                return tagger, tagger.fitting(X, y)
            held_out = X[HELD_OUT - 1 :: HELD_OUT], y[HELD_OUT - 1 :: HELD_OUT]
            del X[HELD_OUT - 1 :: HELD_OUT], y[HELD_OUT - 1 :: HELD_OUT]
            return tagger, tagger.fitting(X, y, held_out)

        with self._keeping:
            self._training.start(make)
            self._asked, self._kept = msgspec.to_builtins(asked), ""
        return self.state()

    def stop(self, asked: Nothing) -> dict[str, Any]:
        """End the training after this batch; the best of its complete epochs can be kept."""
        self._training.stop()
        return self.state()

    def keep(self, asked: TrainingKeep) -> dict[str, Any]:
        """Write the model under a new name in the folder, by way of a temporary file, and serve it."""
        name = asked.name.removesuffix(_SUFFIX)
        if not NAME.fullmatch(name):
            raise refused("unfit", "the name may have letters, digits, dots, dashes and underscores, 64 at most")
        with self._keeping:
            model = self._training.result()
            if model is None or self._training.is_running:
                raise refused("unfit", "no model to keep: no training run has produced one")
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

    def inside(self, name: str) -> Path:
        """The file of this name in the folder; whatever leads out of it is as if it were not there."""
        missing = refused("unfit", "no such file in the training folder")
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

    def _names(self) -> Iterator[str]:
        """Names of files that ``inside`` accepts and that may be labelled data."""
        for folder, folders, names in os.walk(self._folder):
            place = Path(folder).relative_to(self._folder)
            is_deepest = len(place.parts) + 1 == DEEPEST
            folders[:] = [] if is_deepest else sorted(one for one in folders if not one.startswith("."))
            for name in sorted(one for one in names if not (one.startswith(".") or one.endswith(_NOT_DATA))):
                with suppress(Refusal):
                    self.inside((place / name).as_posix())
                    yield (place / name).as_posix()


def _labelled(path: Path) -> tuple[list[Any], list[list[str]]]:
    """The sentences of a labelled file of any format but trees, and their labels."""
    with read(str(path), features=()) as reading:
        if reading.format == "trees":
            raise DataError("a file of trees", expected="labels of words: postil train learns from trees", where=path)
        sentences, form = list(reading), reading.format
    if not sentences or any(sentence.labels is None for sentence in sentences):
        raise DataError("no labels", expected="a label for every token", got=FORMATS[form].title, where=path)
    return [tokens_of(sentence) for sentence in sentences], [list(sentence.labels or ()) for sentence in sentences]
