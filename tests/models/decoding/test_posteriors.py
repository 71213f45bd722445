"""What is between a tagger's network and its answers."""

import pickle
from functools import cache

import numpy as np
import pytest

import postil
from oracles.corpora import named_entities
from postil import Constraints, Decoding, kernels
from postil.models.decoding.posteriors import Posteriors
from postil.models.engine import Words
from postil.objectives import Posterior

TOKENS = ["Anna", "left", "Paris", "Lima"]
X = named_entities(60, seed=2)[0] * 40  # several blocks


@cache
def tagger():
    return postil.Tagger(hidden=12, word_dim=8, epochs=2, rate=0.02).fit(*named_entities(40))


def posteriors(**decoding):
    return Posteriors(tagger().model, Decoding(**decoding))


def test_every_sentence_is_in_one_block():
    distributions = list(posteriors().of(X))
    assert len(distributions) > 2
    assert sorted(i for distribution in distributions for i in distribution.which) == list(range(len(X)))
    for distribution in distributions:
        assert distribution.lattice.lengths.tolist() == [len(X[i]) for i in distribution.which]


def test_another_decoding_takes_the_place_of_the_models_own():
    ((_, plain),), ((_, cooled),) = (
        list(posteriors(**decoding).lattices([TOKENS])) for decoding in ({}, {"temperature": 2.0, "shift": 0.5})
    )
    outside = tagger().model.codec.outside
    expected = plain.unary / 2
    expected[:, outside] -= 0.5
    assert np.allclose(cooled.unary, expected)
    assert np.allclose(cooled.chain.transitions, plain.chain.transitions / 2)
    ((_, network),) = posteriors(temperature=2.0).lattices([TOKENS], calibrated=False)
    assert (network.unary == plain.unary).all()


def test_one_sentence_is_the_same_as_among_many():
    model = posteriors()
    alone = model.of_one(TOKENS).marginals()
    (together,) = model.of([TOKENS, ["Oslo"]])
    row = together.which.index(0)
    first, end = together.lattice.offsets[row : row + 2]
    assert np.allclose(together.marginals()[first:end], alone, atol=1e-5)
    assert np.allclose(Posterior.of(model.of_one(TOKENS).lattice).marginals(), alone)


DECODINGS = [
    Decoding(),
    Decoding(temperature=3.0),
    Decoding(shift=2.0),
    Decoding(bias=-6.0),
    Decoding(bias=6.0),
    Decoding(thresholds={"PER": 1.0}),
    Decoding(thresholds={"LOC": 1.0}),
    Decoding(bias=6.0, thresholds={"PER": 0.5, "LOC": 0.9}),
]


def asked(model, sentences):
    """Labels, probabilities of labels, entities and probabilities of label sequences, from every method that asks."""
    sentence = [postil.text.Sentence(list(tokens)) for tokens in sentences]
    labels, probabilities = model.predict_with_probabilities(sentences)
    entities = [model.tag(" ".join(tokens)).entities for tokens in sentences]
    answers = [(answer.labels, answer.probability, answer.entities) for answer in model.answers(sentence)]
    return labels, [one.tolist() for one in probabilities], entities, answers


def test_answers_follow_a_changed_decoding():
    """What the kernels are asked is cached from call to call: as long as the decoding is the same, and no longer."""
    content = pickle.dumps(tagger())
    model, sentences, fresh = pickle.loads(content), X[:20], []
    for decoding in DECODINGS:
        other = pickle.loads(content)
        other.decoding = decoding
        fresh.append(asked(other, sentences))
    assert len({repr(one) for one in fresh}) == len(DECODINGS), "each of them shows"
    for i in [*range(len(DECODINGS)), *reversed(range(len(DECODINGS))), 0, 5, 0, 7, 5]:
        model.decoding = DECODINGS[i]
        assert asked(model, sentences) == fresh[i] == asked(model, sentences)


def test_answers_follow_thresholds_that_were_written_to():
    model, thresholds = pickle.loads(pickle.dumps(tagger())), {}
    model.decoding = Decoding(bias=6.0, thresholds=thresholds)
    entities = asked(model, X[:20])[3]
    thresholds |= {"PER": 1.0, "LOC": 1.0}
    dropped = asked(model, X[:20])[3]
    assert any(found for *_, found in entities) and not any(found for *_, found in dropped)
    thresholds.clear()
    assert asked(model, X[:20])[3] == entities


@pytest.mark.parametrize("task", ["names", "others"])
def test_answers_of_a_task_follow_its_changed_decoding(task):
    data = named_entities(40)
    model = postil.MultiTaskTagger(hidden=12, word_dim=8, epochs=2, rate=0.02)
    model.fit({"names": data[0], "others": data[0]}, {"names": data[1], "others": data[1]})
    first = model.predict(X[:20])
    model[task].decoding = Decoding(bias=-50.0)
    changed = model.predict(X[:20])
    other = "others" if task == "names" else "names"
    assert changed[other] == first[other]
    assert changed[task] != first[task] and {label for labels in changed[task] for label in labels} == {"O"}
    model[task].decoding = Decoding()
    assert model.predict(X[:20]) == first


def test_thresholds_drop_entities():
    model, bare = posteriors(bias=6.0), posteriors(bias=6.0, thresholds={"PER": 1.0, "LOC": 1.0})
    posterior = model.of_one(TOKENS)
    answers, none = model.answered(posterior), bare.answered(posterior)
    assert len(answers.spans) and not len(none.spans) and (none.numbers == tagger().model.codec.outside).all()
    assert (model.answered(posterior, 1.0).numbers == none.numbers).all()
    assert (bare.answered(posterior, 0.0).numbers == answers.numbers).all()


def test_what_must_be_an_entity_is_kept():
    forced = Constraints(require=[(1, 2, "LOC")])
    model = posteriors(thresholds={"PER": 1.0, "LOC": 1.0})
    spans = model.answered(model.of_one(TOKENS, forced)).spans
    assert spans.tolist() == [[0, 1, 2, model.codec.classes.index("LOC")]]


@pytest.mark.parametrize(
    "decoding", [{}, {"bias": 2.0}, {"temperature": 0.5, "shift": -1.0, "thresholds": {"LOC": 0.9}}]
)
def test_words_as_bytes_get_the_labels_of_words_as_strings(decoding):
    model = posteriors(**decoding)
    assert model.takes_cells == (not kernels.IN_USE.startswith("plain"))
    if not model.takes_cells:
        return
    words = [word.encode() for tokens in X for word in tokens]
    ends = np.cumsum([len(word) + 1 for word in words])
    cells = np.column_stack([ends - [len(word) + 1 for word in words], ends - 1])
    offsets = np.concatenate([[0], np.cumsum([len(tokens) for tokens in X])])
    answers = model.decode(Words(b" ".join(words), cells, offsets), probabilities=False)
    spelt = [label for labels in answers.texts() for label in labels]
    again = model.decode(X, label_probabilities=True)
    assert np.array_equal(again.numbers, answers.numbers) and len(again.label_probabilities) == len(words)
    expected = [[] for _ in X]
    for posterior in model.of(X):
        for i, labels in zip(posterior.which, model.answered(posterior).texts(), strict=True):
            expected[i] = labels
    assert spelt == [label for labels in expected for label in labels]


def test_a_model_of_extra_columns_needs_strings():
    X, y = [[("Anna", "N"), ("left", "V")]] * 10, [["B-PER", "O"]] * 10
    parts = postil.Tagger(hidden=4, epochs=1).fit(X, y).model
    assert not Posteriors(parts).takes_cells


@cache
def tagger_of(scheme):
    return postil.Tagger(hidden=12, word_dim=8, epochs=2, rate=0.02).fit(*named_entities(40, scheme=scheme))


@pytest.mark.parametrize("scheme", ["bio", "iobes", "iob1"])
@pytest.mark.parametrize(
    "decoding",
    [{}, {"temperature": 1.7, "shift": 0.4}, {"bias": 2.0}, {"thresholds": {"PER": 0.6, "LOC": 0.3}}],
    ids=["plain", "calibrated", "favoured", "thresholds"],
)
def test_the_fast_path_answers_what_the_general_path_answers(scheme, decoding):
    fitted = Posteriors(tagger_of(scheme).model, Decoding(**decoding))
    sentences = [*X[:60], []]
    with_labels = scheme != "iob1"  # there the fast path leaves the probabilities of labels to the general one
    fast = fitted.decode(sentences, label_probabilities=with_labels)
    constraints = [None] * len(sentences) + [Constraints(allow=[(0, 1, ["O"])])]  # they take the general path
    general = fitted.decode([*sentences, ["Oslo"]], constraints=constraints, label_probabilities=with_labels)
    assert np.array_equal(fast.offsets, general.offsets[:-1])
    assert np.array_equal(fast.numbers, general.numbers[:-1]) and np.array_equal(fast.spans, general.spans)
    assert fast.probabilities == pytest.approx(general.probabilities[:-1], rel=1e-9)
    assert fast.span_probabilities == pytest.approx(general.span_probabilities, rel=1e-9)
    if with_labels:
        assert fast.label_probabilities == pytest.approx(general.label_probabilities[:-1], rel=1e-9)
    assert len(fast.spans)


@pytest.mark.skipif(kernels.IN_USE.startswith("plain"), reason="needs the compiled kernels")
def test_what_the_kernel_may_have_lost_goes_the_general_path(monkeypatch):
    fitted = posteriors()
    expected = fitted.decode(X[:5])
    lost = kernels.chain_answers

    def with_a_loss(*arguments):
        answers = lost(*arguments)
        return answers._replace(is_exact=np.zeros_like(answers.is_exact))

    monkeypatch.setattr(kernels, "chain_answers", with_a_loss)
    answers = fitted.decode(X[:5])
    assert np.array_equal(answers.numbers, expected.numbers)
    assert answers.span_probabilities == pytest.approx(expected.span_probabilities)
