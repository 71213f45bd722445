"""Mentions replaced by others of their class."""

import numpy as np
import pytest

import postil
from oracles.corpora import named_entities
from postil.models.decoding.codec import LabelCodec
from postil.models.fitting.training_set import MentionReplacement

Y = [
    ["B-PER", "I-PER", "O", "B-LOC"],
    ["O", "O"],
    ["B-LOC", "I-LOC", "I-LOC", "B-LOC"],
    ["B-PER"],
    ["B-PER", "I-PER"],
]


def replacement(share, y=Y):
    codec = LabelCodec.of(y)
    gold = codec.numbers(y)
    return MentionReplacement(gold, codec, share), np.concatenate(gold), codec


def sentences(tokens, offsets):
    return [part.tolist() for part in np.split(tokens, offsets[1:-1])]


def test_without_a_share_all_tokens_stay():
    drawn, gold, _ = replacement(0.0)
    tokens, offsets = drawn.draw(np.random.default_rng(0))
    assert tokens.tolist() == list(range(len(gold)))
    assert offsets.tolist() == [0, 4, 6, 10, 11, 13]


def test_every_mention_becomes_a_whole_one_of_its_class():
    drawn, gold, codec = replacement(1.0)
    spans = {"PER": [[0, 1], [10], [11, 12]], "LOC": [[3], [6, 7, 8], [9]]}
    seen = set()
    for seed in range(40):
        tokens, offsets = drawn.draw(np.random.default_rng(seed))
        first, second, third, fourth, fifth = sentences(tokens, offsets)
        assert second == [4, 5], "a sentence without mentions stays"
        place = first.index(2)  # the O between two mentions
        assert first[:place] in spans["PER"] and first[place + 1 :] in spans["LOC"]
        assert third in [one + other for one in spans["LOC"] for other in spans["LOC"]]
        assert fourth in spans["PER"] and fifth in spans["PER"]
        seen.add(tuple(fourth))
        texts = [codec.texts(gold[np.array(tokens)]) for tokens in (first, third, fourth)]
        for labels in texts:
            assert codec.numbers([labels])[0].ndim == 1, "still valid in the scheme"
    assert seen == {(0, 1), (10,), (11, 12)}


def test_about_the_share_is_replaced():
    y = [["B-PER"], ["B-LOC"]] * 2000
    drawn, gold, _ = replacement(0.25, y)
    tokens, _ = drawn.draw(np.random.default_rng(3))
    moved = np.mean(tokens != np.arange(len(gold)))
    assert 0.22 < moved < 0.28


def test_partial_labels_neither_take_nor_give_mentions():
    codec = LabelCodec.of(Y)
    gold = codec.numbers(Y)
    gold[0] = np.eye(len(codec.labels), dtype=bool)[gold[0]]
    drawn = MentionReplacement(gold, codec, 1.0)
    for seed in range(10):
        first, *others = sentences(*drawn.draw(np.random.default_rng(seed)))
        assert first == [0, 1, 2, 3]
        assert not {0, 1, 3} & {token for tokens in others for token in tokens}


def fitted(**settings):
    X, y = named_entities(40)
    return postil.Tagger(hidden=8, epochs=2, **settings).fit(X, y)


def values(tagger):
    return {name: parameter.value for name, parameter in tagger.model.network.parameters().items()}


def test_a_training_repeats_and_differs_from_one_without():
    first, again, without = (values(fitted(mention_replacement=share)) for share in (0.5, 0.5, 0.0))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert any(not np.array_equal(first[name], without[name]) for name in first)


@pytest.mark.parametrize("at", [5, 13])
def test_an_interrupted_training_goes_on_with_the_same_bits(tmp_path, at):
    X, y = named_entities(40)
    settings = {"hidden": 8, "epochs": 4, "batch_sentences": 8, "mention_replacement": 0.5}
    whole = postil.Tagger(**settings).fit(X, y)
    path = tmp_path / "m.checkpoint"
    fitting = postil.Tagger(**settings).fitting(X, y, checkpoint=path)
    for _ in range(at):
        next(fitting)
    fitting.save_checkpoint()
    resumed = postil.Tagger(**settings)
    for _ in resumed.fitting(X, y, checkpoint=path, resume=True):
        pass
    expected, found = values(whole), values(resumed)
    assert all(np.array_equal(expected[name], found[name]) for name in expected)


def test_students_and_extra_columns_and_partial_labels():
    X, y = named_entities(40)
    X = [[(form, form[:1]) for form in tokens] for tokens in X]
    teacher = postil.Tagger(hidden=8, epochs=1).fit(X, y)
    partial = [*y[:-1], ["?", *y[-1][1:]]]
    student = postil.Tagger(hidden=8, epochs=2, mention_replacement=0.5)
    student.fit(X, partial, partial=True, unlabelled=X[:20], teachers=[teacher])
    assert student.predict(X[:1])


def test_labels_of_words_have_no_mentions():
    X, y = [["a", "b"], ["b", "a"]] * 5, [["DET", "NOUN"], ["NOUN", "DET"]] * 5
    with_share, without = (
        values(postil.Tagger(hidden=4, epochs=1, mention_replacement=share).fit(X, y)) for share in (0.5, 0.0)
    )
    assert all(np.array_equal(with_share[name], without[name]) for name in with_share)
