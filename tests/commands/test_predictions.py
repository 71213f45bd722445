"""``postil evaluate PREDICTIONS GOLD`` and ``postil compare`` of files: tables, JSON, one clear line for a mistake."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from postil.commands.main import main

GOLD = """\
Anna\tB-PER
Berg\tI-PER
left\tO
Oslo\tB-LOC
.\tO

Red\tB-ORG
Cross\tI-ORG
helps\tO
"""
PREDICTED = GOLD.replace("Oslo\tB-LOC", "Oslo\tB-ORG").replace("Cross\tI-ORG", "Cross\tO")
Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.chdir(tmp_path)

    def write_file(name: str, content: str) -> str:
        (tmp_path / name).write_text(content, encoding="utf-8")
        return name

    write_file("gold.txt", GOLD)
    write_file("predicted.txt", PREDICTED)
    return write_file


def score(gold: str, predicted: str, *words: str) -> int:
    return main(["evaluate", predicted, gold, *words])


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert score(*arguments, "--json") == 0
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return report


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line on standard error of a run that fails."""
    assert score(*arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert len(lines) == 1
    return lines[0]


def test_json(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    report = run_json(capsys, "gold.txt", "predicted.txt")
    assert (report["tokens"], report["sentences"], report["scheme"]) == (8, 2, "bio")
    assert report["accuracy"] == 75
    assert report["precision"] == report["recall"] == report["f1"] == pytest.approx(100 / 3)
    assert report["labels"]["PER"] == {
        "precision": 100, "recall": 100, "f1": 100, "support": 1, "predicted": 1, "correct": 1,
    }  # fmt: skip
    assert report["errors"] == {
        "correct": 1, "boundary": 1, "type": 1, "boundary+type": 0, "missed": 0, "spurious": 0,
    }  # fmt: skip
    assert report["interval"]["value"] == report["f1"]
    assert report["interval"]["low"] <= report["f1"] <= report["interval"]["high"]
    assert report["broken_labels"] == {"gold": 0, "predicted": 0}
    assert "comparison" not in report
    assert "novelty" not in report


def test_tables(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    assert score("gold.txt", "predicted.txt") == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    lines = [line.rstrip() for line in captured.out.splitlines()]
    assert lines[:2] == ["predicted.txt against gold.txt", "2 sentences, 8 tokens, BIO labels"]
    assert lines[3].startswith("F1 33.33   95 % interval ")
    assert lines[4] == "precision 33.33   recall 33.33   token accuracy 75.00"
    titles = {"Classes", "Mistakes by kind", "Confusion of overlapping spans", "Scores by matching rule"}
    assert titles <= set(lines)
    assert "PER       100.00  100.00  100.00     1          1        1" in lines


def test_labels_that_look_like_markup(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    file = write("marks.txt", "a\t[bold]\nb\t:\nc\t[/x]\n")
    assert score(file, file) == 0
    out = capsys.readouterr().out
    assert "[bold]" in out
    assert "[/x]" in out
    assert "token accuracy 100.00" in out


def test_same_seed_same_output(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    long_gold, long_predicted = write("g.txt", f"{GOLD}\n" * 20), write("p.txt", f"{PREDICTED}\n{GOLD}\n" * 10)
    runs = [run_json(capsys, long_gold, long_predicted, "--seed", seed)["interval"] for seed in ("1", "1", "2")]
    assert runs[0] == runs[1] != runs[2]
    assert run_json(capsys, long_gold, long_predicted, "--resamples", "7")["interval"]["resamples"] == 7


def test_formats_and_schemes_may_differ(write: Write, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    record = {"text": "Anna Berg left Oslo.", "spans": [{"start": 0, "end": 9, "label": "PER"}]}
    gold = write("gold.jsonl", json.dumps(record) + "\n")
    iobes = "Anna B-PER\nBerg E-PER\nleft O\nOslo O\n. O\n"
    (tmp_path / "iobes.conll.gz").write_bytes(gzip.compress(iobes.encode()))
    report = run_json(capsys, gold, "iobes.conll.gz")
    assert (report["f1"], report["accuracy"], report["scheme"]) == (100, 100, "bio")
    assert score(gold, "iobes.conll.gz") == 0
    assert "BIO labels (predictions: IOBES)" in capsys.readouterr().out


def test_given_schemes(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    iob1 = write("iob1.txt", GOLD.replace("\tB-", "\tI-"))
    assert run_json(capsys, "gold.txt", iob1)["accuracy"] == 100 * 5 / 8
    report = run_json(capsys, "gold.txt", iob1, "--predicted-scheme", "iob1")
    assert (report["accuracy"], report["f1"], report["broken_labels"]["predicted"]) == (100, 100, 0)
    assert "f1" not in run_json(capsys, "gold.txt", iob1, "--scheme", "none")


def test_both_labels_in_one_file(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    both = write("both.txt", "Oslo B-LOC B-LOC\nfell O O\nAnna B-PER O\n")
    report = run_json(capsys, both, both, "--label-column", "-2", "--predicted-column", "-1")
    assert (report["precision"], report["recall"]) == (100, 50)


def test_parts_of_speech(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    gold, predicted = write("g.txt", "a DET\ndog NOUN\nran VERB\n"), write("p.txt", "a DET\ndog VERB\nran VERB\n")
    report = run_json(capsys, gold, predicted, "--train", gold)
    assert report["accuracy"] == pytest.approx(200 / 3)
    assert "f1" not in report
    assert report["labels"]["NOUN"]["recall"] == 0
    assert report["confusion"]["NOUN"] == {"VERB": 1}
    assert report["word_novelty"]["seen word"]["tokens"] == 3
    assert "novelty" not in report
    assert score(gold, predicted) == 0
    out = capsys.readouterr().out
    assert "labels without a scheme" in out
    assert "Confused most often" in out
    assert main(["compare", predicted, gold, gold]) == 0
    assert "33.33" in capsys.readouterr().out


def test_seen_and_new(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    train = write("train.txt", "Anna I-PER\nBerg I-PER\nRed O\nCross O\n")
    report = run_json(capsys, "gold.txt", "predicted.txt", "--train", train)
    parts = report["novelty"]
    assert {name: part["support"] for name, part in parts.items()} == {
        "seen entity": 1,
        "new entity": 1,
        "unseen word": 1,
    }
    assert parts["new entity"]["errors"]["boundary"] == 1
    assert report["word_novelty"]["unseen word"]["tokens"] == 4
    assert score("gold.txt", "predicted.txt", "--train", train) == 0
    assert "Seen and new entities" in capsys.readouterr().out


def test_comparison_of_two_systems(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    gold, worse = write("g.txt", f"{GOLD}\n" * 30), write("p.txt", f"{PREDICTED}\n" * 30)
    assert main(["compare", worse, gold, gold, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)["comparison"]
    assert (result["first"], result["second"]) == (pytest.approx(100 / 3), 100)
    assert result["difference"] == pytest.approx(200 / 3)
    assert result["p_value"] < 0.01
    assert result["second_better"] == 1
    assert main(["compare", worse, gold, gold, "--report", "page.html"]) == 0
    out = capsys.readouterr().out
    assert "95 % interval of the difference +" in out and "60 sentences labelled differently" in out
    assert "Differences" in Path("page.html").read_text(encoding="utf8")


def test_a_report_on_predictions(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    assert score("gold.txt", "predicted.txt", "--report", "page.html") == 0
    assert "The report is in page.html" in capsys.readouterr().out
    page = Path("page.html").read_text(encoding="utf8")
    assert "Report on" in page and "predicted.txt" in page and "2 sentences" in page
    assert score("gold.txt", "predicted.txt", "--report", "gold.txt", "--overwrite") == 1
    assert "must not be one of the inputs" in capsys.readouterr().err


def test_a_model_and_a_file_of_predictions(names_model: Path, write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tag", str(names_model), "gold.txt", "-o", "tagged.conll"]) == 0
    assert main(["compare", "tagged.conll", str(names_model), "gold.txt", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["differences"] == []


def test_broken_labels_are_counted_once_or_refused(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    odd = write("odd.txt", GOLD.replace("Oslo\tB-LOC", "Oslo\tI-LOC").replace("helps\tO", "helps\tI-PER"))
    expected = "2 labels in 2 sentences violate the BIO scheme, first on line 4: 'I-LOC' after 'O'"
    assert score("gold.txt", odd, "--json") == 0
    captured = capsys.readouterr()
    assert captured.err == f"postil: odd.txt: {expected}; read by conlleval's rules\n"
    report = json.loads(captured.out)
    assert report["broken_labels"] == {"gold": 0, "predicted": 2}
    assert (report["precision"], report["recall"]) == (75, 100)
    line = complaint(capsys, "gold.txt", odd, "--strict")
    assert line == f"postil: odd.txt: {expected}: expected valid BIO labels"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            PREDICTED.replace("Oslo", "oslo"),
            "postil: other.txt, line 4: the token differs from gold.txt, line 4: expected 'Oslo', got 'oslo'",
        ),
        (
            PREDICTED.replace(".\tO\n", ""),
            "postil: other.txt, line 4: the sentence is shorter than at gold.txt, line 1: expected 5 tokens, got 4",
        ),
        (
            PREDICTED.replace("\n\n", "\n"),
            "postil: other.txt, line 6: the sentence is longer than at gold.txt, line 1: expected 5 tokens, got 8",
        ),
        (
            PREDICTED.split("\n\n")[0] + "\n",
            "postil: gold.txt, line 7: other.txt ends before sentence 2: expected 2 sentences as in gold.txt, got 1",
        ),
        (
            PREDICTED + "\nMore\tO\n",
            "postil: other.txt, line 11: gold.txt ends before sentence 3: expected 2 sentences as in gold.txt, got 3",
        ),
        (
            "\n".join(f"{line.split()[0]}\tNOUN" if line else "" for line in GOLD.splitlines()),
            "postil: other.txt: predicted labels have no labelling scheme: expected labels like the gold ones (BIO)",
        ),
    ],
)
def test_files_that_do_not_fit(write: Write, capsys: pytest.CaptureFixture[str], content: str, message: str) -> None:
    assert complaint(capsys, "gold.txt", write("other.txt", content)) == message


def test_other_mistakes(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    assert complaint(capsys, "gold.txt", "nowhere.txt") == "postil: no such model or input file ('nowhere.txt')"
    line = complaint(capsys, "-", "-")
    assert line == "postil: standard input can be read only once: expected at most one file named -"
    text = write("text.txt", "Nothing but words here, and no labels at all. Really.\n")
    assert "no labels: expected a label for every token, got plain text" in complaint(capsys, text, text)
    pos = write("pos.txt", "\n".join(f"{line.split()[0]}\tX" if line else "" for line in GOLD.splitlines()))
    line = complaint(capsys, pos, "gold.txt")
    assert line.startswith("postil: gold.txt: predicted labels are BIO: expected labels without a scheme as in pos.txt")
    assert run_json(capsys, pos, "gold.txt", "--scheme", "none")["accuracy"] == 0
    line = complaint(capsys, "gold.txt", "gold.txt", "--train", pos)
    assert line == "postil: pos.txt: training labels have no labelling scheme: expected spans as in the gold labels"


def test_places_in_json_lines(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    gold = write("g.jsonl", '{"text": "Anna left.", "spans": []}\n')
    other = write("p.jsonl", '{"text": "Anna fell.", "spans": []}\n')
    assert complaint(capsys, gold, other) == (
        "postil: p.jsonl, line 1, token 2: the token differs from g.jsonl, line 1, token 2: expected 'left', got 'fell'"
    )


def test_snapped_spans_are_told(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    content = '{"text": "Anna left.", "spans": [{"start": 0, "end": 3, "label": "PER"}]}\n'
    file = write("g.jsonl", content)
    assert score(file, file) == 1
    assert "1 span does not fit" in capsys.readouterr().err
    assert score(file, file, "--misaligned", "snap", "--json") == 0
    captured = capsys.readouterr()
    assert "postil: g.jsonl: changed: spans snapped to token boundaries: 1" in captured.err
    assert json.loads(captured.out)["f1"] == 100


@pytest.mark.parametrize(("option", "least"), [(("--seed", "-1"), 0), (("--resamples", "0"), 1)])
def test_numbers_that_are_too_small(
    write: Write, capsys: pytest.CaptureFixture[str], option: tuple[str, str], least: int
) -> None:
    assert score("gold.txt", "predicted.txt", *option) == 1
    assert capsys.readouterr().err == f"postil: {option[0]} must be at least {least} (got {option[1]})\n"


@pytest.mark.parametrize("option", [("--seed", "x"), ("--scheme", "iob9")])
def test_impossible_options(write: Write, capsys: pytest.CaptureFixture[str], option: tuple[str, str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        score("gold.txt", "predicted.txt", *option)
    assert exit_.value.code == 2
    assert "error: argument" in capsys.readouterr().err
