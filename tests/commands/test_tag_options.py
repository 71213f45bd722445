"""``postil tag`` with thresholds, constraints and all probable spans; what cannot be is told in one line."""

import json

import pytest

import postil
from oracles.corpora import as_conll, named_entities, parts_of_speech
from postil import Constraints
from postil.commands.main import main
from postil.tagging import general_path

TEXT = "Anna left Paris. Boris slept in Lima."


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.postil"
    postil.Tagger(hidden=16, epochs=4, rate=0.02).fit(*named_entities(60), dev=named_entities(40, seed=1)).save(path)
    return str(path)


def tagged(capsys, *arguments):
    assert main(["tag", *arguments, "--to", "jsonl"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def refused(capsys, *arguments):
    assert main(["tag", *arguments]) == 1
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    return captured.err


def places(row, name="spans"):
    return [(span["start"], span["end"], span["label"]) for span in row[name]]


def test_thresholds(model, capsys):
    (everything,) = tagged(capsys, model, "--text", TEXT, "--probabilities")
    probabilities = {(s["start"], s["end"], s["label"]): s["probability"] for s in everything["spans"]}
    middle = sorted(probabilities.values())[len(probabilities) // 2] - 2e-6  # they were rounded
    (row,) = tagged(capsys, model, "--text", TEXT, "--threshold", str(middle))
    assert places(row) == [place for place, p in probabilities.items() if p >= middle]
    (row,) = tagged(capsys, model, "--text", TEXT, "--threshold", "0.01", "--threshold", "LOC=1")
    assert places(row) == [place for place in probabilities if place[2] != "LOC"]
    assert main(["tag", model, "--text", "Anna", "--threshold", "PER=1", "--probabilities"]) == 0
    assert capsys.readouterr().out.split("\t")[2].startswith("O")


def test_all_probable_spans(model, capsys, tmp_path):
    (row,) = tagged(capsys, model, "--text", TEXT, "--all-above", "0.01")
    found = {(s["start"], s["end"], s["label"]): s["probability"] for s in row["spans_above"]}
    expected = {}
    loaded = postil.load(model)
    for sentence in postil.load(model).tag(TEXT).sentences:
        for e in loaded.entities_above([sentence], 0.01)[0]:
            expected[e.start, e.end, e.label] = round(e.probability, 6)
    assert found == expected
    assert set(places(row)) < set(found)
    assert all(TEXT[s["start"] : s["end"]] == s["text"] for s in row["spans_above"])
    (tmp_path / "t.txt").write_text("Anna left New York\n")
    (row,) = tagged(capsys, model, str(tmp_path / "t.txt"), "--from", "tokens", "--all-above", "0.2")
    assert all(row["text"][s["start"] : s["end"]] == s["text"] for s in row["spans_above"])


def test_the_probability_of_whole_labellings(model, capsys):
    (row,) = tagged(capsys, model, "--text", TEXT, "--probabilities", "--nbest", "1")
    best = [paths[0]["probability"] for paths in row["nbest"]]
    assert row["labelling_probabilities"] == pytest.approx(best, abs=1e-5)


def test_constraints_on_the_command_line(model, capsys):
    forced = ["--text", TEXT, "--require", "17:22=LOC", "--forbid", "10:15", "--allow", "32:36=O,PER"]
    (row,) = tagged(capsys, model, *forced, "--probabilities", "--nbest", "2", "--all-above", "0.5")
    assert (17, 22, "LOC") in places(row)
    assert (10, 15) not in [place[:2] for place in places(row)]
    assert (32, 36, "LOC") not in places(row)
    assert [s["probability"] for s in row["spans"] if s["start"] == 17] == [1]
    assert [path["labels"][0] for path in row["nbest"][1]] == ["B-LOC", "B-LOC"]
    assert (17, 22, "LOC") in places(row, "spans_above")


def test_constraints_in_json_lines(model, capsys, tmp_path):
    rows = [
        {"text": TEXT, "constraints": {"require": [[17, 22, "LOC"]], "forbid": [{"start": 10, "end": 15}]}},
        {"tokens": ["Anna", "left", "Lima"], "constraints": {"allow": [[0, 3, ["O"]]]}},
        {"tokens": ["Anna", "left", "Lima"], "constraints": None},
        {"text": "Anna left Lima", "id": 4},
    ]
    path = tmp_path / "r.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = tagged(capsys, model, str(path))
    assert (17, 22, "LOC") in places(found[0])
    assert (10, 15) not in [place[:2] for place in places(found[0])]
    assert places(found[1]) == []
    assert found[2]["spans"] == found[3]["spans"] != []
    assert found[0]["constraints"] == rows[0]["constraints"]
    for line, message in (
        ({"require": [[17, 22, "CITY"]]}, "unknown class: expected one of LOC, PER, got 'CITY'"),
        ({"require": [[0, 5, "LOC"]]}, "a constraint that does not fit the tokens"),
        ({"require": [[0, 4, "LOC"], [0, 4, "PER"]]}, "contradict each other"),
        ({"forced": []}, "constraints must be an object with require, forbid, allow"),
    ):
        path.write_text(json.dumps({"text": "Anna."}) + "\n" + json.dumps({"text": TEXT, "constraints": line}) + "\n")
        error = refused(capsys, model, str(path), "--to", "jsonl")
        assert f"{path}, line 2: " in error
        assert message in error


def test_sentences_of_one_text_keep_their_order_over_blocks_and_threads(model, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(general_path, "BLOCK_TOKENS", 3)
    (tmp_path / "t.txt").write_text(f"{TEXT} {TEXT} {TEXT}\n" * 5)
    (expected,) = tagged(capsys, model, "--text", f"{TEXT} {TEXT} {TEXT}", "--nbest", "1", "--all-above", "0.1")
    rows = tagged(capsys, model, str(tmp_path / "t.txt"), "--nbest", "1", "--all-above", "0.1", "--threads", "3")
    assert rows == [expected] * 5


def test_names_of_lists_are_entities(model, capsys, tmp_path):
    (tmp_path / "names.txt").write_text("slept in\nLima\n")
    names = ["--require-names", f"PER={tmp_path / 'names.txt'}"]
    (row,) = tagged(capsys, model, "--text", TEXT, *names)
    assert {(23, 31, "PER"), (32, 36, "PER")} <= set(places(row))
    (row,) = tagged(capsys, model, "--text", TEXT, *names, "--forbid", "32:36=PER")
    assert (32, 36, "PER") not in places(row)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--threshold", "much"], "--threshold must be P or CLASS=P (got 'much')"),
        (["--threshold", "LOC=2"], "--threshold LOC=2: expected a number from 0 to 1, got 2.0"),
        (["--threshold", "CITY=0.5"], "threshold of an unknown class: expected one of LOC, PER, got 'CITY'"),
        (["--all-above", "0.3"], "--all-above needs --to jsonl (got conll)"),
        (["--all-above", "3", "--to", "jsonl"], "--all-above must be above 0 and at most 1 (got 3.0)"),
        (["--require", "LOC"], "--require must be START:END or START:END=CLASS (got 'LOC')"),
        (["--require", "0:4="], "--require must be START:END or START:END=CLASS (got '0:4=')"),
        (["--allow", "0:4"], "--allow must be START:END=LABEL,… (got '0:4')"),
        (["--require", "0:3=LOC"], "--text: a constraint that does not fit the tokens"),
        (["--require", "0:4=CITY"], "--text: unknown class: expected one of LOC, PER, got 'CITY'"),
        (["--require", "0:4=LOC", "--forbid", "0:4"], "--text: constraints that contradict each other"),
        (["--require-names", "LOC"], "--require-names must be CLASS=FILE (got 'LOC')"),
        (["--require-names", "X=a.txt"], "class of a gazetteer constraint must be one of"),
        (["--require-names", "LOC=missing.txt"], "missing.txt: cannot read the gazetteer"),
    ],
)
def test_mistakes_are_told(model, capsys, words, message):
    assert message in refused(capsys, model, "--text", TEXT, *words)


def test_places_need_a_text(model, capsys, tmp_path):
    (tmp_path / "t.txt").write_text(TEXT)
    assert "--require needs --text with a single line" in refused(
        capsys, model, str(tmp_path / "t.txt"), "--require", "0:4"
    )
    assert "got several lines" in refused(capsys, model, "--text", "Anna\nLima", "--require", "0:4")


def test_other_models_have_none_of_this(capsys, tmp_path):
    detector, speech = str(tmp_path / "d.postil"), str(tmp_path / "s.postil")
    postil.Detector(label="LOC", hidden=8, epochs=1).fit(*named_entities(20)).save(detector)
    postil.Tagger(hidden=8, epochs=1).fit(*parts_of_speech(20)).save(speech)
    error = refused(capsys, detector, "--text", TEXT, "--all-above", "0.3", "--to", "jsonl")
    assert "--all-above cannot be used here: a margin model decides about each token alone" in error
    assert "--all-above needs a model of spans" in refused(
        capsys, speech, "--text", TEXT, "--all-above", "0.3", "--to", "jsonl"
    )
    assert "threshold needs a model of spans" in refused(capsys, speech, "--text", TEXT, "--threshold", "0.3")


@pytest.mark.slow
def test_evaluate_shows_reliability_before_and_after(model, capsys, tmp_path):
    (tmp_path / "test.conll").write_text(as_conll(*named_entities(40, seed=2)))
    assert main(["evaluate", model, str(tmp_path / "test.conll"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["calibration"]
    assert found["temperature"] == postil.load(model).decoding.temperature
    assert found["before"]["bins"] != found["after"]["bins"]
    assert found["after"]["expected_calibration_error"] >= 0
    assert main(["evaluate", model, str(tmp_path / "test.conll")]) == 0
    out = capsys.readouterr().out
    assert "Reliability of the probabilities of entities, before calibration" in out
    assert "of entities, after calibration on dev (temperature" in out
    assert out.count("expected calibration error") == 2
    postil.Tagger(hidden=8, epochs=1).fit(*named_entities(20)).save(tmp_path / "no-dev.postil")
    assert main(["evaluate", str(tmp_path / "no-dev.postil"), str(tmp_path / "test.conll")]) == 0
    assert "(not calibrated: trained without --dev)" in capsys.readouterr().out


def test_python_and_the_command_line_agree(model, capsys):
    own = Constraints(require=[(0, 4, "LOC")])
    document = postil.load(model).tag("Anna left Paris.", constraints=own)
    (row,) = tagged(capsys, model, "--text", "Anna left Paris.", "--require", "0:4=LOC")
    assert places(row) == [(e.start, e.end, e.label) for e in document.entities]
