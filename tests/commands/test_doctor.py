"""``postil doctor`` as a user meets it."""

import json

import pytest

from oracles import corpora
from postil.commands.main import main


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = corpora.named_entities(60)
    X.append(["Anna", "lives", "in", "Oslo"])
    y.append(["B-PER", "O", "O", "O"])
    (tmp_path / "train.txt").write_text(corpora.as_conll(X, y), encoding="utf8")
    (tmp_path / "dev.txt").write_text(corpora.as_conll(*corpora.named_entities(20, seed=7)), encoding="utf8")
    return tmp_path


QUICKLY = ["--folds", "2", "--repeats", "1", "--set", "hidden=16", "--set", "epochs=6", "--set", "rate=0.02"]


@pytest.mark.slow
def test_from_a_diagnosis_to_corrected_data(data, capsys):
    words = ["doctor", "train.txt", "--dev", "dev.txt", *QUICKLY, "--review", "doubts.jsonl", "--report", "page.html"]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "labels that are probably wrong" in printed and "train.txt, line " in printed
    assert "Oslo" in printed and "more sentences" in printed
    page = (data / "page.html").read_text(encoding="utf8")
    assert "Suspected errors" in page and "<script" in page
    records = [json.loads(line) for line in (data / "doubts.jsonl").read_text(encoding="utf8").splitlines()]
    record = next(record for record in records if record["sentence"] == 60)
    record["answer"] = "accept"
    (data / "doubts.jsonl").write_text(json.dumps(record) + "\n", encoding="utf8")
    assert main(["doctor", "--apply", "doubts.jsonl", "train.txt", "-o", "better.txt"]) == 0
    assert "1 sentences changed" in capsys.readouterr().err
    before, after = ((data / name).read_text(encoding="utf8").splitlines() for name in ("train.txt", "better.txt"))
    changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    assert changed == [("Oslo\tO", "Oslo\tB-LOC")]


def test_a_review_needs_models(data, capsys):
    assert main(["doctor", "train.txt", "--quick", "--review", "doubts.jsonl"]) == 1
    assert capsys.readouterr().err.startswith("postil: --review must not be given with --quick: models find the")


def test_json_and_quick(data, capsys):
    assert main(["doctor", "train.txt", "--quick", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["suspicions"] == [] and report["splits"][0]["sentences"] == 61
    assert any("train.txt, line" in finding["where"] for finding in report["findings"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["train.txt", "--report", "train.txt"], "must not be one of the inputs"),
        (["train.txt", "--review", "dev.txt"], "must not replace a file"),
        (["train.txt", "--folds", "1"], "folds must be at least 2"),
        (["train.txt", "--threads", "0"], "threads must be at least 1"),
        (["--apply", "dev.txt", "train.txt"], "--output FILE"),
        (["missing.txt"], "missing.txt"),
    ],
)
def test_mistakes_are_one_line(data, capsys, words, told):
    assert main(["doctor", *words]) == 1
    captured = capsys.readouterr()
    assert told in captured.err and len(captured.err.splitlines()) == 1 and captured.out == ""


def test_an_output_never_replaces_the_review(data, capsys):
    (data / "r.jsonl").write_text('{"text": "a", "spans": []}\n', encoding="utf8")
    assert main(["doctor", "--apply", "r.jsonl", "train.txt", "-o", "r.jsonl", "--overwrite"]) == 1
    assert "must not be one of the inputs" in capsys.readouterr().err


@pytest.mark.slow
def test_a_single_document_and_a_dev_file_without_entities(data, capsys):
    (data / "one.txt").write_text(
        f"-DOCSTART-\tO\n\n{(data / 'train.txt').read_text(encoding='utf8')}", encoding="utf8"
    )
    (data / "none.txt").write_text("Anna\tO\nleft\tO\n", encoding="utf8")
    assert main(["doctor", "one.txt", "--dev", "none.txt", *QUICKLY]) == 0
    printed = capsys.readouterr().out
    assert "labels that are probably wrong" in printed and "more sentences" in printed


def test_one_sentence_is_too_little_for_models(data, capsys):
    (data / "none.txt").write_text("Anna\tO\nleft\tO\n", encoding="utf8")
    assert main(["doctor", "none.txt"]) == 0
    assert "1 sentence is too few" in capsys.readouterr().out


@pytest.mark.slow
def test_a_review_of_two_files_is_applied_to_both(data, capsys):
    words = ["doctor", "dev.txt", "train.txt", *QUICKLY, "--review", "doubts.jsonl"]
    assert main(words) == 0
    records = [json.loads(line) for line in (data / "doubts.jsonl").read_text(encoding="utf8").splitlines()]
    record = next(record for record in records if record["sentence"] == 80)
    assert record["where"].startswith("train.txt, line ")
    (data / "doubts.jsonl").write_text(json.dumps({**record, "answer": "accept"}) + "\n", encoding="utf8")
    assert main(["doctor", "--apply", "doubts.jsonl", "dev.txt", "train.txt", "-o", "better.txt"]) == 0
    together = [(data / name).read_text(encoding="utf8").strip() for name in ("dev.txt", "train.txt")]
    before, after = "\n\n".join(together), (data / "better.txt").read_text(encoding="utf8").strip()
    changed = [(a, b) for a, b in zip(before.splitlines(), after.splitlines(), strict=True) if a != b]
    assert changed == [("Oslo\tO", "Oslo\tB-LOC")]
    (data / "one.jsonl").write_text('{"text": "a", "spans": []}\n', encoding="utf8")
    capsys.readouterr()
    assert main(["doctor", "--apply", "doubts.jsonl", "train.txt", "one.jsonl", "-o", "both.txt"]) == 1
    assert "needs files of one format (got conll and jsonl)" in capsys.readouterr().err


def test_the_repair_that_is_advised_repairs(tmp_path, capsys):
    (tmp_path / "broken.txt").write_text("Anna\tI-PER\nleft\tO\nNew\tB-LOC\nYork\tI-LOC\n\n" * 5)
    assert main(["doctor", str(tmp_path / "broken.txt"), "--quick"]) == 0
    assert "postil convert IN OUT --scheme NAME" in " ".join(capsys.readouterr().out.split())
    assert main(["convert", str(tmp_path / "broken.txt"), str(tmp_path / "good.txt"), "--scheme", "bio"]) == 0
    assert "I-PER" not in (tmp_path / "good.txt").read_text()
    assert main(["doctor", str(tmp_path / "good.txt"), "--quick"]) == 0
    assert "break their scheme" not in capsys.readouterr().out
