"""The served models by name; a model is reloaded when its file is replaced."""

import contextlib
import logging
import os
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from postil.errors import ConfigurationError, PostilError, UnicodeVersionWarning
from postil.models.estimator import Estimator
from postil.models.sentence_estimator import SentenceEstimator
from postil.models.storage import load
from postil.models.tagger import Tagger
from postil.server.requests import refused
from postil.tagging import Labeller, TaggingOptions

_KEPT_LABELLERS = 64
PLAIN = b"{}"
"""The key of the labeller that is asked without options."""
TASK = ":"
"""Between the name of a model with several tasks and the name of a task."""
SEVERAL_TASKS = "multi-task-tagger"
_TRIAL = "Museums in Paris are amazing."
log = logging.getLogger("postil.server")


def _identity(path: Path) -> tuple[int, ...]:
    """Which file stands at a path: another one after a rename."""
    stat = path.stat()
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


@final
@dataclass(eq=False)
class Served:
    """One model with its labellers: one for each set of options that was asked for lately."""

    name: str
    model: Estimator
    _labellers: OrderedDict[Any, Labeller] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def kind(self) -> str:
        return self.model.KIND

    def labeller(self, key: Any, options: Callable[[], TaggingOptions]) -> Labeller:
        """The labeller for these options; ``key`` is equal for equal options."""
        with self._lock:
            known = self._labellers.get(key)
            if known is None:
                known = self._labellers[key] = Labeller(self.model, options())
                if len(self._labellers) > _KEPT_LABELLERS:
                    self._labellers.popitem(last=False)
            else:
                self._labellers.move_to_end(key)
            return known

    @property
    def is_quick(self) -> bool:
        """Whether requests without options take the fast path. Unknown, and so false, before the first of them."""
        known = self._labellers.get(PLAIN)
        return known is not None and known.fast is not None

    def about(self) -> dict[str, Any]:
        """The model's entry in /api/models."""
        model: Any = self.model
        content = {"name": self.name, "kind": self.kind, "labels": [], "classes": [], "spans": False, "scheme": "none"}
        if self.kind == SEVERAL_TASKS:
            return {**content, "tasks": list(model.tasks)}
        content["labels"] = list(map(str, model.classes_))
        if isinstance(model, Tagger):
            codec = model.model.codec
            return content | {
                "classes": list(codec.classes) if codec.has_spans else [],
                "spans": codec.has_spans,
                "scheme": codec.scheme,
            }
        if isinstance(model, SentenceEstimator):
            return content | {"classes": [str(self.model.model.codec.label)], "spans": True}
        return content


@final
class Registry:
    """Models by name. Safe for any number of threads: a name always has one whole model."""

    def __init__(self, paths: Mapping[str, Path] | None = None, models: Mapping[str, Any] | None = None) -> None:
        """``paths`` are opened, ``models`` are fitted estimators."""
        self._changing = threading.Lock()  # two changes at once would lose one of them; readers need no lock
        self._paths = dict(paths or {})
        self._identities = {name: _identity(path) for name, path in self._paths.items()}
        self._served: dict[str, Served] = {}
        for name, model in {**self._paths, **(models or {})}.items():
            self._served |= _heads(name, model)
        if not self._served:
            raise ConfigurationError("no model to serve", expected="at least one model file")

    @classmethod
    def of_files(cls, paths: Iterable[str | os.PathLike[str]]) -> "Registry":
        """Model files, named by their file names without the ending."""
        named: dict[str, Path] = {}
        for path in map(Path, paths):
            name, number = path.stem, 2
            while name in named:
                name, number = f"{path.stem}-{number}", number + 1
            named[name] = path
        return cls(named)

    def __iter__(self) -> Any:
        return iter(self._served.values())

    def find(self, name: str | None, kinds: tuple[str, ...], purpose: str) -> Served:
        """The model of this name; without a name, the first one of these kinds."""
        if name is None:
            found = next((served for served in self._served.values() if served.kind in kinds), None)
            if found is None:
                raise refused("model", f"no served model can {purpose}: that needs a {' or '.join(kinds)}")
            return found
        served = self._served.get(name)
        if served is None:
            raise refused("model", f"no model has the name {name[:80]!r}; GET /api/models lists them")
        if served.kind not in kinds:
            raise refused("unfit", f"the {served.kind} {name!r} cannot {purpose}: that needs a {' or '.join(kinds)}")
        return served

    def path_of(self, name: str) -> Path | None:
        """The file of a model, or of the model that a task belongs to."""
        return self._paths.get(name) or self._paths.get(name.partition(TASK)[0])

    def add(self, name: str, path: Path) -> None:
        """Serve one more model file. One that cannot be used changes nothing."""
        with self._changing:
            identity, heads = _identity(path), _heads(name, path, tried=True)
            self._identities[name], self._paths = identity, {**self._paths, name: path}
            self._served = {**self._served, **heads}

    def refresh(self) -> list[str]:
        """Open files that were replaced, and return their names. A file that cannot be used changes nothing."""
        with self._changing:
            refreshed = []
            for name, path in self._paths.items():
                with contextlib.suppress(OSError):  # between its removal and its return
                    if (identity := _identity(path)) != self._identities[name]:
                        self._identities[name] = identity
                        refreshed.append(name)
            for name in list(refreshed):
                try:
                    heads = _heads(name, self._paths[name], tried=True)
                except (PostilError, OSError) as error:
                    log.warning("model %s: the new file is not used: %s", name, error)
                    refreshed.remove(name)
                    continue
                others = {key: one for key, one in self._served.items() if key.partition(TASK)[0] != name}
                self._served = {**others, **heads}
                log.info("model %s: opened again", name)
            return refreshed


def _heads(name: str, model: Any, *, tried: bool = False) -> dict[str, Served]:
    """A model, or that of a file, by its name; before a model with several tasks, the tagger of each, and its parts.

    If ``tried``, each answers once, so that one which cannot answer is found before it is used.
    """
    if isinstance(model, Path):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnicodeVersionWarning)
            model = load(model)
    tasks = (*model.tasks, *model.model.parts) if model.KIND == SEVERAL_TASKS else ()
    heads = {**{f"{name}{TASK}{task}": model[task] for task in tasks}, name: model}
    for key, head in heads.items():
        if isinstance(head, SentenceEstimator) and head.model.features.columns:
            raise ConfigurationError(f"model {key} was trained with extra columns; it cannot be served")
        if tried and isinstance(head, SentenceEstimator):
            head.tag(_TRIAL)
        elif tried:
            head.predict([_TRIAL.split()])
    return {key: Served(key, head) for key, head in heads.items()}
