"""Models exported for the web, and Node to run them in."""

import json
import shutil
import subprocess

import pytest


class Node:
    """Runs code in Node that has ``load`` and the exported ``tagger``; what it returns comes back as JSON."""

    def __init__(self, folder, path):
        self.folder, self.path = folder, path

    def __call__(self, code, value=None, simd=True):
        script = f"""
            import {{ load }} from {json.dumps(self.path.as_uri())};
            import fs from "node:fs";
            const value = JSON.parse(fs.readFileSync(0, "utf8"));
            const tagger = await load({{ simd: {json.dumps(simd)} }});
            const answer = await (async () => {{ {code} }})();
            process.stdout.write(JSON.stringify(answer));
        """
        path = self.folder / "script.mjs"
        path.write_text(script, encoding="utf8")
        run = subprocess.run(
            [shutil.which("node"), path],
            input=json.dumps(value).encode(),
            capture_output=True,
            check=False,
            timeout=300,
        )
        assert run.returncode == 0 and not run.stderr, run.stderr.decode()
        return json.loads(run.stdout)


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """Exports a model to the web; returns the path of what was written."""
    from postil.export import web

    def made(model, name="package"):
        path = tmp_path_factory.mktemp("exported") / name
        web.write(model, path)
        return path

    return made


@pytest.fixture(scope="session")
def names_package(exported, names_model):
    return exported(names_model)


@pytest.fixture(scope="session")
def speech_package(exported, speech_model):
    return exported(speech_model)


@pytest.fixture
def node(tmp_path):
    """Node with the tagger of a package or of a module."""

    def opened(path):
        return Node(tmp_path, path / "index.mjs" if path.is_dir() else path)

    return opened
