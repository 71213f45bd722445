"""``postil tune``: the dial in the model file, in place or elsewhere, and back."""

import json
import shutil

import pytest

import postil
from oracles.corpora import as_conll, named_entities, parts_of_speech
from postil.commands.main import main

DEV = named_entities(80, seed=4)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.postil"
    postil.Tagger(hidden=8, word_dim=6, epochs=3, rate=0.02).fit(*named_entities(30)).save(path)
    return path


@pytest.fixture
def model(trained, tmp_path):
    return str(shutil.copy(trained, tmp_path / "m.postil"))


@pytest.fixture
def dev(tmp_path):
    (tmp_path / "dev.conll").write_text(as_conll(*DEV))
    return str(tmp_path / "dev.conll")


def recall(path):
    return 100 * postil.load(path).evaluate(*DEV).spans.overall.recall


def test_the_model_is_changed_in_place_and_back(model, dev, capsys):
    before = recall(model)
    assert main(["tune", model, dev, "--precision", "0.97", "--json", "--in-place"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["model"] == model
    assert recall(model) == pytest.approx(found["recall"])
    assert found["precision"] >= 97
    assert not found["already_met"]
    assert found["before"]["recall"] == pytest.approx(before)
    assert {"bias", "threshold", "precision", "recall", "f1"} <= set(found["curve"][0])
    assert len(found["curve"]) > 20
    assert main(["tune", model, "--reset", "--in-place"]) == 0
    assert "removed bias +0.000, thresholds LOC 0." in capsys.readouterr().err
    assert recall(model) == pytest.approx(before)


def test_another_file_and_none(model, dev, capsys, tmp_path):
    content = (tmp_path / "m.postil").read_bytes()
    assert main(["tune", model, dev, "--precision", "0.97", "-o", str(tmp_path / "other.postil")]) == 0
    out = capsys.readouterr().out
    assert "target precision 97, with a margin of 1 standard error" in out
    assert "Settings" in out
    assert "chosen" in out
    assert f"written to {tmp_path / 'other.postil'}" in out.replace("\n", "")
    assert postil.load(tmp_path / "other.postil").decoding.thresholds["LOC"] > 0
    assert main(["tune", model, dev, "--recall", "0.5", "--dry-run"]) == 0
    assert "nothing was written" in capsys.readouterr().out
    assert main(["tune", model, "--reset", "--json", "--dry-run"]) == 0
    assert json.loads(capsys.readouterr().out)["model"] is None
    assert (tmp_path / "m.postil").read_bytes() == content


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--recall", "1"], "no setting reaches this recall with labels that do not overlap: expected 100, got"),
        (["--recall", "95"], "recall must be a number above 0, at most 1 (got 95.0)"),
        ([], "tuning needs recall, precision or f1 (got none of them)"),
        (["--recall", "0.5", "--precision", "0.5"], "tuning needs recall, precision or f1 (got recall and precision)"),
        (["--recall", "0.5", "--margin", "-1"], "margin must be a number of standard errors"),
        (["--reset"], "--reset cannot be combined with data"),
        (["--reset", "--f1"], "--reset cannot be combined with data and f1"),
    ],
)
def test_mistakes_are_told(model, dev, capsys, words, message, tmp_path):
    content = (tmp_path / "m.postil").read_bytes()
    assert main(["tune", model, dev, *words, "--in-place"]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert (tmp_path / "m.postil").read_bytes() == content


def test_other_models_and_data_are_refused(model, dev, capsys, tmp_path):
    assert main(["tune", model, "--recall", "0.5", "--in-place"]) == 1
    assert "nothing to tune on: expected a labelled file as DATA" in capsys.readouterr().err
    (tmp_path / "pos.conll").write_text(as_conll(*parts_of_speech(20)))
    assert main(["tune", model, str(tmp_path / "pos.conll"), "--recall", "0.5", "--in-place"]) == 1
    assert "these labels have no scheme" in capsys.readouterr().err
    postil.Detector(label="LOC", hidden=8, epochs=1).fit(*named_entities(20)).save(tmp_path / "d.postil")
    assert main(["tune", str(tmp_path / "d.postil"), dev, "--recall", "0.5", "--in-place"]) == 1
    assert "only a tagger can be tuned (this is a detector)" in capsys.readouterr().err
    postil.Tagger(hidden=8, epochs=1).fit(*parts_of_speech(20)).save(tmp_path / "s.postil")
    assert main(["tune", str(tmp_path / "s.postil"), str(tmp_path / "pos.conll"), "--recall", "0.5", "--in-place"]) == 1
    assert "nothing to tune: expected a model of spans, or with a label O" in capsys.readouterr().err


def test_the_curve_is_shown_where_no_setting_is_enough(model, dev, capsys):
    assert main(["tune", model, dev, "--recall", "1", "--in-place"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("target recall 100, with a margin of 1 standard error: not reached")
    assert "Settings" in out and " best" in out
    assert err.count("\n") == 1 and "no setting reaches this recall" in err
    assert main(["tune", model, dev, "--recall", "1", "--json", "--in-place"]) == 1
    assert capsys.readouterr().out == ""


def test_a_target_that_is_met_is_told_and_changes_nothing(model, dev, capsys, tmp_path):
    content = (tmp_path / "m.postil").read_bytes()
    for words in (["--recall", "0.5"], ["--precision", "0.5"]):
        assert main(["tune", model, dev, *words, "--in-place"]) == 0
        out = capsys.readouterr().out
        assert "the target is already met, nothing changes: bias +0.000: precision" in out
        assert f"{model} is unchanged" in out.replace("\n", "")
        assert (tmp_path / "m.postil").read_bytes() == content
    assert main(["tune", model, dev, "--recall", "0.5", "--json", "-o", str(tmp_path / "other.postil")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["already_met"] and found["bias"] == found["threshold"] == 0
    assert recall(tmp_path / "other.postil") == recall(model)


def test_a_promise_is_written_and_redacts(model, tmp_path, capsys):
    (tmp_path / "dev.conll").write_text(as_conll(*named_entities(300, seed=4)))
    dev, target = str(tmp_path / "dev.conll"), str(tmp_path / "redact.postil")
    assert main(["tune", model, dev, "--miss", "0.05", "--classes", "PER", "--json", "-o", target]) == 0
    out, err = capsys.readouterr()
    promise = json.loads(out)
    assert "fewer than 5 documents are marked (-DOCSTART-)" in err
    assert promise["classes"] == ["PER"] and promise["missed"] <= promise["names"] * 0.05
    (tmp_path / "letter.txt").write_text("Anna lives in Oslo\n\nthey met Boris Clara\n")
    letter, output = str(tmp_path / "letter.txt"), tmp_path / "out.txt"
    assert main(["tag", target, letter, "--to", "redacted", "-o", str(output)]) == 0
    assert output.read_text() == "[PER] lives in Oslo\n\nthey met [PER]\n"
    assert "at most 5 % of PER missed" in capsys.readouterr().err
    assert main(["tag", target, letter, "--to", "redacted", "-o", str(output)]) == 1  # it exists
    content = as_conll(*named_entities(300, seed=4))
    (tmp_path / "dev.conll").write_text(
        "".join(f"-DOCSTART- O\n\n{part}\n\n" for part in content.split("\n\n") if part)
    )
    assert main(["tune", model, dev, "--miss", "0.05", "--classes", "PER", "--dry-run"]) == 0
    assert "are marked" not in capsys.readouterr().err
    assert main(["tag", target, letter, "--to", "redacted", "-o", str(output), "--overwrite"]) == 0
    assert main(["tag", target, letter, "--to", "redacted", "--hide-as", "pseudonyms"]) == 0
    assert capsys.readouterr().out == "PER-1 lives in Oslo\n\nthey met PER-2\n"
    page = tmp_path / "page.html"
    assert main(["tag", target, letter, "--to", "redacted", "-o", str(page)]) == 0
    assert "[PER]" in page.read_text() and "Anna" not in page.read_text()


@pytest.fixture
def promising(model, tmp_path):
    (tmp_path / "dev.conll").write_text(as_conll(*named_entities(300, seed=4)))
    target = str(tmp_path / "redact.postil")
    assert main(["tune", model, str(tmp_path / "dev.conll"), "--miss", "0.05", "--classes", "PER", "-o", target]) == 0
    return target


@pytest.mark.parametrize("threads", ["1", "2"])
def test_long_inputs_are_redacted_in_parts_with_the_same_names_in_all_of_them(
    promising, tmp_path, capsys, monkeypatch, threads
):
    lines = [" ".join(tokens) for tokens in named_entities(200, seed=5)[0]]
    (tmp_path / "long.txt").write_text("\n\n".join(lines))
    (tmp_path / "long.conll").write_text(as_conll(*named_entities(200, seed=5)))
    command = ["--to", "redacted", "--hide-as", "pseudonyms", "--threads", threads]
    for name in ("long.txt", "long.conll"):
        capsys.readouterr()
        assert main(["tag", promising, str(tmp_path / name), *command]) == 0
        whole = capsys.readouterr()
        with monkeypatch.context() as patch:
            patch.setattr("postil.commands.tag._BLOCK", 500)
            assert main(["tag", promising, str(tmp_path / name), *command]) == 0
        assert capsys.readouterr() == whole
        assert "PER-1" in whole.out.partition("PER-2")[2]  # a name that comes again


def test_a_folder_is_redacted_file_by_file(promising, tmp_path, capsys):
    folder, output = tmp_path / "letters", tmp_path / "out"
    (folder / "more").mkdir(parents=True)
    (folder / "a.txt").write_text("Anna lives in Oslo\n")
    (folder / "more" / "b.txt").write_text("they met Boris\n\nAnna lives in Oslo\n")
    command = ["tag", promising, str(folder), "--to", "redacted", "-o", f"{output}/"]
    assert main([*command, "--hide-as", "pseudonyms"]) == 0
    assert (output / "a.txt").read_text() == "PER-1 lives in Oslo\n"
    assert (output / "more" / "b.txt").read_text() == "they met PER-2\n\nPER-1 lives in Oslo\n"
    assert main([*command, "--hide-as", "html"]) == 0
    assert "letters/a.txt" in (output / "a.html").read_text()
    assert "they met" not in (output / "a.html").read_text()
    assert main(command) == 1 and "must not exist" in capsys.readouterr().err


@pytest.mark.parametrize("to", ["-", "out.txt", "out/"])
def test_nothing_is_written_of_text_unlike_dev(promising, tmp_path, capsys, to):
    folder = tmp_path / "letters"
    folder.mkdir()
    for i in range(3):
        (folder / f"{i}.txt").write_text("Grxk vlmp qwrt zzyx\n\n" * 40)
    where = [] if to == "-" else ["-o", f"{tmp_path}/{to}"]
    capsys.readouterr()
    assert main(["tag", promising, str(folder), "--to", "redacted", *where]) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and "no promise: the text is unlike" in printed.err
    assert not [path for path in (tmp_path / to).rglob("*") if path.is_file()] and not (tmp_path / "out.txt").exists()
    assert main(["tag", promising, str(folder), "--to", "redacted", "--no-promise", *where]) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tag", "MODEL", "--text", "Anna left Oslo", "--to", "redacted"], "the model has no promise"),
        (["tag", "MODEL", "--text", "Anna left Oslo", "--classes", "PER"], "--classes needs --to redacted"),
        (["tag", "MODEL", "--text", "Anna left Oslo", "--no-promise"], "--no-promise needs --to redacted"),
        (["tune", "MODEL", "DEV", "--miss", "0.001", "--in-place"], "too few names"),
        (["tune", "MODEL", "DEV", "--miss", "2", "--in-place"], "--miss must be a number between 0 and 1"),
        (["tune", "MODEL", "DEV", "--miss", "0.1", "--f1", "--in-place"], "cannot be combined with --f1"),
        (["tune", "MODEL", "DEV", "--f1", "--classes", "PER", "--in-place"], "--classes needs --miss"),
        (["tune", "MODEL", "DEV", "--miss", "0.1", "--classes", "X", "--in-place"], "expected one of LOC, PER"),
    ],
)
def test_mistakes_with_promises_are_one_line(model, dev, capsys, words, message):
    assert main([{"MODEL": model, "DEV": dev}.get(word, word) for word in words]) == 1
    problem = capsys.readouterr().err
    assert message in problem and problem.count("\n") == 1
