"""Answers without places: which occurrences they mean, how files of them are read, and taggers trained on them."""

import json

import numpy as np
import pytest

import postil
from postil.errors import DataError
from postil.objectives.crf import Moments
from postil.rules import ListRule, MentionRule, Rules, TextAnswer, Vote, learn, read_rules
from postil.rules.learning import Learning
from postil.samples.corpora import made_up_sentences
from postil.text.labels.schemes import recognise, spans_from_labels

BILL, PAID = ["Bill", "Reed", "came"], ["he", "paid", "the", "Bill"]


def test_a_name_that_occurs_once_is_a_vote_and_others_are_ambiguous():
    rule = MentionRule(
        name="m",
        texts=[
            TextAnswer([BILL, PAID], [("Reed", "PER"), ("Bill", "PER"), ("nobody", "PER")]),
            TextAnswer([["New", "York", "and", "York"]], [("York", "LOC"), ("New York", "LOC")]),
            TextAnswer([["Paris", "left"]], [("Paris", "PER"), ("Paris", "LOC")]),
            TextAnswer([[]], [("x", "PER")]),
        ],
    )
    assert rule.labels == ["LOC", "PER"]
    assert rule.votes([BILL, ["New", "York", "and", "York"], ["else"]]) == [
        [Vote("m", 1, 2, "PER")],
        [Vote("m", 0, 2, "LOC"), Vote("m", 3, 4, "LOC")],
        [],
    ]
    bill, *paris = rule.ambiguous
    assert bill == ("PER", [(tuple(BILL), 0, 1), (tuple(PAID), 3, 4)])
    assert [name.label for name in paris] == ["LOC", "PER"], "one occurrence, two answers"


def test_the_tagger_learns_that_at_least_one_occurrence_is_an_entity():
    """The target of a sentence is not that of a lattice; both occurrences are half believed, none for certain."""
    texts = [TextAnswer([BILL, PAID], [("Bill", "PER")])]
    learning = Learning([["it", "rained"]], Rules([MentionRule(name="m", texts=texts)]))
    assert learning.sentences == [["it", "rained"], BILL, PAID]
    fitting = postil.Tagger(preset="fast", seed=0).fitting(**learning.data())
    single = fitting.model.codec.labels.index("S-PER")
    examples = fitting.training_sets["main"]
    targets = {}
    for number in range(len(examples.lengths)):
        gold = examples.batch(np.array([number])).shards[0].gold
        targets[int(examples.lengths[number])] = gold
    came, paid = targets[3], targets[4]
    assert isinstance(came, Moments) and isinstance(paid, Moments) and not isinstance(targets[2], Moments)
    one, other = came.unary[0, single], paid.unary[3, single]
    assert one == pytest.approx(other, abs=0.1) and 0.3 < one < 0.7, "either may be the one"
    assert came.unary[1, single] < 0.1 and came.unary.sum(axis=1) == pytest.approx(1)


@pytest.mark.slow
def test_a_tagger_from_answers_without_places():
    sentences = made_up_sentences(900, np.random.default_rng(1))
    X, y = [list(sentence.tokens) for sentence in sentences], [list(sentence.labels) for sentence in sentences]
    scheme, texts = recognise(y), []
    for first in range(0, 600, 10):  # a text has ten sentences
        mentions = {
            (" ".join(X[i][span.start : span.end]), span.label)
            for i in range(first, first + 10)
            for span in spans_from_labels(y[i], scheme)
        }
        texts.append(TextAnswer(X[first : first + 10], sorted(mentions)))
    rule = MentionRule(name="answers", texts=texts)
    assert len(rule.ambiguous) > 20, "names that are more than one thing, or stand twice"
    learned = learn(postil.Tagger(preset="fast", seed=0, epochs=5), [], Rules([rule]), rounds=0)
    assert learned.tagger.evaluate(X[600:], y[600:]).to_dict()["f1"] > 80
    again = learned.again(Rules([rule, ListRule(name="list", label="LOC", phrases=["Oslo"])]))
    assert again.tagger.evaluate(X[600:], y[600:]).to_dict()["f1"] > 80


def test_a_file_of_answers(tmp_path):
    lines = [
        {"text": "Bill Reed came. He paid the Bill.", "mentions": [{"text": "Bill", "label": "PER", "why": "a name"}]},
        {"text": "It rained.", "mentions": []},
    ]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n", "utf-8")
    (tmp_path / "rules.toml").write_text('[[rule]]\nname = "llm"\nmentions = "answers.jsonl"\n', "utf-8")
    (rule,) = read_rules(tmp_path / "rules.toml")
    assert isinstance(rule, MentionRule) and rule.labels == ["PER"]
    assert rule.sentences == [["Bill", "Reed", "came", "."], ["He", "paid", "the", "Bill", "."], ["It", "rained", "."]]
    assert [len(name.occurrences) for name in rule.ambiguous] == [2]


@pytest.mark.parametrize(
    "line, message",
    [
        ("{", "mentions must be JSON Lines"),
        ("[]", "mentions"),
        ('{"text": "a"}', "mentions"),
        ('{"mentions": [{"text": "a", "label": "X"}]}', "text must be a text"),
        ('{"text": "a", "mentions": [3]}', "mentions"),
        ('{"text": "a", "mentions": [{"text": "a"}]}', "label must be a text"),
        ('{"text": "a", "mentions": [{"text": " ", "label": "X"}]}', "text must be a text"),
        ('{"text": "a", "mentions": []}', "at least one .got none"),
    ],
)
def test_a_bad_file_of_answers_is_one_clear_line(tmp_path, line, message):
    (tmp_path / "a.jsonl").write_text(line + "\n", "utf-8")
    (tmp_path / "rules.toml").write_text('[[rule]]\nmentions = "a.jsonl"\n', "utf-8")
    with pytest.raises(DataError, match=message) as caught:
        read_rules(tmp_path / "rules.toml")
    assert "\n" not in str(caught.value)
