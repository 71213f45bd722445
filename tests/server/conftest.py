"""A server in this process, with a tagger of names, one of parts of speech, a detector and a tree classifier."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="session")
def place_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import postil
    from oracles import corpora

    path = tmp_path_factory.mktemp("models") / "places.postil"
    postil.Detector(label="LOC", hidden=8, epochs=2).fit(*corpora.named_entities(40)).save(path)
    return path


@pytest.fixture(scope="session")
def tree_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import postil
    from postil.samples.corpora import made_up_trees

    path = tmp_path_factory.mktemp("models") / "opinions.postil"
    postil.TreeClassifier(epochs=2).fit(made_up_trees(60, np.random.default_rng(0))).save(path)
    return path


@pytest.fixture(scope="session")
def registry(names_model, speech_model, place_model, tree_model):
    from postil.server.registry import Registry

    return Registry.of_files([names_model, speech_model, place_model, tree_model])


@pytest.fixture
def client(registry):
    from starlette.testclient import TestClient

    from postil.server.app import create_app

    with TestClient(create_app(registry), base_url="http://127.0.0.1:8000") as client:
        yield client


@pytest.fixture(scope="session")
def start(tmp_path_factory: pytest.TempPathFactory):
    """Starts ``postil serve`` or another command as a process of its own; returns it with its address."""
    running: list[subprocess.Popen[str]] = []

    def started(*words: object, command: str = "serve", **environment: str) -> tuple[subprocess.Popen[str], str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "postil", command, *map(str, words), "--port", "0"],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        running.append(process)
        assert process.stderr is not None
        lines = []  # notices may come before the address
        while (found := re.search(r"http://\S+", "".join(lines[-1:]))) is None:
            lines.append(process.stderr.readline())
            assert lines[-1], "".join(lines)
        return process, found.group()

    yield started
    for process in running:
        if process.poll() is None:
            process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


@pytest.fixture(scope="session")
def address(start, names_model, speech_model, place_model, tree_model) -> str:
    """Of a running server with all kinds of models."""
    return start(names_model, speech_model, place_model, tree_model, "--queue", 1000)[1]
