"""A vocabulary behaves as a dict does, from arrays that may be read-only."""

import pickle
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import ConfigurationError, IndexRangeError, ModelFileError
from postil.features import Vocabulary

# All of Unicode, halves of surrogate pairs too.
strings = st.text(st.characters(), max_size=12)


def read_only(arrays):
    copies = {name: array.copy() for name, array in arrays.items()}
    for array in copies.values():
        array.flags.writeable = False
    return copies


@given(st.lists(strings, unique=True), st.lists(strings))
def test_agrees_with_a_dict(words, others):
    reference = {word: index for index, word in enumerate(words)}
    built = Vocabulary.build(words)
    for vocabulary in (built, Vocabulary.from_arrays(read_only(built.arrays()))):
        assert len(vocabulary) == len(words)
        assert list(vocabulary) == words
        queries = words + others
        assert vocabulary.ids(queries, default=-7).tolist() == [reference.get(word, -7) for word in queries]
        assert [word in vocabulary for word in queries] == [word in reference for word in queries]


def test_many_words_agree_with_a_dict():
    words = [f"{number * 7919 % 65536:x}-{number}" for number in range(20_000)]
    vocabulary = Vocabulary.build(words)
    assert vocabulary.ids(words).tolist() == list(range(20_000))
    assert (vocabulary.ids([word + "x" for word in words]) == -1).all()
    assert vocabulary.ids([]).shape == (0,)


def test_words_with_the_same_hash_stay_apart():
    words = ["plumless", "buckeroo"]  # the same CRC-32
    assert Vocabulary.build(words).ids([*words, "plumles"]).tolist() == [0, 1, -1]


def colliding(count, length=48):
    """Words of b and c with the same CRC-32: flips of letters whose effects cancel each other, by elimination."""
    base = b"b" * length
    effect = [crc32(base[:i] + b"c" + base[i + 1 :]) ^ crc32(base) for i in range(length)]
    pivots, flips = {}, []
    for i, value in enumerate(effect):
        used = {i}
        while value and value.bit_length() in pivots:
            other, places = pivots[value.bit_length()]
            value, used = value ^ other, used ^ places
        if value:
            pivots[value.bit_length()] = value, used
        else:
            flips.append(used)
    words = []
    for number in range(count):
        flipped = set()
        for bit, places in enumerate(flips):
            flipped ^= places if number >> bit & 1 else set()
        words.append("".join("c" if i in flipped else "b" for i in range(length)))
    return words


def test_words_chosen_to_collide_are_refused_and_soon():
    """Otherwise searches take long, and building takes the square of their number."""
    words = colliding(20_000)
    assert len({crc32(word.encode()) for word in words}) == 1 and len(set(words)) == 20_000
    with pytest.raises(ConfigurationError, match="one CRC-32: expected at most 128, got more of 20,000"):
        Vocabulary.build(words)
    assert Vocabulary.build(words[:100]).ids([*words[:100], "bbb"]).tolist() == [*range(100), -1]


def test_surrogates_and_nothing_else_is_a_member():
    vocabulary = Vocabulary.build(["\ud83d", "😀", "\ud83d\ude00", ""])
    assert [vocabulary[i] for i in range(4)] == ["\ud83d", "😀", "\ud83d\ude00", ""]
    assert 3 not in vocabulary and None not in vocabulary


def test_a_string_that_comes_twice_is_named():
    with pytest.raises(ConfigurationError, match="'b' at 1 and 3"):
        Vocabulary.build(["a", "b", "c", "b"])


@pytest.mark.parametrize("index", [-1, 2])
def test_an_id_outside_is_an_error(index):
    with pytest.raises(IndexRangeError, match=f"expected 0 to 1, got {index}"):
        Vocabulary.build(["a", "b"])[index]


def test_the_table_is_part_of_the_file_format():
    # Written down from another process: a hash that depended on the process or the machine would differ.
    slots = Vocabulary.build(["house", "Ärger", "東京"]).arrays()["slots"]
    assert slots.tolist() == [-1, -1, -1, 1, -1, 0, -1, 2]


def test_pickled_and_back():
    vocabulary = pickle.loads(pickle.dumps(Vocabulary.build(["a", "bb"])))
    assert vocabulary.ids(["bb", "a", "c"]).tolist() == [1, 0, -1]


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("text", None, "array 'text' of a vocabulary: expected a vector of uint8, got none"),
        ("offsets", np.array([0, 1, 3]), "expected a vector of int32, got int64"),
        ("offsets", np.array([0, 1, 9], np.int32), "expected offsets that rise from 0 to the number of bytes"),
        ("offsets", np.array([0, 2, 1, 3], np.int32), "offsets that rise"),
        ("offsets", np.array([0, -1, 3], np.int32), "offsets that rise"),
        ("text", np.frombuffer(b"a\xff\xff", np.uint8), "expected strings in UTF-8"),
        ("text", np.frombuffer("é€"[:1].encode() + b"x", np.uint8), "expected strings in UTF-8"),
        ("offsets", np.array([], np.int32), "3 bytes, 0 offsets"),
        ("slots", np.full(6, -1, np.int32), "expected a power of two above the 2 strings, got 6 slots"),
        ("slots", np.full(2, -1, np.int32), "got 2 slots"),
        ("slots", np.array([0, 1, -1, 2, -1, -1, -1, -1], np.int32), "expected ids from -1 to 1, got -1 to 2"),
        ("slots", np.array([0, 1, -2, -1], np.int32), "expected ids from -1 to 1, got -2 to 1"),
        ("slots", np.zeros(4, np.int32), "a free one among any 129 neighbouring slots"),
        ("slots", np.repeat(np.array([0, -1, 0], np.int32), [100, 56, 100]), "a free one among any"),
        ("key", np.zeros(8, np.uint8), "expected text, offsets, slots, got key"),
        ("slots", np.full((2, 2), -1, np.int32), r"got int32 \(2, 2\)"),
    ],
)
def test_arrays_that_are_no_vocabulary(name, array, message):
    arrays = {**Vocabulary.build(["a", "bb"]).arrays(), name: array}
    with pytest.raises(ModelFileError, match=message):
        Vocabulary.from_arrays(arrays)
