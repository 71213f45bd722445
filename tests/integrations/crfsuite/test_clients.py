"""Packages written for python-crfsuite give the same answers on Postil. ``make clients`` runs more of them."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from oracles.features import feature_dicts
from postil.crfsuite import CRF

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "peers" / "crfsuite_clients.py"


@pytest.mark.parametrize(
    "client",
    [
        pytest.param("usaddress", marks=pytest.mark.extra("usaddress")),
        pytest.param("sklearn_crfsuite", marks=pytest.mark.extra("eli5")),
    ],
)
def test_a_client_gets_the_answers_of_crfsuite(client):
    answers = []
    for library in ("crfsuite", "postil"):
        command = [sys.executable, "-W", "ignore", str(SCRIPT), client, library, "60"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        answers.append(json.loads(done.stdout)["answers"])
    assert answers[0] == answers[1] and len(answers[0]) >= 60


@pytest.mark.extra("eli5")
def test_eli5_explains_the_weights():
    import eli5

    assert importlib.util.find_spec("sklearn_crfsuite") is not None
    X, Y = feature_dicts(40)
    crf = CRF(c1=0.1, max_iterations=20).fit(X, Y)
    explained = eli5.explain_weights(crf, top=3)
    assert explained.error is None and {target.target for target in explained.targets} == set(crf.classes_)
    first = explained.targets[0]
    for feature in first.feature_weights.pos:
        assert feature.weight == pytest.approx(crf.state_features_[str(feature.feature), first.target])
