"""Numbers of words that stand as bytes in texts, in a table that grows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from postil.models.scoring import word_numbers
from postil.models.scoring.word_numbers import WordNumbers


def joined(words):
    """The words in one text, and their cells."""
    encoded = [word.encode() for word in words]
    ends = np.cumsum([0, *map(len, encoded)])
    return b"".join(encoded), np.column_stack([ends[:-1], ends[1:]])


@given(st.lists(st.lists(st.text("abé", max_size=3), max_size=30), max_size=6))
def test_numbers_stay_while_the_table_grows(parts):
    room = word_numbers._ROOM
    word_numbers._ROOM = 1
    try:
        table, first_met = WordNumbers(), {}
        for words in parts:
            found = table.numbers(*joined(words)).tolist()
            assert found == [first_met.setdefault(word, len(first_met)) for word in words]
            assert [table.word(number) for number in range(len(table))] == list(first_met)
            assert (table.values[: len(table)][table.values[: len(table)] >= 0] % 7 == 0).all()
            table.values[: len(table)] = 7 * np.arange(len(table))
    finally:
        word_numbers._ROOM = room
    assert table.values[: len(table)].tolist() == [7 * number for number in range(len(table))]


def test_new_words_have_no_value():
    table = WordNumbers()
    table.numbers(*joined(["a", "b"]))
    table.values[:2] = 5, 6
    table.numbers(*joined([str(number) for number in range(10_000)]))
    assert table.values[:2].tolist() == [5, 6] and (table.values[2 : len(table)] == -1).all()
    assert len(table) == 10_002
