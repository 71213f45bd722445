"""The lists of English words: written as the rules read them, none twice."""

from postil.text.splitting import english

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
