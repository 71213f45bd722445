"""Training over HTTP: only files of the folder, only with the token, new names only; no path in any answer."""

import os
import time

import pytest

import postil
from oracles import corpora
from postil.errors import ConfigurationError
from postil.server.settings import ServerSettings

pytestmark = pytest.mark.extra("starlette")
RUN = "the-token-of-this-run"
HEADERS = {"X-Postil-Run": RUN}


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "data"
    (folder / "more").mkdir(parents=True)
    (folder / "train.txt").write_text(corpora.as_conll(*corpora.named_entities(60)))
    (folder / "more" / "dev.txt").write_text(corpora.as_conll(*corpora.named_entities(20, seed=1)))
    (folder / "raw.txt").write_text("Only text\n")
    (tmp_path / "secret.txt").write_text(corpora.as_conll(*corpora.named_entities(20)))
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "outside").symlink_to(tmp_path)
    return folder


@pytest.fixture
def client(names_model, folder):
    from starlette.testclient import TestClient

    from postil.server.app import create_app
    from postil.server.registry import Registry

    app = create_app(Registry.of_files([names_model]), ServerSettings(training=folder, run_token=RUN))
    with TestClient(app, base_url="http://127.0.0.1:8000") as client:
        yield client


def ended(client):
    deadline = time.monotonic() + 60
    while (state := client.get("/api/training", headers=HEADERS).json())["training"]["state"] in (
        "running",
        "stopping",
    ):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return state


def start(client, **asked):
    return client.post("/api/training/start", json=asked, headers=HEADERS)


def test_train_watch_and_keep(client, folder):
    listed = client.get("/api/training/files", headers=HEADERS).json()
    assert listed["files"] == ["more/dev.txt", "raw.txt", "train.txt"] and "fast" in listed["presets"]
    assert client.get("/api/models").json()["training"] is True
    assert start(client, train="train.txt", dev="more/dev.txt", epochs=2).json()["training"]["state"] == "running"
    state = ended(client)
    assert state["training"]["state"] == "finished" and state["can_keep"]
    assert [one["epoch"] for one in state["training"]["history"]] == [1, 2]
    assert all(one["score"] is not None for one in state["training"]["history"])
    kept = client.post("/api/training/keep", json={"name": "mine"}, headers=HEADERS).json()
    assert kept["kept"] == "mine" and not kept["can_keep"]
    tagged = client.post("/api/tag", json={"text": "Anna lives in Oslo.", "model": "mine"}).json()
    assert tagged["model"] == "mine"
    assert postil.load(folder / "mine.postil").KIND == "tagger"
    assert [path.name for path in folder.glob("mine*")] == ["mine.postil"], "nothing unfinished is left"


def test_a_tenth_is_held_out_and_a_training_is_stopped(client):
    assert start(client, train="train.txt", epochs=1000).status_code == 200
    assert start(client, train="train.txt").status_code == 422, "one at a time"
    while not client.get("/api/training", headers=HEADERS).json()["training"]["epoch"]:
        time.sleep(0.01)
    client.post("/api/training/stop", json={}, headers=HEADERS)
    state = ended(client)
    assert state["training"]["state"] == "stopped" and state["can_keep"]
    assert state["training"]["best_score"] is not None


def test_every_route_needs_the_token_of_the_run(client):
    asks = [("GET", "/api/training"), ("GET", "/api/training/files")]
    asks += [("POST", f"/api/training/{name}") for name in ("start", "stop", "keep")]
    for method, path in asks:
        for headers in ({}, {"X-Postil-Run": "wrong"}, {"Authorization": f"Bearer {RUN}"}):
            answer = client.request(
                method, path, headers=headers, json={"train": "train.txt"} if method == "POST" else None
            )
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "run"), path
    assert ended(client)["training"]["run"] == 0


@pytest.mark.parametrize(
    "name",
    [
        *["../secret.txt", "more/../../secret.txt", "/etc/passwd", "link.txt", "outside/secret.txt", "more", ".", ""],
        *["none.txt", "train.txt/", "./train.txt", "more\\dev.txt", "train.txt\0", "a" * 499, "//etc/passwd"],
    ],
)
def test_nothing_outside_the_folder_is_read(client, folder, name):
    for asked in ({"train": name}, {"train": "train.txt", "dev": name or "\0"}):
        answer = start(client, **asked)
        assert answer.status_code in (400, 422)
        assert str(folder.parent) not in answer.text
    assert ended(client)["training"]["run"] == 0


def test_pipes_and_large_files_are_refused(client, folder, monkeypatch):
    os.mkfifo(folder / "pipe")
    assert "pipe" not in client.get("/api/training/files", headers=HEADERS).json()["files"]
    assert start(client, train="pipe").status_code == 422
    monkeypatch.setattr("postil.server.jobs.MOST_BYTES", 10)
    assert "too large" in start(client, train="train.txt").json()["error"]["message"]


def test_a_file_that_cannot_be_learnt_from_is_one_line_without_its_folder(client, folder):
    assert start(client, train="raw.txt").status_code == 200
    state = ended(client)
    assert state["training"]["state"] == "failed" and not state["can_keep"]
    assert "raw.txt" in state["training"]["error"] and str(folder) not in state["training"]["error"]
    assert client.post("/api/training/keep", json={"name": "x"}, headers=HEADERS).status_code == 422


@pytest.mark.parametrize("name", ["../mine", "a/b", ".hidden", "names", "there", "dangling", "x" * 65, " ", "ä"])
def test_models_are_kept_under_new_names_only(client, folder, tmp_path, name):
    (folder / "there.postil").write_text("mine")
    (folder / "dangling.postil").symlink_to(tmp_path / "elsewhere.postil")
    start(client, train="train.txt", epochs=1)
    ended(client)
    assert client.post("/api/training/keep", json={"name": name}, headers=HEADERS).status_code == 422
    assert (folder / "there.postil").read_text() == "mine"
    assert not list(tmp_path.glob("*.postil")) and not (tmp_path / "elsewhere.postil").exists()


def test_without_permission_there_are_no_routes(registry):
    from starlette.testclient import TestClient

    from postil.server.app import create_app

    with TestClient(create_app(registry), base_url="http://127.0.0.1:8000") as client:
        assert client.get("/api/training", headers=HEADERS).status_code == 404
        assert client.get("/api/models").json()["training"] is False


def test_settings_need_a_folder_and_a_token(tmp_path):
    with pytest.raises(ConfigurationError, match="token of the run"):
        ServerSettings(training=tmp_path)
    with pytest.raises(ConfigurationError, match="must be a folder"):
        ServerSettings(training=tmp_path / "none", run_token=RUN)
