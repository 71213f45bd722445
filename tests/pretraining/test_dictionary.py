"""The growing dictionary: counts, and words that are forgotten."""

from collections import Counter

import numpy as np

from postil.pretraining.corpus import GrowingDictionary


def cells_of(text: bytes):
    ends = np.array([i for i, byte in enumerate(text + b" ") if byte == ord(" ")])
    return np.stack([np.append(0, ends[:-1] + 1), ends], axis=1)


def add(dictionary, text):
    return dictionary.add(text.encode(), cells_of(text.encode()))


def test_words_are_counted_over_blocks():
    dictionary = GrowingDictionary()
    first, second = add(dictionary, "the Cat sat"), add(dictionary, "the cat the dog")
    entries = dictionary.entries(str.lower, 1, None)
    assert entries.words == ["the", "cat", "sat", "dog"]  # equal counts: in the order of the text
    assert entries.counts.tolist() == [3, 2, 1, 1]
    assert entries.numbers[first].tolist() == [0, 1, 2]
    assert entries.numbers[second].tolist() == [0, 1, 0, 3]


def test_rare_words_and_those_beyond_the_most_are_unknown():
    dictionary = GrowingDictionary()
    serials = add(dictionary, "a a a b b c")
    assert dictionary.entries(str, 2, None).numbers[serials].tolist() == [0, 0, 0, 1, 1, -1]
    assert dictionary.entries(str, 1, 1).words == ["a"]


def test_the_rarest_are_forgotten_and_ids_stay_valid():
    rng = np.random.default_rng(0)
    dictionary, written, told = GrowingDictionary(most=50), [], []
    for _ in range(40):
        words = [f"w{int(number)}" for number in rng.zipf(1.3, 200) if number < 5000]
        told += words
        written.append(add(dictionary, " ".join(words)))
    entries, exact = dictionary.entries(str, 1, None), Counter(told)
    assert len(entries.words) < len(exact)
    numbers = entries.numbers[np.concatenate(written)]
    assert all(entries.words[number] == word for number, word in zip(numbers, told, strict=True) if number >= 0)
    frequent = [word for word, _ in exact.most_common(5)]
    assert entries.words[:5] == frequent
    assert [exact[word] for word in frequent] == entries.counts[:5].tolist()  # never forgotten, so never lost
