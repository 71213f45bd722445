"""The example of docs/crf.md runs and gives the figures that the page shows."""

import re
from pathlib import Path

import numpy as np

PAGE = Path(__file__).parents[2] / "docs" / "crf.md"


def test_the_example_of_the_page():
    text = PAGE.read_text(encoding="utf8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    names: dict = {}
    exec(code, names)
    lattice, posterior, place = names["lattice"], names["posterior"], names["place"]
    assert np.allclose(posterior.log_partition, 6.419, atol=5e-4)
    shown = [float(p) for p in re.findall(r"<br/>(0\.\d+)\"", text)]
    assert np.allclose(sorted(shown), np.sort(posterior.marginals()[posterior.marginals() > 0]), atol=5.1e-4)
    assert names["viterbi"](lattice).tolist() == [0, 1, 2]
    assert [round(path.probability, 3) for path in names["k_best"](lattice, 2)[0]] == [0.658, 0.089]
    assert names["span_probabilities"](posterior, names["spans"], 0, [place]).round(3).tolist() == [0.690, 0.113, 0.157]
    forced = names["forced_spans"](lattice, [(0, 2, 3)], 0, [place])
    assert names["viterbi"](lattice.restricted(forced)).tolist() == [0, 0, 1]
    assert names["meaning"][names["viterbi"](names["without"])].tolist() == [0, 0, 1]
