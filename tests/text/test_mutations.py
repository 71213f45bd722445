"""Damaged files of every format: a clear error or a right result, never anything else.

`benchmarks/mutating.py` does the same with thousands of slices of real files.
"""

import random
from pathlib import Path

import pytest

from oracles.mutations import MUTATIONS, mutate
from oracles.rereading import CHECKS, outcome

CONLL = "".join(
    f"# id = {number}\nÅse\tB-PER\nMoe\tI-PER\nsaw\tO\n#\tO\nOslo\tB-LOC\n日本\tI-LOC\n.\tO\n\n" for number in range(8)
)
BLANKS = "\t_" * 6
CONLLU = "".join(
    f"# sent_id = {number}\n# text = don't go\n1-2\tdon't\t_\t_{BLANKS}\n1\tdo\tdo\tAUX{BLANKS}\n"
    f"2\tn't\tnot\tPART{BLANKS}\n2.1\tx\t_\t_{BLANKS}\n3\tgo\tgo\tVERB{BLANKS}\n\n"
    for number in range(8)
)
JSONL = "".join(
    '{"text": "Åse Moe saw Oslo. Then 日本!", "spans": [{"start": 0, "end": 7, "label": "PER"}, '
    f'{{"start": 12, "end": 16, "label": "LOC"}}], "id": {number}}}\n'
    for number in range(8)
)
SPACES = "".join("-DOCSTART- -X- O\n\nÅse NNP B-PER\nsaw VBD O\n# # O\n\nOslo  NNP B-LOC\n. . O\n\n" for _ in range(8))
TREES = "".join(
    f"# tree {number}\n(3 (2 (2 Åse) (2 's)) (4 (2 and\\/or) (4 (2 -LRB-) (2 日本))))\n"
    "(S (NP a good film) ( (VBZ ends)))\n( (S\n    (NP-SBJ (PRP It))\n    (VP (VBZ ends)) (. .)) )\n"
    for number in range(8)
)
SOURCES = {"conll": CONLL, "spaces": SPACES, "conllu": CONLLU, "jsonl": JSONL, "trees": TREES}
FORMATS = {"spaces": "conll"}


@pytest.mark.parametrize("source", SOURCES)
def test_whole_files_are_right(source: str, tmp_path: Path) -> None:
    format = FORMATS.get(source, source)
    path = tmp_path / "whole"
    path.write_text(SOURCES[source], encoding="utf-8")
    assert outcome(path, format, CHECKS[format]) == outcome(path, None, CHECKS[format]) == "right"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::postil.errors.RepairWarning")
@pytest.mark.parametrize("source", SOURCES)
def test_damaged_files(source: str, tmp_path: Path) -> None:
    format = FORMATS.get(source, source)
    rng = random.Random(source)
    path = tmp_path / "damaged"
    seen = set()
    for _ in range(250):
        path.write_bytes(mutate(SOURCES[source].encode(), rng))
        seen.add(outcome(path, format, CHECKS[format]))
        outcome(path, None, CHECKS[format])
    assert seen == {"right", "refused"}


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_every_kind_of_damage_changes_something(mutation: object) -> None:
    data = (CONLL + TREES).encode()
    assert any(mutation(data, random.Random(seed)) != data for seed in range(20))  # type: ignore[operator]
