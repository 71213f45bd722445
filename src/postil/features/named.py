"""Features that users make by hand: a dict per token, as CRFsuite's users write them, beside the features of words."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, final

import numpy as np

from postil.arrays import Array
from postil.errors import DataError, ModelFileError
from postil.features.attributes import AttributeTable
from postil.features.vocabulary import Vocabulary
from postil.kernels import Attributes

_BUCKETS = "buckets"
MOST_BUCKETS = 1 << 30


@final
class FeatureToken(tuple[Any, ...]):
    """A token with hand-made features: (form, dict)."""

    __slots__ = ()

    @classmethod
    def of(cls, form: str, features: Mapping[str, Any]) -> "FeatureToken":
        return cls((form, features))

    def without(self, key: str) -> "FeatureToken":
        """The token with all features but those under a key."""
        return self.of(self[0], {name: value for name, value in self[1].items() if name != key})

    def only(self, key: str) -> "FeatureToken":
        """The token with no other features than those under a key."""
        return self.of(self[0], {key: self[1][key]} if key in self[1] else {})


@final
class NamedFeatures:
    """The numbers of hand-made features: those of a vocabulary, or hashed into a number of buckets.

    A feature that is not in the vocabulary is unknown, and left out.
    """

    def __init__(self, names: Vocabulary | None, buckets: int | None = None) -> None:
        self.names, self.buckets = names, buckets
        self._table = AttributeTable(names or (), grows=False, buckets=buckets)

    @classmethod
    def build(cls, sentences: Sequence[Sequence[Any]], *, min_count: int, buckets: int | None) -> "NamedFeatures":
        """Those that occur at least ``min_count`` times in the training sentences; hashed ones are all known."""
        if buckets is not None:
            return cls(None, buckets)
        table = AttributeTable(grows=True)
        attributes, _ = table.encoded([_items(sentences)])
        counts = np.bincount(attributes.ids, minlength=len(table.ids))
        return cls(Vocabulary.build(name for name, count in zip(table.ids, counts, strict=True) if count >= min_count))

    def __len__(self) -> int:
        return self.buckets if self.names is None else len(self.names)  # type: ignore[return-value]

    def of(self, sentences: Sequence[Sequence[Any]]) -> Attributes:
        """The known features of every token."""
        attributes, _ = self._table.encoded([_items(sentences)])
        ids, values, offsets = attributes
        is_known = ids >= 0
        if is_known.all():
            return attributes
        kept = np.concatenate([[0], np.cumsum(is_known)])
        return Attributes(ids[is_known], None if values is None else values[is_known], kept[offsets])

    def arrays(self) -> dict[str, Array]:
        """Everything, for the model file."""
        return {_BUCKETS: np.array([self.buckets])} if self.names is None else self.names.arrays()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> "NamedFeatures":
        """The features whose ``arrays()`` these are."""
        if _BUCKETS not in arrays:
            return cls(Vocabulary.from_arrays(arrays))
        buckets = arrays[_BUCKETS]
        if len(arrays) > 1 or buckets.shape != (1,) or buckets.dtype != np.int64 or not 0 < buckets[0] <= MOST_BUCKETS:
            raise ModelFileError("buckets of features", expected=f"one number up to {MOST_BUCKETS}", got="others")
        return cls(None, int(buckets[0]))

    def __reduce__(self) -> tuple[Any, ...]:
        return NamedFeatures, (self.names, self.buckets)


def _items(sentences: Iterable[Sequence[Any]]) -> list[Mapping[str, Any]]:
    """The dicts of all tokens."""
    tokens = list(chain.from_iterable(sentences))
    if set(map(type, tokens)) <= {FeatureToken}:
        return [token[1] for token in tokens]
    other = next(token for token in tokens if type(token) is not FeatureToken)
    form = other if isinstance(other, str) else other[0]
    raise DataError(f"token {form!r} has no features", expected="a feature dict, as in training", got="the word alone")
