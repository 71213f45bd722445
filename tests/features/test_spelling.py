"""Characters of words as ids, against looking at each character."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from postil.features.vocabulary import Vocabulary
from postil.features.words import LONGEST, Alphabet
from postil.kernels.plain_text import word_cells

CHARACTERS = Vocabulary.build(["", "e", "A", "n", "ß", "日", "😀", "a", "\ud800"])


def ids(words):
    return Alphabet(CHARACTERS).ids_of_cells(*word_cells(words))


def expected(word):
    shown = word if len(word) <= LONGEST else word[: LONGEST // 2] + word[-(LONGEST // 2) :]
    known = [1 + CHARACTERS.id(character, 0) for character in shown]
    return known + [0] * (LONGEST - len(known))


def test_a_character_is_one_more_than_its_id_and_zeros_follow_the_word():
    assert ids(["Anna", "", "x"])[:, :5].tolist() == [[3, 4, 4, 8, 0], [0] * 5, [1, 0, 0, 0, 0]]


def test_of_a_long_word_both_ends_are_seen():
    word = "A" * 12 + "n" * 30 + "a" * 12
    assert ids([word])[0].tolist() == [3] * 12 + [8] * 12


@given(st.lists(st.text("eAnaßx日😀\ud800é", max_size=60), max_size=12))
def test_all_words_of_a_text_are_as_each_by_itself(words):
    found = ids(words)
    assert found.shape == (len(words), LONGEST) and found.dtype == np.int32
    assert found.tolist() == [expected(word) for word in words]


def test_the_text_around_the_cells_does_not_matter():
    text = "日日 An ß 日".encode()
    first = len("日日 ".encode())
    assert Alphabet(CHARACTERS).ids_of_cells(text, np.array([[first, first + 2]]))[0, :3].tolist() == [3, 4, 0]
    assert Alphabet(CHARACTERS).ids_of_cells(text, np.zeros((0, 2), np.int64)).shape == (0, LONGEST)
