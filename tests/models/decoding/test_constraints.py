"""Constraints at call time against the enumeration of all labellings: what is left, and with which probabilities."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import postil
from oracles.corpora import named_entities
from oracles.examples import examples
from postil import Constraints, Decoding, Gazetteer
from postil.errors import ConfigurationError, DataError
from postil.text import spans_from_labels

TOKENS = ["Anna", "left", "Paris"]
EVERY = 100  # more labellings than there are
SPANS = [(*span, label) for span in combinations(range(4), 2) for label in ("LOC", "PER", None)]
LABELS = ["LOC", "PER", "O", "B-LOC", "I-PER"]


@cache
def tagger():
    model = postil.Tagger(hidden=12, word_dim=8, epochs=1, rate=0.02).fit(*named_entities(40))
    model.decoding = Decoding(temperature=1.7, shift=0.3)
    return model


@cache
def all_labellings():
    found = tagger().nbest(TOKENS, EVERY)
    assert len(found) < EVERY
    return found


def spans(labels):
    return {(span.start, span.end, span.label) for span in spans_from_labels(labels)}


def has(labels, start, end, label):
    return any((start, end, name) in spans(labels) for name in ([label] if label else ["LOC", "PER"]))


def agrees(labels, own):
    possible = all(has(labels, *one) for one in own.require) and not any(has(labels, *one) for one in own.forbid)
    return possible and all(
        labels[t] in names or labels[t].partition("-")[2] in names
        for start, end, names in own.allow
        for t in range(start, end)
    )


constraints = st.builds(
    Constraints,
    require=st.lists(st.sampled_from(SPANS), max_size=1),
    forbid=st.lists(st.sampled_from(SPANS), max_size=4),
    allow=st.lists(
        st.tuples(st.integers(0, 1), st.integers(2, 3), st.lists(st.sampled_from(LABELS), min_size=2)), max_size=1
    ),
)


@pytest.mark.slow
@examples(2)
@given(constraints)
def test_answers_are_those_of_all_labellings_that_agree(own):
    model = tagger()
    left = [(labels, p) for labels, p in all_labellings() if agrees(labels, own)]
    total = sum(p for _, p in left)
    if not left:
        with pytest.raises(DataError, match="sentence 0: constraints that contradict each other: no labelling is left"):
            model.predict([TOKENS], constraints=[own])
        return
    found = model.nbest(TOKENS, EVERY, own)
    assert {tuple(labels): p for labels, p in found} == pytest.approx(
        {tuple(labels): p / total for labels, p in left}, abs=1e-6
    )
    assert model.predict([TOKENS], constraints=[own]) == [found[0][0]]
    for t, marginal in enumerate(model.marginals(TOKENS, own)):
        for label, probability in marginal.items():
            assert probability == pytest.approx(sum(p for labels, p in found if labels[t] == label), abs=1e-6)
    expected = {}
    for start, end, label in SPANS:
        p = sum(p for labels, p in found if label and (start, end, label) in spans(labels))
        if p >= 0.1:
            expected[start, end, label] = p
    above = {(e.start, e.end, e.label): e.probability for e in model.spans_above(TOKENS, 0.1, own)}
    assert above == pytest.approx(expected, abs=1e-6)


def test_each_sentence_has_its_own():
    model, X = tagger(), [TOKENS, ["Boris", "slept"], [], ["Oslo"]]
    own = [None, Constraints(require=[(1, 2, "LOC")]), Constraints(), Constraints(forbid=[(0, 1, None)])]
    labels = model.predict(X, constraints=own)
    assert labels[0] == model.predict([TOKENS])[0]
    assert labels[1][1] == "B-LOC"
    assert labels[3] == ["O"]
    sure = model.predict_with_probabilities(X, constraints=own)[1]
    assert sure[1][1] == pytest.approx(1)


def test_a_shorter_span_is_forbidden_and_the_longer_one_stays_possible():
    model, tokens = tagger(), ["in", "New", "York"]
    forced = Constraints(require=[(1, 3, "LOC")], forbid=[(1, 2, "LOC"), (2, 3, None)])
    assert model.predict([tokens], constraints=[forced])[0][1:] == ["B-LOC", "I-LOC"]


def test_offsets_of_a_text_count_characters():
    text = "Anna left Paris. Boris slept in Lima."
    found = tagger().tag(text, constraints=Constraints(require=[(17, 22, "LOC")], forbid=[(10, 15, None)]))
    assert [(e.text, e.label, e.probability) for e in found.entities if e.start == 17] == [
        ("Boris", "LOC", pytest.approx(1))
    ]
    assert not [e for e in found.entities if (e.start, e.end) == (10, 15)]


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (
            {"require": [(0, 3, "LOC")]},
            "does not fit the tokens: expected whole tokens of one sentence",
        ),
        ({"require": [(4, 9, "LOC")]}, "does not fit the tokens"),
        ({"forbid": [(10, 22, None)]}, "does not fit the tokens"),
        ({"allow": [(30, 60, ["O"])]}, "a constraint outside the text: expected 0 <= start < end <= 37"),
        ({"require": [(0, 4, "CITY")]}, "unknown class: expected one of LOC, PER, got 'CITY'"),
        ({"allow": [(0, 4, ["CITY"])]}, "unknown label: expected one of LOC, PER, O, B-LOC"),
        ({"require": [(0, 4, "LOC"), (0, 4, "PER")]}, "contradict each other: no labelling is left .'require 0:1=LOC"),
    ],
)
def test_mistakes_in_a_text_are_told(own, message):
    with pytest.raises(DataError, match=message) as error:
        tagger().tag("Anna left Paris. Boris slept in Lima.", constraints=Constraints(**own, where="page 3"))
    assert str(error.value).startswith("page 3: ")


def test_a_threshold_does_not_undo_constraints():
    for own in (Constraints(require=[(0, 1, None)]), Constraints(allow=[(0, 1, ["LOC", "PER"])])):
        for threshold in (0.0, 1.0):
            ((first, *_),) = tagger().predict([TOKENS], constraints=[own], threshold=threshold)
            assert first != "O"
    forbidding = Constraints(require=[(0, 1, None)], forbid=[(1, 2, None)])  # a lattice with other labels
    assert tagger().predict([TOKENS], constraints=[forbidding], threshold=1.0)[0][0] != "O"
    free = Constraints(forbid=[(1, 2, None)])
    assert tagger().predict([TOKENS], constraints=[free], threshold=1.0) == [["O", "O", "O"]]


def test_mistakes_in_python_are_told():
    with pytest.raises(ConfigurationError, match=r"a list of 1, one a sentence or None \(got one for all"):
        tagger().predict([TOKENS], constraints=Constraints())
    with pytest.raises(ConfigurationError, match=r"a list of 2, one a sentence or None \(got 1"):
        tagger().predict([TOKENS, TOKENS], constraints=[None])
    with pytest.raises(DataError, match="sentence 1: a constraint outside the sentence: expected 0 <= start < end"):
        tagger().predict([TOKENS, TOKENS], constraints=[None, Constraints(require=[(3, 5, None)])])
    for wrong in ((1,), (1, 2, "LOC", 4), ("a", 2), (0, 1, 7)):
        with pytest.raises(ConfigurationError, match="require must be"):
            Constraints(require=[wrong])
    for wrong in ((0, 1, "LOC"), (0, 1, []), (0, 1), (0, 1, [1])):
        with pytest.raises(ConfigurationError, match="allow must be"):
            Constraints(allow=[wrong])
    free = postil.Tagger(preset="window-wll", constrained=False, hidden=8, epochs=1).fit(*named_entities(20))
    with pytest.raises(DataError, match="one that allows any sequence"):
        free.predict([TOKENS], constraints=[Constraints(require=[(0, 1, "LOC")])])
    assert free.predict([TOKENS], constraints=[Constraints(allow=[(0, 3, ["O"])])]) == [["O"] * 3]


def test_from_json():
    own = Constraints.from_json({"require": [[0, 1, "LOC"]], "forbid": [{"start": 1, "end": 2}]}, "line 3")
    assert own == Constraints(require=[(0, 1, "LOC")], forbid=[(1, 2, None)])
    for wrong, message in (
        ([], "line 3: constraints must be an object with require, forbid, allow"),
        ({"forced": []}, "line 3: constraints must be an object"),
        ({"require": 3}, "line 3: constraints: require: expected a list, got 3"),
        ({"require": [[1]]}, "line 3: require: expected"),
        ({"require": [3]}, "line 3: require: expected"),
        ({"require": [{"start": 1, "stop": 2}]}, "line 3: require: expected"),
    ):
        with pytest.raises(DataError, match=message):
            Constraints.from_json(wrong, "line 3")


def test_names_of_gazetteers_are_forced(tmp_path):
    (tmp_path / "cities.txt").write_text("Paris\nNew York\nYork\n")
    (tmp_path / "people.txt").write_text("Paris Hilton\nAnna\n")
    lists = [Gazetteer.load(tmp_path / "cities.txt", label="LOC"), Gazetteer.load(tmp_path / "people.txt", label="PER")]
    tokens = ["paris", "Hilton", "met", "Anna", "in", "New", "York"]
    own = Constraints(forbid=[(3, 4, "PER")]).with_names(lists, tokens)
    assert own.require == [(0, 2, "PER"), (5, 7, "LOC")]
    labels = tagger().predict([tokens], constraints=[Constraints().with_names(lists, tokens)])[0]
    assert {(0, 2, "PER"), (3, 4, "PER"), (5, 7, "LOC")} <= spans(labels)


def test_many_sentences_are_answered_like_one_by_one():
    X, _ = named_entities(30, seed=5)
    rng = np.random.default_rng(0)
    own = []
    for tokens in X:
        start = int(rng.integers(len(tokens)))
        kind = rng.choice(["require", "forbid", "allow", "none"])
        item = (start, start + 1, ["O", "LOC"]) if kind == "allow" else (start, start + 1, "LOC")
        own.append(None if kind == "none" else Constraints(**{str(kind): [item]}))
    together = tagger().predict(X, constraints=own)
    assert together == [tagger().predict([x], constraints=[c])[0] for x, c in zip(X, own, strict=True)]
