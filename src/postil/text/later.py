"""Values that are made when they are first looked at: answers about a million texts are mostly not."""

from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar, final, overload

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
class LaterItems(Sequence[T]):
    """A sequence whose items are made when they are first looked at; compared, copied and pickled like a list."""

    __slots__ = ("_items", "_make")

    def __init__(self, count: int, make: Callable[[int], T]) -> None:
        self._items: list[T | None] = [None] * count
        self._make = make

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        item = self._items[index]
        if item is None:
            item = self._items[index] = self._make(range(len(self))[index])
        return item

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LaterItems | list) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as of a list

    def __repr__(self) -> str:
        return repr(list(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)
