"""Answers in arrays: the objects made of them are those of the general path."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import postil
from oracles.corpora import named_entities, parts_of_speech
from postil import kernels
from postil.errors import DataError
from postil.models.decoding import tagged as tagged_module
from postil.models.sentences import sentences_of
from postil.text import Document, Sentence

X, Y = named_entities(40)


@cache
def tagger_of(kind):
    labels = {"bio": Y, "iob1": named_entities(40, scheme="iob1")[1], "words": parts_of_speech(40)[1]}[kind]
    return postil.Tagger(hidden=12, word_dim=8, epochs=3, rate=0.02).fit(X, labels)


def same(one, other):
    """Equal but for the rounding errors of probabilities."""
    assert one.text == other.text and one.sentences == other.sentences
    assert [(e.text, e.label, e.start, e.end) for e in one.entities] == [
        (e.text, e.label, e.start, e.end) for e in other.entities
    ]
    for a, b in zip(one.entities, other.entities, strict=True):
        assert a.probability == pytest.approx(b.probability, abs=1e-6)


def by_sentences(model, text):
    sentences = sentences_of(text, model.model.segmenter)
    entities = model.annotate(sentences)
    return Document(text, sentences, [entity for of_sentence in entities for entity in of_sentence])


phrases = st.lists(
    st.sampled_from(["Anna lives in Oslo.", "Ünal", "😀", "", " ", "\n\n", "Oslo", "\ud800", "é"]), max_size=6
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bio", "iob1", "words"])
@given(texts=st.lists(phrases.map(" ".join), max_size=8), batch=st.sampled_from([1, 40, 1 << 19]))
@settings(deadline=None, max_examples=40)
def test_documents_are_those_of_given_sentences(kind, texts, batch):
    tagger = tagger_of(kind)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tagged_module, "BATCH", batch)
        documents = tagger.tag_many(iter(texts))
    assert len(documents) == len(texts)
    for text, document in zip(texts, documents, strict=True):
        same(document, by_sentences(tagger, text))
        same(tagger.tag(text), document)


def test_thresholds_hold():
    text = " ".join(" ".join(tokens) for tokens in X[:10])
    (everything,), (some,) = tagger_of("bio").tag_many([text]), tagger_of("bio").tag_many([text], threshold=0.9)
    kept = [entity for entity in everything.entities if entity.probability >= 0.9]
    assert 0 < len(kept) < len(everything.entities) and some.entities == kept


@pytest.mark.skipif(kernels.IN_USE.startswith("plain"), reason="the general path makes objects")
def test_a_document_has_its_parts_only_when_asked(monkeypatch):
    calls = []
    make = tagged_module.Entity
    monkeypatch.setattr(tagged_module, "Entity", lambda **fields: calls.append(fields["text"]) or make(**fields))
    documents = tagger_of("bio").tag_many(["Anna saw Oslo", "Anna", "Oslo"])
    assert calls == [] and [entity.text for entity in documents[1].entities] == ["Anna"] == calls


@pytest.mark.parametrize("labels", [Y, named_entities(40, scheme="iob1")[1]])
def test_labels_may_break_their_scheme(labels):
    tagger = postil.Tagger(hidden=4, epochs=1, constrained=False).fit(X, labels)
    texts = [" ".join(tokens) for tokens in X]
    for text, document in zip(texts, tagger.tag_many(texts), strict=True):
        same(document, by_sentences(tagger, text))


@pytest.mark.parametrize(
    ("labels", "label"),
    [(Y, "PER"), (named_entities(40, scheme="iob1")[1], "PER"), (parts_of_speech(40)[1], parts_of_speech(40)[1][0][0])],
)
def test_detectors_have_documents(labels, label):
    detector = postil.Detector(label=label, epochs=1).fit(X, labels)
    texts = ["Anna left.", "", *(" ".join(tokens) for tokens in X)]
    documents = detector.tag_many(texts)
    assert documents == [by_sentences(detector, text) for text in texts] == [detector.tag(text) for text in texts]
    assert all(entity.probability is None for document in documents for entity in document.entities)


def test_only_texts_can_be_tagged():
    with pytest.raises(DataError, match=r"^texts to tag must be a list of strings"):
        tagger_of("bio").tag_many("Anna left.")
    with pytest.raises(DataError, match=r"text 1: a text to tag must be a string"):
        tagger_of("bio").tag_many(["Anna left.", ["Anna", "left"]])
    with pytest.raises(DataError, match="a text to tag must be a string"):
        tagger_of("bio").tag(["Anna", "left"])


def test_answers_are_made_where_they_are_looked_at():
    tagger = tagger_of("bio")
    sentences = [Sentence(tokens) for tokens in [*X[:20], []]]
    answers, labels = tagger.answers(sentences), tagger.predict([s.tokens for s in sentences])
    assert len(answers) == 21 and [answer.labels for answer in answers] == labels and answers[20] == ([], [], 1.0)
    assert answers[3] is answers[3]
    entities = tagger.annotate(sentences)
    assert [sentence.labels for sentence in sentences] == labels
    assert entities == [answer.entities for answer in answers] and sum(map(len, entities)) > 10
    assert np.isclose(answers[3].probability, tagger.probability(X[3], labels[3]))
