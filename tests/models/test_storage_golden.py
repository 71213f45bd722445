"""A model file once written opens for ever, and answers as it did."""

import json

import numpy as np
import pytest

import postil
from oracles.golden import FOLDER, answers
from postil import archive
from postil.models.storage import KINDS

FILES = sorted(FOLDER.glob("*.postil"))


def close(found, expected):
    """The same words, and numbers up to the rounding of another machine."""
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            close(one, other)
    elif isinstance(expected, float):
        np.testing.assert_allclose(found, expected, atol=1e-5)
    else:
        assert found == expected


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_golden_files_answer_as_they_did(path):
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf8"))
    found = answers(postil.load(path))
    assert found.keys() == expected.keys()
    for question, answer in expected.items():
        close(found[question], answer)


def test_every_kind_and_every_version_has_a_golden_file():
    found = {(archive.load(path)[1]["kind"], int(path.stem.rpartition("-")[2])) for path in FILES}
    assert found == {(kind, version) for kind in KINDS for version in range(2, archive.VERSION + 1)}
