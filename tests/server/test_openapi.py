"""The description is true: schemathesis sends what it describes, and what it forbids."""

import subprocess
import sysconfig
from pathlib import Path

import pytest

from postil.server.settings import ServerSettings

# 422: well-formed, but it does not fit the model or the text. No schema can say that.
CONFIG = """\
[checks]
positive_data_acceptance.expected-statuses = [200, 404, 413, 422]
"""


@pytest.mark.extra("starlette")
def test_every_path_is_described_and_every_description_has_a_path(registry):
    from postil.server.app import _Server
    from postil.server.openapi import description

    served = {route.path for route in _Server(registry, ServerSettings(), False).app._app.routes}
    assert {path for path in served if path != "/" and not path.startswith("/page/")} == set(description()["paths"])


@pytest.mark.extra("schemathesis")
def test_schemathesis_finds_no_failure(address, tmp_path):
    config = tmp_path / "schemathesis.toml"
    config.write_text(CONFIG)
    command = [
        str(Path(sysconfig.get_path("scripts")) / "schemathesis"),
        *["--config-file", str(config), "run", f"{address}/api/openapi.json"],
        *["--max-examples", "25", "--phases", "examples,coverage,fuzzing", "--seed", "1", "--no-color"],
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=600)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
