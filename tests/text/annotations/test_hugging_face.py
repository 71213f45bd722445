"""Hugging Face datasets: rows in memory, Parquet with the names of its classes, JSON Lines; the real library."""

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import postil
from postil.errors import ConfigurationError, DataError
from postil.text.document import Sentence
from postil.text.formats import read, write
from postil.text.report import Report

NAMES = ["O", "B-PER", "I-PER"]
ROWS = [{"tokens": ["Anna", "Berg"], "ner_tags": [1, 2]}, {"tokens": ["left"], "ner_tags": [0]}]
SENTENCES = [Sentence(["Anna", "Berg"], ["B-PER", "I-PER"]), Sentence(["left"], ["O"])]


class Rows(list[Any]):
    """Rows with features, as a dataset has them."""

    def __init__(self, rows: list[Any], features: Any) -> None:
        super().__init__(rows)
        self.features = features


def class_label(names: Any = NAMES) -> SimpleNamespace:
    return SimpleNamespace(feature=SimpleNamespace(names=names))


@pytest.mark.parametrize(
    "feature", [class_label(), {"feature": {"names": NAMES}}, [SimpleNamespace(names=NAMES)], {"names": NAMES}]
)
def test_numbers_become_names(feature: Any) -> None:
    X, y = postil.from_datasets(Rows(ROWS, {"tokens": None, "ner_tags": feature}))
    assert X == [["Anna", "Berg"], ["left"]]
    assert y == [["B-PER", "I-PER"], ["O"]]


def test_columns_by_name_and_names_in_a_mapping() -> None:
    names = {"1": "b", "0": "a", "10": "k", **{str(n): "x" for n in range(2, 10)}}
    rows = Rows([{"words": ["x"], "kind": [10]}], {"words": None, "kind": {"feature": {"names": names}}})
    assert postil.from_datasets(rows, tokens="words", labels="kind") == ([["x"]], [["k"]])


def test_rows_without_features_may_have_names() -> None:
    assert postil.from_datasets([{"tokens": ["a"], "tags": ["X"]}]) == ([["a"]], [["X"]])
    assert postil.from_datasets([]) == ([], [])


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ([{"tokens": ["a"], "ner_tags": [1]}], "dataset, row 0: the labels are numbers"),
        (Rows([{"tokens": ["a"], "ner_tags": [7]}], {"tokens": 0, "ner_tags": class_label()}), "has no name"),
        (Rows([{"tokens": ["a"], "ner_tags": [-1]}], {"tokens": 0, "ner_tags": class_label()}), "has no name"),
        ([{"tokens": ["a", "b"], "ner_tags": ["O"]}], "row 0: wrong number of labels: expected 2"),
        ([{"tokens": "ab", "ner_tags": ["O"]}], "row 0: not a list of tokens"),
        ([{"tokens": ["a"], "ner_tags": [None]}], "row 0: not a label"),
        ([{"tokens": ["a"], "text": "a"}], "no column of labels"),
        (Rows([{}], {"text": None}), "dataset: no column of tokens"),
    ],
)
def test_mistakes(dataset: Any, message: str) -> None:
    with pytest.raises(DataError) as caught:
        postil.from_datasets(dataset)
    assert message in str(caught.value)


def test_a_dataset_of_several_splits() -> None:
    with pytest.raises(ConfigurationError, match="expected one of them: train, test"):
        postil.from_datasets({"train": [], "test": []})


def test_json_lines_with_numbers_need_names() -> None:
    line = json.dumps(ROWS[0]).encode()
    [sentence] = read(io.BytesIO(line), label_names=dict(enumerate(NAMES)))
    assert sentence.labels == ["B-PER", "I-PER"]
    with pytest.raises(DataError, match=r"line 1: the labels are numbers: expected their names \(--label-names"):
        list(read(io.BytesIO(line)))
    with pytest.raises(DataError, match="line 1: the number of a label has no name"):
        list(read(io.BytesIO(line), label_names={0: "O"}))


def test_json_lines_are_written_with_names() -> None:
    stream, sentence = io.BytesIO(), Sentence(["a"], ["O"], [("x",)], document="", comments=["# c"])
    report = write([sentence], stream, "datasets")
    assert stream.getvalue() == b'{"id": "0", "tokens": ["a"], "ner_tags": ["O"]}\n'
    assert +report.dropped == {"extra columns of tokens": 1, "comments": 1, "document marks": 1}


@pytest.mark.extra("pyarrow")
def test_parquet_there_and_back(tmp_path: Path) -> None:
    path = tmp_path / "train.parquet"
    write(SENTENCES, path)
    reading = read(path)
    assert reading.format == "parquet"
    assert [(s.tokens, s.labels) for s in reading] == [(s.tokens, s.labels) for s in SENTENCES]
    assert reading.report.dropped == {"column 'id'": 2}
    [sentence, _] = read(path, label_names={0: "x", 1: "y", 2: "z"})
    assert sentence.labels == ["y", "z"]
    assert next(iter(read(path, label=None))).labels is None


@pytest.mark.extra("pyarrow")
def test_parquet_without_labels_or_with_mistakes(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write([Sentence(["a"])], path)
    assert [s.labels for s in read(path, label=None)] == [None]
    with pytest.raises(DataError, match="no column of labels"):
        list(read(path))
    with pytest.raises(DataError, match="no such column: expected id, tokens, got x"):
        list(read(path, label="x"))
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(DataError, match="not a Parquet file that can be read"):
        list(read(path, label=None))
    with pytest.raises(ConfigurationError, match="must be a file for Parquet"):
        write(SENTENCES, io.BytesIO(), "parquet")


def test_without_pyarrow_there_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigurationError, match="pyarrow is not installed: run pip install"):
        write(SENTENCES, tmp_path / "a.parquet", report=Report())


@pytest.fixture
def datasets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import datasets

    return datasets


@pytest.mark.extra("datasets")
@pytest.mark.filterwarnings("ignore")
def test_the_real_library(datasets: Any, tmp_path: Path) -> None:
    """Files of each are read by the other, and a dataset in memory by ours."""
    labels = datasets.Sequence(datasets.ClassLabel(names=NAMES))
    features = datasets.Features({"tokens": datasets.Sequence(datasets.Value("string")), "ner_tags": labels})
    dataset = datasets.Dataset.from_list(ROWS, features=features)
    expected = [["Anna", "Berg"], ["left"]], [["B-PER", "I-PER"], ["O"]]
    assert postil.from_datasets(dataset) == expected
    for format in ("numpy", "arrow", "pandas"):
        assert postil.from_datasets(dataset.with_format(format)) == expected
    dataset.to_parquet(str(tmp_path / "theirs.parquet"))
    assert [s.labels for s in read(tmp_path / "theirs.parquet")] == [["B-PER", "I-PER"], ["O"]]
    dataset.to_json(str(tmp_path / "theirs.jsonl"))
    again = read(tmp_path / "theirs.jsonl", label_names=dict(enumerate(NAMES)))
    assert [s.labels for s in again] == [["B-PER", "I-PER"], ["O"]]
    write(SENTENCES, tmp_path / "ours.parquet")
    ours = datasets.Dataset.from_parquet(str(tmp_path / "ours.parquet"), cache_dir=str(tmp_path / "cache"))
    assert postil.from_datasets(ours) == ([["Anna", "Berg"], ["left"]], [["B-PER", "I-PER"], ["O"]])
