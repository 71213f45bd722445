"""What rules vote for."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import ConfigurationError, DataError
from postil.rules import ColumnRule, FunctionRule, ListRule, ModelRule, PatternRule, Rules, Vote


def spans(rule, text):
    (votes,) = rule.votes([text.split()])
    return [(vote.start, vote.end) for vote in votes]


def listed(*phrases, **options):
    return ListRule(name="list", label="X", phrases=phrases, **options)


def pattern(text, **options):
    return PatternRule(name="pattern", label="X", pattern=text, **options)


# ------------------------------------------------------------------------------------------------ lists


def test_the_longest_name_wins_and_names_do_not_overlap():
    assert spans(listed("New York", "York", "New York Times"), "the New York Times of New York and York") == [
        (1, 4),
        (5, 7),
        (8, 9),
    ]


@pytest.mark.parametrize(
    "options, text, found",
    [
        ({}, "the beta catenin", []),
        ({"variants": True}, "the Beta catenin gene", [(1, 3)]),
        ({"variants": True, "ignore_case": True}, "the beta catenin gene", [(1, 3)]),
        ({}, "the Beta-Catenin gene", []),
        ({"ignore_case": True}, "the BETA-catenin gene", [(1, 2)]),
        ({"inflected": True}, "two Beta-catenins here", [(1, 2)]),
        ({"inflected": True}, "a Beta-catenin 's here", [(1, 3)]),
        ({"inflected": True}, "two DNAs here", [(1, 2)]),
        ({}, "ｏｎｅ ＤＮＡ here", [(1, 2)]),
    ],
)
def test_spelling_options(options, text, found):
    assert spans(listed("Beta-catenin", "DNA", **options), text) == found


def test_names_do_not_depend_on_how_a_tokeniser_cuts_them():
    rule = listed("St. John's")
    assert spans(rule, "in St. John's today") == [(1, 3)]
    assert rule.votes([["in", "St.", "John", "'s", "today"]])[0] == [Vote("list", 1, 4, "X")]


@given(
    st.lists(st.sampled_from("ab"), max_size=8), st.sets(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=4)
)
def test_lists_find_what_looking_at_every_span_finds(tokens, phrases):
    """Leftmost first, then the longest, by brute force."""
    expected, start = [], 0
    while start < len(tokens):
        ends = [end for end in range(len(tokens), start, -1) if "".join(tokens[start:end]) in phrases]
        if ends:
            expected.append((start, ends[0]))
        start = ends[0] if ends else start + 1
    (votes,) = ListRule(name="list", label="X", phrases=sorted(phrases)).votes([tokens])
    assert [(vote.start, vote.end) for vote in votes] == expected


# ------------------------------------------------------------------------------------------------ patterns


@pytest.mark.parametrize(
    "text, sentence, found",
    [
        ("Mr|Mrs ( <capital>{1,3} )", "then Mr Hugo Reed left", [(2, 4)]),
        ("<capital>{2}", "Anna Berg met Leif Moss Hart", [(0, 2), (3, 5)]),
        ("*itis", "severe hepatitis and itis", [(1, 2)]),
        ("anti*", "an antigen , anti", [(1, 2)]),
        (r"/([A-Z]{2,4})\d+/", "genes BRCA1 and ABCDE1", [(1, 2)]),
        ("<number> mg|ml", "take 20 mg or 3 ml", [(1, 3), (4, 6)]),
        ("in ( <any>{1,2} ) .{0,1}", "in Lake Geneva .", [(1, 3)]),
        (r"\( <upper> \)", "a ( WHO ) b", [(1, 4)]),
        ("~lake <capital>", "LAKE Ash , Lake ash", [(0, 2)]),
        ("~/[a-z]+x/", "aX B", [(0, 1)]),
        ("a b{0,20} c", "a b b b c a c", [(0, 5), (5, 7)]),
        ("( a ) b", "a a b", [(1, 2)]),
    ],
)
def test_patterns(text, sentence, found):
    assert spans(pattern(text), sentence) == found


@given(st.lists(st.sampled_from("abc"), max_size=7), st.integers(0, 2), st.integers(1, 2), st.integers(0, 1))
def test_patterns_find_what_a_regular_expression_finds(tokens, least, more, optional):
    """The same pattern over letters, by Python's own engine, which tries the longest first here as well."""
    text = f"a{{{least},{least + more}}} b{{{optional},2}} c"
    expression = re.compile(f"a{{{least},{least + more}}}b{{{optional},2}}c")
    expected = [match.span() for match in expression.finditer("".join(tokens))]
    assert spans(pattern(text), " ".join(tokens)) == expected


def test_tags_of_a_model():
    class Tagger:
        def predict(self, sentences):
            return [["NOUN" if word[0].isupper() else "VERB" for word in tokens] for tokens in sentences]

    assert spans(pattern("<pos:NOUN|ADJ>{1,2} <pos:VERB>", tagger=Tagger()), "Dogs Cats run") == [(0, 3)]
    with pytest.raises(DataError, match="needs a tagger of parts of speech"):
        pattern("<pos:NOUN>")


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "1 to 30 elements"),
        ("a{0,1}", "at least one token in the entity"),
        ("a{3,2}", "repeats in a pattern"),
        ("a{1,99}", "repeats in a pattern"),
        ("a*b*c", "at most one \\* each"),
        ("<nope>", "a kind of word"),
        ("(Smith)", "parentheses with spaces"),
        ("( Smith", "one pair of parentheses"),
        ("( a ( b ) )", "one pair of parentheses"),
        (") a (", "one pair of parentheses"),
        ("Mr (<capital>)", "parentheses with spaces"),
        ("/(a+)+/", "must not repeat a group"),
        ("/(a|aa)*/", "must not repeat a group"),
        ("/(a)\\1/", "must not refer to a group"),
        ("/(?=a)/", "no groups other than"),
        ("/[/", "cannot be read"),
        ("/" + "a" * 300 + "/", "at most 200 characters"),
        ("a " * 31, "1 to 30 elements"),
        ("a{0,20} " * 3 + "a", "at most 60 tokens"),
    ],
)
def test_a_bad_pattern_is_one_clear_error(text, message):
    with pytest.raises(DataError, match=message):
        pattern(text)


@pytest.mark.slow
def test_a_hostile_pattern_takes_no_exponential_time():
    tokens = ["a"] * 3000
    assert len(pattern("a{0,19} " * 3 + "a b").votes([tokens])[0]) == 0
    assert spans(pattern("/(?:a*)b/"), "a" * 5000) == []


# ------------------------------------------------------------------------------------- models, functions, other people


def test_models_functions_and_columns_vote():
    class Tagger:
        def predict(self, sentences):
            return [["B-PER", "I-PER", "O", "B-LOC"] for _ in sentences]

    tokens = ["Anna", "Berg", "in", "Oslo"]
    model = ModelRule(name="model", model=Tagger(), classes={"PER": "PERSON"})
    function = FunctionRule(name="function", function=lambda tokens: [(3, 4, "PLACE")], labels=["PLACE"])
    column = ColumnRule(name="column", spans={tuple(tokens): [(0, 1, "PERSON")]}, labels=["PERSON"])
    rules = Rules([model, function, column])
    assert rules.labels == ["PERSON", "PLACE"] and rules.names == ["model", "function", "column"]
    votes, nothing = rules.votes([tokens, ["x"] * 4][:1])[0], column.votes([["x"]])
    assert votes == [Vote("model", 0, 2, "PERSON"), Vote("function", 3, 4, "PLACE"), Vote("column", 0, 1, "PERSON")]
    assert nothing == [[]]


@pytest.mark.parametrize("span", [(0, 3, "X"), (1, 1, "X"), (-1, 1, "X"), (0, 1, "Y")])
def test_a_function_that_returns_wrong_spans_is_named(span):
    rule = FunctionRule(name="mine", function=lambda tokens: [span], labels=["X"])
    with pytest.raises(DataError, match="rule 'mine': spans of a rule"):
        rule.votes([["a", "b"]])


def test_rules_have_different_names():
    with pytest.raises(ConfigurationError, match="different names"):
        Rules([listed("a"), listed("b")])
    with pytest.raises(ConfigurationError, match="1 to 1000"):
        Rules([])
