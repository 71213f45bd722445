"""The API of the page to annotate: who may change something, and what is then in the file."""

import json
import time

import pytest

import postil
from oracles import corpora
from postil.annotation import Annotation, Journal, Pool, key_of
from postil.errors import ConfigurationError
from postil.text import Sentence, read, spans_from_labels

pytestmark = pytest.mark.extra("starlette")
TOKEN = "0123456789abcdef"
HEADERS = {"authorization": f"Bearer {TOKEN}"}
X, Y = corpora.named_entities(60)
SPANS = {key_of(tokens): spans_from_labels(labels, "bio") for tokens, labels in zip(X, Y, strict=True)}
POSTS = {"answer": {"key": "a"}, "undo": {}, "look": {"back": 1}, "class": {"name": "X"}, "learn": {}, "stop": {}}


@pytest.fixture
def journal(tmp_path):
    with Journal(tmp_path / "answers.jsonl") as journal:
        yield journal


@pytest.fixture
def connected(journal):
    from contextlib import ExitStack

    from starlette.testclient import TestClient

    from postil.server.annotating import create_annotator
    from postil.server.settings import ServerSettings

    with ExitStack() as stack:

        def start(sentences=X, *, is_review=False, **options):
            pool = Pool([one if isinstance(one, Sentence) else Sentence(list(one)) for one in sentences])
            annotation = Annotation(pool, journal, **options)
            app = create_annotator(annotation, ServerSettings(token=TOKEN), is_review=is_review)
            client = TestClient(app, base_url="http://127.0.0.1:8000", headers=HEADERS)
            return stack.enter_context(client)

        yield start


def post(client, action, body, status=200, **headers):
    answer = client.post(f"/api/annotation/{action}", json=body, headers=headers)
    assert answer.status_code == status, answer.text
    return answer.json()


def as_dicts(spans):
    return [span._asdict() for span in spans]


def answer_gold(client, count=1):
    state = client.get("/api/annotation").json()
    for _ in range(count):
        key = state["record"]["key"]
        state = post(client, "answer", {"key": key, "spans": as_dicts(SPANS[key])})
    return state


# ------------------------------------------------------------------------------------------------ who may ask


def test_a_token_is_needed_to_read_and_to_change(connected, journal):
    client = connected()
    del client.headers["authorization"]
    for path in ("/api/annotation", "/api/annotation/progress"):
        assert client.get(path).status_code == 401
    for wrong in ({}, {"authorization": "Bearer 0123456789abcdeF"}, {"authorization": TOKEN}):
        for action, body in POSTS.items():
            assert post(client, action, body, 401, **wrong)["error"]["code"] == "token"
    assert len(journal) == 0


@pytest.mark.parametrize(
    "headers, code, status",
    [
        ({"origin": "http://evil.example"}, "origin", 403),
        ({"origin": "null"}, "origin", 403),
        ({"origin": "http://127.0.0.1:9999"}, "origin", 403),
        ({"sec-fetch-site": "cross-site"}, "origin", 403),
        ({"host": "evil.example"}, "host", 400),
        ({"content-type": "text/plain"}, "type", 415),
    ],
)
def test_other_sites_cannot_change_anything_even_with_the_token(connected, journal, headers, code, status):
    client = connected()
    key = client.get("/api/annotation").json()["record"]["key"]
    for action, body in {**POSTS, "answer": {"key": key}}.items():
        answer = client.post(
            f"/api/annotation/{action}",
            content=json.dumps(body),
            headers={"content-type": "application/json", **headers},
        )
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert len(journal) == 0


def test_the_page_is_served_without_a_token_and_holds_no_data(connected):
    client = connected([["secret-word"]])
    del client.headers["authorization"]
    page = client.get("/")
    assert page.status_code == 200 and "secret-word" not in page.text and TOKEN not in page.text
    assert "script-src 'self'" in page.headers["content-security-policy"]
    for path in ("annotate.js", "labelling.js", "spans.js", "labelling.css", "dom.js", "palette.css"):
        assert client.get(f"/page/{path}").status_code == 200
    for path in ("/page/index.html", "/page/annotate.html", "/page/../app.py", "/api/tag"):
        assert client.get(path, headers=HEADERS).status_code == 404


def test_an_application_without_a_token_is_refused(journal):
    from postil.server.annotating import create_annotator
    from postil.server.settings import ServerSettings

    with pytest.raises(ConfigurationError, match="needs a token"):
        create_annotator(Annotation(Pool([Sentence(["a"])]), journal), ServerSettings())


# ------------------------------------------------------------------------------------------------ answers


def test_an_answer_is_in_the_file_before_it_is_confirmed(connected, journal):
    client = connected(classes=["PER", "LOC"])
    for number in range(1, 6):
        state = answer_gold(client)
        assert state["progress"]["answered"] == number
        with read(str(journal.path)) as reading:
            sentences = list(reading)
        assert len(sentences) == number
        assert spans_from_labels(sentences[-1].labels, "bio") == SPANS[key_of(sentences[-1].tokens)]


def test_undo_back_and_skip(connected, journal):
    client = connected([["a", "b"], ["c"]])
    first = client.get("/api/annotation").json()["record"]
    assert first["words"] == ["a", "b"]
    post(client, "answer", {"key": first["key"], "spans": [{"start": 0, "end": 2, "label": "PER"}]})
    state = post(client, "answer", {"key": key_of(["c"]), "skipped": True})
    assert state["record"] is None and state["classes"] == ["PER"]
    looked = post(client, "look", {"back": 2})["record"]
    assert looked["key"] == first["key"] and looked["answered"] and looked["spans"][0]["label"] == "PER"
    assert post(client, "look", {"back": 3})["record"] is None
    undone = post(client, "undo", {})
    assert undone["undone"] and undone["record"]["words"] == ["c"] and undone["progress"]["skipped"] == 0
    assert post(client, "undo", {})["record"]["spans"][0]["label"] == "PER"
    nothing = post(client, "undo", {})
    assert not nothing["undone"] and nothing["record"]["key"] == first["key"]


@pytest.mark.parametrize(
    "action, body, code",
    [
        ("answer", {}, "schema"),
        ("answer", {"key": "elsewhere"}, "unfit"),
        ("answer", {"key": 1}, "schema"),
        ("answer", {"key": "KEY", "spans": [{"start": 0, "end": 9, "label": "PER"}]}, "unfit"),
        ("answer", {"key": "KEY", "spans": [{"start": 0, "end": 1, "label": "a b"}]}, "unfit"),
        ("answer", {"key": "KEY", "spans": [{"start": -1, "end": 1, "label": "PER"}]}, "schema"),
        ("answer", {"key": "KEY", "spans": [{"start": 0, "end": 1}]}, "schema"),
        ("answer", {"key": "KEY", "other": 1}, "schema"),
        ("look", {"back": -1}, "schema"),
        ("class", {"name": "O"}, "unfit"),
        ("class", {"name": ""}, "unfit"),
        ("class", {"name": "x" * 201}, "schema"),
        ("learn", {}, "unfit"),
        ("undo", {"x": 1}, "schema"),
    ],
)
def test_impossible_requests_change_nothing(connected, journal, action, body, code):
    client = connected([["a", "b"]], classes=["PER"], estimator=postil.Tagger())
    if body.get("key") == "KEY":
        body = {**body, "key": key_of(["a", "b"])}
    status = {"schema": 400, "unfit": 422}[code]
    assert post(client, action, body, status)["error"]["code"] == code
    assert len(journal) == 0 and client.get("/api/annotation").json()["classes"] == ["PER"]


def test_a_full_disk_is_told_and_the_record_is_asked_again(connected, journal, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device", "/secret/path")

    client = connected([["a"]])
    with monkeypatch.context() as context:
        context.setattr("postil.annotation.journal.append_line", full)
        error = post(client, "answer", {"key": key_of(["a"])}, 500)["error"]
    assert error["message"] == "not saved: No space left on device"
    assert client.get("/api/annotation").json()["record"]["words"] == ["a"]
    post(client, "answer", {"key": key_of(["a"])})
    assert len(journal) == 1


def test_texts_come_back_exactly(connected):
    hostile = ["<script>alert(1)</script>", '"><img', "\u202e", "😀", "\x00", "\ud83d"]
    client = connected([hostile])
    record = client.get("/api/annotation").json()["record"]
    assert record["words"] == [*hostile[:-1], "?"], "half a character cannot be sent"


# ------------------------------------------------------------------------------------------------ learning


def until(client, condition):
    deadline = time.monotonic() + 120
    while not condition(state := client.get("/api/annotation/progress").json()):
        assert time.monotonic() < deadline, state
        time.sleep(0.02)
    return state


def test_a_model_is_learnt_in_the_background_and_then_proposes(connected):
    client = connected(classes=["PER", "LOC"], estimator=postil.Tagger(hidden=16, epochs=8, rate=0.02), every=15)
    assert answer_gold(client, 14)["learning"]["state"] == "idle"
    state = answer_gold(client)
    assert state["learning"]["run"] == 1 and state["progress"]["until"] in (0, 15)
    state = until(client, lambda now: now["learning"]["state"] == "finished")
    assert state["progress"]["round"] == 0 and state["learning"]["error"] is None
    assert client.get("/api/annotation").json()["record"]["spans"]
    state = answer_gold(client, 10)
    assert state["curve"]["rounds"][0]["records"] == 10 and len(state["curve"]["points"]) == 6
    assert json.dumps(state)


def test_learning_can_be_asked_for_and_stopped(connected):
    client = connected(estimator=postil.Tagger(hidden=16, epochs=5000, patience=None), every=1000)
    answer_gold(client, 5)
    post(client, "learn", {})
    assert post(client, "learn", {}, 422)["error"]["message"].startswith("a training run is already in progress")
    until(client, lambda now: now["learning"]["epoch"] >= 2)
    answer_gold(client, 3)  # answers come in meanwhile
    post(client, "stop", {})
    state = until(client, lambda now: now["learning"]["state"] == "stopped")
    assert state["progress"]["round"] == 0 and state["progress"]["answered"] == 8


def test_the_end_of_the_server_stops_a_training(connected, journal):
    from starlette.testclient import TestClient

    from postil.server.annotating import create_annotator
    from postil.server.settings import ServerSettings

    annotation = Annotation(
        Pool([Sentence(list(one)) for one in X]),
        journal,
        estimator=postil.Tagger(hidden=16, epochs=100_000, patience=None),
        every=3,
    )
    app = create_annotator(annotation, ServerSettings(token=TOKEN))
    began = time.monotonic()
    with TestClient(app, base_url="http://127.0.0.1:8000", headers=HEADERS) as client:
        answer_gold(client, 3)
        until(client, lambda now: now["learning"]["epoch"] >= 1)
    assert time.monotonic() - began < 60


def test_what_was_answered_before_is_learnt_at_the_start(connected, journal):
    answer_gold(connected(), 5)
    client = connected(estimator=postil.Tagger(hidden=8, epochs=1), every=5)
    until(client, lambda now: now["progress"]["round"] == 0)


def test_a_review_learns_nothing(connected):
    client = connected(is_review=True)
    state = client.get("/api/annotation").json()
    assert state["review"] and state["progress"]["every"] is None
    answer_gold(client, 1)
    assert "nothing to learn" in post(client, "learn", {}, 422)["error"]["message"]


# ------------------------------------------------------------------------------------------------ rules


@pytest.fixture
def rule_file(tmp_path):
    (tmp_path / "places.txt").write_text("Oslo\nParis\n")
    path = tmp_path / "rules.toml"
    path.write_text('[[rule]]\nname = "places"\nlabel = "LOC"\nlist = "places.txt"\n')
    return path


def with_rules(connected, path, **options):
    from postil.annotation import EditedRules

    tagger = postil.Tagger(hidden=8, epochs=2)
    return connected(**{"rules": EditedRules(path), "estimator": tagger, **options})


def test_rules_are_learnt_at_the_start_edited_and_learnt_again(connected, rule_file):
    client = with_rules(connected, rule_file)
    until(client, lambda now: now["learning"]["state"] == "finished")
    state = client.get("/api/annotation/rules").json()
    assert [file["name"] for file in state["files"]] == ["rules.toml", "places.txt"]
    assert state["report"]["rows"][0]["votes"] and state["changes"] is None and state["judged"]["records"] == 0
    text = state["files"][0]["text"] + '[[rule]]\nname = "people"\nlabel = "PER"\nlist = ["Anna", "Boris", "Clara"]\n'
    edit = {"name": "rules.toml", "text": text, "stamp": state["files"][0]["stamp"]}
    assert post(client, "rules/save", edit)["files"][0]["text"] == text == rule_file.read_text()
    assert post(client, "rules/save", edit, 422)["error"]["message"].startswith("rules.toml has changed on disk")
    post(client, "rules/save", {**edit, "replace": True})
    post(client, "learn", {})
    until(client, lambda now: now["progress"]["round"] == 1 and now["learning"]["state"] == "finished")
    state = client.get("/api/annotation/rules").json()
    assert [row["rule"] for row in state["report"]["rows"]] == ["places", "people"]
    assert {one["label"] for one in state["changes"]["classes"]} <= {"LOC", "PER"}
    answer_gold(client, 3)
    assert client.get("/api/annotation/rules").json()["judged"]["records"] == 3


@pytest.mark.parametrize(
    "change, status, message",
    [
        ({"text": "[[rule]]\nname = 3"}, 422, "line 1: a rule: expected one of list, pattern, spacy, model, votes"),
        ({"text": "[[rule]]\n\nname"}, 422, "line 3: the rules cannot be read as TOML"),
        ({"name": "../secret"}, 422, "a file must be the rules or one of their lists"),
        ({"stamp": None}, 400, "stamp"),
        ({"other": 1}, 400, "other"),
        ({"text": 3}, 400, "text"),
    ],
)
def test_edits_that_are_refused_change_nothing(connected, rule_file, change, status, message):
    client = with_rules(connected, rule_file)
    before = rule_file.read_text()
    edit = {
        "name": "rules.toml",
        "text": before,
        "stamp": client.get("/api/annotation/rules").json()["files"][0]["stamp"],
    }
    told = post(client, "rules/save", {**edit, **change}, status)["error"]["message"]
    assert message in told and "\n" not in told and str(rule_file.parent) not in told
    assert rule_file.read_text() == before


def test_rules_need_the_token_and_are_there_only_if_there_are_some(connected, rule_file):
    client = with_rules(connected, rule_file)
    del client.headers["authorization"]
    assert client.get("/api/annotation/rules").status_code == 401
    edit = {"name": "rules.toml", "text": "", "stamp": "", "replace": True}
    assert post(client, "rules/save", edit, 401)["error"]["code"] == "token"
    other = connected()
    assert other.get("/api/annotation/rules").status_code == 404
    assert not other.get("/api/annotation").json()["rules"]


def test_rules_that_fail_are_told_and_can_be_mended(connected, rule_file):
    rule_file.write_text('[[rule]]\nlabel = "X"\nlist = ["nobody"]\n')
    client = with_rules(connected, rule_file)
    state = until(client, lambda now: now["learning"]["state"] == "failed")
    assert "at least one vote on the raw text" in state["learning"]["error"]
    assert answer_gold(client)["progress"]["answered"] == 1, "answers come in all the same"
    rule_file.write_text('[[rule]]\nlabel = "LOC"\nlist = ["Oslo"]\n')  # in another editor
    post(client, "learn", {})
    until(client, lambda now: now["learning"]["state"] == "finished")


def test_one_training_on_rules_at_a_time_and_answers_meanwhile(connected, rule_file):
    client = with_rules(connected, rule_file, estimator=postil.Tagger(hidden=16, epochs=5000, patience=None))
    until(client, lambda now: now["learning"]["epoch"] >= 1)
    assert post(client, "learn", {}, 422)["error"]["message"].startswith("a training run is already in progress")
    answer_gold(client, 2)
    assert client.get("/api/annotation/rules").json()["report"] is None
    post(client, "stop", {})
    until(client, lambda now: now["learning"]["state"] == "stopped" and now["progress"]["round"] == 0)
