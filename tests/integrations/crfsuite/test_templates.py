"""Templates of CRF++: expanded as its documentation says, and learnt from."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.features import flattened
from postil import Tagger
from postil.crfsuite import CRF, Template
from postil.errors import DataError

ROWS = [("He", "PRP"), ("reckons", "VBZ"), ("the", "DT"), ("current", "JJ"), ("account", "NN")]
TEMPLATE = """\
# the example of the CRF++ documentation
U00:%x[0,0]
U01:%x[0,1]
U02:%x[-1,0]
U03:%x[-2,1]
U04:%x[0,0]/%x[0,1]
U05:ABC%x[0,1]123
U

B
"""


def names(item):
    return [name for name, value in flattened(item) if value == 1]


def test_the_example_of_the_documentation():
    template = Template(TEMPLATE)
    items = template.features(ROWS)
    assert names(items[2]) == ["U00:the", "U01:DT", "U02:reckons", "U03:PRP", "U04:the/DT", "U05:ABCDT123", "U"]
    assert names(items[0])[2:4] == ["U02:_B-1", "U03:_B-2"]
    assert template.has_transitions and template.columns == 2
    after = Template("U00:%x[1,0]\nU01:%x[2,0]").features(ROWS)
    assert names(after[4]) == ["U00:_B+1", "U01:_B+2"] and not Template("U").has_transitions


def naive(line, rows, t):
    """CRF++'s own rule, one macro after the other."""

    def value(match):
        i, column = t + int(match[1]), int(match[2])
        return f"_B{i}" if i < 0 else rows[i][column] if i < len(rows) else f"_B+{i - len(rows) + 1}"

    return re.sub(r"%x\[(-?\d+),(\d+)\]", value, line)


cells = st.text(alphabet="abÄ:/_%[]0", min_size=1, max_size=3)
sentences = st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=6)
macros = st.builds("%x[{},{}]".format, st.integers(-8, 8), st.integers(0, 2))
texts = st.text(alphabet="x:/-_ ", max_size=2).map(lambda text: text.replace(" ", "~"))
lines = st.lists(st.one_of(macros, texts), max_size=4).map("".join)


@given(
    sentences, st.lists(st.tuples(st.sampled_from(["U00", "U01", "U"]), st.sampled_from([":", ""]), lines), max_size=4)
)
def test_features_are_those_of_a_substitution(rows, parts):
    template_lines = ["".join(part) for part in parts]
    items = Template("\n".join(template_lines)).features(rows)
    for t, item in enumerate(items):
        expected = [naive(line, rows, t) for line in template_lines]
        assert sorted(set(names(item))) == sorted(set(expected))


def test_lines_of_one_name_are_both_taken():
    (item,) = Template("U00:%x[0,0]\nU00:%x[0,1]\nU00:%x[1,0]").features(ROWS[:1])
    assert item == {"U00": ["He", "PRP", "_B+1"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("U00:%x[0,0]\nX", "template:2: template must begin with U, B or # (got 'X')"),
        ("B01:%x[0,0]", "template:1: template must be B alone: a pair of labels has one weight, whatever the words"),
        ("U00:%y[0,0]", "template:1: template must have [row,column] after %x, and no other %"),
        ("U00:%x[9,0]", "template:1: row of a template must be from -8 to 8 (got 9)"),
    ],
)
def test_what_cannot_be_learnt_is_refused(text, message):
    with pytest.raises(DataError) as error:
        Template(text)
    assert message in str(error.value)


def test_rows_with_too_few_columns_are_refused():
    with pytest.raises(DataError, match="token 1"):
        Template("U00:%x[0,1]").features([("a", "b"), ("c",)])


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "train.data"
    sentence = "Anna\tNNP\tB-PER\nleft VBD  O\nOslo NNP B-LOC\n"
    path.write_text(f"\n\n{sentence}\n{sentence}\n" * 5 + "Oslo NNP B-LOC", encoding="utf8")
    return path


def test_training_and_tagging_of_a_file(data, tmp_path):
    path = tmp_path / "template"
    path.write_text("U00:%x[0,0]\nU01:%x[-1,1]\nB\n", encoding="utf8")
    template = Template.load(path)
    X, y = template.read(data)
    assert len(X) == 11 and y[0] == ["B-PER", "O", "B-LOC"] and X[-1] == [{"U00": "Oslo", "U01": "_B-1"}]
    crf = template.crf(C=2.0)
    assert isinstance(crf, CRF) and crf.c2 == 0.25
    crf.fit(X, y)
    assert crf.predict(X).tolist() == y
    assert len(crf.state_features_) == len(crf.attributes_) * len(crf.classes_)  # every feature with every label


def test_the_optimum_is_that_of_the_objective_of_crfpp(data):
    """At the optimum of Σ -log p + |w|² / 2C, observed - expected = w / C for every weight."""
    C = 2.0
    template = Template("U00:%x[0,0]\nB")
    X, y = template.read(data)
    crf = template.crf(C=C, epsilon=1e-8, delta=1e-9, max_iterations=500).fit(X, y)
    marginals = crf.predict_marginals(X)
    for (name, label), weight in crf.state_features_.items():
        gaps = [
            (labels[t] == label) - row[t][label]
            for items, labels, row in zip(X, y, marginals, strict=True)
            for t, item in enumerate(items)
            if name in names(item)
        ]
        assert np.isclose(sum(gaps), weight / C, atol=1e-3)


def test_features_for_a_neural_tagger(data):
    X, y = Template("U00:%x[0,1]").read(data, word_key="word")
    assert X[0][0] == {"U00": "NNP", "word": "Anna"}
    tagger = Tagger(preset="fast", hidden=8, word_key="word", seed=0).fit(X, y)
    assert tagger.predict(X[:1]) == y[:1]


def test_a_row_of_another_width_is_refused(tmp_path):
    path = tmp_path / "broken.data"
    path.write_text("a b O\nc O\n", encoding="utf8")
    with pytest.raises(DataError, match=r"broken\.data:2: .*expected 3, got 2"):
        Template("U00:%x[0,0]").read(path)
