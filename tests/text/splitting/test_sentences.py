from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import ConfigurationError
from postil.text import SentenceRules, Tokens, split_sentences, tokenise


def sentences(text: str, **rules: Any) -> list[str]:
    tokens = tokenise(text)
    ranges = split_sentences(tokens, SentenceRules(**rules))
    return [text[tokens.starts[first] : tokens.ends[last - 1]] for first, last in ranges]


# A bar marks each place where a sentence ends inside the text.
EXAMPLES = {
    "plain": "It rains.| We stay.| Why?| Because!| Yes.",
    "one": "no mark at all",
    "title": "Mr. Smith met Dr. Jones.| Prof. Lee left.",
    "initials": "J. K. Rowling wrote.| George W. Bush read.",
    "acronym before a name": "The U.S. Army came.",
    "acronym before a starter": "He left the U.S. in May.| She is in the U.S.| The end.",
    "company": "Acme Inc. Vice President Poe left Foo Corp.| He sold it.",
    "time": "Come at 5 p.m. on Monday.| We close at 6 p.m.| The rest is quiet.",
    "connective": "Fruit, e.g. Apples, i.e. The lot.",
    "number": "See No. 5 and p. 12 there.| No.| He is odd.",
    "decimal": "It costs 3.5 pounds.| 12 came.",
    "quote closes": 'He said "Go."| She went.',
    "typographic quote closes": "“Go!”| She went.",
    "quote goes on": '"Why?" he asked.| "Go!" said Ann.',
    "quote opens": 'It rained.| "Oh," he said.',
    "bracket closes": "(It rained.)| We stayed.",
    "bracket inside": "It rained (a lot!) and we stayed.",
    "ellipsis goes on": "Well... maybe so.| So… yes.",
    "ellipsis ends": "Well...| Maybe so.",
    "ellipsis begins": "... Maybe so.| Or not.",
    "many marks": "What?!| No!!!| Oh.",
    "small letters": "i like dogs.| they are nice!| really.",
    "name with a mark": "I use Yahoo! and like it.",
    "short word is perhaps an abbreviation": "in the var. alba group",
    "emoticon stays": "Thanks! :)| See you.",
    "a ruler is no emoticon": "It ends here.| ===== Next",
    "list in a line": "1. Wash the rice.| 2. Boil it.",
    "comma after": 'It is "done.", he said.',
    "mark inside a code": "Use A1-b.7 or x?5 here",
    "missing space": "It ended.|The next began.",
    "blank line": "A heading|\n\nThe text\ngoes on.|\n \nMore",
    "wrapped line": "The text\nGoes on",
    "list in lines": "Take:|\n- one egg|\n- two eggs|\n2) stir|\n(a) serve",
    "Windows line ends": "A heading|\r\n\r\nThe text\r\ngoes on",
    "paragraph mark": "One|\u2029Two",
    "full-width marks": "你好。| 再见！",
}


@pytest.mark.parametrize("marked", EXAMPLES.values(), ids=EXAMPLES)
def test_example(marked: str) -> None:
    assert sentences(marked.replace("|", "")) == [part.strip() for part in marked.split("|")]


def test_line_breaks_count_as_the_rules_say() -> None:
    text = "One line\nand two.\n\nThree"
    assert sentences(text, line_breaks="every") == ["One line", "and two.", "Three"]
    assert sentences(text, line_breaks="blank") == ["One line\nand two.", "Three"]
    assert sentences("One\n\ntwo\n- x", line_breaks="never") == ["One\n\ntwo\n- x"]


def test_lists_of_words_can_be_set() -> None:
    text = "He left Acme Inc. Poe stayed at 5 p.m. The end"
    assert sentences(text, starters=["poe"]) == ["He left Acme Inc.", "Poe stayed at 5 p.m. The end"]
    assert sentences(text, never_final=["p.m"]) == [text]
    assert sentences("Ask Dr. The end", never_final=()) == ["Ask Dr.", "The end"]


def test_no_tokens_no_sentences() -> None:
    assert split_sentences(tokenise(" \n\n ")) == []


def test_wrong_rules_are_named() -> None:
    with pytest.raises(ConfigurationError, match="rule 'line_breaks' is unknown: expected blank or every or never"):
        SentenceRules(line_breaks="some")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="rule 'starters' is a list: expected several strings, got 'the'"):
        SentenceRules(starters="the")  # type: ignore[arg-type]


MARKS = st.sampled_from(".!?…,'\"”()[]-*1。")
WORDS = st.sampled_from(["a", "A.", "Mr.", "The", "these", "...", ":)", "U.S.", "www.a.org"])
SPACES = st.sampled_from([" ", "\n", "\n\n", "\r\n", "\u2029"])
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=50) | st.lists(
    MARKS | WORDS | SPACES, max_size=40
).map("".join)


@given(ANY_TEXT, st.sampled_from(["blank", "every", "never"]))
def test_sentences_follow_one_another_and_hold_every_token(text: str, line_breaks: Any) -> None:
    tokens = tokenise(text)
    ranges = split_sentences(tokens, SentenceRules(line_breaks=line_breaks))
    assert [index for first, last in ranges for index in range(first, last)] == list(range(len(tokens)))
    assert all(first < last for first, last in ranges)


@given(ANY_TEXT)
def test_a_counted_line_break_is_never_inside_a_sentence(text: str) -> None:
    tokens = tokenise(text)
    for first, last in split_sentences(tokens, SentenceRules(line_breaks="every")):
        assert "\n" not in text[tokens.starts[first] : tokens.ends[last - 1]]


def test_tokens_of_another_tokeniser_will_do() -> None:
    tokens = Tokens("Hi . Bye", ["Hi", ".", "Bye"], [0, 3, 5], [2, 4, 8])
    assert split_sentences(tokens) == [(0, 2), (2, 3)]
