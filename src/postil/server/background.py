"""One training in the background: a thread beside the event loop, its progress as plain dicts, and its result.

    run = BackgroundTraining()
    run.start(lambda: (tagger, tagger.fitting(X, y, dev)))
    run.status()        {"state": "running", "epoch": 3, "loss": 0.41, "score": 0.87, "history": […], …}
    run.wait(seen)      the same, when it has changed
    run.stop()          keeps the best of the epochs that are complete
    run.result()        the tagger; None where nothing was kept

The kernels release Python's lock, so requests are answered meanwhile. There is never more than one training.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple, final

from postil.errors import ConfigurationError, PostilError
from postil.models.fitting.fitting import Fitting
from postil.training.loop import Epoch, Step

IDLE, RUNNING, STOPPING, FINISHED, STOPPED, FAILED = "idle", "running", "stopping", "finished", "stopped", "failed"
STEP_SECONDS: Final = 0.1
"""Listeners hear of a batch at most this often; of every epoch at once."""
Make = Callable[[], tuple[Any, Fitting]]
"""Prepares a training: the estimator, and what ``estimator.fitting`` returns. Called in the thread."""
Listener = Callable[[dict[str, Any]], None]
log = logging.getLogger("postil.server")


class _Begun(NamedTuple):
    """What a training was started with."""

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
        """Begin a training and return its number, counted from 1. One that is under way is an error.

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
        """Wait for the end of the training; False where the time ran out first."""
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
        """The fitted estimator of the last training (or what ``then`` made of it); None where there is none."""
        with self._changed:
            return self._result

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call a function with the status after every epoch, and often in between, in the training's thread.

        Call what is returned to end that. An exception of a listener is logged; the training goes on.
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
