"""A trained CRF over attributes: its weights, its answers and its files, ours and those of CRFsuite.

Letters: B sentences, N tokens, L labels, A attributes, K features of (attribute, label).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from struct import Struct
from typing import Any, Self, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.errors import DataError, ModelFileError
from postil.features.named import AttributeTable, ItemSequence
from postil.kernels import PairWeights
from postil.objectives import ChainScores, Lattice, Posterior, path_scores

# ------------------------------------------------------------------------------------------------ CRFsuite's files

# A file is checked completely when it is opened.
#
#     header      "lCRF", size, "FOMC", version, numbers of features, labels, attributes, and where each part begins
#     "FEAT"      size, number, then (type, source, label, weight) of every feature; type 0 has an attribute as its
#                 source, type 1 a label
#     "CQDB"      the names of labels, and another one those of attributes: 256 hash tables, records (number of the
#                 name, length with the final zero, bytes), and at ``backward[i]`` where the record of name i begins
#     "LFRF"      for every label, and two that are never used, where its list of features begins: (number, features)
#     "AFRF"      the same for every attribute; reading needs neither, the features have their sources
#
# All numbers are little-endian, 32 bits wide, the weights 64. C checks a file and reads it where it lies in memory
# (kernels/items.c); Python reads it to say why C does not accept it, where nothing is compiled, and for what is asked
# about the weights. It is read, not mapped: CRFsuite writes models in place, and a process crashes if
# another one cuts a file that it has mapped.

MAGIC = b"lCRF"
LARGEST_WEIGHT = 1e100
"""Sums of weights must stay finite."""
MOST_TRANSITION_BYTES = 64 << 20
"""Of the table of all pairs of labels, or 16 times the file if that is more: a small file must not take much memory."""

_FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("label", "<u4"), ("weight", "<f8")])
_HEADER, _CHUNK = Struct("<4sI4s9I"), Struct("<4sII")
_NAMES, _TWO = Struct("<4s5I"), Struct("<II")
_TABLES, _BYTE_ORDER = 256, 0x62445371
_RECORDS = _NAMES.size + _TABLES * _TWO.size  # where the first record may begin


def _most_labels(size: int) -> int:
    return math.isqrt(max(MOST_TRANSITION_BYTES, 16 * size) // 8)


def parsed(content: bytes) -> tuple[list[str], list[str], PairWeights, Array, Array]:
    """The fields of `Weights` in a file; a ValueError if it is cut, damaged, or not one of a first-order model."""
    if len(content) < _HEADER.size or content[8:12] != b"FOMC":
        raise ValueError("no complete header of a first-order model")
    _, size, _, _, _, L, A, features_at, labels_at, attributes_at, _, _ = _HEADER.unpack_from(content)
    if size > len(content):
        raise ValueError(f"cut: {len(content)} of {size} bytes")
    labels = names_in(content, labels_at, L)
    if len(set(labels)) != len(labels):
        raise ValueError("two labels have the same name")
    if _most_labels(len(content)) < L:
        raise ValueError(f"{L} labels in {len(content)} bytes")
    attributes = names_in(content, attributes_at, A)
    if features_at + _CHUNK.size > len(content) or content[features_at : features_at + 4] != b"FEAT":
        raise ValueError("no features")
    _, _, K = _CHUNK.unpack_from(content, features_at)
    first = features_at + _CHUNK.size
    if first + K * _FEATURE.itemsize > len(content):
        raise ValueError(f"cut: {K} features do not fit into the file")
    features = np.frombuffer(content, _FEATURE, K, first)
    count = int(np.searchsorted(features["type"], 1))  # of attributes first, then of labels
    if features["type"][:count].any() or (features["type"][count:] != 1).any():
        raise ValueError("features of an unknown type, or in another order than CRFsuite writes them")
    states, steps = features[:count], features[count:]
    owners, targets, weights = _columns(states, A, L)
    firsts = np.zeros(A + 1, np.int64)
    np.cumsum(np.bincount(owners, minlength=A), out=firsts[1:])
    transitions = np.zeros((L, L))
    sources, following, of_steps = _columns(steps, L, L)
    transitions[sources, following] = of_steps
    return labels, attributes, PairWeights(firsts, targets), weights, transitions


def read_in_place(content: bytes) -> "kernels.CrfFile | None":
    """The file as C reads it; None if C does not accept it, or was not compiled."""
    if kernels.IN_USE.startswith("plain") or len(content) < _HEADER.size or content[8:12] != b"FOMC":
        return None
    _, _, _, _, _, L, A, *_ = _HEADER.unpack_from(content)
    if not (0 < L <= _most_labels(len(content)) and len(content) > A):
        return None
    return kernels.CrfFile.opened(content, A, L)


def _columns(features: Array, sources: int, L: int) -> tuple[Array, Array, Array]:
    """Sources, labels and weights of features, ordered by source and label, each pair once."""
    owners, labels = features["source"].astype(np.int64), features["label"].astype(np.int64)
    weights = features["weight"].astype(np.float64)
    if len(owners) and (int(owners.max()) >= sources or int(labels.max()) >= L):
        raise ValueError("a feature of an unknown name")
    if len(weights) and not np.abs(weights).max() <= LARGEST_WEIGHT:  # false for NaN
        raise ValueError("a weight is not finite")
    places = owners * L + labels
    if not (places[1:] > places[:-1]).all():
        raise ValueError("a feature stands twice, or features are in another order than CRFsuite writes them")
    return owners, labels.astype(np.int32), weights


def names_in(content: bytes, begin: int, count: int) -> list[str]:
    """The names in a "CQDB", in the order of their numbers."""
    if begin + _RECORDS > len(content) or content[begin : begin + 4] != b"CQDB":
        raise ValueError("no names")
    _, size, _, order, room, backward = _NAMES.unpack_from(content, begin)
    if order != _BYTE_ORDER or not _RECORDS <= size <= len(content) - begin:
        raise ValueError("names without an end")
    if count > room or (count and backward + 4 * count > size):
        raise ValueError(f"{count} names do not fit into the file")
    if not count:
        return []
    chunk = memoryview(content)[begin : begin + size]
    bytes_, first = np.frombuffer(chunk, np.uint8), np.frombuffer(chunk, "<u4", count, backward).astype(np.int64) + 8
    last = int(first[-1])
    if not (first[1:] > first[:-1]).all() or int(first[0]) < _RECORDS + 8 or last > len(bytes_):
        raise ValueError("a name lies outside of its part, or names are in another order than CRFsuite writes them")
    # Each name ends where the next record begins; the last one says how long it is.
    end = np.append(first[1:] - 9, last + int.from_bytes(chunk[last - 4 : last], "little") - 1)
    if int(end[-1]) >= len(bytes_) or (end < first).any():
        raise ValueError("a name is cut, or overlaps another")
    if bytes_[end].any():
        raise ValueError("a name without an end")
    edges = zip(first.tolist(), end.tolist(), strict=True)
    return [str(chunk[start:stop], "utf8", "surrogateescape") for start, stop in edges]


def hashes_of(keys: Sequence[bytes]) -> Array:
    """Bob Jenkins's lookup3 of every key, by which the tables are ordered: uint32, whose sums wrap."""
    sizes = np.array([*map(len, keys)], np.uint32)
    blocks = -(-sizes.astype(np.int64) // 12)
    words = np.frombuffer(b"".join(key + bytes(-len(key) % 12) for key in keys), "<u4").reshape(-1, 3)
    first = np.cumsum(blocks) - blocks
    state = np.repeat(sizes[None] + np.uint32(0xDEADBEEF), 3, axis=0)  # a, b, c of every key

    def rotated(x: Array, by: int) -> Array:
        return np.asarray(x << by | x >> (32 - by))

    for i in range(int(blocks.max(initial=1)) - 1):
        longer = np.flatnonzero(blocks > i + 1)
        a, b, c = state[:, longer] + words[first[longer] + i].T
        for by in (4, 6, 8, 16, 19, 4):
            a, c = a - c ^ rotated(c, by), c + b
            a, b, c = b, c, a
        state[:, longer] = a, b, c
    a, b, c = state + words[first + blocks - 1].T
    for by in (14, 11, 25, 16, 4, 14, 24):
        c = (c ^ b) - rotated(b, by)
        a, b, c = b, c, a
    return np.asarray(b)


def _names_of(names: Sequence[str]) -> bytes:
    """A "CQDB". Each hash table has twice as many buckets as names, and a name is in the first free one."""
    keys = [name.encode("utf8", "surrogateescape") + b"\0" for name in names]
    places = _RECORDS + np.cumsum([0, *(8 + len(key) for key in keys)])
    content = bytearray(_RECORDS) + b"".join(_TWO.pack(n, len(key)) + key for n, key in enumerate(keys))
    tables: list[list[tuple[int, int]]] = [[] for _ in range(_TABLES)]
    for hashed, record in zip(hashes_of(keys).tolist(), places.tolist(), strict=False):
        tables[hashed % _TABLES].append((hashed, record))
    for t, entries in enumerate(tables):
        if entries:
            count = 2 * len(entries)
            buckets = [(0, 0)] * count
            for hashed, record in entries:
                place = (hashed >> 8) % count
                while buckets[place][1]:
                    place = (place + 1) % count
                buckets[place] = hashed, record
            _TWO.pack_into(content, _NAMES.size + _TWO.size * t, len(content), count)
            content += np.array(buckets, "<u4").tobytes()
    at = len(content) if len(names) else 0
    content += places[:-1].astype("<u4").tobytes()
    _NAMES.pack_into(content, 0, b"CQDB", len(content), 0, _BYTE_ORDER, len(names), at)
    return bytes(content)


def _references(kind: bytes, at: int, firsts: Array, unused: int = 0) -> bytes:
    """The features ``firsts[i]`` to ``firsts[i + 1]`` of each source, in a chunk that begins at a place of the file."""
    count = len(firsts) - 1 + unused
    lists = at + _CHUNK.size + 4 * count
    sizes = np.diff(firsts)
    places = np.zeros(count, "<u4")
    places[: len(sizes)] = lists + 4 * (np.arange(len(sizes)) + firsts[:-1] - firsts[0])
    entries = np.empty(len(sizes) + int(sizes.sum()), "<u4")
    heads = np.arange(len(sizes)) + firsts[:-1] - firsts[0]
    is_head = np.zeros(len(entries), bool)
    is_head[heads] = True
    entries[heads], entries[~is_head] = sizes, np.arange(firsts[0], firsts[-1])
    size = _CHUNK.size + places.nbytes + entries.nbytes
    return _CHUNK.pack(kind, size, count) + places.tobytes() + entries.tobytes()


# ------------------------------------------------------------------------------------------------ weights


@final
@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of a first-order CRF. Pairs of labels and of attribute and label without a feature weigh 0."""

    labels: list[str]
    attributes: list[str]
    pairs: PairWeights
    values: Array  # (K,)
    transitions: Array  # (L, L)

    def state_features(self) -> dict[tuple[str, str], float]:
        """{(attribute, label): weight}"""
        attributes, labels = self.attributes, self.labels
        owners = np.repeat(np.arange(len(attributes)), np.diff(self.pairs.firsts)).tolist()
        rows = zip(owners, self.pairs.targets.tolist(), self.values.tolist(), strict=True)
        return {(attributes[a], labels[j]): weight for a, j, weight in rows}

    def transition_features(self) -> dict[tuple[str, str], float]:
        """{(label, next label): weight}"""
        places = np.argwhere(self.transitions).tolist()
        return {(self.labels[i], self.labels[j]): float(self.transitions[i, j]) for i, j in places}

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
        return cls([*labels], names, PairWeights(firsts, pairs.targets[kept]), weights[kept], transitions)

    def to_bytes(self) -> bytes:
        """The content of a file that CRFsuite reads."""
        L, A, K = len(self.labels), len(self.attributes), len(self.values)
        names = [*self.labels, *self.attributes]
        if 40 * (len(names) + K + L * L) + 5 * sum(map(len, names)) >= 2**32:
            raise DataError("the model", expected="at most 4 GB, as CRFsuite's files can hold")
        steps = np.argwhere(self.transitions)
        features = np.zeros(K + len(steps), _FEATURE)
        features["type"][K:] = 1
        features["source"] = np.concatenate([np.repeat(np.arange(A), np.diff(self.pairs.firsts)), steps[:, 0]])
        features["label"] = np.concatenate([self.pairs.targets, steps[:, 1]])
        features["weight"] = np.concatenate([self.values, self.transitions[steps[:, 0], steps[:, 1]]])
        of_labels = K + np.searchsorted(steps[:, 0], np.arange(L + 1))
        content = bytearray(_HEADER.size)
        parts: list[Callable[[int], bytes]] = [
            lambda at: _CHUNK.pack(b"FEAT", _CHUNK.size + features.nbytes, len(features)) + features.tobytes(),
            lambda at: _names_of(self.labels),
            lambda at: _names_of(self.attributes),
            lambda at: _references(b"LFRF", at, of_labels, unused=2),
            lambda at: _references(b"AFRF", at, self.pairs.firsts),
        ]
        begins = []
        for part in parts:
            content += bytes(-len(content) % 4)
            begins.append(len(content))
            content += part(len(content))
        _HEADER.pack_into(content, 0, MAGIC, len(content), b"FOMC", 100, 0, L, A, *begins)
        return bytes(content)

    @classmethod
    def from_bytes(cls, content: bytes, where: object = "model") -> Self:
        """Load the output of ``to_bytes``, or of CRFsuite."""
        if content[: len(MAGIC)] != MAGIC:
            raise ModelFileError("wrong kind of model", expected="a file of CRFsuite's format", where=where)
        try:
            return cls(*parsed(content))
        except ValueError as error:
            raise ModelFileError("damaged CRFsuite model", got=error, where=where) from None


# ------------------------------------------------------------------------------------------------ answers


class UnknownLabelError(DataError, RuntimeError):
    """A model is asked about a label that it does not have; a RuntimeError in python-crfsuite."""


@final
class Model:
    """A model that answers. Its weights become arrays and names only when something other than C needs them."""

    def __init__(self, content: bytes, where: object = "model") -> None:
        self.content, self._where = content, where
        self.file = read_in_place(content) if content[: len(MAGIC)] == MAGIC else None
        if self.file is None:
            _ = self.weights  # an error if it is not a model

    @cached_property
    def weights(self) -> Weights:
        return Weights.from_bytes(self.content, self._where)

    @cached_property
    def labels(self) -> list[str]:
        if self.file is None:
            return self.weights.labels
        _, _, _, _, _, L, _, _, labels_at, *_ = _HEADER.unpack_from(self.content)
        return names_in(self.content, labels_at, L)

    @cached_property
    def label_ids(self) -> dict[str, int]:
        return {label: number for number, label in enumerate(self.labels)}

    def label_id(self, label: str) -> int:
        """The number of a label."""
        number = self.label_ids.get(label)
        if number is None:
            raise UnknownLabelError("unknown label", expected=" or ".join(self.labels[:20]), got=repr(label)[:80])
        return number

    @cached_property
    def chain(self) -> ChainScores:
        L = len(self.labels)
        transitions = self.weights.transitions if self.file is None else self.file.transitions
        return ChainScores(transitions=transitions, start=np.zeros(L), end=np.zeros(L))

    @cached_property
    def _table(self) -> AttributeTable:
        return AttributeTable(self.weights.attributes, grows=False)

    def answer(self, xseq: Any) -> "LabelledSequence":
        """The labels and probabilities of one sequence of items."""
        if self.file is not None:
            items: Any = xseq
            if isinstance(xseq, ItemSequence):
                items = xseq.content
            elif not isinstance(xseq, list | tuple):
                items = xseq = list(xseq)
            answers = None if items is None else self.file.answers(items, len(xseq))
            if answers is not None:
                return LabelledSequence(self, *answers)
        attributes, offsets = self._table.encoded([xseq])
        chain, weights = self.chain, self.weights
        unary = kernels.attribute_scores(attributes, weights.pairs, weights.values, len(self.labels))
        if not len(unary):
            return LabelledSequence(self, unary, [])
        path, _ = kernels.viterbi(unary, offsets, chain.transitions, chain.start, chain.end)
        return LabelledSequence(self, unary, path.tolist())


@final
class LabelledSequence:
    """Labels and probabilities of one sequence. Forward-backward runs once, however much is asked."""

    def __init__(self, model: Model, unary: Array, path: list[int]) -> None:
        self.model, self.unary, self.path = model, unary, path

    @property
    def labels(self) -> list[str]:
        """The most probable labels."""
        return [*map(self.model.labels.__getitem__, self.path)]

    @cached_property
    def _moments(self) -> tuple[float, Array]:
        """log Z and the marginals (T, L)."""
        file = self.model.file
        moments = None if file is None else file.moments(self.unary)
        return moments or chain_moments(self.unary, np.array([0, len(self.unary)]), self.model.chain)[:2]

    @cached_property
    def marginal(self) -> Callable[[int, int], float]:
        """Position and number of a label -> its probability there."""
        return self._moments[1].item

    def marginals(self) -> list[dict[str, float]]:
        """For every position the probability of every label."""
        rows = self._moments[1].tolist() if self.path else []
        return [dict(zip(self.model.labels, row, strict=True)) for row in rows]

    def probability(self, labels: list[str]) -> float:
        """The probability of a labelling."""
        T = len(self.path)
        if len(labels) != T:
            raise DataError("items and labels differ in length", expected=f"{T} labels", got=len(labels))
        if not T:
            return 1.0
        model, file = self.model, self.model.file
        try:
            path = [*map(model.label_ids.__getitem__, labels)]
        except KeyError:
            path = [*map(model.label_id, labels)]  # an error that names the label
        if file is None:
            offsets = np.array([0, T])
            lattice = Lattice(unary=self.unary, offsets=offsets, chain=model.chain)
            score = float(path_scores(lattice, np.array(path))[0])
        else:
            score = file.path_score(self.unary, path)
        return math.exp(min(0.0, score - self._moments[0]))  # huge scores: their difference may round to above 0


def chain_moments(unary: Array, offsets: Array, chain: ChainScores) -> tuple[float, Array, Array]:
    """Σ log Z of some sequences, the marginals (N, L) and the expected transitions (L, L)."""
    steps = chain.transitions, chain.start, chain.end
    log_partition, marginals, counts, exact = kernels.chain_moments(unary, offsets, *steps)
    if exact.all():
        return float(log_partition.sum()), marginals, counts
    posterior = Posterior.of(Lattice(unary=unary, offsets=offsets, chain=chain))  # in log space where needed
    return float(posterior.log_partition.sum()), posterior.marginals(), posterior.transition_counts()
