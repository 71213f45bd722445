"""The flat file: what is written is read, and what was changed is refused, by Python and by C."""

import contextlib
import struct
import zlib

import numpy as np
import pytest

import postil
from oracles.c_runtime import Runtime, RuntimeFailure, needs_compiler
from oracles.flat import read
from postil.errors import ConfigurationError
from postil.export.flat import ALIGNMENT, exported, strings, written

ARRAYS = {
    "one": np.arange(5, dtype=np.int64),
    "two/W": np.arange(6, dtype=np.float32).reshape(2, 3),
    "empty": np.zeros((0, 3), np.float64),
    "three": np.ones((2, 2, 2), np.uint16),
}


def test_arrays_survive():
    found = read(written(ARRAYS))
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def test_sections_are_aligned():
    content = written(ARRAYS)
    offsets = [struct.unpack_from("<Q", content, 64 + 96 * row + 80)[0] for row in range(len(ARRAYS))]
    assert all(offset % ALIGNMENT == 0 for offset in offsets)
    assert offsets == sorted(offsets)


def test_strings_end_with_zeros():
    assert strings(["a", "é", ""]).tobytes() == "a\0é\0\0".encode()


def test_the_same_arrays_make_the_same_bytes(names_model):
    tagger = postil.load(names_model)
    assert exported(tagger) == exported(tagger)


def test_a_name_that_is_too_long_is_refused():
    with pytest.raises(ConfigurationError, match="short name"):
        written({"x" * 48: np.zeros(1)})


def _flipped(content: bytes, place: int) -> bytes:
    place %= len(content)
    return content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :]


def _forged(content: bytes) -> bytes:
    """With the checksum of what it holds."""
    return content[:24] + struct.pack("<I", zlib.crc32(content[64:])) + content[28:]


@needs_compiler
def test_damaged_models_are_refused(names_model):
    content = exported(postil.load(names_model))
    for changed, message in (
        (b"", "is not an exported model"),
        (content[:63], "is not an exported model"),
        (b"x" + content[1:], "is not an exported model"),
        (content[:8] + b"\x09" + content[9:], "another version"),
        (content[:-1], "damaged"),
        (_flipped(content, len(content) // 2), "damaged"),
        (_forged(_flipped(content, 64 + 3)), "damaged"),
    ):
        with pytest.raises(RuntimeFailure, match=message):
            Runtime(changed)


@pytest.mark.slow
@needs_compiler
def test_no_forged_model_breaks_the_runtime(names_model):
    """Numbers of the directory and of all sections are changed, under the right checksum: each model is refused, or
    tags without harm. ``python -m benchmarks.forged_exports`` does the same under the sanitisers, with more models."""
    content = exported(postil.load(names_model))
    rng = np.random.default_rng(0)
    sections, opened = struct.unpack_from("<I", content, 12)[0], 0
    values = [0, 1, 0x7F, 0x80, 0xFF]
    for trial in range(300):
        changed = bytearray(content)
        row = 64 + 96 * int(rng.integers(sections))
        offset, size = struct.unpack_from("<QQ", content, row + 80)
        for _ in range(int(rng.integers(1, 4))):
            place = row + int(rng.integers(96)) if trial % 3 == 0 or not size else offset + int(rng.integers(size))
            changed[place] = int(rng.choice(values))
        try:
            runtime = Runtime(_forged(bytes(changed)), max_bytes=400)
        except RuntimeFailure as failure:
            assert failure.args[0] in (1, 5), failure
            continue
        opened += 1
        with contextlib.suppress(RuntimeFailure):
            runtime.tag("Anna's friend Dr. Smith went to New York (U.S.) on 3.5.2024... :-) didn't he? ΟΔΟΣ")
        runtime.close()
    assert 20 < opened < 300, "some changes are weights, others are not"


@needs_compiler
@pytest.mark.parametrize(
    ("name", "place", "value"),
    [("head0/reals", 0, 1e-310), ("head0/reals", 0, 1e300), ("head0/reals", 1, 1e30), ("head0/alike", 0, -1.0)],
)
def test_figures_that_no_decoding_has_are_refused(names_model, name, place, value):
    """Scores divided by almost nothing are infinite, and their sums no numbers."""
    sections = read(exported(postil.load(names_model)))
    changed = sections[name].copy()
    changed.flat[place] = value
    with pytest.raises(RuntimeFailure, match="damaged"):
        Runtime(written({**sections, name: changed}))
