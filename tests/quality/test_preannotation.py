"""What needs a look is marked, with exact probabilities; records can be read again."""

import json

import pytest

import postil
from oracles import corpora
from postil.models.decoding.posteriors import Posteriors
from postil.quality import Doubt, Option, Suggestion
from postil.quality.suggestion import annotated
from postil.text import Sentence
from postil.text.formats import read

SMALL = {"hidden": 12, "epochs": 4, "rate": 0.02}
TEXT = "Anna lives in Gotham City. Boris left Oslo."


@pytest.fixture(scope="module")
def tagger():
    return postil.Tagger(**SMALL).fit(*corpora.named_entities(60))


def probabilities(tagger, tokens):
    return {(span.label, span.start, span.end): span.probability for span in tagger.spans_above(tokens, 0.05)}


def test_spans_and_options_have_their_exact_probabilities(tagger):
    for one in postil.suggest(tagger, [TEXT], sure=0.999):
        exact = probabilities(tagger, one.tokens)
        options = [option for doubt in one.doubts for option in doubt.options if option.label != "O"]
        assert one.doubts and options
        for option in [*one.spans, *options]:
            assert option.probability == pytest.approx(exact[option[:3]], abs=1e-9)
        assert all(doubt.options == tuple(sorted(doubt.options, key=lambda o: -o.probability)) for doubt in one.doubts)


def test_no_entity_is_an_option_with_the_probability_that_no_token_has_one(tagger):
    ((_, _, doubts),) = annotated(Posteriors(tagger.model), [["of", "slept"]], sure=1.0)
    (doubt,) = doubts
    assert (doubt.start, doubt.end) == (0, 2)
    nothing = next(option.probability for option in doubt.options if option.label == "O")
    assert nothing == pytest.approx(tagger.probability(["of", "slept"], ["O", "O"]), abs=1e-9)


def test_every_token_that_is_less_than_sure_is_in_a_doubt_and_sure_ones_are_not(tagger):
    sentences = corpora.named_entities(30, seed=5)[0] + [["Gotham", "City", "and", "Anna"]]
    for sure in (0.5, 0.9, 0.99):
        for tokens, (_, spans, doubts) in zip(
            sentences, annotated(Posteriors(tagger.model), sentences, sure), strict=True
        ):
            doubted = {t for doubt in doubts for t in range(doubt.start, doubt.end)}
            _, (figures,) = tagger.predict_with_probabilities([tokens])
            assert {t for t, p in enumerate(figures) if p < sure} <= doubted
            for span in spans:
                places = set(range(span.start, span.end))
                assert places <= doubted if span.probability < sure else True
    assert not any(doubts for _, _, doubts in annotated(Posteriors(tagger.model), sentences, 0.0))


def test_labels_are_the_predictions(tagger):
    X = corpora.named_entities(20, seed=7)[0]
    found = annotated(Posteriors(tagger.model), X, 0.9)
    assert [labels for labels, _, _ in found] == tagger.predict(X)


@pytest.mark.parametrize("pool", [[TEXT], [["Anna", "lives", "in", "Gotham", "City"]]])
def test_a_record_is_read_again_with_the_same_tokens_and_labels(tagger, pool, tmp_path):
    suggestions = postil.suggest(tagger, pool)
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(one.record()) + "\n" for one in suggestions))
    with read(str(path)) as reading:
        again = list(reading)
    assert [(one.tokens, one.labels) for one in again] == [(one.tokens, one.labels) for one in suggestions]
    for one in suggestions:
        record = one.record()
        assert record["answer"] is None
        for span in [*record["spans"], *record["unsure"]]:
            assert record["text"][span["start"] : span["end"]] == span["text"]
        assert all(span["sure"] == (span["probability"] >= 0.9) for span in record["spans"] if span["sure"])


def test_labels_of_single_tokens_are_in_the_record(tmp_path):
    X, y = corpora.parts_of_speech(40)
    tagger = postil.Tagger(**SMALL).fit(X, y)
    (one,) = postil.suggest(tagger, [["Anna", "of", "zzz"]], sure=0.9999)
    assert all(doubt.end == doubt.start + 1 for doubt in one.doubts) and one.doubts
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps(one.record()))
    with read(str(path)) as reading:
        (again,) = reading
    assert again.labels == one.labels == tagger.predict([["Anna", "of", "zzz"]])[0]


def test_other_fields_of_a_json_pool_are_kept_and_ours_win(tagger, tmp_path):
    path = tmp_path / "pool.jsonl"
    path.write_text('{"text": "Anna left Oslo", "id": 7, "meta": {"a": 1}, "answer": "x"}\n')
    with read(str(path)) as reading:
        (one,) = postil.suggest(tagger, reading)
    record = one.record()
    assert record["id"] == 7 and record["meta"] == {"a": 1} and record["answer"] is None


def test_a_suggestion_prints_what_is_in_doubt():
    doubt = Doubt(1, 3, (Option("PER", 1, 3, 0.61), Option("O", 1, 3, 0.3)))
    one = Suggestion(sentence=Sentence(["by", "Anna", "Lee", "."]), index=0, score=0.25, spans=[], doubts=[doubt])
    assert str(one) == "0.250  by [Anna Lee] PER 61 % ."
