"""Parts that are held out together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.curation.folds import documents_of, folds, groups_of, held_out_fifth
from postil.errors import PostilError
from postil.text import Sentence


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 6)), min_size=2, max_size=60), st.data())
def test_every_sentence_is_held_out_once_and_groups_stay_together(rows, data):
    sizes, groups = zip(*rows, strict=True)
    if len(set(groups)) < 2:
        groups = ()
    number = data.draw(st.integers(2, len(set(groups) or sizes) if groups else len(sizes)))
    parts = folds(sizes, number, np.random.default_rng(0), groups)
    assert len(parts) == number
    assert sorted(i for part in parts for i in part.held_out) == list(range(len(sizes)))
    for part in parts:
        assert len(part.held_out) and sorted([*part.train, *part.held_out]) == list(range(len(sizes)))
        if groups:
            assert not {groups[i] for i in part.held_out} & {groups[i] for i in part.train}


def test_parts_are_about_equally_large_and_repeat():
    sizes = np.random.default_rng(1).integers(1, 50, 500).tolist()
    parts = folds(sizes, 5, np.random.default_rng(0))
    tokens = [sum(sizes[i] for i in part.held_out) for part in parts]
    assert max(tokens) - min(tokens) <= 50
    again = folds(sizes, 5, np.random.default_rng(0))
    assert all(np.array_equal(a.held_out, b.held_out) for a, b in zip(parts, again, strict=True))
    other = folds(sizes, 5, np.random.default_rng(1))
    assert any(not np.array_equal(a.held_out, b.held_out) for a, b in zip(parts, other, strict=True))


@pytest.mark.parametrize(
    ("number", "groups", "told"), [(1, (), "from 2 to 4"), (5, (), "from 2 to 4"), (3, "aabb", "from 2 to 2")]
)
def test_impossible_numbers_are_refused(number, groups, told):
    with pytest.raises(PostilError, match=told):
        folds([3, 3, 3, 3], number, np.random.default_rng(0), tuple(groups))


def test_one_group_cannot_be_split():
    with pytest.raises(PostilError, match="at least 2 groups"):
        folds([3, 3], 2, np.random.default_rng(0), ["same", "same"])


def test_documents_are_numbered_where_they_are_marked():
    sentences = [Sentence(["a"], document="one"), Sentence(["b"]), Sentence(["c"], document=""), Sentence(["d"])]
    assert documents_of(sentences) == [1, 1, 2, 2]
    assert documents_of(sentences[1:2]) == []


def test_one_document_is_no_group():
    assert groups_of([1, 1, 1]) == () and groups_of([]) == ()
    assert groups_of([0, 0, 1]) == [0, 0, 1]


def test_a_fifth_is_held_out_of_at_least_five_sentences():
    part = held_out_fifth([4] * 10, np.random.default_rng(0), "a curve")
    assert len(part.held_out) == 2 and len(part.train) == 8
    with pytest.raises(PostilError, match=r"a curve needs held-out data, or at least 5 sentences \(got 4\)"):
        held_out_fifth([4] * 4, np.random.default_rng(0), "a curve")
