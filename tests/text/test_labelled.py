import pytest

from postil.errors import DataError
from postil.text import Sentence
from postil.text.labelled import LabelledFile, check_same_tokens


def file(path, *sentences, format="conll"):
    line, rows = 1, []
    for tokens in sentences:
        rows.append(Sentence(tokens.split(), ["O"] * len(tokens.split()), line=line))
        line += len(tokens.split()) + 1
    return LabelledFile(path, format, rows)


def test_places_count_lines_or_tokens():
    assert file("a.txt", "Anna left", "Oslo").where(1, 0) == "a.txt, line 4"
    assert file("a.jsonl", "Anna left", format="jsonl").where(0, 1) == "a.jsonl, line 1, token 2"


@pytest.mark.parametrize(
    ("gold", "other", "message"),
    [
        (["a b"], ["a c"], "^o, line 2: the token differs from g, line 2: expected 'b', got 'c'$"),
        (["a b"], ["a"], "^o, line 1: the sentence is shorter than at g, line 1: expected 2 tokens, got 1$"),
        (["a"], ["a b"], "^o, line 2: the sentence is longer than at g, line 1: expected 1 tokens, got 2$"),
        (["a", "b"], ["a"], "^g, line 3: o ends before sentence 2: expected 2 sentences as in g, got 1$"),
        (["a"], ["a", "b"], "^o, line 3: g ends before sentence 2: expected 1 sentences as in g, got 2$"),
    ],
)
def test_the_first_difference_is_named(gold, other, message):
    with pytest.raises(DataError, match=message):
        check_same_tokens(file("g", *gold), file("o", *other))
    check_same_tokens(file("g", *gold), file("o", *gold))
