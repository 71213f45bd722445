"""Semantic roles over HTTP and on the page."""

import pytest

import postil
from oracles.corpora import semantic_roles
from oracles.visitors import BROWSERS, Visitor, until
from postil.text.document import record_of

TOKENS = "Anna sold the map yesterday .".split()


@pytest.fixture(scope="module")
def roles_model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "roles.postil"
    settings = {"hidden": 24, "layers": 4, "epochs": 12, "batch_sentences": 4}
    postil.RoleLabeller(**settings, seed=0).fit(*semantic_roles(60, 5)).save(path)
    return path


@pytest.mark.extra("starlette")
def test_the_answer_is_that_of_the_library(roles_model, names_model, monkeypatch):
    from starlette.testclient import TestClient

    from postil.server import answers
    from postil.server.app import create_app
    from postil.server.registry import Registry

    registry = Registry.of_files([names_model, roles_model])
    with TestClient(create_app(registry), base_url="http://127.0.0.1:8000") as client:
        answer = client.post("/api/roles", json={"tokens": TOKENS})
        frames = postil.load(roles_model).predict([TOKENS])[0]
        assert frames and answer.json() == {"model": "roles", "sentences": [record_of(TOKENS, frames)]}
        of_text = client.post("/api/roles", json={"text": "Anna sold the map. Ben slept."}).json()
        assert [one["tokens"][-1] for one in of_text["sentences"]] == [".", "."]
        assert of_text["sentences"][1]["starts"] == [19, 23, 28]
        assert client.post("/api/roles", json={"text": ""}).json()["sentences"] == []
        kinds = {one["name"]: one["kind"] for one in client.get("/api/models").json()["models"]}
        assert kinds["roles"] == "role-labeller"
        refused = client.post("/api/roles", json={"model": "names", "tokens": TOKENS})
        assert refused.status_code == 422 and "cannot label semantic roles" in refused.json()["error"]["message"]
        monkeypatch.setattr(answers, "MOST_PASSES", 5)
        dear = client.post("/api/roles", json={"tokens": TOKENS})
        assert dear.json()["error"]["code"] == "cost", "a sentence is read once for each of its predicates"
        assert client.post("/api/tag", json={"model": "roles", "tokens": TOKENS}).status_code == 422


@pytest.mark.extra("starlette")
def test_roles_of_a_model_of_several_tasks(roles_model, names_model, tmp_path):
    from starlette.testclient import TestClient

    from postil.server.app import create_app
    from postil.server.registry import Registry

    X, _ = semantic_roles(10, 1)
    several = postil.MultiTaskTagger(hidden=8, word_dim=4, epochs=1).fit(
        {"tags": X}, {"tags": [["T"] * len(x) for x in X]}
    )
    several.with_roles(postil.load(roles_model)).save(tmp_path / "words.postil")
    with TestClient(
        create_app(Registry.of_files([tmp_path / "words.postil"])), base_url="http://127.0.0.1:8000"
    ) as client:
        models = client.get("/api/models").json()["models"]
        assert [one["name"] for one in models] == ["words:tags", "words:roles", "words"]
        for asked in ({}, {"model": "words:roles"}):
            answer = client.post("/api/roles", json={"tokens": TOKENS} | asked).json()
            frames = postil.load(roles_model).predict([TOKENS])[0]
            assert answer == {"model": "words:roles", "sentences": [record_of(TOKENS, frames)]}
            assert all("probability" in role for one in answer["sentences"][0]["predicates"] for role in one["roles"])
        document = client.post("/api/tag", json={"model": "words", "text": "Anna"}).json()["documents"][0]
        assert "predicates" not in str(document), "only where asked"


@pytest.mark.extra("playwright")
@pytest.mark.extra(*BROWSERS)
def test_every_predicate_has_a_row_on_the_page(browser, start, roles_model):
    visitor = Visitor(browser, start(roles_model)[1], "wide")
    page = visitor.open("tag", text="Anna sold the map.")
    until(page, "document.querySelector('#roles td')")
    cells = page.locator("#roles td").all_inner_texts()
    assert cells[0] == "sold" and "Anna" in cells[1] and "ARG0" in cells[1] and "%" in cells[1]
    assert " ." not in cells[1]
    assert visitor.problems == []
    visitor.context.close()
