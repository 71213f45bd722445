"""Names over several words: the longest from the left, in each class by itself."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import ConfigurationError, DataError, ModelFileError
from postil.features import GAZETTEER_CODES, Gazetteer


def written(folder, **files):
    for name, lines in files.items():
        (folder / f"{name}.txt").write_text("\n".join(lines), encoding="utf-8")
    return folder


def coded(gazetteer, text):
    codes = gazetteer.match(text.split())
    return {name: " ".join(GAZETTEER_CODES[i] for i in codes[:, c]) for c, name in enumerate(gazetteer.columns)}


@pytest.fixture
def places(tmp_path):
    return Gazetteer.load(
        written(tmp_path, LOC=["New York", "York", "New York City Hall", "Paris"], PER=["York Minster", "paris", ""])
    )


def test_longest_from_the_left_in_each_class(places):
    assert places.columns == ["LOC", "PER"] and len(places) == 5
    assert coded(places, "in new york minster") == {"LOC": "none B E none", "PER": "none none B E"}
    assert coded(places, "New York City Hall PARIS York") == {
        "LOC": "B I I E S S",
        "PER": "none none none none S none",
    }
    assert coded(places, "New York City") == {"LOC": "B E none", "PER": "none none none"}
    assert places.match([]).shape == (0, 2)
    assert places.match(["x"]).dtype == np.int32


def test_case_can_count(tmp_path):
    gazetteer = Gazetteer.load(written(tmp_path, ORG=["Apple", "IT"]), ignore_case=False)
    assert coded(gazetteer, "Apple apple IT it") == {"ORG": "S none S none"}


def test_classes_on_the_line_and_a_tokeniser(tmp_path):
    written(tmp_path, names=["LOC\tSt. John", "PER\tSt. John", "DRUG\tAspirin\r", "Ärger"])
    gazetteer = Gazetteer.load(str(tmp_path / "names.txt"), tokenise=lambda name: name.replace(".", " .").split())
    assert gazetteer.columns == ["DRUG", "LOC", "PER", "names"]
    assert gazetteer.match(["st", ".", "john", "ÄRGER", "aspirin"]).tolist() == [
        *[[0, 1, 1, 0], [0, 2, 2, 0], [0, 3, 3, 0], [0, 0, 0, 4], [4, 0, 0, 0]]
    ]


def test_a_space_inside_a_token_is_no_border(tmp_path):
    gazetteer = Gazetteer.load(written(tmp_path, LOC=["New York City"]))
    assert not gazetteer.match(["New", "York City", "x"]).any()
    whole = Gazetteer.load(tmp_path, tokenise=lambda name: [name])
    assert whole.match(["New York City", "x"]).tolist() == [[4], [0]]


def test_names_of_the_model_can_be_replaced_if_the_classes_are_the_same(places, tmp_path):
    assert places.checked_columns(["LOC", "PER"]) is places
    with pytest.raises(ConfigurationError, match=r"expected classes \['LOC', 'ORG'\], got \['LOC', 'PER'\]"):
        places.checked_columns(["LOC", "ORG"])


word = st.sampled_from(["a", "b", "A", "ß", "SS"])
names = st.lists(st.tuples(st.sampled_from("XYZ"), st.lists(word, min_size=1, max_size=4)), min_size=1, max_size=8)


def slow_codes(entries, tokens, name_class, fold):
    """Try every length at every free place, longest first."""
    known = {tuple(map(fold, words)) for c, words in entries if c == name_class}
    codes, place = [], 0
    tokens = [fold(token) for token in tokens]
    while place < len(tokens):
        possible = range(1, min(4, len(tokens) - place) + 1)
        length = max((n for n in possible if tuple(tokens[place : place + n]) in known), default=0)
        codes += {0: [0], 1: [4]}.get(length, [1, *[2] * (length - 2), 3])
        place += length or 1
    return codes


@given(names, st.lists(word, max_size=12), st.booleans())
def test_agrees_with_the_slow_way_and_with_itself_from_arrays(tmp_path_factory, entries, tokens, ignore_case):
    path = tmp_path_factory.getbasetemp() / "names.txt"
    path.write_text("".join(f"{c}\t{' '.join(words)}\n" for c, words in entries), encoding="utf-8")
    gazetteer = Gazetteer.load([path], ignore_case=ignore_case)
    codes = gazetteer.match(tokens)
    fold = str.casefold if ignore_case else str
    for column, name_class in enumerate(gazetteer.columns):
        assert codes[:, column].tolist() == slow_codes(entries, tokens, name_class, fold)
    for again in (Gazetteer.from_arrays(gazetteer.arrays()), pickle.loads(pickle.dumps(gazetteer))):
        assert again.columns == gazetteer.columns
        assert (again.match(tokens) == codes).all()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "LOC.txt: the gazetteer is empty: expected a name a line"),
        (
            b"Paris\nLOC\t \n",
            r"LOC.txt, line 2: a line of the gazetteer: expected a name, or CLASS<TAB>name, got 'LOC\\t '",
        ),
        (b"Paris\n\tRome\n", r"LOC.txt, line 2: .*got '\\tRome'"),
        (b"Paris\nZ\xfcrich\n", r"LOC.txt, line 2: a line of the gazetteer: expected UTF-8, got b'Z\\xfcrich'"),
        (b"".join(b"%d\tx\n" % i for i in range(64)), "classes of a gazetteer must number 1 to 63 .got 64"),
    ],
)
def test_wrong_files(tmp_path, content, message):
    (tmp_path / "LOC.txt").write_bytes(content)
    with pytest.raises(DataError, match=message):
        Gazetteer.load(tmp_path)


def test_no_file(tmp_path):
    with pytest.raises(DataError, match=r"nowhere: cannot read the gazetteer \(No such file or directory"):
        Gazetteer.load(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"must number 1 to 63 \(got 0"):
        Gazetteer.load(tmp_path)


def test_arrays_that_are_no_gazetteer(places):
    arrays = places.arrays()
    with pytest.raises(ModelFileError, match="the classes of 5 names, got 2, and those of 1"):
        Gazetteer.from_arrays({**arrays, "classes": arrays["classes"][:1]})
    del arrays["classes"]
    with pytest.raises(ModelFileError, match="arrays of a gazetteer: expected classes, got none of these"):
        Gazetteer.from_arrays(arrays)
