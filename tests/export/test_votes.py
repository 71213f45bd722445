"""Exported rules vote as in Python."""

import itertools

import numpy as np
import pytest

import postil
from export.test_flat import SMALL, check_text, check_tokens
from oracles import corpora
from oracles.c_runtime import Runtime, RuntimeFailure, needs_compiler
from oracles.flat import read
from postil.errors import ConfigurationError
from postil.export import flat
from postil.export.flat import exported
from postil.rules import ListRule, PatternRule

WORDS = [
    *("Anna", "anna", "ANNA", "Beta-catenin", "beta", "catenin", "Catenins", "'s", "s", "St.", "St", "John", "John's"),
    *("in", "IN", "the", "USA", "McDonald", "ǅ", "ǆa", "20", "1,500", "²", "½", ".", "…", "-", "_", "", "x" * 150),
    *("Straße", "STRASSE", "ﬁre", "fire", "Fire", "ＦＩＲＥ", "İstanbul", "hepatitis", "HEPATITIS", "itis", "antigen"),
    *("é", "e\u0301", "ΣΊΣΥΦΟΣ", "σίσυφος", "東京", "👍", "\u2011", "a\u00a0b", "New", "York"),
]


def rules():
    names = [
        "Anna",
        "Beta-catenin",
        "St. John's",
        "fire",
        "Straße",
        "é",
        "New York",
        "東京",
        "x" * 100,
        "σίσυφος",
        "...",
    ]
    for number, flags in enumerate(itertools.product([False, True], repeat=3)):
        options = dict(zip(("ignore_case", "variants", "inflected"), flags, strict=True))
        label = ("PER", "LOC")[number % 2]
        yield ListRule(name=f"list {number}", label=label, phrases=names, negated=number > 5, **options)
    kinds = "any capital upper lower title word number punctuation".split()
    for number, kind in enumerate(kinds):
        yield PatternRule(
            name=kind, label=("PER", "LOC")[number % 2], pattern=f"in|the ( <{kind}>{{1,3}} ) <any>{{0,1}}"
        )
    for number, text in enumerate(
        [
            "*itis",
            "~*itis",
            "anti*|~x",
            "~straße",
            "~σίσυφος|anna ( ~in{0,2} <upper>{1,2} ) <lower>{0,2} the{0,1}",
            "St*n",
        ]
    ):
        yield PatternRule(name=f"pattern {number}", label="PER", pattern=text, ignore_case=number == 5)


@pytest.fixture(scope="module")
def tagger():
    tagger = postil.Tagger(preset="fast", **SMALL).fit(*corpora.named_entities(40))
    tagger.decoding = postil.Decoding(temperature=1.3, shift=0.3, bias=0.2)
    return tagger.with_rules(list(rules()))


@pytest.mark.slow
@needs_compiler
def test_rules_answer_as_in_python(tagger):
    rng = np.random.default_rng(0)
    X = [[WORDS[i] for i in rng.integers(len(WORDS), size=rng.integers(1, 9))] for _ in range(600)]
    runtime = Runtime(exported(tagger))
    check_tokens(tagger, runtime, [[word for word in tokens if word] or ["Anna"] for tokens in X])
    check_text(tagger, runtime, " ".join(WORDS) + ". Anna lives in the USA of St. John's and New York.")
    check_text(tagger, runtime, "Anna in New York . " * 300)
    text = "Anna in the New York of St. John's Straße."
    fixed = Runtime(exported(tagger), max_bytes=len(text.encode()))
    assert fixed.tag(text) == runtime.tag(text)
    fixed.close()
    runtime.close()


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("rule", range(22))
def test_each_rule_votes_as_in_python(tagger, rule):
    """One rule at a time, on a model without an opinion of its own: every vote shows."""
    one = tagger.with_rules([list(rules())[rule]])
    one.decoding = postil.Decoding(temperature=1000.0)
    runtime, rng = Runtime(exported(one)), np.random.default_rng(rule)
    X = [[WORDS[i] or "x" for i in rng.integers(len(WORDS), size=8)] for _ in range(150)]
    check_tokens(one, runtime, [*X, *([word] for word in WORDS if word)])
    runtime.close()


@needs_compiler
def test_rules_of_one_task_of_several():
    X, y = corpora.named_entities(40)
    tagger = postil.MultiTaskTagger(preset="fast", **SMALL)
    tagger.fit({"speech": X, "names": X}, {"speech": corpora.parts_of_speech(40)[1], "names": y})
    voting = tagger.with_rules([ListRule(name="a", label="PER", phrases=["zork"])])
    runtime = Runtime(exported(voting))
    for task in voting.tasks:
        check_tokens(voting[task], runtime, [["we", "saw", "zork", "there"], *X[:5]], task)
    runtime.close()


@pytest.mark.parametrize("pattern", ["/A+/", "in ( /A[a-z]+/ )"])
def test_expressions_are_refused(tagger, pattern):
    with pytest.raises(ConfigurationError, match=r"the rule 'mine' .*not expressions"):
        exported(tagger.with_rules([PatternRule(name="mine", label="PER", pattern=pattern)]))


@pytest.mark.slow
@needs_compiler
def test_forged_rules_are_refused_or_harmless(tagger):
    """Every number of the sections is replaced by others; nothing is read beyond its section."""
    sections, rng = read(exported(tagger)), np.random.default_rng(0)
    names = [name for name in sections if "/rules" in name and sections[name].dtype.kind == "i"]
    refused = 0
    for name in names:
        for _ in range(40):
            array = np.array(sections[name])
            array.flat[rng.integers(array.size)] = rng.choice([-1, 0, 1, 7, 61, 10**6, 2**31 - 1])
            try:
                runtime = Runtime(flat.written({**sections, name: array}))
            except RuntimeFailure:
                refused += 1
                continue
            runtime.tag("Anna in the New York of St. John's HEPATITIS 20 fire")
            runtime.close()
    assert refused > len(names)
