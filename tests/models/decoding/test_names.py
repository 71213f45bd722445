"""Names of labels: what can be written to every file and every terminal."""

import pytest

from postil.errors import DataError, PostilError
from postil.models.decoding.codec import LONGEST_NAME, MOST_LABELS, LabelCodec, checked_name, checked_names


def test_names_in_any_script_are_kept_in_their_order():
    names = ["PER", "", "地名", "a b", "O|X", "é" * LONGEST_NAME]
    assert checked_names(tuple(names), "labels") == names
    assert len(checked_names([str(i) for i in range(MOST_LABELS)], "labels")) == MOST_LABELS
    assert LabelCodec.from_json({"scheme": "bio", "classes": names}).classes == tuple(names)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("PER", r"labels must be a list of names \(got 'PER'\)"),
        (None, r"labels must be a list of names \(got None\)"),
        ([1], r"labels must be names \(got 1\)"),
        ([["PER"]], r"labels must be names \(got \['PER'\]\)"),
        (["A", "B", "A"], r"labels must be different names \(got one that stands twice\)"),
        (["x" * (LONGEST_NAME + 1)], "labels must be names of at most 1,000 characters"),
        (["B-\x1b[31m"], r"none of them a control character \(got 'B-.x1b"),
        (["\ud800"], "none of them a control character"),
        ([str(i) for i in range(MOST_LABELS + 1)], "too many labels: expected at most 4,096, got 4,097"),
    ],
)
def test_other_names_are_refused(names, message):
    with pytest.raises(DataError, match=message):
        checked_names(names, "labels")


@pytest.mark.parametrize("scheme", ["zoo", None, ["bio"], "bio\n"])
def test_unknown_schemes_are_refused(scheme):
    with pytest.raises(PostilError):
        LabelCodec.from_json({"scheme": scheme, "classes": ["PER"]})
    with pytest.raises(DataError):
        checked_name(scheme if scheme != "zoo" else 3, "scheme")
