"""Training in the server: one run at a time in a thread, and runs that the page starts on files of one folder.

    run = BackgroundTraining()
    run.start(lambda: (tagger, tagger.fitting(X, y, dev)))
    run.status()        {"state": "running", "epoch": 3, "loss": 0.41, "score": 0.87, "history": […], …}
    run.wait(seen)      the same, when it has changed
    run.stop()          keeps the best of the epochs that are complete
    run.result()        the tagger; None if nothing was kept

The kernels release Python's lock, so requests are answered meanwhile.

``Trainer`` stays in the folder that ``--allow-training`` names: names with "..", absolute ones and links that lead out
of it are refused. Every route needs the token of the run. No answer contains the path of the folder.
"""

import logging
import re
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, final

import msgspec

from postil.errors import ConfigurationError, DataError, PostilError
from postil.models.fitting.fitting import Fitting
from postil.models.sentences import tokens_of
from postil.models.tagger import Tagger
from postil.optimisation.loop import Epoch, Step
from postil.server.api import PRESETS_OFFERED, Nothing, TrainingKeep, TrainingStart
from postil.server.registry import Registry
from postil.server.requests import refused
from postil.text import Sentence
from postil.text.formats import FORMATS, read

IDLE, RUNNING, STOPPING, FINISHED, STOPPED, FAILED = "idle", "running", "stopping", "finished", "stopped", "failed"
STEP_SECONDS: Final = 0.1
"""Listeners hear of a batch at most this often; of every epoch at once."""
Make = Callable[[], tuple[Any, Fitting]]
"""Prepares a training run: the estimator, and what ``estimator.fitting`` returns. Called in the thread."""
Listener = Callable[[dict[str, Any]], None]
log = logging.getLogger("postil.server")


class _Begun(NamedTuple):
    """The arguments that a training run was started with."""

    make: Make
    then: Callable[[Any], Any] | None
    epochs: int | None


@final
class BackgroundTraining:
    """At most one training at a time. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._status: dict[str, Any] = _fresh(0, IDLE)
        self._version = 0
        self._result: Any = None
        self._thread: threading.Thread | None = None
        self._listeners: list[Listener] = []

    def start(self, make: Make, then: Callable[[Any], Any] | None = None, *, epochs: int | None = None) -> int:
        """Begin a training run and return its number, counted from 1. One that is under way is an error.

        ``then`` is called in the thread with the fitted estimator; what it returns is the result. ``epochs`` is shown
        in the status; the default is the number that the training plans.
        """
        with self._changed:
            if self.is_running:
                raise ConfigurationError("a training is running already", expected="stop it first, or wait for its end")
            number = self._status["run"] + 1
            self._result = None
            self._set(_fresh(number, RUNNING))
            begun = _Begun(make, then, epochs)
            self._thread = threading.Thread(target=self._train, args=(begun,), name="postil-training", daemon=True)
            self._thread.start()
            return int(number)

    def stop(self) -> None:
        """Ask the training to end after this batch: the best of its complete epochs is kept. Returns at once."""
        with self._changed:
            if self._status["state"] == RUNNING:
                self._set(self._status | {"state": STOPPING})

    def join(self, seconds: float | None = None) -> bool:
        """Wait for the end of the training run; False if the time ran out first."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)
        return not self.is_running

    @property
    def is_running(self) -> bool:
        return self._status["state"] in (RUNNING, STOPPING)

    def status(self) -> dict[str, Any]:
        """Where the training stands; a copy, ready for JSON.

        run        its number, counted from 1; 0 before the first
        state      idle, running, stopping, finished, stopped (with or without a result) or failed
        epoch      epochs that are complete; epochs: how many are planned, None before that is known
        progress   share of the training that is done, 0 to 1
        loss       of the last epoch, or of the last batch before there is one; score: of dev, None without dev
        best_score, best_epoch, seconds
        history    one {"epoch", "loss", "score", "seconds"} per complete epoch
        error      one line, where it failed
        version    larger after every change
        """
        with self._changed:
            return self._copied()

    def wait(self, seen: int, seconds: float = 10.0) -> dict[str, Any]:
        """The status, as soon as its version is another than the one that was ``seen``, or the time is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._version != seen, seconds)
            return self._copied()

    def result(self) -> Any:
        """The fitted estimator of the last training run (or the result of ``then``); None if there is none."""
        with self._changed:
            return self._result

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call a function with the status after every epoch, and often in between, in the training's thread.

        Call what is returned to end that. An exception of a listener is logged; training continues.
        """
        with self._changed:
            self._listeners = [*self._listeners, listener]

        def forget() -> None:
            with self._changed:
                self._listeners = [one for one in self._listeners if one is not listener]

        return forget

    # -------------------------------------------------------------------------------------------- in the thread

    def _train(self, begun: _Begun) -> None:
        try:
            ended = self._fitted(begun)
        except PostilError as error:
            ended = {"state": FAILED, "error": str(error)}
        except MemoryError:
            ended = {"state": FAILED, "error": "the training ran out of memory"}
        except Exception:
            log.exception("a training failed")
            ended = {"state": FAILED, "error": "the training failed; the log has the details"}
        self._update(ended)

    def _fitted(self, begun: _Begun) -> dict[str, Any]:
        """Train; returns what the status says of the end."""
        estimator, fitting = begun.make()
        self._update({"epochs": begun.epochs or fitting.training.plan.epochs})
        state, told = FINISHED, 0.0
        for event in fitting:
            now = time.monotonic()
            if isinstance(event, Epoch) or now - told >= STEP_SECONDS:
                told = now
                self._update(_of_event(event, self._status) | _of_progress(fitting))
            if self._status["state"] == STOPPING:
                state = STOPPED
                break
        if state == STOPPED:
            if not fitting.training.progress.epoch:
                return {"state": STOPPED}
            fitting.stop()
        result = estimator if begun.then is None else begun.then(estimator)
        with self._changed:
            self._result = result
        return {"state": state, **({"progress": 1.0} if state == FINISHED else {})}

    def _update(self, changes: dict[str, Any]) -> None:
        with self._changed:
            self._set(self._status | changes)
            listeners, status = self._listeners, self._copied()
        for listener in listeners:
            try:
                listener(status)
            except Exception:
                log.exception("a listener of a training failed")

    # -------------------------------------------------------------------------------------------- with the lock

    def _set(self, status: dict[str, Any]) -> None:
        self._status = status
        self._version += 1
        self._changed.notify_all()

    def _copied(self) -> dict[str, Any]:
        history = [dict(epoch) for epoch in self._status["history"]]
        return {**self._status, "history": history, "version": self._version}


def _fresh(run: int, state: str) -> dict[str, Any]:
    figures = dict.fromkeys(("epochs", "loss", "score", "best_score", "error"))
    return {
        "run": run,
        "state": state,
        "epoch": 0,
        "best_epoch": 0,
        "progress": 0.0,
        "seconds": 0.0,
        **figures,
        "history": [],
    }


def _of_event(event: Step | Epoch, status: dict[str, Any]) -> dict[str, Any]:
    if isinstance(event, Epoch):
        return {"epoch": event.epoch, "loss": event.loss, "score": event.score}
    loss = {} if status["epoch"] else {"loss": event.loss}
    return {"progress": event.progress, **loss}


def _of_progress(fitting: Fitting) -> dict[str, Any]:
    progress = fitting.training.progress
    return {
        "best_score": progress.best_score,
        "best_epoch": progress.best_epoch,
        "seconds": progress.seconds,
        "history": list(progress.history),
    }


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
            sentences = _labelled(train)
            if dev is not None:
                held_out = _labelled(dev)
            elif len(sentences) < FEWEST:
                return tagger, tagger.fitting(*_examples(sentences))
            else:
                held_out = sentences[HELD_OUT - 1 :: HELD_OUT]
                sentences = [sentence for number, sentence in enumerate(sentences, 1) if number % HELD_OUT]
            return tagger, tagger.fitting(*_examples(sentences), _examples(held_out))

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


def _examples(sentences: list[Sentence]) -> tuple[list[Any], list[list[str]]]:
    return [tokens_of(sentence) for sentence in sentences], [list(sentence.labels or ()) for sentence in sentences]
