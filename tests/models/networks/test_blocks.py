import pytest

from postil.errors import DataError
from postil.models.networks.blocks import blocks, check_sentences


def test_a_text_is_not_a_list_of_tokens():
    check_sentences([["a"], []])
    with pytest.raises(DataError, match=r"sentence 1: .*a list of tokens.*'Anna left'"):
        check_sentences([["a"], "Anna left"])


def test_blocks_are_filled_by_length():
    assert list(blocks([4, 25, 3, 4, 0], 10)) == [[4, 2, 0], [3], [1]]
    assert list(blocks([], 10)) == []
