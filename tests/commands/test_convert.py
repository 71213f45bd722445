"""`postil convert` as a newcomer uses it: files, pipes, options, and one clear line for every mistake."""

import gzip
import io
import json
import sys
from pathlib import Path

import pytest

from postil.commands.main import main

BIO = "Anna\tB-PER\nBerg\tI-PER\nleft\tO\nOslo\tB-LOC\n\nBye\tO\n\n"
RECORD = {"text": "Anna Berg left Oslo.", "label": [[0, 9, "PER"], [15, 19, "LOC"]], "id": 7}


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def convert(*arguments: str) -> int:
    return main(["convert", *arguments])


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line of a mistake; nothing else happened."""
    assert convert(*arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err.removeprefix("postil: ").removesuffix("\n")


def test_columns_to_spans_and_back(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.txt").write_text(BIO)
    assert convert("a.txt", "b.jsonl") == 0
    assert capsys.readouterr() == (
        "",
        "a.txt: read as CoNLL columns: 2 sentences, 5 tokens\nb.jsonl: written as JSON Lines\n",
    )
    record = json.loads(Path("b.jsonl").read_text().split("\n")[0])
    assert record["spans"] == [{"start": 0, "end": 9, "label": "PER"}, {"start": 15, "end": 19, "label": "LOC"}]
    assert convert("b.jsonl", "c.conll") == 0
    assert Path("c.conll").read_text() == BIO


def test_annotations_to_columns_with_all_counts(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.jsonl").write_text(json.dumps(RECORD) + "\n")
    assert convert("a.jsonl", "b.conll", "--scheme", "iobes", "--delimiter", "space") == 0
    assert Path("b.conll").read_text() == "Anna B-PER\nBerg E-PER\nleft O\nOslo S-LOC\n. O\n\n"
    assert capsys.readouterr().err == (
        "a.jsonl: read as JSON Lines: 1 sentence, 5 tokens\n"
        "  spans: 2\n  records: 1\n"
        "  dropped: JSON field 'id': 1\n  dropped: raw texts of sentences (their spacing): 1\n"
        "b.conll: written as CoNLL columns\n"
    )


def test_spans_that_do_not_fit_are_all_shown(capsys: pytest.CaptureFixture[str]) -> None:
    records = [{"text": "See Paris", "spans": [[4, 7, "LOC"]]}, {"text": "in Oslo now", "spans": [[3, 6, "LOC"]]}]
    Path("a.jsonl").write_text("\n".join(map(json.dumps, records)))
    assert refused(capsys, "a.jsonl", "b.conll") == (
        "a.jsonl, line 1: LOC 4:7 'Par' does not fit the tokens 'Paris': rejected\n"
        "    See Paris\n"
        "        ^^^\n"
        "a.jsonl, line 2: LOC 3:6 'Osl' does not fit the tokens 'Oslo': rejected\n"
        "    in Oslo now\n"
        "       ^^^\n"
        "postil: a.jsonl: 2 spans do not fit: expected spans on "
        "token boundaries that do not overlap (or --misaligned snap, "
        "--overlaps longest), got LOC 4:7 'Par' does not fit the tokens 'Paris' on line 1 and others"
    )
    assert not Path("b.conll").exists()
    assert convert("a.jsonl", "b.conll", "--misaligned", "snap") == 0
    assert Path("b.conll").read_text() == "See\tO\nParis\tB-LOC\n\nin\tO\nOslo\tB-LOC\nnow\tO\n\n"
    assert "  changed: spans snapped to token boundaries: 2\n" in capsys.readouterr().err


def test_from_a_pipe_into_a_pipe(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(BIO.encode()))))
    assert convert("-", "-", "--to", "conll", "--scheme", "iob1") == 0
    captured = capsysbinary.readouterr()
    assert captured.out == BIO.replace("B-", "I-").encode()
    assert captured.err.startswith(b"standard input: read as CoNLL columns: 2 sentences, 5 tokens\n")


def test_columns_of_conllu(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.conllu").write_text("1\tGo\tgo\tVERB\tVB\tMood=Imp\t0\troot\t_\t_\n\n")
    assert convert("a.conllu", "b.txt", "--label-column", "feats:Mood", "--feature-columns", "lemma, xpos") == 0
    assert Path("b.txt").read_text() == "Go\tgo\tVB\tImp\n\n"
    assert "  dropped: sentences with CoNLL-U columns: 1\n" in capsys.readouterr().err


def test_names_go_to_the_last_column_of_conllu_and_tags_to_the_fourth() -> None:
    Path("a.txt").write_text("Oslo NNP B-LOC\n")
    assert convert("a.txt", "b.conllu", "--to-feature-columns", "xpos") == 0
    assert Path("b.conllu").read_text() == "1\tOslo\t_\t_\tNNP\t_\t_\t_\t_\tNER=B-LOC\n\n"
    assert convert("a.txt", "c.conllu", "--label-column", "1", "--feature-columns", "") == 0
    assert Path("c.conllu").read_text() == "1\tOslo\t_\tNNP\t_\t_\t_\t_\t_\t_\n\n"


def test_labels_that_break_their_scheme(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.txt").write_text("a\tB-X\nb\tB-X\nc\tI-Y\n")
    assert convert("a.txt", "b.txt") == 0
    assert Path("b.txt").read_text() == "a\tB-X\nb\tB-X\nc\tI-Y\n\n"
    capsys.readouterr()
    assert convert("a.txt", "c.jsonl") == 0
    assert "  changed: labels that violate the BIO scheme, read by conlleval's rules: 1\n" in capsys.readouterr().err
    assert refused(capsys, "a.txt", "b.txt", "--strict") == (
        "a.txt, line 1, token 3: a label violates the BIO scheme: expected a label that may follow, got I-Y after B-X"
    )


def test_other_columns_comments_and_encodings() -> None:
    Path("a.txt").write_bytes("% made by hand\nB-LOC x Århus\n% here\nO y!\tis\n".encode("latin-1"))
    columns = ("--token-column", "2", "--label-column", "0", "--feature-columns", "")
    assert convert("a.txt", "b.txt", "--encoding", "latin-1", "--comment", "%", *columns) == 0
    assert Path("b.txt").read_text() == "# % made by hand\n# % here\nÅrhus\tB-LOC\nis\tO\n\n"


def test_text_is_tokenised_and_cut() -> None:
    Path("a.txt").write_text("I wait. Go on!\n")
    assert convert("a.txt", "b.conll") == 0
    assert Path("b.conll").read_text() == "I\nwait\n.\n\nGo\non\n!\n\n"
    assert convert("a.txt", "c.conll", "--no-split") == 0
    assert Path("c.conll").read_text() == "I\nwait\n.\nGo\non\n!\n\n"


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (b"", (), "a: the file is empty: expected sentences, got 0 characters"),
        (
            b"one,O\ntwo,O\nthree,O\n",
            (),
            "a, line 1: only one column: expected a token and a label "
            "with a tab or spaces between "
            "them (tokens without labels: label=None, --label-column none), got 'one,O'",
        ),
        (
            b"a\tX\nb\tX\tY\n",
            (),
            "a, line 2: wrong number of columns: expected 2 columns as on line 1, got 3: 'b\\tX\\tY'",
        ),
        (
            b"a\tX\nb\n",
            ("--from", "conll"),
            "a, line 2: the label is missing: expected 2 columns as on line 1, got 1: 'b'",
        ),
        (
            b"a\tX\n\xe9\tX\n",
            (),
            "a, line 2: invalid UTF-8 at byte 4: expected UTF-8, or the "
            "right encoding (--encoding latin-1 or "
            "cp1252 for older Western text), got byte 0xe9",
        ),
        (b"a\tX\n\0\tX\n", (), "a, line 2: NUL byte: expected text, got binary data or another encoding"),
        (
            b"a" * 51_000_000,
            (),
            f"a, line 1: line too long: expected at most 50,000,000 characters, got more, beginning with '{'a' * 29}…'",
        ),
        (
            b"a\tNN\n",
            ("--scheme", "bio"),
            "a: cannot turn labels of scheme 'none' into 'bio': expected a span scheme such as BIO on both sides",
        ),
        (
            b"a\tX\n",
            ("--label-column", "4"),
            "a, line 1: no column 4 for the label: expected a number from 0 to 1 (or negative, from the right), got 4",
        ),
    ],
)
def test_mistakes(capsys: pytest.CaptureFixture[str], content: bytes, arguments: tuple[str, ...], message: str) -> None:
    Path("a").write_bytes(content)
    assert refused(capsys, "a", "b.conll", *arguments) == message
    assert [path.name for path in Path().iterdir()] == ["a"]


def test_mistakes_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "missing.txt", "b.conll") == "missing.txt: No such file or directory"
    assert refused(capsys, ".", "b.conll") == ".: Is a directory"
    Path("a.txt").write_text(BIO)
    assert refused(capsys, "a.txt", "-") == "standard output needs --to FORMAT"
    assert refused(capsys, "a.txt", "b.xml").startswith("unknown format to write: expected a format (conll, ")
    assert refused(capsys, "a.txt", "missing/b.conll").endswith("output must be in an existing folder (got no missing)")
    with pytest.raises(SystemExit) as caught:
        convert("a.txt", "b.conll", "--scheme", "bios")
    assert caught.value.code == 2


def test_excerpts_of_a_file_do_not_move_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    """C1 controls pass JSON unescaped."""
    record = {"text": "Anna\x9b2J Berg\u202e left", "label": [[0, 2, "PER"]], "\x9b2Jkey": 1}
    Path("a.jsonl").write_text(json.dumps(record, ensure_ascii=False) + "\n", encoding="utf8")
    assert convert("a.jsonl", "b.conll", "--misaligned", "drop") == 0
    error = capsys.readouterr().err
    assert "x9b2J" in error and "\x9b" not in error and "\u202e" not in error
    assert convert("a.jsonl", "c.conll") == 1
    error = capsys.readouterr().err
    assert "u202e" in error and "\x9b" not in error and "\u202e" not in error
    assert main(["train", "a.jsonl", "-o", "m.postil"]) == 1
    error = capsys.readouterr().err
    assert "u202e" in error and "\x9b" not in error and "\u202e" not in error


# ------------------------------------------------------------------------------------------------ annotation tools

OVERLAPPING = {"text": "North Sea", "label": [[0, 9, "LOC"], [6, 9, "KIND"], [1, 3, "ODD"]], "id": 7}


def test_texts_pass_between_tools_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    """Overlapping spans and spans inside of words are kept; what brat cannot say is counted."""
    Path("a.jsonl").write_text(json.dumps(OVERLAPPING) + "\n")
    assert convert("a.jsonl", "notes", "--to", "brat") == 0
    assert capsys.readouterr().err == (
        "a.jsonl: read as JSON Lines: 1 text\n"
        "  spans: 3\n"
        "  dropped: field 'id' of texts: 1\n"
        "notes: written as brat standoff\n"
    )
    assert convert("notes", "b.jsonl", "--to", "doccano") == 0
    assert json.loads(Path("b.jsonl").read_text()) == {"text": OVERLAPPING["text"], "label": OVERLAPPING["label"]}


@pytest.mark.parametrize("tool", ["doccano", "prodigy", "label-studio", "label-studio-min", "brat"])
def test_from_columns_to_every_tool_and_back(tool: str) -> None:
    Path("a.txt").write_text(BIO)
    assert convert("a.txt", "out", "--to", tool) == 0
    assert convert("out", "b.conll") == 0
    assert [line for line in Path("b.conll").read_text().split("\n") if "DOCSTART" not in line and line] == [
        line for line in BIO.split("\n") if line
    ]


def test_spans_that_do_not_fit_tokens_are_refused_where_tokens_are_needed(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.jsonl").write_text(json.dumps(OVERLAPPING) + "\n")
    assert convert("a.jsonl", "b.conll") == 1
    assert "2 spans do not fit" in capsys.readouterr().err
    assert convert("a.jsonl", "b.json", "--to", "label-studio", "--overlaps", "longest", "--misaligned", "drop") == 0
    [task] = json.loads(Path("b.json").read_text())
    assert [result["value"]["text"] for result in task["annotations"][0]["result"]] == ["North Sea"]


@pytest.mark.parametrize("names", ["O,PER", "names.json", "ids.json", "map.json"])
def test_names_of_labels_that_are_numbers(names: str) -> None:
    Path("names.json").write_text('["O", "PER"]')
    Path("ids.json").write_text('[{"id": 1, "text": "PER"}]')
    Path("map.json").write_text('{"1": "PER"}')
    span = {"label": 1, "start_offset": 0, "end_offset": 4}
    Path("a.jsonl").write_text(json.dumps({"text": "Anna left", "annotations": [span]}) + "\n")
    assert convert("a.jsonl", "b.conll", "--label-names", names) == 0
    assert Path("b.conll").read_text() == "Anna\tB-PER\nleft\tO\n\n"


def test_names_of_labels_that_cannot_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    Path("odd.json").write_text("[3]")
    for names, message in [("missing.json", "missing.json: cannot read"), ("odd.json", "must be a JSON list of names")]:
        with pytest.raises(SystemExit) as caught:
            convert("a.jsonl", "b.conll", "--label-names", names)
        assert caught.value.code == 2
        assert message in capsys.readouterr().err


def test_a_tool_replaces_its_own_file_only() -> None:
    Path("a.txt").write_text(BIO)
    for _ in range(2):
        assert convert("a.txt", "b.jsonl", "--to", "doccano") == 0
    assert convert("a.txt", "b.jsonl", "--to", "label-studio") == 1


def test_of_many_problems_the_first_are_shown(tmp_path, capsys):
    (tmp_path / "a.jsonl").write_text('{"text": "See Paris", "spans": [{"start": 4, "end": 7, "label": "LOC"}]}\n' * 30)
    assert main(["convert", str(tmp_path / "a.jsonl"), str(tmp_path / "a.conll")]) == 1
    told = capsys.readouterr().err
    assert told.count("rejected") == 20 and "… and 10 more" in told and "30 spans do not fit" in told
