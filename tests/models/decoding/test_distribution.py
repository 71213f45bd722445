"""Every answer of a tagger against the enumeration of all labellings, in any temperature."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import postil
from oracles.corpora import named_entities, parts_of_speech
from oracles.examples import examples
from postil import Constraints, Decoding
from postil.errors import ConfigurationError, DataError
from postil.models.decoding.codec import MANY_CLASSES, LabelCodec
from postil.models.decoding.distribution import LabelPosterior
from postil.objectives import ChainScores, Lattice
from postil.text import spans_from_labels

SMALL = {"hidden": 12, "word_dim": 8, "epochs": 1, "rate": 0.02, "batch_sentences": 8}
TOKENS = ["Anna", "left", "Paris", "Lima"]
DECODINGS = [Decoding(), Decoding(temperature=2.5, shift=0.7), Decoding(temperature=0.6, shift=-0.4, bias=1.5)]


@cache
def tagger(preset="fast", **options):
    return postil.Tagger(preset=preset, **{**SMALL, **options}).fit(*named_entities(40))


def all_labellings(model, tokens=TOKENS, constraints=None):
    return model.nbest(tokens, 100_000, constraints)


def spans(labels):
    return {(span.start, span.end, span.label) for span in spans_from_labels(labels)}


@pytest.mark.parametrize("preset", ["fast", "linear-crf", "window-wll", "average-softmax"])
@pytest.mark.parametrize("decoding", DECODINGS)
def test_all_answers_come_from_one_distribution(preset, decoding):
    model = tagger(preset)
    model.decoding = decoding
    paths = all_labellings(model)
    weights = np.array([p for _, p in paths])
    assert weights.sum() == pytest.approx(1, abs=1e-4)
    assert (np.diff(weights) <= 1e-12).all()
    for t, marginal in enumerate(model.marginals(TOKENS)):
        summed = dict.fromkeys(marginal, 0.0)
        for labels, p in paths:
            summed[labels[t]] += p
        assert summed == pytest.approx(marginal, abs=1e-4)
    for labels, p in paths[:5]:
        assert model.probability(TOKENS, labels) == pytest.approx(p, abs=1e-6)
    (answer,) = model.answers([postil.text.Sentence(TOKENS)])
    assert answer.probability == pytest.approx({tuple(path): p for path, p in paths}[tuple(answer.labels)], abs=1e-6)
    for one in answer.entities:
        expected = sum(p for labels, p in paths if (one.start, one.end, one.label) in spans(labels))
        assert one.probability == pytest.approx(expected, abs=1e-4)
    best = max(paths, key=lambda path: np.log(path[1]) + decoding.bias * len(spans(path[0])))
    assert model.predict([TOKENS]) == [best[0]]


@pytest.mark.parametrize("lowest", [0.02, 0.1, 0.3, 0.6])
def test_no_span_above_a_probability_is_missed(lowest):
    model = tagger()
    model.decoding = Decoding(temperature=2.0)
    paths = all_labellings(model)
    expected = {}
    for start, end in combinations(range(len(TOKENS) + 1), 2):
        for label in ("LOC", "PER"):
            p = sum(p for labels, p in paths if (start, end, label) in spans(labels))
            if p >= lowest:
                expected[start, end, label] = p
    found = {(e.start, e.end, e.label): e.probability for e in model.spans_above(TOKENS, lowest)}
    assert found == pytest.approx(expected, abs=1e-6)
    if lowest <= 0.1:
        assert len(found) > len(spans(model.predict([TOKENS])[0])), "some of them are not on the best path"


@pytest.mark.slow
@pytest.mark.parametrize("number", [2, MANY_CLASSES + 1])
@examples(0.5)
@given(seed=st.integers(0, 2**32 - 1))
def test_pruning_is_complete_in_both_schemes(number, seed):
    """More than a hundred classes are learnt as BIO: there an entity's end is not a label of its own."""
    rng = np.random.default_rng(seed)
    codec = LabelCodec("bio", tuple(f"C{i}" for i in range(number)))
    L, mask = len(codec.labels), codec.mask
    chain = ChainScores.under_mask(
        L, allowed_transitions=mask.transitions, allowed_start=mask.start, allowed_end=mask.end
    )
    unary = rng.normal(size=(5, L)) * 3
    lattice = Lattice.over(unary, np.array([0, 3, 3, 5]), chain)
    posterior = LabelPosterior(which=[0, 1, 2], lattice=lattice, codec=codec)
    every = [
        (row, start, end, kind)
        for row, length in ((0, 3), (2, 2))
        for start, end in combinations(range(length + 1), 2)
        for kind in range(number)
    ]
    probabilities = posterior.span_probabilities(np.array(every))
    expected = {one: p for one, p in zip(every, probabilities, strict=True) if p >= 0.05}
    assert {
        (row, span.start, span.end, codec.classes.index(span.label)): p
        for row, spans in enumerate(posterior.spans_above(0.05))
        for span, p in spans
    } == pytest.approx(expected)


def test_a_higher_temperature_is_less_sure_and_answers_the_same():
    model = tagger()
    answers = []
    for temperature in (0.5, 1.0, 3.0):
        model.decoding = Decoding(temperature=temperature)
        answers.append((model.nbest(TOKENS, 1)[0][1], model.predict([TOKENS])))
    assert answers[0][0] > answers[1][0] > answers[2][0]
    assert answers[0][1] == answers[1][1] == answers[2][1]


def test_thresholds_drop_improbable_entities():
    model = tagger()
    model.decoding = Decoding(bias=3.0)
    X, _ = named_entities(20, seed=3)
    everything = [model.annotate([postil.text.Sentence(tokens)])[0] for tokens in X]
    kept = [model.annotate([postil.text.Sentence(tokens)], threshold={"LOC": 0.6})[0] for tokens in X]
    assert kept == [[e for e in found if e.label != "LOC" or e.probability >= 0.6] for found in everything]
    assert kept != everything
    labels = model.predict(X, threshold=0.6)
    expected = [{(e.start, e.end, e.label) for e in found if e.probability >= 0.6} for found in everything]
    assert [spans(found) for found in labels] == expected
    model.decoding = Decoding(bias=3.0, thresholds={"LOC": 0.6, "PER": 0.6})
    assert model.predict(X) == labels
    assert model.predict(X, threshold={}) != labels
    with_probabilities, sure = model.predict_with_probabilities(X)
    assert with_probabilities == labels
    for tokens, found, probabilities in zip(X, labels, sure, strict=True):
        own = [m[label] for m, label in zip(model.marginals(tokens), found, strict=True)]
        assert own == pytest.approx(probabilities.tolist(), abs=1e-6)


def test_iob1_labels_stay_valid_when_a_neighbour_is_dropped():
    model = postil.Tagger(**{**SMALL, "epochs": 3}).fit(*named_entities(60, scheme="iob1"))
    X, _ = named_entities(40, seed=2)
    model.decoding = Decoding(bias=4.0)
    for labels in model.predict(X, threshold=0.3):
        for before, label in zip(["O", *labels], labels, strict=False):
            assert not label.startswith("B-") or before[2:] == label[2:]


def test_mistakes_are_told():
    model = tagger()
    model.decoding = Decoding()
    with pytest.raises(ConfigurationError, match="threshold of an unknown class: expected one of LOC, PER, got 'X'"):
        model.predict([TOKENS], threshold={"X": 0.5})
    with pytest.raises(ConfigurationError, match=r"threshold must be a number from 0 to 1 \(got 2"):
        model.predict([TOKENS], threshold=2)
    with pytest.raises(ConfigurationError, match="lowest probability: expected above 0, got 0"):
        model.spans_above(TOKENS, 0)
    with pytest.raises(ConfigurationError, match=r"temperature must be a positive number \(got -1"):
        Decoding(temperature=-1)
    with pytest.raises(ConfigurationError, match="bias must be a finite number"):
        Decoding(bias=float("nan"))
    with pytest.raises(ConfigurationError, match="unknown class"):
        model.decoding = Decoding(thresholds={"X": 0.5})
    speech = postil.Tagger(**SMALL).fit(*parts_of_speech(30))
    with pytest.raises(ConfigurationError, match="threshold needs a model of spans"):
        speech.predict([TOKENS], threshold=0.5)
    assert speech.spans_above(TOKENS, 0.1) == []
    with pytest.raises(DataError, match="constraints on spans: expected a model of spans, got labels without spans"):
        speech.predict([TOKENS], constraints=[Constraints(require=[(0, 1, None)])])
    allowed = [Constraints(allow=[(0, 4, ["VERB"])])]
    assert speech.predict([TOKENS], constraints=allowed) == [["VERB"] * 4]


def test_the_decoding_is_saved(tmp_path):
    model = tagger()
    model.decoding = Decoding(temperature=1.5, shift=0.2, bias=0.5, thresholds={"LOC": 0.25})
    model.save(tmp_path / "m.postil")
    loaded = postil.load(tmp_path / "m.postil")
    assert loaded.decoding == model.decoding
    assert loaded.nbest(TOKENS, 3) == model.nbest(TOKENS, 3)
