"""Reliability against enumeration, and taggers trained on votes."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import postil
from postil.errors import DataError, ModelFileError
from postil.metrics import score_spans
from postil.models.voting.reliability import Votes
from postil.objectives.crf import ChainScores, Lattice, expected_counts
from postil.rules import ColumnRule, ListRule, PatternRule, Reliability, Rules, Vote, check, learn
from postil.rules.learning import abbreviations
from postil.samples.corpora import made_up_sentences
from postil.text.labels.schemes import recognise, spans_from_labels

LABELS = ["O", "B-X", "I-X", "E-X", "S-X"]


def two_rules():
    return Rules([ListRule(name="a", label="X", phrases=["x"]), ListRule(name="b", label="X", phrases=["y"])])


def relation(label, voted):
    if label == "O":
        return 3
    return 0 if label == voted else 1


def test_the_evidence_is_bayes_rule_on_every_label():
    shares = np.array([0.9, 0.04, 0.01, 0.03, 0.02])
    pi = {"a": np.array([0.6, 0.2, 0.05, 0.15]), "b": np.array([0.5, 0.1, 0.1, 0.3])}
    reliability = Reliability({(name, "X", False): value for name, value in pi.items()}, shares)
    votes = Votes([[Vote("a", 0, 2, "X"), Vote("b", 1, 2, "X")]], [3], LABELS, "iobes")
    evidence = votes.evidence(reliability)
    voted = {0: [("a", "B-X")], 1: [("a", "E-X"), ("b", "S-X")]}
    for token, cast in voted.items():
        for y, label in enumerate(LABELS):
            expected = 0.0
            for rule, v in cast:
                kind = relation(label, v)
                among = sum(share for other, share in zip(LABELS, shares, strict=True) if relation(other, v) == kind)
                expected += np.log(pi[rule][kind]) - np.log(among)
            assert evidence[token, y] == pytest.approx(expected)
    assert not evidence[2].any(), "nobody speaks"
    silent = votes.evidence(reliability, silence=True)
    assert silent[2, 0] > silent[2, 1] == silent[2, 4] and (silent[:2] == evidence[:2]).all()


def test_one_vote_gives_the_posterior_that_the_rule_deserves():
    """Prior shares times the evidence of a vote, normalised, are the shares of the rule's votes."""
    reliability = Reliability.prior(two_rules(), LABELS)
    votes = Votes([[Vote("a", 0, 1, "X")]], [1], LABELS, "iobes")
    posterior = reliability.shares * np.exp(votes.evidence(reliability)[0])
    posterior /= posterior.sum()
    same, boundary, _, outside = reliability.of_rules["a", "X", False]
    total = same + boundary + outside  # there is one class only
    assert posterior[4] == pytest.approx(same / total)
    assert posterior[0] == pytest.approx(outside / total)


def test_the_estimate_maximises_the_expected_likelihood():
    """M step: the shares are expected counts without the rule's own vote; any others explain the votes worse."""
    rng = np.random.default_rng(0)
    rules = two_rules()
    votes = Votes([[Vote("a", 0, 2, "X")], [Vote("a", 1, 2, "X"), Vote("b", 0, 1, "X")]], [3, 2], LABELS, "iobes")
    posterior = rng.dirichlet(np.ones(5), 5)
    estimated = votes.estimated(posterior, Reliability.prior(rules, LABELS)).of_rules["a", "X", False]
    prior = Reliability.prior(rules, LABELS).of_rules["a", "X", False]
    counts = 30 * prior
    reliability = Reliability.prior(rules, LABELS)
    for token, voted in ((0, "B-X"), (1, "E-X"), (4, "S-X")):
        among = np.zeros(4)
        for label, share in zip(LABELS, reliability.shares, strict=True):
            among[relation(label, voted)] += share
        kinds = [relation(label, voted) for label in LABELS]
        without = posterior[token] / (prior[kinds] / among[kinds])
        np.add.at(counts, kinds, without / without.sum())
    assert estimated == pytest.approx(counts / counts.sum())
    best = counts @ np.log(estimated)
    for other in rng.dirichlet(np.ones(4), 50):
        assert counts @ np.log(other) < best


def test_the_posterior_with_votes_is_that_of_enumeration():
    """exp(score of a path + evidence of its labels), summed over all paths, gives the marginals that are learned."""
    rng = np.random.default_rng(1)
    scores, transitions = rng.normal(size=(3, 5)), rng.normal(size=(5, 5))
    votes = Votes([[Vote("a", 0, 2, "X"), Vote("b", 0, 1, "X")]], [3], LABELS, "iobes")
    evidence = votes.evidence(Reliability.prior(two_rules(), LABELS))
    chain = ChainScores(transitions=transitions, start=np.zeros(5), end=np.zeros(5))
    lattice = Lattice(unary=scores + evidence, offsets=np.array([0, 3]), chain=chain)
    weights = np.zeros((3, 5))
    for path in itertools.product(range(5), repeat=3):
        score = sum(scores[t, y] + evidence[t, y] for t, y in enumerate(path))
        score += sum(transitions[i, j] for i, j in itertools.pairwise(path))
        for t, y in enumerate(path):
            weights[t, y] += np.exp(score)
    assert expected_counts(lattice).unary == pytest.approx(weights / weights[0].sum())


def test_votes_against_a_class():
    rule = ListRule(name="not", label="X", phrases=["x"], negated=True)
    votes = Votes([rule.votes([["x"]])[0]], [1], LABELS, "iobes")
    evidence = votes.evidence(Reliability.prior(Rules([rule]), LABELS))[0]
    assert evidence[0] > evidence[4] and np.ptp(evidence[1:]) == pytest.approx(0)


def test_reliability_is_stored_and_read_again_and_a_forged_one_is_refused():
    reliability = Reliability.prior(two_rules(), LABELS)
    again = Reliability.from_dict(reliability.to_dict())
    assert again.to_dict() == reliability.to_dict()
    for forged in (
        None,
        {},
        {"rates": [], "shares": "x"},
        {"rates": [["a", "X", False, 1.0]], "shares": []},
        {"rates": [["a", "X", False, 0.5, 0.5, -1, 1]], "shares": [0.5]},
        {"rates": [["a", "X", False, 0.5, 0.5, float("nan"), 0.1]], "shares": [0.5]},
        {"rates": [], "shares": [float("inf")]},
    ):
        with pytest.raises(ModelFileError, match="reliability of rules"):
            Reliability.from_dict(forged)


# ------------------------------------------------------------------------------------------------ a tagger from votes


def noisy_rules(corpus, rng):
    """Rules of known quality about made-up sentences: one precise with gaps, one with many false votes."""
    good, bad = {}, {}
    for tokens, spans in corpus:
        good[tuple(tokens)] = [span for span in spans if rng.random() < 0.7]
        wrong = [(t, t + 1, "PER") for t in range(len(tokens)) if tokens[t].islower() and rng.random() < 0.05]
        some = {span for span in spans if span[2] == "PER" and rng.random() < 0.4} | set(wrong)
        bad[tuple(tokens)] = [
            span for span in sorted(some) if all(span == s or span[0] >= s[1] or span[1] <= s[0] for s in some)
        ]
    classes = ["LOC", "ORG", "PER"]
    return Rules(
        [
            ColumnRule(name="good", spans=good, labels=classes),
            ColumnRule(name="bad", spans=bad, labels=["PER"]),
            ColumnRule(name="dead", spans={}, labels=["LOC"]),
        ]
    )


@pytest.fixture(scope="module")
def corpus():
    sentences = made_up_sentences(700, np.random.default_rng(1))
    X, y = [list(sentence.tokens) for sentence in sentences], [list(sentence.labels) for sentence in sentences]
    scheme = recognise(y)
    spans = [[(s.start, s.end, s.label) for s in spans_from_labels(row, scheme)] for row in y]
    return X, y, spans


@pytest.fixture(scope="module")
def learned(corpus):
    X, _, spans = corpus
    rules = noisy_rules(list(zip(X[:500], spans[:500], strict=True)), np.random.default_rng(0))
    return learn(postil.Tagger(preset="fast", seed=0, epochs=5), X[:500], rules)


@pytest.mark.slow
def test_a_tagger_learns_more_than_its_rules_know(corpus, learned):
    X, y, _ = corpus
    f1 = learned.tagger.evaluate(X[500:], y[500:]).to_dict()["f1"]
    assert f1 > 75, "the good rule alone finds 70 % of the entities of the raw text and none of these"


def test_the_rule_with_false_votes_is_found_out(learned):
    good = min(learned.reliability.precision("good", label) for label in ("PER", "LOC", "ORG"))
    assert good > 0.8 > learned.reliability.precision("bad", "PER")


@pytest.mark.slow
def test_the_same_votes_and_seed_give_the_same_tagger(corpus, learned):
    X, _, spans = corpus
    rules = noisy_rules(list(zip(X[:500], spans[:500], strict=True)), np.random.default_rng(0))
    again = learn(postil.Tagger(preset="fast", seed=0, epochs=5), X[:500], rules)
    assert again.tagger.predict(X[500:]) == learned.tagger.predict(X[500:])


def test_the_report_names_dead_rules_conflicts_and_what_no_rule_knows(corpus, learned):
    X = [list(tokens) for tokens in dict.fromkeys(map(tuple, corpus[0][:500]))]
    report = check(learned, X)
    assert report.dead == ["dead"] and report.sentences == len(X)
    good, bad, dead = report.rows
    assert good.votes == sum(vote.rule == "good" for votes in learned.votes for vote in votes)
    assert dead.votes == 0 and dead.precision is None
    assert bad.outvoted and "[" in bad.outvoted[0]
    assert report.suggestions and all(count >= 1 for _, _, count in report.suggestions)
    assert "never vote: dead" in str(report) and report.to_dict()["dead"] == ["dead"]


def test_votes_count_at_once_when_the_rules_speak(corpus, learned):
    """With the votes the labels are at least as good, and without any they are the tagger's own."""
    X, y, spans = corpus
    silent = replace(learned, rules=Rules([ColumnRule(name="good", spans={}, labels=["LOC", "ORG", "PER"])]))
    rules = noisy_rules(list(zip(X[500:], spans[500:], strict=True)), np.random.default_rng(2))
    with_votes = replace(learned, rules=rules).predict(X[500:])
    score = score_spans(y[500:], with_votes).overall.f1
    assert silent.predict(X[500:]) == learned.tagger.predict(X[500:])
    assert score > score_spans(y[500:], silent.predict(X[500:])).overall.f1 + 0.03


@pytest.mark.slow
def test_after_a_change_of_the_rules_it_learns_on_from_before(corpus, learned):
    """A new rule for a new class and one rule less: the classes and the other rules are still known."""
    X, y, _ = corpus
    asked = []

    class Counting:
        name, labels = "counted", ["DAY"]

        def votes(self, sentences):
            asked.append(len(sentences))
            return [[Vote("counted", t, t + 1, "DAY") for t, w in enumerate(s) if w == "Monday"] for s in sentences]

    before = learned.tagger.predict(X[500:])
    rules = Rules([rule for rule in learned.rules if rule.name != "dead"] + [Counting()])
    again = learned.again(rules)
    assert learned.tagger.predict(X[500:]) == before, "the first result stays"
    labels = again.tagger.predict(X[500:])
    days = [
        label
        for tokens, row in zip(X[500:], labels, strict=True)
        for w, label in zip(tokens, row, strict=True)
        if w == "Monday"
    ]
    assert days.count("B-DAY") > 0.9 * len(days)
    others = [["O" if label == "B-DAY" else label for label in row] for row in labels]
    assert score_spans(y[500:], others).overall.f1 > 0.75
    third = again.again(Rules([*again.rules, ListRule(name="towns", label="LOC", phrases=["Oslo"])]))
    assert len(asked) == 1, "a rule that stays the same votes once"
    expected = [sorted(votes) for votes in third.rules.votes(third.sentences)]
    assert [sorted(votes) for votes in third.votes] == expected


@pytest.mark.parametrize(
    "text, short",
    [
        ("the Wilms tumour ( WT ) gene", "WT"),
        ("ataxia telangiectasia ( A-T ; see below )", "A-T"),
        ("hereditary breast cancer ( HBC , MIM 1 )", "HBC"),
        ("breast cancer ( HBC )", None),  # no word with h
        ("of cancer ( 12 )", None),
        ("this cancer ( see )", None),
        ("the WT cancer ( WT )", None),  # explains nothing
        ("the tumour ( MOR )", None),  # not at the beginning of a word
        ("Wilms tumour ( WT", None),
    ],
)
def test_short_forms_are_explained_by_long_ones_that_begin_with_their_letter(text, short):
    tokens = text.split()
    place = tokens.index("(")
    lists = abbreviations([tokens], [[Vote("a", place - 1, place, "X")]])
    assert [rule.phrases for rule in lists] == ([] if short is None else [[short]])


def test_a_short_form_belongs_to_the_class_of_most_of_its_long_forms():
    tokens = "Wilms tumour ( WT )".split()
    x, y, against = Vote("a", 0, 2, "X"), Vote("b", 0, 2, "Y"), Vote("c", 0, 2, "X", negated=True)
    cases = [([[x], [x], [y]], ["X"]), ([[x], [y]], []), ([[x], []], []), ([[x, y]], []), ([[against]], [])]
    for votes, classes in cases:
        assert [rule.label for rule in abbreviations([tokens] * len(votes), votes)] == classes


def test_abbreviations_vote_like_a_list_unless_a_rule_has_that_name():
    X = ["a Wilms tumour ( WT ) was seen".split(), "then WT again".split(), "no news".split()]
    rules = [ListRule(name="tumours", label="X", phrases=["Wilms tumour"])]
    learned = learn(postil.Tagger(seed=0, epochs=1), X, Rules(rules))
    assert learned.rules.names == ["tumours", "X abbreviations"]
    assert learned.votes[1] == [Vote("X abbreviations", 1, 2, "X")]
    assert learned.again(learned.rules).rules.names == learned.rules.names
    other = ListRule(name="X abbreviations", label="X", phrases=["news"])
    assert learn(postil.Tagger(seed=0, epochs=1), X, Rules([*rules, other])).votes[1] == []


def test_nothing_to_learn_from_is_one_clear_error():
    rules = Rules([ListRule(name="a", label="X", phrases=["x"])])
    with pytest.raises(DataError, match="at least one vote"):
        learn(postil.Tagger(preset="fast"), [["y"]], rules)
    with pytest.raises(DataError, match="at least one sentence"):
        learn(postil.Tagger(preset="fast"), [[]], rules)


def test_patterns_and_lists_train_a_tagger(corpus):
    X, _, _ = corpus
    rules = Rules(
        [
            PatternRule(name="moves", label="PER", pattern="( <capital>{1,2} ) moved|flew|went"),
            PatternRule(name="in", label="LOC", pattern="in|to|from ( <capital>{1,2} )"),
            ListRule(name="months", label="LOC", phrases=["May"], negated=True),
        ]
    )
    learned = learn(postil.Tagger(preset="fast", seed=0, epochs=2), X[:300], rules, rounds=0)
    assert {label for row in learned.tagger.predict(X[300:350]) for label in row} >= {"O", "B-LOC"}
