"""Names, methods and patterns that are made when they are first used: a process starts with what it needs, not more."""

import dataclasses
import importlib
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar, final, get_origin


def exports(package: str, modules: Mapping[str, Iterable[str]]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a package (PEP 562) whose public names live in modules below it.

    ``modules`` maps a module (".crf" is one of the package itself) to the names that come from it. A name is looked up
    once; from then on it is an ordinary attribute of the package.
    """
    places = {name: module for module, names in modules.items() for name in names}

    def getattr_(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(places[name], package), name)
        setattr(importlib.import_module(package), name, value)
        return value

    return getattr_, lambda: sorted(places)


def function(module: str, name: str) -> Callable[..., Any]:
    """A function whose module is imported when it is first called: for tables of functions of which few are used."""

    def call(*arguments: Any, **options: Any) -> Any:
        found = sys.modules.get(module) or importlib.import_module(module)
        return getattr(found, name)(*arguments, **options)

    call.__name__ = call.__qualname__ = name
    return call


@final
class Pattern:
    """A regular expression that is compiled when it is first used: those of scripts and formats are seldom needed."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._pattern, self._flags = pattern, flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._pattern, self._flags)

    @cached_property
    def match(self) -> Callable[[str], re.Match[str] | None]:
        return self._compiled.match

    @cached_property
    def search(self) -> Callable[[str], re.Match[str] | None]:
        return self._compiled.search

    @cached_property
    def findall(self) -> Callable[[str], list[Any]]:
        return self._compiled.findall

    @cached_property
    def finditer(self) -> Callable[[str], Iterable[re.Match[str]]]:
        return self._compiled.finditer


# ------------------------------------------------------------------------------------------------ data classes

_making = RLock()
_EQUALITY, _FROZEN = ("__eq__", "__hash__"), ("__setattr__", "__delattr__")
_GENERATED = (
    *("__dataclass_fields__", "__dataclass_params__", "__match_args__", "__init__", "__repr__"),
    *(*_EQUALITY, *_FROZEN),
)


@final
class _Later:
    """In place of an attribute that `dataclasses.dataclass` generates: looking at it generates all of the class."""

    def __init__(self, name: str, make: Callable[[], None]) -> None:
        self.name, self.make = name, make

    def __get__(self, instance: object, owner: type) -> Any:
        self.make()
        return getattr(owner if instance is None else instance, self.name)


def _deferred(cls: type, *, frozen: bool, kw_only: bool, slots: bool, eq: bool) -> type:
    """A data class whose methods are generated when one of them, or the list of fields, is first looked at."""
    if eq and not frozen and "__hash__" not in vars(cls):
        cls.__hash__ = None  # type: ignore[assignment]
    made = _with_slots(cls, frozen=frozen) if slots else cls
    absent = {*(() if eq else _EQUALITY), *(() if frozen else _FROZEN), *vars(made)}
    waiting = [name for name in _GENERATED if name not in absent]

    def make() -> None:
        with _making:
            if not isinstance(vars(made).get("__dataclass_fields__"), _Later):
                return  # another thread was faster
            if not slots:
                for name in waiting:
                    delattr(made, name)
            dataclasses.dataclass(frozen=frozen, kw_only=kw_only, eq=eq)(cls)
            if slots:  # of the class without slots, only what was generated is used
                for name in _GENERATED:
                    if name in vars(cls):
                        setattr(made, name, vars(cls)[name])

    for name in waiting:
        setattr(made, name, _Later(name, make))
    return made


def _with_slots(cls: type, *, frozen: bool) -> type:
    """The class with a slot for each of its fields, as `dataclasses.dataclass` makes it."""
    inherited = {name for base in cls.__mro__[1:-1] for name in vars(base).get("__slots__", ())}
    fields = [name for name, kind in vars(cls).get("__annotations__", {}).items() if get_origin(kind) is not ClassVar]
    content = {name: value for name, value in vars(cls).items() if name not in (*fields, "__dict__", "__weakref__")}
    content["__slots__"] = tuple(name for name in fields if name not in inherited)
    if frozen and "__getstate__" not in content:
        content["__getstate__"], content["__setstate__"] = _state, _set_state
    made = type(cls)(cls.__name__, cls.__bases__, content)
    made.__qualname__ = cls.__qualname__
    return made


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        cls: type | None = None,
        /,
        *,
        frozen: bool = False,
        kw_only: bool = False,
        slots: bool = False,
        eq: bool = True,
    ) -> Any:
        """`dataclasses.dataclass`, deferred: to generate the methods of a hundred classes takes as long as NumPy.

        The original generates them in the end, so nothing else differs.
        """
        options = {"frozen": frozen, "kw_only": kw_only, "slots": slots, "eq": eq}
        return (lambda decorated: _deferred(decorated, **options)) if cls is None else _deferred(cls, **options)
