"""CRF model files as an attacker would write them.

Each must be refused by one clear line when it is opened, or answer with finite numbers.
"""

import math
import random
import struct
from collections.abc import Callable, Iterator

import numpy as np

from oracles.features import feature_dicts
from postil.crfsuite import Tagger, Trainer
from postil.errors import ModelFileError, is_printable

X, Y = feature_dicts(30)
HEADER = ("size", "type", "version", "features", "labels", "attributes", "at features", "at labels", "at attributes")
NUMBERS = (0, 1, 2, 3, 7, 48, 255, 1 << 16, (1 << 20) - 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 8, (1 << 32) - 1)
WEIGHTS = (math.nan, math.inf, -math.inf, 1e308, -1e308, 1e99, 5e-324)
Forged = tuple[str, Callable[[], bytes]]


def trained() -> bytes:
    """A file of Postil's."""
    return _written(Trainer)


def trained_by_crfsuite() -> bytes:
    """A file of CRFsuite's; needs python-crfsuite."""
    import pycrfsuite

    return _written(pycrfsuite.Trainer)


def _written(kind: type) -> bytes:
    import tempfile
    from pathlib import Path

    trainer = kind("lbfgs", {"c2": 0.1, "max_iterations": 10}, verbose=False)
    for x, y in zip(X, Y, strict=True):
        trainer.append(x, y)
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(f"{folder}/model")
        return Path(folder, "model").read_bytes()


def forged(content: bytes, count: int | None, seed: int) -> Iterator[Forged]:
    """Forgeries of a file, by what they change; the same ones for the same seed."""
    for number in range(200 if count is None else count):
        rng = random.Random(f"{seed}/{number}")
        changes = [_change(content, rng) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
        yield " and ".join(what for what, _ in changes), lambda changes=changes: _changed(content, changes)


def _changed(content: bytes, changes: list[tuple[str, Callable[[bytearray], None]]]) -> bytes:
    data = bytearray(content)
    for _, change in changes:
        change(data)
    return bytes(data)


def _change(content: bytes, rng: random.Random) -> tuple[str, Callable[[bytearray], None]]:
    """One number, weight or range of bytes; the places of the parts are read from the genuine file."""
    places = struct.unpack_from("<9I", content, 12)
    parts = dict(zip(("features", "labels", "attributes", "label refs", "attribute refs"), places[4:], strict=False))
    kind = rng.choice(("header", "names", "tables", "backward", "records", "features", "weights", "bytes", "size"))
    if kind == "header":
        return _number(kind, 4 + 4 * rng.randrange(11), len(content), rng)
    if kind in ("names", "tables", "backward", "records"):
        begin = parts[rng.choice(("labels", "attributes"))]
        backward = begin + struct.unpack_from("<I", content, begin + 20)[0]
        place = {
            "names": begin + 4 * rng.randrange(6),
            "tables": begin + 24 + 4 * rng.randrange(512),
            "backward": backward + 4 * rng.randrange(places[2] if begin == parts["labels"] else 4 * places[2]),
            "records": begin + struct.unpack_from("<I", content, backward)[0] + rng.choice((0, 4, 8, 12)),
        }[kind]
        return _number(kind, place, len(content), rng)
    if kind in ("features", "weights"):
        first = parts["features"] + 12 + 20 * rng.randrange(places[1] or 1)
        if kind == "features":
            return _number(kind, rng.choice((first, first + 4, first + 8, parts["features"] + 8)), len(content), rng)
        weight = rng.choice(WEIGHTS)
        return f"weight {weight}", lambda data: _put(data, first + 12, struct.pack("<d", weight))
    if kind == "bytes":
        place, noise = rng.randrange(len(content)), rng.randbytes(rng.choice((1, 4, 64)))
        return f"noise at {place}", lambda data: _put(data, place, noise)
    end = rng.randrange(len(content))
    if rng.random() < 0.5:
        return f"cut at {end}", lambda data: data.__delitem__(slice(end, None))
    return f"{end} bytes more", lambda data: data.extend(rng.randbytes(end))


def _number(kind: str, place: int, size: int, rng: random.Random) -> tuple[str, Callable[[bytearray], None]]:
    value = rng.choice((*NUMBERS, size, size - 1, rng.randrange(size), rng.randrange(1 << 32)))
    return f"{kind} at {place}: {value}", lambda data: _put(data, place, struct.pack("<I", value))


def _put(data: bytearray, place: int, value: bytes) -> None:
    end = min(len(data), place + len(value))
    data[place:end] = value[: max(0, end - place)]


def outcome(content: bytes) -> str:
    """``refused`` or ``answered``; whatever else happens is raised."""
    tagger = Tagger()
    try:
        tagger.open_inmemory(content)
    except ModelFileError as error:
        assert is_printable(str(error)) and len(str(error)) < 1000, repr(str(error)[:500])
        return "refused"
    for items in X[:5]:
        labels = tagger.tag(items)
        assert len(labels) == len(items) and set(labels) <= set(tagger.labels())
        assert 0 <= tagger.probability(labels) <= 1 + 1e-9
        rows = np.array([list(row.values()) for row in tagger.marginals()])
        assert np.isfinite(rows).all() and np.allclose(rows.sum(axis=1), 1)
    info = tagger.info()
    assert all(map(math.isfinite, [*info.state_features.values(), *info.transitions.values()]))
    return "answered"
