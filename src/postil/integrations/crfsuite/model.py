"""A trained CRF over attributes: its weights, its answers and its file.

Letters: B sentences, N tokens, L labels, A attributes, K features of (attribute, label).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Self, final

import numpy as np

from postil import archive, kernels
from postil.arrays import Array
from postil.errors import DataError, ModelFileError
from postil.features.attributes import AttributeTable
from postil.integrations.crfsuite.crfsuite_file import MAGIC, Names, check_labels, check_weights, parsed
from postil.kernels import Attributes, PairWeights
from postil.objectives import ChainScores, Lattice, Posterior

KIND = "crfsuite"
_SMALL_TABLE = 1 << 20


class UnknownLabelError(DataError, RuntimeError):
    """A model is asked about a label that it does not have; a RuntimeError in python-crfsuite."""


@final
class Scorer:
    """Attributes -> the scores (N, L) of every label of every token, under weights (K,) that may be set again.

    Whole rows of a table are added faster than single weights, but a table of all pairs of attribute and label may be
    far larger than the weights: it is used where it is little beside ``occurrences`` attributes to be scored.
    """

    def __init__(self, pairs: PairWeights, L: int, occurrences: int, small: int = _SMALL_TABLE) -> None:
        A, P = len(pairs.firsts) - 1, kernels.padded_labels(L)
        self.pairs, self.L, self._weights = pairs, L, np.zeros(len(pairs.targets))
        self._table = np.zeros((A, P)) if max(4 * occurrences, small) >= A * P else None
        if self._table is not None:
            self._places = np.repeat(np.arange(A) * P, np.diff(pairs.firsts)) + pairs.targets

    def set(self, weights: Array) -> "Scorer":
        """Score with these weights from now on."""
        if self._table is None:
            self._weights = np.ascontiguousarray(weights)
        else:
            self._table.reshape(-1)[self._places] = weights
        return self

    def __call__(self, attributes: Attributes) -> Array:
        if self._table is None:
            return kernels.attribute_scores(attributes, self.pairs, self._weights, self.L)
        return kernels.attribute_sums(attributes, self._table, self.L)


@final
class _LazyScorer:
    """The scorer of a model: its table is made when so much has been scored that it will be repaid."""

    def __init__(self, pairs: PairWeights, L: int, weights: Array) -> None:
        self._pairs, self._L, self._weights = pairs, L, weights
        self._scorer = Scorer(pairs, L, 0, small=0).set(weights)
        self._left = len(pairs.firsts) * L // 4  # attributes; threads that count at once only lose some of them

    def __call__(self, attributes: Attributes) -> Array:
        if self._left > 0:
            self._left -= len(attributes.ids)
            if self._left <= 0:
                self._scorer = Scorer(self._pairs, self._L, len(self._weights)).set(self._weights)
        return self._scorer(attributes)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Model:
    """Weights of a first-order CRF. Pairs of labels and of attribute and label without a feature weigh 0."""

    labels: list[str]
    attributes: Sequence[str]
    pairs: PairWeights
    weights: Array  # (K,)
    transitions: Array  # (L, L)

    # -------------------------------------------------------------------------------------------- answers

    @cached_property
    def table(self) -> AttributeTable:
        if isinstance(self.attributes, Names):
            return AttributeTable(grows=False, find=self.attributes.find)
        return AttributeTable(self.attributes, grows=False)

    @cached_property
    def label_ids(self) -> dict[str, int]:
        return {label: number for number, label in enumerate(self.labels)}

    @cached_property
    def _chain(self) -> ChainScores:
        L = len(self.labels)
        return ChainScores(transitions=self.transitions, start=np.zeros(L), end=np.zeros(L))

    def lattice(self, sequences: Sequence[Any]) -> Lattice:
        """The lattice of sequences of items."""
        attributes, offsets = self.table.encoded(sequences)
        return Lattice(unary=self.unary(attributes), offsets=offsets, chain=self._chain)

    @cached_property
    def unary(self) -> "_LazyScorer":
        """Attributes -> the scores (N, L) of every label of every token."""
        return _LazyScorer(self.pairs, len(self.labels), self.weights)

    def tagged(self, sequences: Sequence[Any]) -> list[list[str]]:
        """The most probable labels of every sequence."""
        return self.best_paths(self.lattice(sequences))

    def best_paths(self, lattice: Lattice) -> list[list[str]]:
        if not len(lattice.unary):
            return [[] for _ in lattice.offsets[1:]]
        chain = lattice.chain
        path, _ = kernels.viterbi(lattice.unary, lattice.offsets, chain.transitions, chain.start, chain.end)
        names = [*map(self.labels.__getitem__, path.tolist())]
        ends = lattice.offsets.tolist()
        return [names[first:end] for first, end in pairwise(ends)]

    def marginals(self, lattice: Lattice) -> Array:
        """(N, L) the probability of every label of every token."""
        return Posterior.of(lattice).marginals() if len(lattice.unary) else lattice.unary

    def label_id(self, label: str) -> int:
        """The number of a label."""
        number = self.label_ids.get(label)
        if number is None:
            raise UnknownLabelError("unknown label", expected=" or ".join(self.labels[:20]), got=repr(label)[:80])
        return number

    # -------------------------------------------------------------------------------------------- what it weighs

    def state_features(self) -> dict[tuple[str, str], float]:
        """{(attribute, label): weight}"""
        attributes, labels = [*self.attributes], self.labels
        owners = np.repeat(np.arange(len(attributes)), np.diff(self.pairs.firsts)).tolist()
        rows = zip(owners, self.pairs.targets.tolist(), self.weights.tolist(), strict=True)
        return {(attributes[a], labels[j]): weight for a, j, weight in rows}

    def transition_features(self) -> dict[tuple[str, str], float]:
        """{(label, next label): weight}"""
        places = np.argwhere(self.transitions).tolist()
        return {(self.labels[i], self.labels[j]): float(self.transitions[i, j]) for i, j in places}

    # -------------------------------------------------------------------------------------------- the file

    @classmethod
    def pruned(
        cls, labels: Iterable[str], attributes: Iterable[str], pairs: PairWeights, weights: Array, transitions: Array
    ) -> Self:
        """Without the features whose weight is 0 and the attributes that have no other."""
        kept = weights != 0.0
        owners = np.repeat(np.arange(len(pairs.firsts) - 1), np.diff(pairs.firsts))[kept]
        sizes = np.bincount(owners, minlength=len(pairs.firsts) - 1)
        names = [name for name, size in zip(attributes, sizes.tolist(), strict=True) if size]
        firsts = np.concatenate([[0], np.cumsum(sizes[sizes > 0])]).astype(np.int64)
        return cls(
            labels=[*labels],
            attributes=names,
            pairs=PairWeights(firsts, pairs.targets[kept]),
            weights=weights[kept],
            transitions=transitions,
        )

    def to_bytes(self) -> bytes:
        """The content of the model's file."""
        names = [name.encode("utf8", errors="surrogateescape") for name in self.attributes]
        ends = np.cumsum([0, *map(len, names)]).astype(np.int64)
        arrays: dict[str, Array] = {
            "attributes.text": np.frombuffer(b"".join(names), np.uint8),
            "attributes.offsets": ends,
            "features.first": self.pairs.firsts,
            "features.label": self.pairs.targets,
            "features.weight": self.weights,
            "transitions": self.transitions,
        }
        return archive.to_bytes(arrays, {"kind": KIND, "labels": self.labels})

    @classmethod
    def from_bytes(cls, content: bytes, where: object = "model") -> Self:
        """What ``to_bytes`` returned, or a file of CRFsuite itself."""
        if content[: len(MAGIC)] == MAGIC:
            return cls(**parsed(content, where)._asdict())
        arrays, metadata = archive.from_bytes(content, where)
        if metadata.get("kind") != KIND:
            raise ModelFileError("wrong kind of model", expected=KIND, got=repr(metadata.get("kind"))[:80], where=where)
        try:
            return cls._of_arrays(arrays, metadata.get("labels"), len(content))
        except (KeyError, ValueError) as error:
            raise ModelFileError("damaged CRF model", got=str(error)[:120], where=where) from None

    @classmethod
    def _of_arrays(cls, arrays: dict[str, Array], labels: Any, size: int) -> Self:
        """What the arrays of a file say; a KeyError or ValueError if they do not belong together."""
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise ValueError("labels that are no texts")
        check_labels(labels, size)
        L, ends = len(labels), _array(arrays, "attributes.offsets", np.int64)
        text, firsts = _array(arrays, "attributes.text", np.uint8).tobytes(), _array(arrays, "features.first", np.int64)
        targets = _array(arrays, "features.label", np.int32)
        weights = _array(arrays, "features.weight", np.float64, len(targets))
        transitions = _array(arrays, "transitions", np.float64, L, L)
        for name, offsets, end in (("attributes.offsets", ends, len(text)), ("features.first", firsts, len(targets))):
            if not len(offsets) or offsets[0] != 0 or offsets[-1] != end or (offsets[1:] < offsets[:-1]).any():
                raise ValueError(f"{name}: not the places of names or features")
        if len(ends) != len(firsts):
            raise ValueError("names and features of different numbers of attributes")
        check_weights(weights)
        check_weights(transitions.reshape(-1))
        places = np.repeat(np.arange(len(firsts) - 1), np.diff(firsts)) * L + targets
        if len(targets) and (targets.min() < 0 or targets.max() >= L or not (places[1:] > places[:-1]).all()):
            raise ValueError("features of unknown labels, or in the wrong order")
        names = [text[a:b].decode("utf8", errors="surrogateescape") for a, b in pairwise(ends.tolist())]
        pairs = PairWeights(firsts, targets)
        return cls(labels=labels, attributes=names, pairs=pairs, weights=weights, transitions=transitions)


def _array(arrays: dict[str, Array], name: str, dtype: Any, *shape: int) -> Array:
    """A copy of an array of this type and shape; by default of one dimension."""
    array = arrays[name]
    if array.dtype != dtype or (array.shape != shape if shape else array.ndim != 1):
        raise ValueError(f"{name}: {array.dtype} {array.shape}"[:100])
    return np.array(array)
