"""IO: classes without prefixes, read as BIO only when asked for."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.commands.main import main
from postil.errors import ConfigurationError
from postil.text import Report, Sentence, Span, labels_from_spans, read, recognise, spans_from_labels, violations
from postil.text.labels.partial import relabel
from postil.text.labels.schemes import convert, from_io

FILE = "Anna\tPER\nBerg\tPER\nleft\tO\nOslo\tLOC\nAnna\tPER\n\n"
LABELS = st.lists(st.sampled_from(["O", "PER", "B-PER", "a-b"]), max_size=8)


def test_a_run_of_one_class_is_one_span():
    labels = ["PER", "PER", "O", "LOC", "PER"]
    assert spans_from_labels(labels, "io") == [Span("PER", 0, 2), Span("LOC", 3, 4), Span("PER", 4, 5)]
    assert convert(labels, "io", "bio") == ["B-PER", "I-PER", "O", "B-LOC", "B-PER"]
    assert convert(["B-PER", "B-PER", "O"], "bio", "io") == ["PER", "PER", "O"]
    assert violations(labels, "io") == []


@given(LABELS)
def test_there_and_back(labels):
    """A class may itself look like a label: everything but O is a class."""
    spans = spans_from_labels(labels, "io")
    assert labels_from_spans(spans, len(labels), "io") == labels
    assert convert(convert(labels, "io", "iobes"), "iobes", "io") == labels
    assert from_io(labels) == convert(labels, "io", "bio")


def test_marks_stay_and_end_a_run():
    assert from_io(["PER", "?", "PER", "PER|ORG", "O"]) == ["B-PER", "?", "B-PER", "PER|ORG", "O"]


def test_nothing_is_guessed():
    assert recognise([["PER", "PER", "O", "LOC"]]) == "none"
    assert [sentence.labels for sentence in read(io.BytesIO(FILE.encode()))] == [["PER", "PER", "O", "LOC", "PER"]]
    with pytest.raises(ConfigurationError, match="impossible value for from_scheme: expected one of None, 'io'"):
        read(io.BytesIO(FILE.encode()), from_scheme="bio")


@pytest.mark.parametrize(
    "content",
    [
        FILE,
        '{"text": "Anna Berg left Oslo Anna", "labels": ["PER", "PER", "O", "LOC", "PER"]}\n',
        "Sentence #,Word,Tag\n1,Anna,PER\n,Berg,PER\n,left,O\n,Oslo,LOC\n,Anna,PER\n",
    ],
)
def test_labels_of_any_format_are_read_as_bio(content):
    (sentence,) = read(io.BytesIO(content.encode()), from_scheme="io")
    assert sentence.labels == ["B-PER", "I-PER", "O", "B-LOC", "B-PER"]


def test_spans_are_not_read_again():
    content = '{"text": "Anna left", "spans": [{"start": 0, "end": 4, "label": "PER"}]}\n'
    (sentence,) = read(io.BytesIO(content.encode()), from_scheme="io")
    assert sentence.labels == ["B-PER", "O"]


def test_spans_that_io_joins_are_counted():
    report = Report()
    sentences = [Sentence(["a", "b", "c"], ["B-X", "B-X", "?"]), Sentence(["a", "b"], ["B-X", "B-Y"])]
    labels = [one.labels for one in relabel(sentences, "bio", "io", report, name="data")]
    assert labels == [["X", "X", "?"], ["X", "Y"]]
    assert +report.changed == {"touching spans of one class, which are one span in IO": 1}
    (back,) = relabel([Sentence(["a", "b"], ["X", "X"])], "io", "iobes", report, name="data")
    assert back.labels == ["B-X", "E-X"]


def test_convert_both_ways(tmp_path, capsys):
    source, bio, back, spans = (tmp_path / name for name in ("io.txt", "bio.conll", "back.conll", "spans.jsonl"))
    source.write_text(FILE)
    assert main(["convert", str(source), str(bio), "--from-scheme", "io"]) == 0
    assert bio.read_text() == FILE.replace("PER\nBerg\tPER", "B-PER\nBerg\tI-PER").replace("LOC", "B-LOC").replace(
        "Anna\tPER", "Anna\tB-PER"
    )
    assert main(["convert", str(bio), str(back), "--scheme", "io"]) == 0
    assert back.read_text() == FILE
    assert main(["convert", str(source), str(spans), "--from-scheme", "io"]) == 0
    assert spans.read_text().count('"start"') == 3 + 5  # spans and tokens


def test_train_on_classes_alone(tmp_path, capsys):
    source, model = tmp_path / "io.txt", tmp_path / "m.postil"
    source.write_text(FILE * 3)
    assert main(["train", str(source), "-o", str(model), "--from-scheme", "io", "--set", "epochs=1"]) == 0
    assert "5 labels (bio)" in capsys.readouterr().err
