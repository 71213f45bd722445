"""The lists of English words: written as the rules read them, none twice."""

import json
from dataclasses import FrozenInstanceError, asdict
from typing import Any

import pytest

from postil.errors import ConfigurationError
from postil.text import SentenceRules, TokenRules
from postil.text.splitting import english

MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"hyphens": "cut"}, "rule 'hyphens' is unknown: expected split or keep, got 'cut'"),
    ({"urls": "yes"}, "rule 'urls' is a switch: expected True or False, got 'yes'"),
    ({"units": "pm"}, "rule 'units' is a list: expected several strings, got 'pm'"),
    ({"units": None}, "rule 'units' is a list: expected several strings, got None"),
    ({"units": ["pm", ""]}, "rule 'units' has a wrong entry: expected a string without white space, got ''"),
    ({"units": ["a b"]}, "rule 'units' has a wrong entry: expected a string without white space, got 'a b'"),
    ({"units": [5]}, "rule 'units' has a wrong entry: expected a string without white space, got 5"),
    ({"fused": ["cannot"]}, "rule 'fused' lacks a cut: expected parts like 'can|not', got 'cannot'"),
    ({"fused": ["can|"]}, "rule 'fused' lacks a cut: expected parts like 'can|not', got 'can|'"),
    ({"contractions": ["nt"]}, "rule 'contractions' lacks an apostrophe: expected one like 'll, got 'nt'"),
    ({"extra_patterns": ["(a)"]}, "an extra pattern captures: expected groups written (?:…), got '(a)'"),
    ({"extra_patterns": ["a*"]}, "an extra pattern is empty: expected one character at least, got 'a*'"),
]


@pytest.mark.parametrize(("settings", "message"), MISTAKES)
def test_mistake_is_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        TokenRules(**settings)
    assert str(caught.value) == message


def test_broken_expression_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"an extra pattern is not a regular expression .'\[' \("):
        TokenRules(extra_patterns=["["])


def test_rules_cannot_be_changed_in_place() -> None:
    with pytest.raises(FrozenInstanceError):
        TokenRules().urls = False  # type: ignore[misc]


@pytest.mark.parametrize(
    "rules", [TokenRules(), TokenRules(hyphens="keep", units=["pm"]), SentenceRules(line_breaks="every")]
)
def test_rules_survive_json(rules: TokenRules | SentenceRules) -> None:
    assert type(rules)(**json.loads(json.dumps(asdict(rules)))) == rules


def test_only_what_was_changed_is_shown() -> None:
    assert repr(TokenRules()) == "TokenRules()"
    assert repr(TokenRules(urls=False, units=["pm"])) == "TokenRules(units=('pm',), urls=False)"


# ---------------------------------------------- The lists of English words: written as the rules read them, none twice


LISTS = {name: value for name, value in vars(english).items() if name.isupper()}


def test_the_three_spellings_of_an_entry():
    assert english.spellings("etc") == ("etc", "Etc", "ETC")
    assert english.spellings("Ph.D") == ("Ph.D", "Ph.D", "PH.D")


def test_no_entry_is_listed_twice():
    assert len(LISTS) >= 10
    assert {name: len(words) - len(set(words)) for name, words in LISTS.items()} == dict.fromkeys(LISTS, 0)


def test_entries_are_single_words_and_abbreviations_have_no_last_period():
    assert all(word == word.strip() and " " not in word and word for words in LISTS.values() for word in words)
    abbreviations = english.ABBREVIATIONS + english.ABBREVIATIONS_BEFORE_NUMBERS
    assert not [word for word in abbreviations if word.endswith(".")]


def test_fused_words_are_cut_somewhere():
    assert all("|" in word and all(word.split("|")) for word in english.FUSED)
    assert all("'" in word for word in english.CONTRACTIONS + english.ELISIONS)
