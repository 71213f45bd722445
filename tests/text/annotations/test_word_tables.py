"""Tables of words: sentences by their column, quoting, other columns, mistakes."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import DataError
from postil.text.annotations.tables import is_word_table
from postil.text.document import Sentence
from postil.text.formats import read, write

CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n"), min_size=1, max_size=5)


def sentences(text: str, **options: object) -> list[tuple[object, ...]]:
    return [(s.tokens, s.labels, s.columns) for s in read(io.BytesIO(text.encode()), "csv", **options)]


def test_the_table_of_kaggle() -> None:
    table = (
        "Sentence #,Word,POS,Tag\r\nSentence: 1,Anna,NNP,B-per\r\n"
        ',",",",",O\r\n,"""",`,O\r\nSentence: 2,Oslo,NNP,B-geo\r\n'
    )
    assert read(io.BytesIO(table.encode())).format == "csv"
    assert sentences(table) == [
        (["Anna", ",", '"'], ["B-per", "O", "O"], [("NNP",), (",",), ("`",)]),
        (["Oslo"], ["B-geo"], [("NNP",)]),
    ]
    assert sentences(table, features=())[1] == (["Oslo"], ["B-geo"], None)
    assert sentences(table, label="POS", features=())[1] == (["Oslo"], ["NNP"], None)


def test_a_number_in_every_row() -> None:
    assert sentences("sentence_id;word;tag\n1;a;X\n1;b;Y\n2;c;Z\n") == [
        (["a", "b"], ["X", "Y"], None),
        (["c"], ["Z"], None),
    ]


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("Sentence #,Word,POS,Tag", True),
        ('"Sentence #","Word","Tag"', True),
        ("sentence_idx,word,tag", True),
        ("Sentence, he said, is a word", False),
        ("Sentence,word", False),
    ],
)
def test_headers(line: str, answer: bool) -> None:
    assert is_word_table(line) is answer


@given(st.lists(st.lists(st.tuples(CELLS, CELLS.filter(str.strip), CELLS), min_size=1, max_size=4), min_size=1))
def test_there_and_back(rows: list[list[tuple[str, str, str]]]) -> None:
    given_sentences = [
        Sentence([word for word, _, _ in row], [tag for _, tag, _ in row], [(cell,) for _, _, cell in row])
        for row in rows
    ]
    stream = io.BytesIO()
    write(given_sentences, stream, "csv")
    stream.seek(0)
    assert [(s.tokens, s.labels, s.columns) for s in read(stream, "csv")] == [
        (s.tokens, s.labels, s.columns) for s in given_sentences
    ]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("Sentence #,Word\n1,a\n", "stream, line 1: not the header of a table of words"),
        ("Sentence #,Word,Tag\n1,a,X\n,b\n", "stream, line 3: wrong number of cells: expected 3, got 2"),
        ("Sentence #,Word,Tag\n1,a,\n", "stream, line 2: the tag is missing"),
        ('Sentence #,Word,Tag\n1,"a,X\n', "stream, line 2: not valid CSV"),
    ],
)
def test_mistakes_have_a_line(table: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        sentences(table)
    assert message in str(caught.value)


def test_what_a_table_cannot_hold_is_counted() -> None:
    report = write([Sentence(["a"], ["O"], document="x", comments=["# y"]), Sentence(["b"])], io.BytesIO(), "csv")
    assert +report.dropped == {"comments": 1, "document marks": 1, "sentences without labels": 1}
