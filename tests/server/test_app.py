"""The API: answers equal to the command line's, and a clear refusal of everything else."""

import json
from pathlib import Path

import pytest

from postil.commands.main import main
from postil.server.requests import CODES

pytestmark = pytest.mark.extra("starlette")
TEXT = "Anna lives in Oslo. Museums of Lima are old."


def post(client, path, body, **headers):
    return client.post(f"/api/{path}", json=body, headers=headers)


def document(client, **request):
    answer = post(client, "tag", request)
    assert answer.status_code == 200, answer.text
    (only,) = answer.json()["documents"]
    return only


def lines_of_command(capfd, *words):
    assert main(list(map(str, words))) == 0
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


# ------------------------------------------------------------------------------------------------ equal answers


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, ["--probabilities"]),
        ({"probabilities": False}, []),
        ({"nbest": 3, "all_above": 0.2}, ["--probabilities", "--nbest", "3", "--all-above", "0.2"]),
        ({"threshold": 0.9, "thresholds": {"PER": 0.2}}, ["--probabilities", "--threshold=.9", "--threshold=PER=.2"]),
    ],
)
@pytest.mark.parametrize("model", ["names", "speech"])
def test_answers_are_those_of_the_command_line(client, capfd, names_model, speech_model, model, options, words):
    path = {"names": names_model, "speech": speech_model}[model]
    if model == "speech":
        options = {name: value for name, value in options.items() if name in ("probabilities", "nbest")}
        words = words[:3] if "nbest" in options else words[:1]
    expected = lines_of_command(capfd, "tag", path, "--text", TEXT, "--to", "jsonl", *words)
    assert [document(client, model=model, text=TEXT, options=options)] == expected


def test_tokens_and_constraints_are_those_of_the_command_line(client, capfd, names_model, tmp_path):
    records = [
        {
            "tokens": ["Anna", "lives", "in", "Oslo"],
            "constraints": {"require": [{"start": 3, "end": 4, "label": "PER"}]},
        },
        {"text": TEXT, "constraints": {"forbid": [{"start": 0, "end": 4}]}},
        {"text": ""},
        {"text": " \n"},
        {"tokens": []},
    ]
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    expected = lines_of_command(capfd, "tag", names_model, path, "--to", "jsonl", "--probabilities")
    answer = post(client, "tag", {"model": "names", "documents": records})
    assert answer.json()["documents"] == expected


def test_detectors_and_trees_and_explanations_too(client, capfd, place_model, tree_model, names_model):
    expected = lines_of_command(capfd, "tag", place_model, "--text", TEXT, "--to", "jsonl", "--scores")
    assert [document(client, model="places", text=TEXT)] == expected
    words = ("--to", "jsonl", "--probabilities")
    expected = lines_of_command(capfd, "tag", tree_model, "--text", "not a bad film", *words)
    assert post(client, "tree", {"text": "not a bad film"}).json()["trees"] == expected
    assert main(["explain", str(names_model), TEXT, "--json"]) == 0
    expected = json.loads(capfd.readouterr().out)["explanations"]
    assert post(client, "explain", {"text": TEXT}).json()["explanations"] == expected
    assert main(["explain", str(tree_model), "(x (x not) (x bad))", "--from", "trees", "--json"]) == 0
    expected = json.loads(capfd.readouterr().out)["explanations"]
    assert post(client, "explain", {"brackets": "(x (x not) (x bad))"}).json()["explanations"] == expected


def test_a_model_of_several_tasks_answers_in_layers(capfd):
    from starlette.testclient import TestClient

    from postil.server.app import create_app
    from postil.server.registry import Registry

    path = Path(__file__).parents[1] / "golden" / "multi-task-tagger-2.postil"
    with TestClient(create_app(Registry.of_files([path])), base_url="http://127.0.0.1") as client:
        expected = lines_of_command(capfd, "tag", path, "--text", TEXT, "--to", "jsonl", "--probabilities")
        assert [document(client, model=path.stem, text=TEXT)] == expected
        models = client.get("/api/models").json()["models"]
        assert models[-1]["tasks"] == [one["name"].partition(":")[2] for one in models[:-1]]
        assert document(client, model=models[0]["name"], text=TEXT) == document(client, text=TEXT)
        for refused in ({"options": {"nbest": 2}}, {"constraints": {"forbid": [{"start": 0, "end": 4}]}}):
            error = post(client, "tag", {"model": path.stem, "text": TEXT, **refused}).json()["error"]
            assert error["code"] == "unfit" and "one task" in error["message"]


def test_many_at_once_equal_one_by_one(client):
    texts = [TEXT, "Lima", "", "they met Diego Diego"]
    together = post(client, "tag", {"documents": [{"text": text} for text in texts]}).json()["documents"]
    assert together == [document(client, text=text) for text in texts]


def test_tokens_sentences_and_marginals_can_be_added(client, names_model):
    import postil

    answer = document(client, text=TEXT, options={"tokens": True, "marginals": True})
    places = [(token["text"], token["start"], token["end"]) for token in answer["tokens"]]
    assert all(TEXT[start:end] == text for text, start, end in places)
    assert answer["sentences"] == [[0, 5], [5, 11]]
    expected = postil.load(names_model).marginals([text for text, _, _ in places[:5]])
    assert answer["marginals"][:5] == [{k: round(v, 6) for k, v in of_token.items()} for of_token in expected]
    forced = document(
        client,
        text=TEXT,
        options={"marginals": True},
        constraints={"require": [{"start": 14, "end": 18, "label": "PER"}]},
    )
    assert forced["marginals"][3]["B-PER"] == 1.0


# ------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("path", "body", "code", "message"),
    [
        ("tag", b"{", "json", "must be JSON"),
        ("tag", b'{"text": "\xff"}', "json", "UTF-8"),
        ("tag", b'{"text": "\\ud800"}', "json", "must be JSON"),
        ("tag", b'{"text": NaN}', "json", "invalid character"),
        ("tag", b'{"text": "a", "options": {"nbest": ' + b"9" * 5000 + b"}}", "schema", "out of range"),
        ("tag", b"[" * 100_000, "json", "nested"),
        ("tag", b"{}", "schema", "must have text or tokens or documents"),
        ("tag", b'{"text": "a", "model": "no"}', "model", "no model has the name 'no'"),
        ("tag", b'{"text": "a", "model": "opinions"}', "unfit", "cannot tag"),
        ("tag", b'{"text": "a b", "constraints": {"require": [{"start": 0, "end": 9}]}}', "unfit", "outside the text"),
        ("tag", b'{"text": "a", "options": {"thresholds": {"X": 1}}}', "unfit", "X"),
        ("tag", b'{"model": "places", "text": "a", "options": {"nbest": 2}}', "unfit", "needs a tagger"),
        ("tree", b'{"brackets": "(a"}', "unfit", "never closed"),
        ("explain", b'{"text": "Anna", "span": {"start": 3, "end": 9}}', "unfit", "span must satisfy"),
        ("explain", b'{"text": "Anna", "model": "speech"}', "unfit", "need a word to explain"),
        ("lattice", b'{"text": "a", "model": "places"}', "unfit", "cannot show a lattice"),
    ],
)
def test_what_cannot_be_answered_is_refused_clearly(client, path, body, code, message):
    answer = client.post(f"/api/{path}", content=body, headers={"content-type": "application/json"})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (CODES[code][0], code)
    assert message in error["message"] and "/" not in error["message"].replace("/api/models", "")


def test_a_mistake_of_one_request_is_not_that_of_its_neighbours(client, registry):
    from postil.server.answers import tag_alike
    from postil.server.api import Constrained, ConstraintsAsked, DocumentAsked, TagOptions

    served = registry.find("names", ("tagger",), "tag")
    wrong = [DocumentAsked(text="Anna", constraints=ConstraintsAsked(require=[Constrained(start=0, end=99)]))]
    answers = tag_alike(served, TagOptions(), [[DocumentAsked(text="Lima")], wrong, [DocumentAsked(text="Oslo")]])
    assert [type(answer).__name__ for answer in answers] == ["bytes", "Refusal", "bytes"]
    assert json.loads(answers[2])["documents"][0]["text"] == "Oslo"


def test_limits_of_size(registry):
    from starlette.testclient import TestClient

    from postil.server.app import create_app
    from postil.server.settings import ServerSettings

    settings = ServerSettings(max_body=500, max_tokens=20)
    with TestClient(create_app(registry, settings), base_url="http://127.0.0.1") as client:
        assert post(client, "tag", {"text": "a" * 600}).json()["error"]["code"] == "body"
        chunks = (b'{"text": "', b"a" * 600, b'"}')
        answer = client.post("/api/tag", content=iter(chunks), headers={"content-type": "application/json"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body")
        assert post(client, "tag", {"text": "a " * 30}).json()["error"]["code"] == "tokens"
        assert post(client, "tag", {"text": "abcdefghij " * 10}).status_code == 200, "characters are not tokens"


@pytest.mark.parametrize(
    ("path", "request_", "says"),
    [
        ("explain", {"text": "Paris " * 500, "model": "names"}, "passes of a token through the network"),
        ("explain", {"text": "Anna lives in Oslo. " * 1_500}, "passes of a token"),
        ("explain", {"tokens": ["a"] * 9_000, "span": {"start": 1, "end": 2}, "label": "LOC"}, "passes of a token"),
        ("explain", {"tokens": ["a"] * 9_000, "span": {"start": 1, "end": 2}, "model": "places"}, "passes of a token"),
        ("explain", {"text": "good " * 900, "model": "opinions"}, "nodes of trees"),
        ("explain", {"brackets": "(x (x a) " * 900 + "(x b)" + ")" * 900}, "nodes of trees"),
        ("lattice", {"tokens": ["a"] * 9_000, "model": "names"}, "cells"),
        ("lattice", {"text": "a. " * 6_000, "model": "names"}, "cells"),
        ("tag", {"tokens": ["a"] * 9_000, "options": {"all_above": 1e-9}}, "spans"),
        ("tag", {"tokens": ["a"] * 19_000, "options": {"marginals": True}, "model": "speech"}, "probabilities"),
    ],
)
def test_what_costs_too_much_is_refused_before_it_is_begun(client, monkeypatch, path, request_, says):
    from postil.server import answers

    monkeypatch.setattr(answers, "MOST_MARGINALS", 50_000)
    answer = post(client, path, request_)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "cost")
    message = answer.json()["error"]["message"]
    assert says in message and "at most" in message


def test_costs_of_lattices_and_of_options_in_one_batch(registry, client, monkeypatch):
    from postil.server import answers, machinery
    from postil.server.api import DocumentAsked, TagOptions

    monkeypatch.setattr(machinery, "MOST_STEPS", 100)
    assert post(client, "lattice", {"text": "Anna. Bo. Oslo."}).json()["error"]["code"] == "cost"
    served = registry.find("names", ("tagger",), "tag")
    documents = [[DocumentAsked(tokens=["a"] * 9_000)], [DocumentAsked(text="Oslo")]]
    both = answers.tag_alike(served, TagOptions(all_above=0.5), documents)
    assert both[0].code == "cost" and json.loads(both[1])["documents"][0]["text"] == "Oslo"


def test_words_of_brackets_are_tokens(registry):
    from starlette.testclient import TestClient

    from postil.server.app import create_app
    from postil.server.settings import ServerSettings

    settings = ServerSettings(max_tokens=5)
    with TestClient(create_app(registry, settings), base_url="http://127.0.0.1") as client:
        assert post(client, "tree", {"brackets": "(x (x not) (x bad))"}).status_code == 200
        large = {"brackets": "(x (x a) " * 5 + "(x b)" + ")" * 5}
        assert post(client, "tree", large).json()["error"]["code"] == "tokens"
        assert post(client, "explain", large).json()["error"]["code"] == "tokens"


def test_a_defect_shows_nothing_of_itself(client, monkeypatch, caplog):
    from postil.server import answers

    def broken(*_):
        raise RuntimeError("secret /etc/passwd")

    monkeypatch.setattr(answers, "tag_alike", broken)
    answer = post(client, "tag", {"text": "a"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")
    assert "secret" not in answer.text and "secret" in caplog.text


# ------------------------------------------------------------------------------------------------ about the server


def test_metrics_expect_scores_and_tell_drift(registry, names_model):
    from starlette.testclient import TestClient

    import postil
    from postil.errors import CalibrationWarning
    from postil.evaluation.expectation import expected
    from postil.server.app import create_app

    tagger, usual = postil.load(names_model), [["Anna", "lives", "in", "Oslo", "."], ["Lima", "is", "old", "."]] * 40
    with pytest.warns(CalibrationWarning):
        base = expected(tagger, usual).profile
        other = [["Qwx", "zzrt", "bblk"]] * 40
        wanted = {"like": expected(tagger, usual, base), "unlike": expected(tagger, other, base)}
    for name, X in (("like", usual), ("unlike", other)):
        app = create_app(registry, bases={"names": base})
        with TestClient(app, base_url="http://127.0.0.1:8000") as client:
            for tokens in X:
                assert client.post("/api/tag", json={"model": "names", "tokens": tokens}).status_code == 200
            lines = client.get("/metrics").text.splitlines()
        shown = {key: float(value) for key, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}
        found = wanted[name]
        for score in ("precision", "recall", "f1"):
            figure = shown[f'postil_expected_{score}{{label="all",model="names"}}']
            assert figure == pytest.approx(getattr(found.counts, score), abs=1e-6)
        assert shown['postil_expected_low{model="names"}'] == pytest.approx(found.low, abs=1e-6)
        unknown = found.profile["unknown words"].value
        assert shown['postil_profile{figure="unknown words",model="names"}'] == pytest.approx(unknown, abs=1e-9)
        assert shown['postil_drifted{model="names"}'] == len(found.drift)
        assert bool(found.drift) == (name == "unlike")
        assert abs(shown['postil_drift{figure="unknown words",model="names"}']) < 4 or name == "unlike"
    assert not any("Qwx" in line for line in lines), "no text"


def test_models_health_metrics_and_unknown_paths(client):
    kinds = {model["name"]: model["kind"] for model in client.get("/api/models").json()["models"]}
    assert kinds == {"names": "tagger", "speech": "tagger", "places": "detector", "opinions": "tree-classifier"}
    assert client.get("/health").json() == {"status": "alive"}
    assert client.get("/ready").json() == {"status": "ready"}
    post(client, "tag", {"text": TEXT})
    assert 'postil_requests_total{path="/api/tag",status="200"} 1.0' in client.get("/metrics").text
    for path in ("/no", "/page/../app.py", "/page/app.py", "/api/tag/"):
        answer = client.get(path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "path")
    answer = client.get("/api/tag")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_the_page_is_kept_by_browsers_until_it_changes(client):
    first = client.get("/")
    assert first.headers["content-type"].startswith("text/html")
    assert client.get("/", headers={"if-none-match": first.headers["etag"]}).status_code == 304
