"""Redaction: what is hidden, what may be left, and whether the promise about missed names is kept."""

from dataclasses import asdict, replace
from functools import cache
from math import comb

import numpy as np
import pytest

import postil
from oracles.corpora import named_entities, parts_of_speech
from postil.errors import ConfigurationError, DataError, ModelFileError
from postil.models.decoding.posteriors import Posteriors
from postil.models.decoding.promise import ClassShare, chosen_threshold, design_effect, most_misses, names_needed
from postil.models.decoding.redaction import Pseudonyms, hidden_tokens
from postil.models.storage import from_bytes, to_bytes
from postil.text import Entity, spans_from_labels

DEV = named_entities(300, seed=4)


@cache
def fitted(scheme="bio"):
    return postil.Tagger(hidden=16, epochs=12, seed=0).fit(*named_entities(60, scheme=scheme))


def tagger(**promise):
    model = fitted()
    model.decoding = postil.Decoding(temperature=2.0)
    model.promise(**{"X": DEV[0], "y": DEV[1], "classes": ["PER"], "miss": 0.05, **promise})
    return model


# ------------------------------------------------------------------------------------------------ the bound


@pytest.mark.parametrize(("n", "miss", "confidence"), [(50, 0.1, 0.95), (400, 0.02, 0.9), (1000, 0.01, 0.99)])
def test_the_bound_is_that_of_the_binomial_distribution(n, miss, confidence):
    below = np.cumsum([comb(n, k) * miss**k * (1 - miss) ** (n - k) for k in range(n + 1)])
    k = most_misses(n, miss, confidence)
    assert k == int((below <= 1 - confidence).sum()) - 1
    fewest = names_needed(miss, confidence)
    assert most_misses(fewest, miss, confidence) == 0 and most_misses(fewest - 1, miss, confidence) == -1


@pytest.mark.parametrize(
    ("sentence", "document", "marked"), [(1, 1, False), (5, 5, False), (2, 20, False), (2, 20, True)]
)
def test_the_promise_is_kept_in_19_of_20_draws_also_if_misses_come_together(sentence, document, marked):
    """Documents have scores of their own, so do sentences; what a threshold misses is known from a large sample."""
    rng = np.random.default_rng(0)
    miss, draws, n, broken, naive = 0.05, 400, 2000, 0, 0
    of_sentence, of_document = np.arange(n) // sentence, np.arange(n) // document

    def drawn(count):
        shared = np.repeat(rng.normal(size=count // document), document)
        return shared + np.repeat(rng.normal(size=count // sentence), sentence)

    population = np.sort(drawn(400_000))
    for _ in range(draws):
        scores = drawn(n)
        documents = of_document if marked else None
        threshold = chosen_threshold(scores, of_sentence, miss, 0.95, documents)[0]
        broken += np.searchsorted(population, threshold) > miss * len(population)
        independent = np.sort(scores)[most_misses(n, miss, 0.95)]
        naive += np.searchsorted(population, independent) > miss * len(population)
    sampling = 3 * np.sqrt(0.05 * 0.95 / draws)
    assert broken / draws <= 0.05 + sampling
    if document > 1:  # without the design effect it would not be kept
        assert naive / draws > 0.05 + sampling


def test_few_documents_count_as_none_and_leave_more_doubt():
    scores = np.random.default_rng(3).random(600)
    of_sentence = np.arange(600)
    effects = [chosen_threshold(scores, of_sentence, 0.1, 0.95, np.arange(600) * k // 600)[2] for k in (5, 600)]
    assert effects[0] > 1.6 and effects[1] == pytest.approx(1)
    assert tagger(groups=[0] * 300).decoding.promise == tagger().decoding.promise


def test_the_design_effect_is_that_of_the_size_of_groups_missed_whole():
    missed = np.repeat(np.random.default_rng(1).random(2000) < 0.1, 4)
    assert design_effect(missed, np.repeat(np.arange(2000), 4)) == pytest.approx(4, rel=0.1)
    assert design_effect(missed, np.random.default_rng(2).permutation(8000)) == pytest.approx(1)


def test_too_few_names_make_no_promise():
    with pytest.raises(DataError, match=r"at least 299 labelled names .* got 298 names"):
        chosen_threshold(np.linspace(0.1, 1, 298), np.arange(298), 0.01, 0.95, np.arange(298))
    assert chosen_threshold(np.linspace(0.1, 1, 299), np.arange(299), 0.01, 0.95, np.arange(299))[1] == 0
    with pytest.raises(DataError, match="too few names"):
        tagger(miss=0.001)


# ------------------------------------------------------------------------------------------------ promises of models


def test_the_promise_counts_names_that_are_not_wholly_hidden():
    model = tagger()
    promise = model.decoding.promise
    found = hidden_tokens(Posteriors(model.model), DEV[0], ["PER"], promise.threshold)
    names = [
        one.hidden[span.start : span.end].all()
        for one, labels in zip(found, DEV[1], strict=True)
        for span in spans_from_labels(labels, "bio")
        if span.label == "PER"
    ]
    assert (promise.names, promise.missed) == (len(names), len(names) - sum(names))
    assert promise.hidden == pytest.approx(np.mean(np.concatenate([one.hidden for one in found])))
    assert promise.missed / promise.names < 0.05
    assert "at most 5 % of PER missed, with 95 % confidence" in str(promise)


@pytest.mark.parametrize("scheme", ["bio", "iobes"])
def test_the_probability_that_nothing_is_left_is_that_of_all_labellings(scheme):
    model = fitted(scheme)
    model.decoding = postil.Decoding(temperature=4.0, shift=0.5)
    for tokens in (["Anna", "lives", "in"], ["New", "York", "Paris"], ["Lima"]):
        (one,) = hidden_tokens(Posteriors(model.model), [tokens], ["LOC"], 0.4)
        total = left = 0.0
        for labels, probability in model.nbest(tokens, k=10_000):
            spans = [span for span in spans_from_labels(labels, scheme) if span.label == "LOC"]
            total += probability
            left += probability * any(not one.hidden[span.start : span.end].all() for span in spans)
        assert total == pytest.approx(1)
        assert np.exp(one.log_kept) == pytest.approx(1 - left)
        for t in range(len(tokens)):
            of_class = sum(p for label, p in model.marginals(tokens)[t].items() if label.endswith("LOC"))
            assert one.probability[t] == pytest.approx(of_class)


def test_the_model_file_keeps_the_promise_and_nothing_without_one():
    model = tagger()
    again = from_bytes(to_bytes(model))
    assert again.decoding == model.decoding
    text = "Anna lives in New York"
    assert again.redact(text).placeholders() == model.redact(text).placeholders()
    assert "promise" not in replace(model.decoding, promise=None).as_json()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("threshold", 1.5),
        ("miss", 0),
        ("classes", []),
        ("classes", "PER"),
        ("missed", 10**9),
        ("missed", 100),  # more than the bound allows
        ("names", 10**12),
        ("profile", {"unknown words": [1, 2]}),
        ("profile", {"unknown words": [1, 2, 3, 4, float("nan")]}),
        ("hidden", "all"),
        ("unheard", 1),
    ],
)
def test_a_forged_promise_is_an_error(name, value):
    promise = asdict(tagger().decoding.promise)
    with pytest.raises(ConfigurationError):
        postil.Decoding(promise={**promise, name: value})


def test_a_forged_model_file_is_an_error():
    model = tagger()
    object.__setattr__(model.decoding.promise, "threshold", 7.0)
    content = to_bytes(model)
    with pytest.raises(ModelFileError, match="not a valid model"):
        from_bytes(content)


# ------------------------------------------------------------------------------------------------ texts


def test_a_text_is_redacted_and_everything_else_stays():
    text = "Anna  lives in New York.\n\nBoris and Anna left Oslo\n"
    redacted = tagger().redact(text, check=False)
    assert redacted.placeholders() == "[PER]  lives in New York.\n\n[PER] and [PER] left Oslo\n"
    assert redacted.pseudonyms() == "PER-1  lives in New York.\n\nPER-2 and PER-1 left Oslo\n"
    assert 0 < redacted.probability <= 1
    assert redacted.probability == pytest.approx(np.prod([1 - passage.risk for passage in redacted.passages]))
    assert [one.text for one in redacted.hidden] == ["Anna", "Boris", "Anna"]


def test_neither_the_page_nor_what_to_look_at_first_shows_a_hidden_word():
    redacted = tagger(miss=0.2).redact("Anna lives in New York . they met Clara Diego", check=False)
    hidden = {word for one in redacted.hidden for word in one.text.split()}
    assert {"Anna", "Clara", "Diego"} <= hidden
    assert not any(word in look.text.split() for look in redacted.look_first for word in hidden)
    page = redacted.to_html("letters")
    assert not any(word in page for word in hidden)
    assert "[PER]" in page and "no name is left with probability" in page
    probabilities = [look.probability for look in redacted.look_first]
    assert probabilities == sorted(probabilities, reverse=True)


def test_pseudonyms_know_parts_of_one_longer_name():
    def person(text):
        return Entity(text=text, label="PER", start=0, end=len(text))

    name = Pseudonyms()
    assert [name(person(text)) for text in ["Ann Lee", "Lee", "LEE", "Bo Ray", "Ann Lee"]] == [
        "PER-1",
        "PER-1",
        "PER-1",
        "PER-2",
        "PER-1",
    ]
    assert name(person("Ann Ray")) == "PER-3"
    assert name(person("Ray")) == "PER-4"  # of two longer names


def test_a_text_unlike_dev_is_refused():
    model = tagger()
    foreign = ["Xylophones quux grault corge waldo fred plugh xyzzy"] * 30
    with pytest.raises(DataError, match=r"unlike the data .*unknown words 100\.0 %"):
        model.redact_many(foreign)
    assert len(model.redact_many(foreign, check=False)) == 30
    same = [" ".join(tokens) for tokens in named_entities(200, seed=9)[0]]
    assert len(model.redact_many(same)) == 200


def test_one_sentence_says_little_about_its_own_error():
    base = ClassShare.of(np.array([0, 3, 0, 1] * 50), np.full(200, 10))
    assert ClassShare.of(np.array([3]), np.array([10])).distance(base) < 3
    assert ClassShare.of(np.full(100, 3), np.full(100, 10)).distance(base) > 3


def test_mistakes_are_named():
    model = fitted()
    model.decoding = postil.Decoding()
    with pytest.raises(ConfigurationError, match="no promise about missed names"):
        model.redact("Anna")
    for classes in (["MISC"], [], "PER", ["PER", "PER"]):
        with pytest.raises(ConfigurationError, match="classes"):
            model.promise(*DEV, classes=classes)
    with pytest.raises(DataError, match="groups"):
        model.promise(*DEV, classes=["PER"], groups=[0])
    model = tagger()
    model.decoding = replace(model.decoding, temperature=1.0)
    with pytest.raises(ConfigurationError, match="calibrated again"):
        model.redact("Anna")
    words = postil.Tagger(hidden=4, word_dim=4, epochs=1).fit(*parts_of_speech(10))
    with pytest.raises(ConfigurationError, match="only a tagger of spans"):
        words.promise(*parts_of_speech(10), classes=["NAME"])


def test_documents_count_as_groups():
    X, y = DEV
    alone = tagger(miss=0.2, groups=range(len(X))).decoding.promise
    together = tagger(X=X * 3, y=y * 3, miss=0.2, groups=[*range(len(X))] * 3).decoding.promise  # three times the same
    assert together.design_effect == pytest.approx(3 * alone.design_effect, rel=0.05)
    assert together.threshold == pytest.approx(alone.threshold, rel=0.2) and together.names == 3 * alone.names
