"""The served models by name; a model is reloaded when its file is replaced."""

import logging
import os
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, final

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


class Identity(NamedTuple):
    """Which file stands at a path: another one after a rename."""

    device: int
    inode: int
    size: int
    changed: int

    @classmethod
    def of(cls, path: Path) -> "Identity":
        stat = path.stat()
        return cls(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)


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
        if self.kind == SEVERAL_TASKS:
            none: dict[str, Any] = {"labels": [], "classes": [], "spans": False, "scheme": "none"}
            return {"name": self.name, "kind": self.kind, **none, "tasks": list(model.tasks)}
        answer = {"name": self.name, "kind": self.kind, "labels": list(map(str, model.classes_))}
        if isinstance(model, Tagger):
            codec = model.model.codec
            classes = list(codec.classes) if codec.has_spans else []
            return {**answer, "classes": classes, "spans": codec.has_spans, "scheme": codec.scheme}
        finds_spans = isinstance(model, SentenceEstimator)
        classes = [str(self.model.model.codec.label)] if finds_spans else []
        return {**answer, "classes": classes, "spans": finds_spans, "scheme": "none"}


@final
class Registry:
    """Models by name. Safe for any number of threads: a name always has one whole model."""

    def __init__(self, paths: Mapping[str, Path] | None = None, models: Mapping[str, Any] | None = None) -> None:
        """``paths`` are opened, ``models`` are fitted estimators."""
        self._changing = threading.Lock()  # two changes at once would lose one of them; readers need no lock
        self._paths = dict(paths or {})
        self._identities = {name: Identity.of(path) for name, path in self._paths.items()}
        opened = {name: _opened(path) for name, path in self._paths.items()}
        self._served: dict[str, Served] = {}
        for name, model in {**opened, **(models or {})}.items():
            self._served |= _heads(name, model)
        if not self._served:
            raise ConfigurationError("no model to serve", expected="at least one model file")
        for served in self._served.values():
            _check_columns(served)

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

    def add(self, name: str, path: Path) -> None:
        """Serve one more model file. One that cannot be used changes nothing."""
        with self._changing:
            identity, heads = Identity.of(path), _tried(name, path)
            self._identities[name], self._paths = identity, {**self._paths, name: path}
            self._served = {**self._served, **heads}

    def refresh(self) -> list[str]:
        """Open files that were replaced, and return their names. A file that cannot be used changes nothing."""
        with self._changing:
            return [name for name, path in self._paths.items() if self._refreshed(name, path)]

    def _refreshed(self, name: str, path: Path) -> bool:
        """Whether the file of a model was replaced, and is served from now on."""
        try:
            identity = Identity.of(path)
        except OSError:  # between its removal and its return
            return False
        if identity == self._identities[name]:
            return False
        self._identities[name] = identity
        try:
            heads = _tried(name, path)
        except (PostilError, OSError) as error:
            log.warning("model %s: the new file is not used: %s", name, error)
            return False
        others = {key: one for key, one in self._served.items() if key.partition(TASK)[0] != name}
        self._served = {**others, **heads}
        log.info("model %s: opened again", name)
        return True


def _tried(name: str, path: Path) -> dict[str, Served]:
    """The models of a file, each of which has answered once."""
    heads = _heads(name, _opened(path))
    for served in heads.values():
        _check_columns(served)
        _try(served)
    return heads


def _heads(name: str, model: Any) -> dict[str, Served]:
    """The model by its name; before a model with several tasks, the tagger of each."""
    if model.KIND != SEVERAL_TASKS:
        return {name: Served(name, model)}
    heads = {f"{name}{TASK}{task}": Served(f"{name}{TASK}{task}", model[task]) for task in model.tasks}
    return {**heads, name: Served(name, model)}


def _opened(path: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnicodeVersionWarning)
        return load(path)


def _check_columns(served: Served) -> None:
    """Reject a model that was trained with extra columns: requests over HTTP have none."""
    if isinstance(served.model, SentenceEstimator) and served.model.model.features.columns:
        raise ConfigurationError(f"model {served.name} was trained with extra columns; it cannot be served")


def _try(served: Served) -> None:
    """Answer once, so that a model which cannot answer is found before it is used."""
    model: Any = served.model
    if isinstance(model, SentenceEstimator):
        model.tag(_TRIAL)
    else:
        model.predict([_TRIAL.split()])
