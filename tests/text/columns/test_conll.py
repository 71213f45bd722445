"""CoNLL columns: every layout that is accepted, every mistake with its words, and what may be written."""

import io
import re

import pytest

from postil.errors import ConfigurationError, DataError
from postil.text.columns import conll as module
from postil.text.columns.conll import could_be_comment, is_header, is_mark, looks_like_label, looks_like_tree
from postil.text.document import Sentence
from postil.text.formats import Reading, read, write
from postil.text.report import Report


def reading_of(text: str, **options: object) -> Reading:
    return read(io.BytesIO(text.encode()), "conll", **options)


def sentences(text: str, **options: object) -> list[Sentence]:
    return list(reading_of(text, **options))


def failure(text: str, **options: object) -> str:
    with pytest.raises((DataError, ConfigurationError)) as caught:
        sentences(text, **options)
    return str(caught.value)


def written(content: list[Sentence], **options: object) -> str:
    stream = io.BytesIO()
    write(content, stream, "conll", **options)
    return stream.getvalue().decode()


def test_token_and_label() -> None:
    found = sentences("Oslo\tB-LOC\nis\tO\n\nBye\tO\n")
    assert [(s.tokens, s.labels, s.columns, s.line) for s in found] == [
        (["Oslo", "is"], ["B-LOC", "O"], None, 1),
        (["Bye"], ["O"], None, 4),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "a X\nb Y\n\nc X",
        "a\tX\r\nb\tY\r\n\r\nc\tX\r\n",
        "\n\n a   X  \nb\t Y\n\n \t \n\nc X\n\n\n",
        "\ufeffa\tX\nb\tY\n\t\nc\tX\n",
        "a\tX \nb\t Y\n\nc\tX",
    ],
)
def test_layouts_that_mean_the_same(text: str) -> None:
    assert [(s.tokens, s.labels) for s in sentences(text)] == [(["a", "b"], ["X", "Y"]), (["c"], ["X"])]


def test_columns_are_chosen_by_number() -> None:
    text = "1\tOslo\tNNP\tB-NP\tLOC\n2\tis\tVBZ\tB-VP\tO\n"
    (every,) = sentences(text)
    assert (every.tokens, every.labels) == (["1", "2"], ["LOC", "O"])
    assert every.columns == [("Oslo", "NNP", "B-NP"), ("is", "VBZ", "B-VP")]
    (chosen,) = sentences(text, token=1, label=-2, features=(2,))
    assert (chosen.tokens, chosen.labels, chosen.columns) == (["Oslo", "is"], ["B-NP", "B-VP"], [("NNP",), ("VBZ",)])
    (bare,) = sentences(text, token=1, label=None, features=())
    assert (bare.tokens, bare.labels, bare.columns) == (["Oslo", "is"], None, None)


def test_one_column_without_labels() -> None:
    assert [s.tokens for s in sentences("Oslo\nis\n\nfar\n", label=None)] == [["Oslo", "is"], ["far"]]


def test_a_no_break_space_belongs_to_its_token() -> None:
    (found,) = sentences("10\xa0000 CD\n\u3000 SP\n")
    assert found.tokens == ["10\xa0000", "\u3000"]


def test_spaces_inside_tokens_of_tab_files_are_kept() -> None:
    (found,) = sentences("New York\tLOC\n \tO\n")
    assert found.tokens == ["New York", " "]


def test_document_marks_are_kept() -> None:
    text = "-DOCSTART- -X- O O\n\nEU NNP B-NP B-ORG\n\nBye UH O O\n\n-DOCSTART- -X- -X- O\n\nSo RB O O\n\n"
    reading = reading_of(text)
    found = list(reading)
    assert [s.document for s in found] == ["", None, ""]
    assert [s.line for s in found] == [3, 5, 9]
    assert (reading.report.documents, reading.report.tokens) == (2, 3)
    assert written(found, delimiter=" ") == text


def test_a_mark_may_stand_right_before_its_sentence() -> None:
    (found,) = sentences("-DOCSTART-\tO\na\tX\n")
    assert (found.tokens, found.document) == (["a"], "")


def test_a_document_without_a_sentence_is_counted() -> None:
    reading = reading_of("-DOCSTART- O\n\n-DOCSTART- O\n\na X\n\n-DOCSTART- O\n")
    assert len(list(reading)) == 1
    assert +reading.report.dropped == {"documents without a sentence": 2}


def test_comments_stand_before_sentences() -> None:
    text = "# id = 1\n#begin document (x);\n#\tX\nb\tY\n\n# id = 2\n\nc\tX\n\n# the end\n"
    reading = reading_of(text)
    found = list(reading)
    assert [(s.comments, s.tokens) for s in found] == [
        (["# id = 1", "#begin document (x);"], ["#", "b"]),
        (["# id = 2"], ["c"]),
    ]
    assert reading.report.notes["comments"] == 4
    assert reading.report.dropped["comments after the last sentence"] == 1


def test_hashes_in_files_of_spaces() -> None:
    found = sentences("# one two three\na X\n\n# O\nb X\n")
    assert [(s.comments, s.tokens) for s in found] == [(["# one two three"], ["a"]), ([], ["#", "b"])]
    assert failure("a X\n\n# newdoc\nb X\n") == (
        "stream, line 3: '# newdoc' could be a comment or a token '#': "
        "expected the option comment: '#' if it is a comment, none if it is a token"
    )
    assert sentences("a X\n\n# newdoc\nb X\n", comment="#")[1].comments == ["# newdoc"]
    assert sentences("a X\n\n# newdoc\nb X\n", comment=None)[1].labels == ["newdoc", "X"]


def test_another_comment_prefix_works_everywhere() -> None:
    (found,) = sentences("%% made by hand\na\tX\n%% here too\n# y\tX\n", comment="%%")
    assert (found.tokens, found.comments) == (["a", "# y"], ["%% made by hand", "%% here too"])


def test_empty_tokens_are_kept_and_counted() -> None:
    reading = reading_of("a\tX\n\tO\n\tO\n")
    assert [s.tokens for s in reading] == [["a", "", ""]]
    assert reading.report.notes["empty tokens"] == 2
    assert failure("a\tX\n\tO\n", strict=True) == "stream, line 2: the token is empty: expected a token, got ''"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "stream: the file is empty: expected sentences, got 0 characters"),
        ("\n \n\n", "stream: no sentence: expected sentences as CoNLL columns, got nothing but blank lines"),
        (
            "# only\n",
            "stream: no sentence: expected sentences as CoNLL columns, got only comments, "
            "comments after the last sentence",
        ),
        (
            "Oslo,B-LOC\nis,O\n",
            "stream, line 1: only one column: expected a token and a "
            "label with a tab or spaces between them "
            "(tokens without labels: label=None, --label-column none), got 'Oslo,B-LOC'",
        ),
        ("a\tX\nb\n", "stream, line 2: the label is missing: expected 2 columns as on line 1, got 1: 'b'"),
        ("a\tN\tX\n\nb\tN\n", "stream, line 3: the label is missing: expected 3 columns as on line 1, got 2: 'b\\tN'"),
        ("a\tX\nb\t\n", "stream, line 2: the label is empty: expected a label, got 'b\\t'"),
        ("a\tX\nb\t \n", "stream, line 2: the label is empty: expected a label, got 'b\\t '"),
        (
            "# c d\na X\n\nb N X\n",
            "stream, line 4: wrong number of columns: expected 2 columns as on line 2, got 3: 'b N X'",
        ),
        ("a\tN\tX\nb\n", "stream, line 2: wrong number of columns: expected 3 columns as on line 1, got 1: 'b'"),
        ("a\tX\nb Y\n", "stream, line 2: the label is missing: expected 2 columns as on line 1, got 1: 'b Y'"),
        ("a\tX\n# x\nb\tY\n", "stream, line 2: the label is missing: expected 2 columns as on line 1, got 1: '# x'"),
        (
            "a X\n-DOCSTART- O\n",
            "stream, line 2: -DOCSTART- inside a sentence: expected a blank line before it, got '-DOCSTART- O'",
        ),
        (
            "(S (NP (NN Introduction)))\n",
            "stream, line 1: this line is a bracketed tree: expected a "
            "token and a label "
            "with a tab or spaces between them, got '(S (NP (NN Introduction)))'",
        ),
        (
            '{"text": "a"}\n',
            "stream, line 1: this line is JSON: expected a token and a "
            "label with a tab or spaces between "
            'them, got \'{"text": "a"}\'',
        ),
        (
            "a\tX\n" + "y" * 100 + "\n",
            f"stream, line 2: the label is missing: expected 2 columns as on line 1, got 1: '{'y' * 59}…'",
        ),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    assert failure(text) == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"token": 3},
            "stream, line 1: no column 3 for the token: expected a "
            "number from 0 to 1 (or negative, from the "
            "right), got 3",
        ),
        (
            {"label": "upos"},
            "stream, line 1: no column 'upos' for the label: expected a "
            "number from 0 to 1 (or negative, "
            "from the right), got 'upos'",
        ),
        (
            {"features": (-3,)},
            "stream, line 1: no column -3 for the feature: expected a "
            "number from 0 to 1 (or negative, "
            "from the right), got -3",
        ),
        ({"label": 0}, "token and label are the same column: expected two columns, got 0"),
        (
            {"misaligned": "ignore"},
            "impossible value for misaligned: expected one of 'error', 'snap', 'drop', got 'ignore'",
        ),
    ],
)
def test_impossible_options(options: dict[str, object], message: str) -> None:
    assert failure("a\tX\n", **options) == message


def test_a_mark_in_another_column() -> None:
    assert failure("1\ta\tO\n2\t-DOCSTART-\tO\n", token=1) == (
        "stream, line 2: -DOCSTART- among the tokens: expected it only at the beginning of a line"
    )


@pytest.mark.parametrize("delimiter", ["\t", " "])
def test_rows_whose_cells_only_add_up(delimiter: str) -> None:
    """One cell too many here and one too few there is still a mistake."""
    text = "a X\nb X Y\nc\nd X\n".replace(" ", delimiter)
    assert "line 2: wrong number of columns: expected 2 columns as on line 1, got 3" in failure(text)


def test_a_sentence_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SENTENCE_LIMIT", 10)
    assert failure("a\tX\n\n" + "b\tX\n" * 11) == (
        "stream, line 3: no end of the sentence: expected a blank line within 10 lines, got more lines without one"
    )


def test_labels_are_shared_strings() -> None:
    (found,) = sentences("a\tB-LOC\nb\tB-LOC\n")
    assert found.labels is not None
    assert found.labels[0] is found.labels[1]


def test_written_with_marks_comments_and_columns() -> None:
    sentence = Sentence(["a", "b"], ["X", "O"], [("1", "2"), ("3", "4")], document="name", comments=["# x", "#y\tz"])
    report = Report()
    assert written([sentence], report=report) == ("-DOCSTART-\t-X-\t-X-\tO\n\n# x\n# y z\na\t1\t2\tX\nb\t3\t4\tO\n\n")
    assert +report.changed == {"comments that began with something else than '# '": 1}


def test_sentences_without_tokens_are_counted() -> None:
    report = Report()
    assert written([Sentence([], [])], report=report) == ""
    assert report.dropped["sentences without tokens"] == 1


@pytest.mark.parametrize(
    ("sentence", "options", "got"),
    [
        (Sentence(["a\tb"], ["X"]), {}, "token cannot.*'a\\\\tb'"),
        (Sentence(["a\nb"], ["X"]), {}, "token cannot.*'a\\\\nb'"),
        (Sentence(["a\rb"], ["X"]), {}, "token cannot.*'a\\\\rb'"),
        (Sentence(["a\0b"], ["X"]), {}, "token cannot.*'a\\\\x00b'"),
        (Sentence(["-DOCSTART-"], ["X"]), {}, "token cannot.*'-DOCSTART-'"),
        (Sentence(["a"], [""]), {}, "label cannot.*''"),
        (Sentence(["a"], ["X "]), {}, "label cannot.*'X '"),
        (Sentence(["a"], ["X"], [("f\tg",)]), {}, "feature cannot.*'f\\\\tg'"),
        (Sentence(["a b"], ["X"]), {"delimiter": " "}, "token cannot.*'a b'"),
        (Sentence(["a\tb"], ["X"]), {"delimiter": " "}, "token cannot.*'a\\\\tb'"),
        (Sentence(["", "b"], ["X", "X"]), {"delimiter": " "}, "token cannot.*''"),
        (Sentence(["a", "New York"]), {}, "token cannot.*'New York'"),
        (Sentence(["a", "# b"]), {}, "token cannot.*'# b'"),
        (Sentence([""]), {}, "token cannot.*''"),
    ],
)
def test_what_cannot_be_written(sentence: Sentence, options: dict[str, object], got: str) -> None:
    with pytest.raises(DataError, match=f"sentence .*: this {got}$"):
        written([sentence], **options)


def test_all_sentences_have_the_same_columns() -> None:
    message = "sentence of line 7: wrong number of columns: expected 2 as in the first sentence, got 1"
    with pytest.raises(DataError, match=re.escape(message)):
        written([Sentence(["a"], ["X"]), Sentence(["b"], line=7)])


# --------------------------------------------------------------------------------------- What a single line looks like


@pytest.mark.parametrize("cell", ["O", "B-PER", "I-x", "NN", "NN|VB", "PRP$", "$", ",", "X2", "W-D"])
def test_labels(cell):
    assert looks_like_label(cell)


@pytest.mark.parametrize("cell", ["Oslo", "the", "5", "", "a-PER", "Mr."])
def test_no_labels(cell):
    assert not looks_like_label(cell)


@pytest.mark.parametrize("line", ["(3 (2 the) (4 film))", "((S (NP x)))", "(2 film)", "(S (NP x)) "])
def test_trees(line):
    assert looks_like_tree(line)


@pytest.mark.parametrize("line", ["(see below)x", "he (she) left", "()", "(film)", "(3 (2 the"])
def test_no_trees(line):
    assert not looks_like_tree(line)


def test_comments_marks_and_headers():
    assert could_be_comment("# id = 1") and could_be_comment("#begin document (x);")
    assert not could_be_comment("#\tO") and not could_be_comment("#hash") and not could_be_comment("# a\tO")
    assert is_header("# annotates: PER LOC") and is_header("#annotates = PER") and not is_header("# annotated PER")
    assert is_mark("-DOCSTART-") and is_mark("-DOCSTART- -X- O") and is_mark("-DOCSTART-\tO")
    assert not is_mark("-DOCSTART-x") and not is_mark(" -DOCSTART-")
