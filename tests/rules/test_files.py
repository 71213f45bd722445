"""Files of rules, good and bad."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postil.errors import DataError, PostilError
from postil.rules import read_rules

SPACY = """\
{"label": "ORG", "pattern": "Acorn Foods"}
{"label": "LOC", "pattern": [{"LOWER": "lake"}, {"IS_TITLE": true, "OP": "+"}]}
{"label": "X", "pattern": [{"TEXT": {"REGEX": "^[A-Z]+$"}}, {}, {"LOWER": {"IN": ["a", "b"]}, "OP": "?"}]}
"""


@pytest.fixture
def file(tmp_path):
    def written(content, **others):
        for name, text in others.items():
            (tmp_path / name.replace("_", ".")).write_text(text, "utf-8")
        path = tmp_path / "rules.toml"
        path.write_text(content, "utf-8")
        return path

    return written


def test_every_kind_of_rule(file):
    rules = read_rules(
        file(
            """
            [[rule]]
            label = "LOC"
            list = "places.txt"
            ignore_case = true

            [[rule]]
            name = "titles"
            label = "PER"
            pattern = "Mr|Mrs ( <capital>{1,2} )"

            [[rule]]
            not = "PER"
            list = ["May"]

            [[rule]]
            name = "matcher"
            spacy = "patterns.jsonl"

            [[rule]]
            name = "colleague"
            votes = "answers.conll"
            """,
            places_txt="Oslo\n\nNew York\n",
            patterns_jsonl=SPACY,
            answers_conll="Anna\tB-PER\nleft\tO\n\n",
        )
    )
    assert rules.names == ["LOC 1", "titles", "PER 3", "matcher 1", "matcher 2", "matcher 3", "colleague"]
    assert rules.labels == ["LOC", "ORG", "PER", "X"]
    votes = rules.votes([["Mr", "Reed", "left", "NEW", "york", "in", "May"], ["Anna", "left"], ["Lake", "Ash", "Tree"]])
    assert [(v.rule, v.start, v.end, v.label, v.negated) for v in votes[0]] == [
        ("LOC 1", 3, 5, "LOC", False),
        ("titles", 1, 2, "PER", False),
        ("PER 3", 6, 7, "PER", True),
        ("matcher 3", 3, 5, "X", False),
    ]
    assert [v.rule for v in votes[1]] == ["colleague"] and votes[2][0][:4] == ("matcher 2", 0, 3, "LOC")


def test_names_may_have_many_dots(file):
    name = "a." * 100
    assert read_rules(file(f"[[rule]]\nlabel = 'X'\nlist = ['{name}', \"b\\\"{name}\"]")).labels == ["X"]


def test_a_model_votes(file, tmp_path):
    import postil

    X, y = [["Anna", "left", "Oslo"]] * 8, [["B-PER", "O", "B-LOC"]] * 8
    postil.Tagger(preset="fast", epochs=3, seed=0).fit(X, y).save(tmp_path / "m.postil")
    rules = read_rules(file(f"[[rule]]\nmodel = '{tmp_path / 'm.postil'}'\nclasses = {{PER = 'PERSON'}}"))
    assert rules.labels == ["PERSON"]
    assert [vote.label for vote in rules.votes([["Anna", "left", "Oslo"]])[0]] == ["PERSON"]
    with pytest.raises(DataError, match="rule 1: classes must be LOC, PER"):
        read_rules(file(f"[[rule]]\nmodel = '{tmp_path / 'm.postil'}'\nclasses = {{X = 'PERSON'}}"))


@pytest.mark.parametrize(
    "content, message",
    [
        ("", "at least one \\[\\[rule\\]\\]"),
        ("rule = 3", "at least one"),
        ("[[rule]", "cannot be read as TOML"),
        ("[[rules]]\nlabel = 'X'", "got rules"),
        ("[[rule]]\n" + "a." * 50_000 + "b = 1", "cannot be read as TOML .a key with many dots"),
        ("[[rule]]\n" + "'a' . " * 50_000 + "b = 1", "a key with many dots"),
        ("[[rule]]\nlabel = 'X'\nlist = ['a']\n" * 100_000, "at most 1000"),
        ("[[rule]]\nlabel = 'A|B'\nlist = ['a']", "name of a class: expected no |"),
        ("[[rule]]\nlabel = 'X'", "rule 1: a rule: expected one of list, pattern, spacy, model, votes"),
        ("[[rule]]\nlabel = 'X'\nlist = ['a']\npattern = 'a'", "got list, pattern"),
        ("[[rule]]\nlist = ['a']", "either label or not, got neither"),
        ("[[rule]]\nlabel = 'X'\nnot = 'X'\nlist = ['a']", "got both"),
        ("[[rule]]\nlabel = 3\nlist = ['a']", "must be a text"),
        ("[[rule]]\nlabel = 'X\\u001b'\nlist = ['a']".replace("'X\\u001b'", '"X\\u001b"'), "must be a text"),
        ("[[rule]]\nlabel = 'X'\nlist = [1]", "a file or a list of names"),
        ("[[rule]]\nlabel = 'X'\nlist = []", "at least one name"),
        ("[[rule]]\nlabel = 'X'\nlist = 'none.txt'", "cannot read the list"),
        ("[[rule]]\nlabel = 'X'\nlist = '/dev/zero'", "a device"),
        ("[[rule]]\nlabel = 'X'\nlist = ['a']\nignorecase = true", "did you mean ignore_case"),
        ("[[rule]]\nlabel = 'X'\nlist = ['a']\nignore_case = 1", "true or false"),
        ("[[rule]]\nlabel = 'X'\npattern = '/(a+)+/'", "rule 1: a regular expression must not repeat"),
        (
            "[[rule]]\nname='a'\nlabel='X'\nlist=['a']\n[[rule]]\nname='a'\nlabel='X'\nlist=['b']",
            "all different, got a",
        ),
        ("[[rule]]\nmodel = 'none.postil'", "none.postil"),
        ("[[rule]]\nvotes = 'none.conll'", "none.conll"),
        ("a = " + "[" * 2000, "TOML"),
    ],
)
def test_a_mistake_is_one_clear_line(file, content, message):
    with pytest.raises((PostilError, OSError), match=message) as caught:
        read_rules(file(content))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "line, message",
    [
        ("{", "must be JSON"),
        ("[]", "label and pattern"),
        ('{"label": "X", "pattern": [{"LEMMA": "be"}]}', "a token of a pattern of spaCy"),
        ('{"label": "X", "pattern": [{"LOWER": "a", "POS": "NOUN"}]}', "one of LOWER"),
        ('{"label": "X", "pattern": [{"LOWER": "a", "OP": "!"}]}', "one of LOWER"),
        ('{"label": "X", "pattern": [3]}', "one of LOWER"),
    ],
)
def test_patterns_of_spacy_that_are_not_read(file, line, message):
    with pytest.raises(DataError, match=message):
        read_rules(file("[[rule]]\nspacy = 'p.jsonl'", p_jsonl=line + "\n"))


# ------------------------------------------------------------------------------------------------ files from a stranger

KEYS = ["rule", "name", "label", "not", "list", "pattern", "spacy", "model", "votes", "mentions", "classes", "pos"]
KEYS += ["ignore_case", "variants", "inflected"]
ELEMENTS = st.sampled_from(r"( ) <capital> <pos:X> < {1,3} a{2} a{9,1} /a+/ /(a|b)*/ * *x ~ \ | a|b X".split())
PATTERNS = st.lists(ELEMENTS, max_size=6).map(" ".join)
TEXTS = st.text(max_size=8) | st.sampled_from(["X", "no.txt", ".", "/", ""]) | PATTERNS
VALUES = TEXTS | st.integers() | st.booleans() | st.lists(TEXTS, max_size=3) | st.lists(st.integers(), max_size=2)
TABLES = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4)
GOOD = st.fixed_dictionaries(
    {"label": st.just("X"), "pattern": PATTERNS}, optional={"name": TEXTS, "ignore_case": VALUES}
)


def written(tables):
    """TOML takes the strings, numbers and lists of JSON."""
    entry = "\n".join
    return entry("[[rule]]\n" + entry(f"{k} = {json.dumps(v)}" for k, v in table.items()) for table in tables)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(content=st.lists(GOOD | TABLES, max_size=3).map(written) | st.text(max_size=60))
def test_whatever_the_file_says_it_is_read_or_refused_in_one_line(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "strange.toml"
    path.write_text(content, "utf-8", errors="replace", newline="")
    try:
        rules = read_rules(path)
    except (PostilError, OSError) as error:
        assert "\n" not in str(error)
    else:
        assert rules.votes([["a", "b", "X"], []]) is not None
