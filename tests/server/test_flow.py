"""The flow graph of a served model: its loss and gradients are those of training without dropout."""

import json

import msgspec
import numpy as np
import pytest

import postil
from oracles.loops import finished
from postil import graph
from postil.errors import PostilError
from postil.server import api, machinery
from postil.server.machinery import nodes_as_json
from postil.server.registry import Registry
from postil.server.requests import Refusal

TOKENS = ["Anna", "lives", "in", "Oslo"]


def flow_graph(registry, asked):
    return machinery.flow_graph(registry, msgspec.convert(asked, api.GraphAsked))


def test_the_loss_is_minus_the_log_probability_of_the_gold_labels(registry, names_model):
    labels = ["O", "O", "O", "B-LOC"]
    answer = json.loads(finished(flow_graph(registry, {"tokens": TOKENS, "model": "names", "labels": labels})))
    nodes = answer["nodes"]
    assert (nodes[-1]["name"], nodes[-1]["shape"], nodes[-1]["gradient"]) == ("CRF", [], [[1.0]])
    tagger = postil.load(names_model)
    assert np.exp(-nodes[-1]["value"][0][0]) == pytest.approx(tagger.probability(TOKENS, labels), rel=1e-3)
    assert all(parent < i for i, node in enumerate(nodes) for parent in node["parents"])
    (scores,) = [node for node in nodes if node["name"] == "Linear" and node["shape"] == [4, 9]]
    sums = np.array(scores["gradient"]).sum(axis=1)
    np.testing.assert_allclose(sums, 0, atol=1e-5)  # p(y_t) - 1[gold] adds up to 0 (C5)


def test_predicted_labels_are_the_default_and_mistakes_are_refused(registry):
    answer = json.loads(finished(flow_graph(registry, {"tokens": TOKENS, "model": "names"})))
    assert answer["labels"] == ["B-PER", "O", "O", "B-LOC"]
    for wrong in ({"tokens": TOKENS, "labels": ["O"]}, {"text": "One. Two more here. "}, {"tokens": ["a"] * 61}):
        with pytest.raises(Refusal) as caught:
            finished(flow_graph(registry, {"model": "names", **wrong}))
        assert caught.value.code == "unfit"


def test_an_ensemble_has_no_single_graph(names_model):
    tagger = postil.load(names_model)
    registry = Registry(models={"both": postil.Ensemble([tagger, tagger])})
    with pytest.raises(Refusal, match="ensemble"):
        finished(flow_graph(registry, {"tokens": TOKENS}))


def test_edits_and_checks_leave_the_model_as_it_is(registry):
    asked = {"tokens": TOKENS, "model": "names", "labels": ["O", "O", "O", "B-LOC"]}
    first = json.loads(finished(flow_graph(registry, asked)))
    keys = {node["key"]: node for node in first["nodes"] if node["key"]}
    assert {"#0", "output0.W", "crf.transitions"} <= keys.keys() and first["losses"] == []
    edits = [
        {"node": "output0.W", "row": 0, "column": 1, "value": 2.5},
        {"node": "#1", "row": 1, "column": 0, "value": -1.0},
        {"optimiser": "sgd", "rate": 0.01},
        {"optimiser": "sgd", "rate": 0.01},
    ]
    after = json.loads(finished(flow_graph(registry, {**asked, "edits": edits[:2]})))
    named = {node["key"]: node for node in after["nodes"] if node["key"]}
    assert named["output0.W"]["value"][0][1] == 2.5
    assert named["#1"]["name"] == "changed" and named["#1"]["value"][1][0] == -1.0
    trained = json.loads(finished(flow_graph(registry, {**asked, "edits": edits})))
    assert trained["losses"][1] > trained["losses"][2] > trained["losses"][3]
    assert trained["nodes"][-1]["value"][0][0] == trained["losses"][-1]
    checked = json.loads(
        finished(flow_graph(registry, {**asked, "edits": edits[:2], "check": {"node": "#1", "step": 1e-5}}))
    )
    central = np.array(checked["check"]["central"])
    gradient = np.array(named["#1"]["gradient"])[: len(central), : central.shape[1]]
    np.testing.assert_allclose(central, gradient, atol=1e-5)
    assert json.loads(finished(flow_graph(registry, asked))) == first
    for wrong in ({"node": "none"}, {"node": "#1", "row": 15}, {"node": "crf.end", "column": 3}):
        edit = {"row": 0, "column": 0, "value": 1.0} | wrong
        with pytest.raises(PostilError):
            finished(flow_graph(registry, {**asked, "edits": [edit]}))


def test_large_arrays_are_cut_and_impossible_scores_are_null():
    x = graph.Input(np.arange(1200.0).reshape(40, 30), "x")
    first = nodes_as_json((x * x).sum())[0]
    assert first["shape"] == [40, 30] and first["rows"] == list(range(16))
    assert np.shape(first["value"]) == np.shape(first["gradient"]) == (16, 16)
    assert first["gradient"][1][2] == 2 * 32
    masked = nodes_as_json(graph.exp(graph.Input(np.array([0.0, -np.inf]), "a")).sum())
    assert masked[0]["value"] == [[0.0], [None]]
