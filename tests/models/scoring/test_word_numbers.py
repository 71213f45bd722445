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


def words_of(table, numbers):
    text, cells = table.cells(np.array(numbers, np.int64))
    return [text[first:end].decode() for first, end in cells.tolist()]


@given(st.lists(st.lists(st.text("abé", max_size=3), max_size=30), max_size=6), st.data())
def test_numbers_stay_while_the_table_grows(parts, data):
    room = word_numbers._ROOM
    word_numbers._ROOM = 1
    try:
        table, first_met = WordNumbers(), {}
        for words in parts:
            found = table.numbers(*joined(words)).tolist()
            assert found == [first_met.setdefault(word, len(first_met)) for word in words]
            assert words_of(table, range(len(table))) == list(first_met)
    finally:
        word_numbers._ROOM = room
    some = data.draw(st.sets(st.sampled_from(range(len(table)))) if len(table) else st.just(set()))
    assert words_of(table, sorted(some)) == [list(first_met)[number] for number in sorted(some)]
    kept = data.draw(st.integers(0, len(table)))
    cut = table.first(kept)
    assert len(cut) == kept and words_of(cut, range(kept)) == list(first_met)[:kept]
    assert cut.numbers(*joined(first_met)).tolist() == list(range(len(first_met)))
