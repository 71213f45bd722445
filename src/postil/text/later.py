"""Values that are made when they are first looked at: answers about a million texts are mostly not."""

from collections import UserList
from collections.abc import Callable
from typing import Any, Self, TypeVar, final

T = TypeVar("T")


class Later:
    """A class with slots, some of which are filled when they are first read."""

    __slots__ = ("_source",)
    _source: Callable[[str], Any]

    @classmethod
    def later(cls, source: Callable[[str], Any], **known: Any) -> Self:
        """An object of which some attributes are known; ``source`` returns any other by its name."""
        made = cls.__new__(cls)
        made._source = source
        for name, value in known.items():
            setattr(made, name, value)
        return made

    def __getattr__(self, name: str) -> Any:
        """Called for slots that are empty, and for names that do not exist."""
        if name not in getattr(type(self), "__dataclass_fields__", ()):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = object.__getattribute__(self, "_source")(name)
        setattr(self, name, value)
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied like an object that was complete from the start."""
        return type(self), tuple(getattr(self, name) for name in getattr(type(self), "__dataclass_fields__", ()))


@final
class LaterList(UserList[T]):
    """A list that is made when it is first looked at."""

    def __init__(self, make: Callable[[], list[T]]) -> None:
        self._make: Callable[[], list[T]] | None = make
        self._items: list[T] = []

    @property
    def data(self) -> list[T]:
        if self._make is not None:
            self._items, self._make = self._make(), None
        return self._items

    @data.setter
    def data(self, items: list[T]) -> None:
        self._items, self._make = items, None

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (self.data,)

    def copy(self) -> list[T]:  # type: ignore[override]
        return list(self.data)
