"""The recipes of docs/how-to/dataframes.md run, and say what one process says."""

import re
from pathlib import Path

import pytest

import postil
from oracles.corpora import named_entities

PAGE = Path(__file__).parent.parent.parent / "docs" / "how-to" / "dataframes.md"
pytestmark = pytest.mark.filterwarnings("default")  # of the other libraries


@pytest.fixture
def run(names_model, tmp_path, monkeypatch):
    """A function that runs the block below a heading and returns its names; and the entities of each text."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    texts = [" ".join(tokens) for tokens in named_entities(50, seed=5)[0]]
    texts[3:5] = [None, ""]
    monkeypatch.chdir(tmp_path)
    Path("ner.postil").write_bytes(names_model.read_bytes())
    parquet.write_table(pa.table({"id": range(50), "text": texts}), "texts.parquet", row_group_size=20)
    model = postil.load(names_model)
    expected = [None if t is None else [(e.label, e.start, e.end) for e in model.tag(t).entities] for t in texts]

    def of(heading):
        section = PAGE.read_text("utf-8").partition(f"\n## {heading}\n")[2]
        names = {"__name__": "recipe"}
        exec(re.search(r"^```py\n(.*?)^```$", section, re.M | re.S)[1], names)
        return names

    return of, expected


def simple(rows):
    return [None if row is None else [(e["label"], e["start"], e["end"]) for e in row] for row in rows]


@pytest.mark.extra("polars")
def test_polars(run):
    of, expected = run
    assert simple(of("Polars")["tagged"]["entities"].to_list()) == expected


@pytest.mark.extra("duckdb")
def test_duckdb(run):
    of, expected = run
    rows = sorted(of("DuckDB")["tagged"])
    assert simple([entities for _, _, entities in rows]) == expected


@pytest.mark.extra("dask")
def test_dask(run):
    of, expected = run
    tagged = of("Dask")["tagged"].sort_values("id")
    assert simple([list(row) if hasattr(row, "__len__") else None for row in tagged["entities"]]) == expected
