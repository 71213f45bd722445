"""Classes of words that are known beforehand: clusters by prefixes of their paths, and lists of names."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import ConfigurationError, ModelFileError
from postil.features.lexicon import ALONE, FIRST, INSIDE, LAST, MOST_COLUMNS, Lexicon, NameEntry

PATHS = {"Monday": "0000000", "Tuesday": "0000001", "run": "0011", "walk": "00110", "zebra": "1"}


def test_words_share_the_classes_of_the_prefixes_that_their_paths_share():
    lexicon = Lexicon.of_paths(PATHS)
    assert lexicon.columns == ["cluster 4", "cluster 6", "cluster 10"]  # no path is longer than 10
    monday, tuesday, run, walk, other = lexicon.of(["Monday", "Tuesday", "run", "walk", "else"]).tolist()
    assert [a == b for a, b in zip(monday, tuesday, strict=True)] == [True, True, False]
    assert [a == b for a, b in zip(run, walk, strict=True)] == [True, False, False]
    assert other == [0, 0, 0]


def test_a_form_is_looked_up_as_it_stands_and_then_in_lower_case():
    lexicon = Lexicon.of_classes(["cluster"], ["apple", "Apple"], [["fruit", "firm"]])
    fruit, firm, shouted = lexicon.of(["apple", "Apple", "APPLE"])[:, 0]
    assert fruit != firm
    assert shouted == fruit


def test_codes_of_a_name_list_say_where_a_word_stands_in_names():
    entries = [NameEntry("york", "city", ALONE), NameEntry("new", "city", FIRST), NameEntry("york", "city", LAST)]
    entries += [NameEntry("york", "person", LAST), NameEntry("de", "person", INSIDE)]
    lexicon = Lexicon.of_names(entries)
    assert lexicon.columns == ["city", "person"]
    assert lexicon.of(["York", "NEW", "de", "x"]).tolist() == [[ALONE | LAST, LAST], [FIRST, 0], [0, INSIDE], [0, 0]]
    with pytest.raises(ConfigurationError, match=f"at most {MOST_COLUMNS}"):
        Lexicon.of_names(NameEntry("w", f"class {i}", ALONE) for i in range(MOST_COLUMNS + 1))


@pytest.mark.slow
@given(
    st.dictionaries(st.text(min_size=1, max_size=3), st.text("01", min_size=1, max_size=24), min_size=1),
    st.dictionaries(st.text(min_size=1, max_size=3), st.integers(1, 5)),
    st.integers(1, 4),
)
def test_classes_too_rare_in_training_become_unknown_and_the_others_stay_apart(paths, occurrences, least):
    whole = Lexicon.of_paths(paths)
    limited = whole.limited_to(occurrences, least)
    before, after = whole.of(paths), limited.of(paths)
    in_training = whole.of(occurrences)
    for k in range(len(whole.columns)):
        for old in set(before[:, k].tolist()):
            seen = sum(n for code, n in zip(in_training[:, k], occurrences.values(), strict=True) if code == old)
            new = set(after[before[:, k] == old, k].tolist())
            assert len(new) == 1
            assert (new != {0}) == (seen >= least)
    assert [len(set(column.tolist()) | {0}) for column in limited.codes.T] == limited.sizes  # dense


@pytest.mark.slow
@given(st.dictionaries(st.text(min_size=1), st.text("01", min_size=1, max_size=24), min_size=1))
def test_a_lexicon_survives_storage(paths):
    lexicon = Lexicon.of_paths(paths)
    for copy in (Lexicon.from_arrays(lexicon.arrays()), pickle.loads(pickle.dumps(lexicon))):
        assert copy.columns == lexicon.columns
        assert np.array_equal(copy.of(paths), lexicon.of(paths))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("codes", lambda codes: codes.astype(np.int64)),
        ("codes", lambda codes: codes[:-1]),
        ("codes", lambda codes: codes + np.uint16(1)),
        ("codes", lambda codes: codes[:, 0]),
        ("columns/text", lambda text: np.where(text == ord("c"), np.uint8(7), text)),
        ("words/offsets", lambda offsets: offsets + np.int32(1)),
    ],
)
def test_a_damaged_lexicon_is_refused(name, change):
    arrays = Lexicon.of_paths(PATHS).arrays()
    arrays[name] = change(arrays[name])
    with pytest.raises(ModelFileError):
        Lexicon.from_arrays(arrays)


def test_a_lexicon_without_its_codes_is_refused():
    arrays = Lexicon.of_paths(PATHS).arrays()
    del arrays["codes"]
    with pytest.raises(ModelFileError, match="codes of a lexicon"):
        Lexicon.from_arrays(arrays)
