"""Settings of all tests: one BLAS thread per process, isolation, profiles of Hypothesis, what needs an extra."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import isolation

# Several processes test side by side: matrix products on all cores in each of them would only fight. NumPy reads these
# when it is first imported, which nothing above does.
for _variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[_variable] = "1"

# A shell may start jobs in the background with Ctrl-C ignored. Processes inherit that, and some tests send Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Without a compiler every process would say that it is slow, among the lines that tests expect.
_package = importlib.util.find_spec("postil")
if _package is not None and not list(Path(str(_package.origin)).parent.glob("kernels/libkernels-*")):
    os.environ.setdefault("POSTIL_KERNELS", "plain")

# A time limit per example, or for making examples, says something about the machine, not about the code.
settings.register_profile("postil", deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
# The same examples in every run: what is red there is red because of the change.
settings.register_profile("ci", parent=settings.get_profile("postil"), derandomize=True)
# Before a release: pytest --hypothesis-profile=thorough
settings.register_profile("thorough", parent=settings.get_profile("postil"), max_examples=1000)
settings.load_profile("ci" if os.environ.get("CI") else "postil")


def pytest_configure(config: pytest.Config) -> None:
    """Prepare the isolation of the tests."""
    given = [config.getoption("basetemp"), os.environ.get("PYTEST_DEBUG_TEMPROOT")]
    isolation.install(*filter(None, given))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Isolate the modules of the tests."""
    with isolation.watched():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    """Isolate the tests and their fixtures."""
    with isolation.watched():
        return (yield)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Without what it needs a test marked ``extra`` is skipped; under ``make test-all`` it fails."""
    for marker in item.iter_markers("extra"):
        if not any(importlib.util.find_spec(name) or shutil.which(name) for name in marker.args):
            told = f"needs {' or '.join(marker.args)}; `make test-all` installs the Python packages"
            (pytest.fail if os.environ.get("POSTIL_EXTRAS") == "required" else pytest.skip)(told)


# ------------------------------------------------------------------------------------------------ fitted models
# Learnt once per process. They are shared: a test that changes a model, or its file, makes one of its own.


@pytest.fixture(scope="session")
def names_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a tagger of persons and places, which gets most of them right."""
    return _saved(tmp_path_factory, "names", "named_entities")


@pytest.fixture(scope="session")
def speech_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a tagger of parts of speech: labels without spans."""
    return _saved(tmp_path_factory, "speech", "parts_of_speech")


def _saved(tmp_path_factory: pytest.TempPathFactory, name: str, corpus: str) -> Path:
    import postil
    from oracles import corpora

    path = tmp_path_factory.mktemp("models") / f"{name}.postil"
    postil.Tagger(hidden=16, epochs=4, rate=0.02).fit(*getattr(corpora, corpus)(60)).save(path)
    path.chmod(0o444)
    return path


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the documentation site."""
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1", "NO_COLOR": "1"}
    root = Path(__file__).parent.parent
    done = subprocess.run(build, cwd=root, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stdout + done.stderr, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def browser():
    """A real browser, for one module at a time: its event loop runs in this thread."""
    from playwright.sync_api import sync_playwright

    from oracles.visitors import BROWSERS

    with sync_playwright() as playwright:
        path = next(filter(None, map(shutil.which, BROWSERS)))
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
        launched = playwright.chromium.launch(executable_path=path, args=options)
        yield launched
        launched.close()
