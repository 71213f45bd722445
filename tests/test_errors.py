import pytest

from postil.errors import (
    ArrayError,
    DataError,
    DtypeError,
    GradientError,
    IndexRangeError,
    NumericalError,
    PostilError,
    ShapeError,
    format_message,
    is_printable,
    printable,
)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (("threads", "at least 1", 0), "threads must be at least 1 (got 0)"),
        (("threads", "at least 1"), "threads must be at least 1"),
        (("size of a batch", "must be at least 1", 0), "size of a batch must be at least 1 (got 0)"),
        (("--nbest", "needs --to jsonl", "conll"), "--nbest needs --to jsonl (got conll)"),
        (("wrong number of columns", 2, 3), "wrong number of columns: expected 2, got 3"),
        (("no sentences", "at least one"), "no sentences: expected at least one"),
        (("the loss is not finite", None, "nan"), "the loss is not finite (nan)"),
        (("no labels",), "no labels"),
        (
            ("wrong number of columns", 2, 3, "a.txt, line 4"),
            "a.txt, line 4: wrong number of columns: expected 2, got 3",
        ),
        (("threads", "at least 1", 0, "--threads"), "--threads: threads must be at least 1 (got 0)"),
    ],
)
def test_a_message_is_a_sentence_with_what_expected_got_and_where(parts, message):
    assert format_message(*parts) == message


def test_a_message_is_one_line():
    assert "\n" not in str(DataError("two\nlines", got="a\nb", where="f"))


def test_the_parts_of_an_error_can_be_read():
    error = ShapeError("input", expected=(2, 3), got=(3, 2), where="Linear")
    assert (error.what, error.expected, error.got, error.where) == ("input", (2, 3), (3, 2), "Linear")


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (DataError, ValueError),
        (ShapeError, ValueError),
        (DtypeError, TypeError),
        (IndexRangeError, IndexError),
        (NumericalError, ArithmeticError),
        (GradientError, AssertionError),
    ],
)
def test_errors_are_also_python_s_own(error, builtin):
    assert issubclass(error, PostilError) and issubclass(error, builtin)
    assert issubclass(ShapeError, ArrayError)


def test_control_characters_are_shown_not_sent():
    text = "B-\x1b[31mred\x07\x9b2J\r\n\u202eevil\u2028\ud800\x7f"
    assert printable(text) == "B-\\x1b[31mred\\x07\\x9b2J\\r\\n\\u202eevil\\u2028\\ud800\\x7f"
    assert is_printable(printable(text)) and not is_printable(text)
    for word in ("naïve", "東京", "👩\u200d💻", "a b", "می\u200cخواهم", ""):
        assert printable(word) == word and is_printable(word)
    message = str(DataError("label", got="\x1b[31m\nB", where="a\x07.txt"))
    assert message == "a\\x07.txt: label (\\x1b[31m B)"
