"""A tagger with rules that vote on what it labels."""

import io
import itertools
import json
import pickle

import numpy as np
import pytest

import postil
from oracles.corpora import named_entities
from postil import Decoding, archive
from postil.errors import ConfigurationError, DataError, ModelFileError
from postil.models.voting.reliability import MOST_BYTES
from postil.rules import FunctionRule, ListRule, PatternRule, Reliability, Rules
from postil.tagging import TaggingOptions, label
from postil.text import read

SENTENCE = ["Zork", "met", "the", "Quuxes"]
TEXT = "Zork met the Quuxes of Oslo. Then Anna left Zork, and no Zork came."


@pytest.fixture(scope="module")
def tagger():
    tagger = postil.Tagger(preset="fast", hidden=16, epochs=6, seed=0).fit(*named_entities(150))
    tagger.decoding = Decoding(temperature=1.3, shift=0.2, bias=0.1)
    return tagger


@pytest.fixture(scope="module")
def rules():
    return Rules(
        [
            ListRule(name="people", label="PER", phrases=["Zork"]),
            PatternRule(name="lakes", label="LOC", pattern="the ( /Q[a-z]+/ )"),
            ListRule(name="not places", label="LOC", phrases=["Zork"], negated=True),
        ]
    )


@pytest.fixture(scope="module")
def voting(tagger, rules):
    return tagger.with_rules(rules)


def entities(document):
    return [(entity.text, entity.label) for entity in document.entities]


def test_a_new_list_acts_at_once_and_the_first_tagger_stays_as_it_is(tagger, voting):
    before = tagger.marginals(SENTENCE)
    new = tagger.with_rules([ListRule(name="people", label="PER", phrases=["zork"])])
    assert entities(tagger.tag("we saw zork there")) == [] and entities(new.tag("we saw zork there")) == [
        ("zork", "PER")
    ]
    assert voting.marginals(SENTENCE)[0]["B-PER"] > tagger.marginals(SENTENCE)[0]["B-PER"]
    assert voting.with_rules(None).marginals(SENTENCE) == tagger.marginals(SENTENCE) == before
    assert voting.model.network is tagger.model.network and voting.model.engine() is tagger.model.engine()


def test_answers_are_those_of_enumeration(tagger, voting):
    """p(y) ∝ exp(calibrated score + Σ log P(votes | label)), over all labellings."""
    codec = tagger.model.codec
    ((_, lattice),) = tagger._posteriors.lattices([SENTENCE])
    scores = lattice.unary + voting.model.voters.evidence([SENTENCE], codec)
    chain, weights = lattice.chain, {}
    for path in itertools.product(range(len(codec.labels)), repeat=len(SENTENCE)):
        score = chain.start[path[0]] + chain.end[path[-1]] + sum(scores[t, y] for t, y in enumerate(path))
        score += sum(chain.transitions[i, j] for i, j in itertools.pairwise(path))
        if score > -1e6:
            weights[path] = np.exp(score)
    Z = sum(weights.values())
    ((best, probability), *_) = voting.nbest(SENTENCE)
    path = max(weights, key=weights.get)
    assert best == codec.texts(np.array(path)) and probability == pytest.approx(weights[path] / Z)
    for t, of_token in enumerate(voting.marginals(SENTENCE)):
        outside = sum(weight for path, weight in weights.items() if path[t] == codec.outside) / Z
        assert of_token["O"] == pytest.approx(outside)
    (answer,) = voting.answers([postil.text.Sentence(SENTENCE)])
    for entity in answer.entities:
        with_entity = sum(
            weight
            for path, weight in weights.items()
            if (entity.start, entity.end, entity.label)
            in [(s.start, s.end, s.label) for s in codec.spans(np.array(path))]
        )
        assert entity.probability == pytest.approx(with_entity / Z)


def test_a_vote_counts_as_its_reliability_says(tagger):
    """On a model that knows nothing, the posterior after one vote is the share of right votes."""
    codec = tagger.model.codec
    rule = Rules([ListRule(name="people", label="PER", phrases=["Zork"])])
    voters = tagger.with_rules(rule).model.voters
    shares = voters.reliability.shares
    posterior = shares * np.exp(voters.evidence([["Zork"]], codec)[0])
    posterior /= posterior.sum()
    of_class = [name.endswith("PER") for name in codec.labels]
    assert posterior[of_class].sum() == pytest.approx(voters.reliability.precision("people", "PER")) == 0.85


def test_every_way_to_ask_gives_the_same_answers(voting):
    document = voting.tag(TEXT)
    X = [sentence.tokens for sentence in document.sentences]
    assert voting.predict(X) == [sentence.labels for sentence in document.sentences]
    assert entities(voting.tag_many([TEXT, "Anna"])[0]) == entities(document)
    labels, figures = voting.predict_with_probabilities(X)
    for tokens, row, of_row in zip(X, labels, figures, strict=True):
        marginals = voting.marginals(tokens)
        assert of_row == pytest.approx([marginals[t][name] for t, name in enumerate(row)])
    probable = {(e.start, e.end, e.label): e.probability for e in voting.spans_above(X[0], 0.01)}
    (answer, *_) = voting.answers([postil.text.Sentence(X[0])])
    for entity in answer.entities:
        assert probable[entity.start, entity.end, entity.label] == pytest.approx(entity.probability)
    assert voting.evaluate(X, labels).to_dict()["f1"] == 100


def test_explanations_are_about_the_probability_with_votes(voting):
    explained = voting.explain(SENTENCE, 0, 1, "PER")
    (found,) = [e for e in voting.spans_above(SENTENCE, 1e-6) if (e.start, e.end, e.label) == (0, 1, "PER")]
    assert explained.probability == pytest.approx(found.probability)


def test_saved_is_loaded(tmp_path, voting):
    voting.save(tmp_path / "a.postil")
    again = postil.load(tmp_path / "a.postil")
    again.save(tmp_path / "b.postil")
    assert (tmp_path / "a.postil").read_bytes() == (tmp_path / "b.postil").read_bytes()
    for other in (again, pickle.loads(pickle.dumps(voting))):
        assert other.marginals(SENTENCE) == voting.marginals(SENTENCE)
        assert other.tag(TEXT).entities == voting.tag(TEXT).entities
    assert archive.load(tmp_path / "a.postil")[1]["needs"] == ["rules"]


def test_bulk_writes_what_tag_answers(tmp_path, voting):
    (tmp_path / "text.txt").write_text(TEXT, "utf-8")
    target = io.BytesIO()
    with read(tmp_path / "text.txt", format="text") as reading:
        label(voting, [reading], TaggingOptions(output="jsonl", probabilities=True), target)
    (record,) = map(json.loads, target.getvalue().splitlines())
    expected = [(e.start, e.end, e.label, round(e.probability, 6)) for e in voting.tag(TEXT).entities]
    assert [(s["start"], s["end"], s["label"], s["probability"]) for s in record["spans"]] == expected
    assert expected != []


def test_the_fast_path_and_the_general_path_write_the_same_bytes(voting):
    from postil.tagging import Labeller
    from postil.text.lines import Passage

    for output in ("jsonl", "conll"):
        labeller = Labeller(voting, TaggingOptions(output=output, probabilities=True))
        passage = Passage(name="text", format="text", first=1, text=f"{TEXT}\n" * 3, whole=True)
        assert labeller.fast is not None
        content = labeller.fast.label(passage).content
        assert content == labeller.general.label(passage).content


def test_one_task_of_several(rules):
    X, y = named_entities(60)
    words = [["UP" if word[:1].isupper() else "LOW" for word in tokens] for tokens in X]
    both = postil.MultiTaskTagger(preset="fast", hidden=8, epochs=2, seed=0)
    both.fit({"words": X, "names": X}, {"words": words, "names": y})
    voting = both.with_rules(rules)
    assert voting["words"].marginals(SENTENCE) == both["words"].marginals(SENTENCE)
    assert voting["names"].marginals(SENTENCE) == both["names"].with_rules(rules).marginals(SENTENCE)
    assert voting.predict([SENTENCE])["names"] == voting["names"].predict([SENTENCE])
    again = pickle.loads(pickle.dumps(voting))
    assert again["names"].marginals(SENTENCE) == voting["names"].marginals(SENTENCE)
    assert again.with_rules(None)["names"].marginals(SENTENCE) == both["names"].marginals(SENTENCE)
    with pytest.raises(ConfigurationError, match="need a model of spans"):
        both.with_rules(rules, task="words")


# ------------------------------------------------------------------------------------------------ reliability


def test_known_rules_keep_their_reliability_and_new_ones_have_the_prior(tagger, rules):
    learned = Reliability.prior(rules, tagger.model.codec.labels)
    rates = {**learned.of_rules, ("people", "PER", False): np.array([0.9, 0.05, 0.01, 0.04])}
    first = tagger.with_rules(rules, reliability=Reliability(rates, learned.shares))
    assert first.model.voters.reliability.precision("people", "PER") == pytest.approx(0.95)
    longer = [
        ListRule(name="people", label="PER", phrases=["Zork", "Yak"]),
        ListRule(name="more", label="PER", phrases=["x"]),
    ]
    reliability = first.with_rules(longer).model.voters.reliability
    assert reliability.precision("people", "PER") == pytest.approx(0.95)
    assert reliability.precision("more", "PER") == pytest.approx(0.85)


# ------------------------------------------------------------------------------------------------ mistakes


def test_mistakes_are_one_clear_line(tagger, tmp_path):
    with pytest.raises(ConfigurationError, match=r"must vote for classes of the model: .*got GENE"):
        tagger.with_rules([ListRule(name="genes", label="GENE", phrases=["x"])])
    with pytest.raises(DataError, match="cannot read the rules"):
        tagger.with_rules(tmp_path / "none.toml")
    function = FunctionRule(name="mine", function=lambda tokens: [(0, 1, "PER")], labels=["PER"])
    voting = tagger.with_rules([function])
    assert voting.marginals(["Zork"]) != tagger.marginals(["Zork"])
    with pytest.raises(ConfigurationError, match=r"other rules cannot be stored.*got rule 'mine'"):
        voting.save(tmp_path / "m.postil")


def test_a_file_of_rules(tagger, voting, tmp_path):
    (tmp_path / "rules.toml").write_text('[[rule]]\nname = "people"\nlabel = "PER"\nlist = ["Zork"]', "utf-8")
    from_file = tagger.with_rules(tmp_path / "rules.toml")
    listed = tagger.with_rules([ListRule(name="people", label="PER", phrases=["Zork"])])
    assert from_file.marginals(SENTENCE) == listed.marginals(SENTENCE)


def forged(**changes):
    def change(content):
        return {**content, **changes}

    return change


def with_rule(**table):
    return lambda content: {**content, "rules": [table, *content["rules"][1:]]}


def with_rates(*row):
    def change(content):
        rates = [list(row), *content["reliability"]["rates"][1:]]
        return {**content, "reliability": {**content["reliability"], "rates": rates}}

    return change


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda content: [], "rules and reliability"),
        (lambda content: "x" * MOST_BYTES, "at most 8 MiB"),
        (forged(more=1), "rules and reliability"),
        (forged(rules={}), "rules and reliability"),
        (forged(rules=[]), "1 to 1000"),
        (forged(rules=[{"name": "a", "label": "PER", "list": ["x"]}] * 2000), "1 to 1000"),
        (with_rule(name="people", label="GENE", list=["x"]), "got GENE"),
        (with_rule(name="people", label="PER", list="/etc/passwd"), "a list of names"),
        (with_rule(name="people", label="PER", list=[1]), "a list of names"),
        (with_rule(name="people", label="PER", list=["x" * 501]), "at most 500 characters"),
        (with_rule(name="people", model="english"), "one of list, pattern"),
        (with_rule(name="people", label="PER", pattern="<pos:NOUN>"), "needs a tagger"),
        (with_rule(name="people", label="PER", pattern="/(a+)+/"), "must not repeat a group"),
        (with_rule(name="people", label="PER", pattern="/(a?a?)*b/"), "must not repeat a group"),
        (with_rule(name="people", label="PER", pattern="/a*a*a*a*a*a*b/"), "could take very long"),
        (with_rule(name="people", label="PER", pattern="/" + "a?" * 60 + "/"), "could take very long"),
        (with_rule(name="people", label="PER", pattern="/" + "(a|a)" * 30 + "/"), "could take very long"),
        (with_rule(name="people", label=5, list=["x"]), "label: expected a text|label must be a text"),
        (with_rule(name="others", label="PER", list=["x"]), "that of every rule and no other"),
        (with_rates("people", "PER", False, 0.5, 0.5, 0.5, 0.5), "sum to 1"),
        (with_rates("people", "PER", False, 2.0, -1.0, 0.0, 0.0), "above 0"),
        (with_rates("people", "PER", False, 1.0), "above 0"),
        (forged(reliability={"rates": [], "shares": []}), "that of every rule and no other|sum to 1"),
    ],
)
def test_a_forged_section_is_one_clear_error(tmp_path, voting, change, message):
    path = tmp_path / "m.postil"
    voting.save(path)
    arrays, metadata = archive.load(path)
    arrays = {name: np.array(array) for name, array in arrays.items()}
    content = json.loads(arrays["rules/main"].tobytes())
    forgery = json.dumps(change(content)).encode()
    archive.save(path, arrays | {"rules/main": np.frombuffer(forgery, np.uint8)}, metadata)
    with pytest.raises(ModelFileError, match=message):
        postil.load(path)


def test_rules_in_the_wrong_place_are_refused(tmp_path, voting):
    path = tmp_path / "m.postil"
    voting.save(path)
    arrays, metadata = archive.load(path)
    arrays = {name: np.array(array) for name, array in arrays.items()}
    for changed, message in (
        ({"rules/main": np.zeros((2, 2), np.uint8)}, "rules"),
        ({"rules/main": np.zeros(3)}, "rules"),
        ({"rules/other": arrays["rules/main"]}, "unknown arrays"),
        ({"rules/main": np.frombuffer(b"\xff{", np.uint8)}, "rules"),
    ):
        archive.save(path, arrays | changed, metadata)
        with pytest.raises(ModelFileError, match=message):
            postil.load(path)
