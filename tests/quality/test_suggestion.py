"""The right sentences are suggested, none of them twice, from pools of any kind and size."""

from collections.abc import Iterator

import numpy as np
import pytest

import postil
from oracles import corpora
from postil.errors import PostilError
from postil.models.decoding.posteriors import Posteriors
from postil.quality import suggestion
from postil.quality.suggestion import MEASURES, WAYS, WordStatistics, diverse, suggest
from postil.text import Sentence
from postil.text.labels.schemes import spans_from_labels

SMALL = {"hidden": 12, "epochs": 4, "rate": 0.02}
PLAIN = {"diversity": 0.0}


@pytest.fixture(scope="module")
def tagger():
    return postil.Tagger(**SMALL).fit(*corpora.named_entities(60))


@pytest.fixture(scope="module")
def pool():
    return corpora.named_entities(200, seed=4)[0] + [["Zorg", "of", "Qux", "Oslo"], ["Paris", "Gotham"]]


def distinct(pool):
    return list(dict.fromkeys(map(tuple, pool)))


def test_without_weights_the_ranking_is_that_of_the_measure_per_token(tagger, pool):
    found = suggest(tagger, pool, 10, by="confidence", **PLAIN)
    expected = sorted(distinct(pool), key=lambda tokens: np.log(tagger.nbest(tokens, 1)[0][1]) / (len(tokens) + 4))
    assert [tuple(one.tokens) for one in found] == expected[:10]
    first = found[0].tokens
    assert found[0].score == pytest.approx(-np.log(tagger.nbest(first, 1)[0][1]) / (len(first) + 4))


@pytest.mark.parametrize("by", WAYS)
def test_no_sentence_twice_and_all_of_them_where_n_is_larger_than_the_pool(tagger, pool, by):
    found = suggest(tagger, pool, 10_000, by=by)
    assert len(found) == len(distinct(pool)) == len({tuple(one.tokens) for one in found})
    assert all(list(pool[one.index]) == one.tokens for one in found)


@pytest.mark.parametrize("by", WAYS)
def test_the_same_seed_repeats_in_any_blocks_and_only_random_depends_on_it(tagger, pool, by, monkeypatch):
    one = [s.index for s in suggest(tagger, pool, 12, by=by, seed=3)]
    other = [s.index for s in suggest(tagger, pool, 12, by=by, seed=4)]
    monkeypatch.setattr(suggestion, "BLOCK", 7)
    assert [s.index for s in suggest(tagger, iter(pool), 12, by=by, seed=3)] == one
    assert (one == other) == (by != "random")


def test_the_heap_keeps_the_best_whatever_the_order(tagger, pool, monkeypatch):
    everything = [tuple(s.tokens) for s in suggest(tagger, pool, 5, **PLAIN)]
    monkeypatch.setattr(suggestion, "FEWEST_CANDIDATES", 5)
    monkeypatch.setattr(suggestion, "CANDIDATES", 1)
    monkeypatch.setattr(suggestion, "BLOCK", 3)
    assert [tuple(s.tokens) for s in suggest(tagger, [*pool[::-1], *pool], 5, **PLAIN)] == everything


def test_what_is_labelled_already_is_left_out(tagger, pool):
    first = suggest(tagger, pool, 5)
    again = suggest(tagger, pool, 5, labelled=[one.tokens for one in first])
    assert not {tuple(one.tokens) for one in first} & {tuple(one.tokens) for one in again}
    assert suggest(tagger, pool, 5, labelled=pool) == []


def test_diversity_avoids_what_is_similar():
    scores = np.array([1.0, 0.9, 0.5])
    vectors = np.array([[1.0, 0.0], [0.99, 0.1], [0.0, 1.0]])
    assert diverse(scores, vectors, 3, 0.0) == [0, 1, 2]
    assert diverse(scores, vectors, 2, 1.0) == [0, 2]
    assert diverse(np.zeros(3), vectors, 5, 1.0) == [0, 1, 2]


@pytest.mark.parametrize("kind", ["tokens", "sentences", "texts", "arrays", "tuples"])
def test_pools_of_every_kind(tagger, kind):
    texts = ["Anna left Gotham . Boris slept .", "Oslo Zorg"]
    pools = {
        "tokens": [["Anna", "left"], ["Oslo", "Zorg"]],
        "tuples": (("Anna", "left"), ("Oslo", "Zorg")),
        "sentences": [Sentence(["Anna", "left"]), Sentence(["Oslo", "Zorg"])],
        "texts": texts,
        "arrays": [np.array(["Anna", "left"]), np.array(["Oslo", "Zorg"])],
    }
    found = suggest(tagger, pools[kind], 10)
    assert len(found) == (3 if kind == "texts" else 2)
    assert ["Oslo", "Zorg"] in [one.tokens for one in found]


def test_sentences_of_the_caller_stay_as_they_are(tagger):
    sentence = Sentence(["Anna", "left"])
    (one,) = suggest(tagger, [sentence])
    assert one.labels and sentence.labels is None


@pytest.mark.parametrize("pool", [[], [[]], [""], ["  "], [["word"] * (suggestion.LONGEST + 1)]])
def test_nothing_to_suggest(tagger, pool):
    assert suggest(tagger, pool) == []


@pytest.mark.parametrize("by", WAYS)
def test_a_pool_of_one_sentence_and_a_model_without_entities(tagger, by):
    assert [one.tokens for one in suggest(tagger, [["slept"]], by=by)] == [["slept"]]
    blank = postil.Tagger(hidden=4, epochs=1).fit([["a", "b"]] * 3, [["O", "O"]] * 3)
    found = suggest(blank, [["x", "y"], ["z"], ["x", "y"]], by=by)
    assert sorted(one.tokens for one in found) == [["x", "y"], ["z"]]
    assert all(one.spans == [] or by for one in found)


def test_a_model_of_one_class():
    X, y = corpora.named_entities(30)
    one_class = [["B-PER" if label == "B-PER" else "O" for label in labels] for labels in y]
    found = suggest(postil.Tagger(**SMALL).fit(X, one_class), corpora.named_entities(50, seed=8)[0], 5)
    assert len(found) == 5


@pytest.mark.slow
def test_the_pool_is_read_once_and_not_kept(tagger):
    alive, most = 0, 0

    class Tracked(list):
        def __init__(self, tokens):
            nonlocal alive, most
            super().__init__(tokens)
            alive += 1
            most = max(most, alive)

        def __del__(self):
            nonlocal alive
            alive -= 1

    def endless() -> Iterator[list[str]]:
        for number in range(30_000):
            yield Tracked(["Anna", "left", f"w{number}"])

    seen = []
    found = suggest(tagger, endless(), 3, progress=seen.append)
    assert len(found) == 3 and sum(seen) == 90_000
    assert most < 12_000


def test_a_model_with_feature_dicts():
    X = [[{"word": "Anna"}, {"word": "left"}], [{"word": "the"}, {"word": "cat"}]] * 5
    y = [["B-PER", "O"], ["O", "O"]] * 5
    tagger = postil.Tagger(word_key="word", hidden=4, epochs=2).fit(X, y)
    assert suggest(tagger, X[:2], 1)[0].tokens in (["Anna", "left"], ["the", "cat"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": 0}, "n must be at least 1"),
        ({"by": "luck"}, "by must be one of entropy"),
        ({"diversity": -1}, "diversity must be from 0"),
        ({"sure": 2}, "sure must be a number from 0 to 1"),
    ],
)
def test_mistakes_are_named(tagger, settings, message):
    with pytest.raises(PostilError, match=message):
        suggest(tagger, [["a"]], **settings)


def test_other_models_and_items_are_refused(tagger):
    detector = postil.Detector(label="PER")
    with pytest.raises(PostilError, match="needs a tagger"):
        suggest(detector, [["a"]])
    with pytest.raises(PostilError, match="item 1"):
        suggest(tagger, [["a"], 3])


# ------------------------------------------------ similarity


POOL = [["the", "cat", "slept"], ["the", "dog", "slept"], ["a", "cat", "ran"], ["the", "cat", "ran"], ["quite", "odd"]]


def statistics(pool, blocks=1):
    words = WordStatistics()
    for block in range(blocks):
        words.add(pool[block::blocks])
    return words


def test_vectors_are_similar_by_shared_words_and_not_by_case():
    vectors = statistics(POOL).vectors([["cat", "ran"], ["Cat", "RAN"], ["cat", "slept"], ["dog", "odd"]])
    similar = vectors @ vectors[0]
    assert np.allclose(similar[:2], 1)
    assert 0.2 < similar[2] < 0.9 and abs(similar[3]) < 0.2


def test_rare_words_weigh_more_than_common_ones():
    vectors = statistics(POOL).vectors([["the", "dog"], ["dog"], ["the"]])
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]


def test_the_order_of_the_pool_and_its_blocks_do_not_matter():
    one, two = statistics(POOL), statistics(POOL[::-1], blocks=2)
    assert np.allclose(one.vectors(POOL), two.vectors(POOL))


def test_nothing_in_nothing_out():
    words = statistics([[]])
    assert words.vectors([]).shape[0] == 0


# ------------------------------------------------ uncertainty, against enumeration


SENTENCES = [["Anna", "Paris"], ["Paris"], ["unknown", "Oslo", "of"]]


@pytest.fixture(scope="module")
def taggers():
    small = {"hidden": 6, "epochs": 2}
    return {
        "bio": postil.Tagger(**small).fit(*corpora.named_entities(40)),
        "none": postil.Tagger(**small).fit(*corpora.parts_of_speech(40)),
    }


def measured(tagger, name):
    values = np.zeros(len(SENTENCES))
    for posterior in Posteriors(tagger.model).of(SENTENCES):
        values[posterior.which] = MEASURES[name](posterior)
    return values


def every_labelling(tagger, tokens):
    return tagger.nbest(tokens, 100_000)


def expected_mistakes(paths, scheme):
    """Over all labellings, what the best one has too much and too little."""
    if scheme == "none":
        by_token = [{} for _ in paths[0][0]]
        for labels, p in paths:
            for sums, label in zip(by_token, labels, strict=True):
                sums[label] = sums.get(label, 0) + p
        return sum(1 - max(sums.values()) for sums in by_token)
    best = set(spans_from_labels(paths[0][0], scheme))
    return sum(p * len(best ^ set(spans_from_labels(labels, scheme))) for labels, p in paths)


@pytest.mark.parametrize("scheme", ["bio", "none"])
def test_every_measure_is_what_all_labellings_say(taggers, scheme):
    tagger = taggers[scheme]
    values = {name: measured(tagger, name) for name in MEASURES}
    for i, tokens in enumerate(SENTENCES):
        paths = every_labelling(tagger, tokens)
        p = np.array([probability for _, probability in paths])
        assert p.sum() == pytest.approx(1)
        assert values["entropy"][i] == pytest.approx(-(p * np.log(p)).sum(), abs=1e-9)
        assert values["confidence"][i] == pytest.approx(-np.log(p[0]), abs=1e-9)
        assert values["margin"][i] == pytest.approx(1 - p[0] + p[1], abs=1e-9)
        assert values["spans"][i] == pytest.approx(expected_mistakes(paths, scheme), abs=1e-9)


def test_a_model_of_one_label_is_certain():
    tagger = postil.Tagger(hidden=4, epochs=1).fit([["a", "b"]] * 3, [["O", "O"]] * 3)
    for name in MEASURES:
        assert measured(tagger, name) == pytest.approx(np.zeros(len(SENTENCES)), abs=1e-12)
