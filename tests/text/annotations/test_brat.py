"""brat's pairs of files: fragments, line ends inside of spans, attributes, texts that moved, mistakes."""

from pathlib import Path

import pytest

from postil.errors import ConfigurationError, DataError
from postil.text.annotations.annotated import AnnotatedSpan, AnnotatedText
from postil.text.annotations.tools import read_brat
from postil.text.document import Sentence
from postil.text.formats import read, write, write_annotated
from postil.text.lines import Unread
from postil.text.options import ReadOptions
from postil.text.report import Report


def pair(folder: Path, text: str, annotations: str, name: str = "a") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.txt").write_bytes(text.encode())
    (folder / f"{name}.ann").write_text(annotations, encoding="utf-8")
    return folder


def texts(path: Path) -> tuple[list[AnnotatedText], Report]:
    report = Report("brat")
    return list(read_brat(Unread(str(path)), ReadOptions(), report)), report


def test_a_folder_with_everything(tmp_path: Path) -> None:
    lines = (
        "T1\tLOC 0 5;16 23\tNorth America\n"
        "T2\tLOC 10 23\tSouth America\n"
        "A1\tNegation T1\n"
        "A2\tConfidence T2 high\n"
        "#1\tAnnotatorNotes T2\tsure\n"
        "#2\tAnnotatorNotes R1\tnot\n"
        "R1\tPart-of Arg1:T1 Arg2:T2\n"
        "*\tEquiv T1 T2\n"
        "E1\tMove:T1 To:T2\n"
        "N1\tReference T1 Wikipedia:1\tNorth\n"
    )
    pair(tmp_path / "sub", "North and South America", lines)
    [text], report = texts(tmp_path)
    assert text.document == "sub/a"
    assert text.spans == [
        AnnotatedSpan(0, 23, "LOC", {"attributes": {"Negation": True}}, ((0, 5), (16, 23))),
        AnnotatedSpan(10, 23, "LOC", {"attributes": {"Confidence": "high"}, "notes": ["sure"]}),
    ]
    assert +report.dropped == {
        "relations": 1,
        "equivalences": 1,
        "events": 1,
        "normalisations": 1,
        "notes and attributes of anything but spans": 1,
    }
    write_annotated([text], tmp_path / "out", "brat", report)
    [again], _ = texts(tmp_path / "out")
    assert again.spans == text.spans


def test_a_span_over_a_line_end_is_written_as_fragments_and_joined_again(tmp_path: Path) -> None:
    text = AnnotatedText("Anna\r\nBerg left", [AnnotatedSpan(0, 10, "PER")], document="one/../two")
    report = Report()
    write_annotated([text], tmp_path / "out", "brat", report)
    assert (tmp_path / "out" / "one_.._two.ann").read_text() == "T1\tPER 0 4;6 10\tAnna Berg\n"
    assert report.changed["names of documents, to be names of files"] == 1
    [again], _ = texts(tmp_path / "out")
    assert again.spans == text.spans and again.text == text.text


def test_spans_whose_offsets_count_line_ends_as_one_are_moved(tmp_path: Path) -> None:
    pair(tmp_path, "a\r\nb\r\nOslo", "T1\tLOC 4 8\tOslo\n")
    [text], report = texts(tmp_path)
    assert text.spans == [AnnotatedSpan(6, 10, "LOC")]
    assert report.changed["spans moved to where their text is"] == 1


def test_sentences_of_a_corpus_are_lines_of_its_documents(tmp_path: Path) -> None:
    sentences = [
        Sentence(["Anna", "left"], ["B-PER", "O"], document="one"),
        Sentence(["To", "Oslo"], ["O", "B-LOC"]),
        Sentence(["End"], ["O"], document="two"),
    ]
    write(sentences, tmp_path / "out", "brat")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["one.ann", "one.txt", "two.ann", "two.txt"]
    assert (tmp_path / "out" / "one.txt").read_text() == "Anna left\nTo Oslo"
    assert (tmp_path / "out" / "one.ann").read_text() == "T1\tPER 0 4\tAnna\nT2\tLOC 13 17\tOslo\n"
    again = list(read(tmp_path / "out"))
    assert [(s.tokens, s.labels) for s in again] == [(s.tokens, s.labels) for s in sentences]


def test_a_line_ends_a_sentence_but_not_a_span(tmp_path: Path) -> None:
    pair(tmp_path, "in New\nYork\nnow", "T1\tLOC 3 6;7 11\tNew York\n")
    reading = read(tmp_path)
    assert [s.tokens for s in reading] == [["in", "New", "York"], ["now"]]
    assert reading.report.notes["sentence ends inside a span, not cut"] == 1


def test_one_file_is_read_by_its_name(tmp_path: Path) -> None:
    pair(tmp_path, "Oslo", "T1\tLOC 0 4\tOslo\n")
    assert read(tmp_path / "a.ann").format == "brat"
    assert [s.labels for s in read(tmp_path / "a.ann")] == [["B-LOC"]]


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        ("T1\tLOC 0 4\tOslo\nT2 LOC 0 4\n", "a.ann, line 2: not a span of brat"),
        ("T1\tLOC 4 2\tOslo\n", "a.ann, line 1: a span that is empty or out of order"),
        ("T1\tLOC 0 4\tParis\n", "a.ann, line 1: a span whose text is not there"),
        ("T1\tLOC 0 2;90 99\tOslo\n", "a.ann, line 1: a span outside its text"),
        (f"T1\tLOC 0 {'9' * 30}\tOslo\n", "a.ann, line 1: not a span of brat"),
    ],
)
def test_mistakes_have_a_line(tmp_path: Path, annotations: str, message: str) -> None:
    pair(tmp_path, "Oslo", annotations)
    with pytest.raises(DataError) as caught:
        list(read(tmp_path))
    assert message in str(caught.value)


def test_a_missing_text_and_an_occupied_folder(tmp_path: Path) -> None:
    pair(tmp_path / "in", "Oslo", "T1\tLOC 0 4\tOslo\n")
    with pytest.raises(ConfigurationError, match="must be a new or an empty folder"):
        write([Sentence(["a"], ["O"])], tmp_path / "in", "brat")
    (tmp_path / "in" / "a.txt").unlink()
    with pytest.raises(DataError, match="the text of the annotations is missing"):
        list(read(tmp_path / "in"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


def test_a_mistake_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        write(read(_broken(tmp_path)), tmp_path / "out", "brat")
    assert [path.name for path in tmp_path.iterdir()] == ["broken.conll"]


def _broken(tmp_path: Path) -> Path:
    path = tmp_path / "broken.conll"
    path.write_text("a\tO\n\nb\n")
    return path
