"""Names, tables, patterns and values that are made when they are first used: a process starts with what it needs."""

import importlib
import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar, final

K = TypeVar("K")
V = TypeVar("V")
P = ParamSpec("P")


def exports(
    package: str, modules: Mapping[str, str | Iterable[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a package (PEP 562) whose public names live in modules below it.

    ``modules`` maps a module (".crf" is one of the package itself) to the names that come from it, a list or a text. A
    name is looked up once; from then on it is an ordinary attribute of the package. ``dir()`` lists all public names,
    lazy or not.
    """
    listed = {module: names.split() if isinstance(names, str) else names for module, names in modules.items()}
    places = {name: module for module, names in listed.items() for name in names}

    def getattr_(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(places[name], package), name)
        setattr(importlib.import_module(package), name, value)
        return value

    return getattr_, lambda: sorted({*places, *importlib.import_module(package).__all__})


@final
class LazyTable(Mapping[str, Any]):
    """Name -> an object of a module that is imported when a value is asked for: names are checked without it."""

    def __init__(self, module: str, names: Mapping[str, str]) -> None:
        self._module, self._names = module, names

    def __getitem__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._module), self._names[name])

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Remembered(dict[K, V]):
    """Key -> what ``make`` returns for it, computed when first asked for. Beyond ``most`` keys, all are forgotten."""

    def __init__(self, make: Callable[[K], V], most: int | None = None) -> None:
        super().__init__()
        self._make, self._most = make, most

    def __missing__(self, key: K) -> V:
        if self._most is not None and len(self) >= self._most:
            self.clear()
        value = self[key] = self._make(key)
        return value


def once(make: Callable[P, V]) -> Callable[P, V]:
    """Decorate a class method that makes an object of arrays by name: of the same arrays, the same object.

    So what models have in common is in memory once. Neither the arrays nor the object are kept alive.
    """
    made: dict[Any, list[weakref.ref[Any]]] = {}

    @wraps(make)
    def of(*arguments: P.args, **named: P.kwargs) -> V:
        of_class, arrays, *others = arguments
        assert isinstance(arrays, Mapping) and not named
        names = sorted(arrays)
        parts = [*map(arrays.__getitem__, names), *(other for other in others if other is not None)]
        key = (of_class, *names, *map(id, parts))
        value, *references = (one() for one in made.get(key, ()) or (lambda: None,))
        if value is None or any(one is not part for one, part in zip(references, parts, strict=True)):
            value = make(*arguments, **named)
            made[key] = [weakref.ref(value, lambda _: made.pop(key, None)), *map(weakref.ref, parts)]
        return value

    return of


@final
class Pattern:
    """A regular expression that is compiled when it is first used: those of scripts and formats are seldom needed."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._pattern, self._flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        """``match``, ``search`` … of the compiled expression, as an ordinary attribute from then on."""
        if name.startswith("_"):
            raise AttributeError(name)
        value = self.__dict__[name] = getattr(re.compile(self._pattern, self._flags), name)
        return value
