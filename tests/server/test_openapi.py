"""The description is true: schemathesis sends what it describes, and what it forbids."""

import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

from oracles import corpora
from postil.server.settings import ServerSettings

# 422: well-formed, but it does not fit the model or the text. No schema can say that.
CONFIG = """\
[checks]
positive_data_acceptance.expected-statuses = [200, 404, 413, 422]
"""


@pytest.mark.extra("starlette")
@pytest.mark.parametrize("training", [False, True])
def test_every_path_is_described_and_every_description_has_a_path(registry, training, tmp_path):
    from postil.server.api import description
    from postil.server.app import _Server

    settings = ServerSettings(training=tmp_path, run_token="x" * 16) if training else ServerSettings()
    served = {route.path for route in _Server(registry, settings, False, {}).app._app.routes}
    described = set(description(training=training)["paths"])
    assert {path for path in served if path != "/" and not path.startswith("/page/")} == described
    assert ("/api/training/start" in described) == training


def schemathesis_on(address, tmp_path, *words):
    config = tmp_path / "schemathesis.toml"
    config.write_text(CONFIG)
    command = [
        str(Path(sysconfig.get_path("scripts")) / "schemathesis"),
        *["--config-file", str(config), "run", f"{address}/api/openapi.json"],
        *["--max-examples", "25", "--phases", "examples,coverage,fuzzing", "--seed", "1", "--no-color", *words],
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=600)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.mark.extra("schemathesis")
def test_schemathesis_finds_no_failure(address, tmp_path):
    schemathesis_on(address, tmp_path)


@pytest.mark.extra("schemathesis")
def test_schemathesis_finds_no_failure_in_training(start, names_model, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "train.txt").write_text(corpora.as_conll(*corpora.named_entities(30)))
    process, address = start(names_model, "--queue", 1000, "--allow-training", folder)
    found = re.search(r"run=(\S+)", process.stderr.readline())
    assert found is not None
    schemathesis_on(address, tmp_path, "--include-path-regex", "/api/training", "--header", f"X-Postil-Run: {found[1]}")
