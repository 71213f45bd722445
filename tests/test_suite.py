"""Tests of the tests: warnings are errors, nothing outside of the repository is needed, nothing is left behind."""

import importlib
import os
import shutil
import socket
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import pytest
from threadpoolctl import threadpool_info

from isolation import ROOT, Isolation, NotIsolated, can_tell_neighbours

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]


def test_warnings_are_errors():
    with pytest.raises(UserWarning, match="careless"):
        warnings.warn("careless", stacklevel=1)


def test_no_test_writes_into_the_working_tree(monkeypatch):
    monkeypatch.chdir(ROOT)
    for leave in (
        lambda: open("left-behind", "w"),  # noqa: PTH123, SIM115
        lambda: (ROOT / "tests" / "left-behind").write_text("x"),
        lambda: (ROOT / "left-behind").mkdir(),
        lambda: os.rename("README.md", "left-behind"),  # noqa: PTH104
    ):
        with pytest.raises(NotIsolated, match=r"left-behind: tests write|README.md: tests write"):
            leave()
    assert (ROOT / "README.md").exists() and not (ROOT / "left-behind").exists()


def test_no_test_reads_what_stands_beside_the_repository():
    if not can_tell_neighbours():
        pytest.skip("anything may be next to this checkout")
    with pytest.raises(NotIsolated, match=r"corpora/x.conll: tests need nothing outside"):
        (ROOT.parent / "corpora" / "x.conll").read_text()


@pytest.mark.parametrize(
    ("root", "elsewhere", "refused", "allowed"),
    [
        ("/srv/postil", ["/tmp"], ["/srv/corpora/x"], ["/tmp/a", "/etc/fstab", "/srv/.cache/x", "/srv/postil/a"]),
        ("/srv/my postil", ["/tmp"], ["/srv/my corpora"], ["/tmp/a", "/srv/my postil/a"]),
        ("/srv/postil", ["/srv/tmp"], ["/srv/corpora/x"], ["/srv/tmp/a"]),
        ("/tmp/a/postil", ["/tmp"], [], ["/tmp/pytest-of-anna/0", "/tmp/a/corpora"]),
        ("/tmp/postil", ["/tmp"], [], ["/tmp/pytest-of-anna/0"]),
        ("/postil", ["/tmp"], [], ["/tmp/a", "/etc/fstab", "/srv/corpora/x"]),
        ("/usr/src/postil", ["/usr"], [], ["/usr/src/corpora", "/usr/lib/x.so"]),
        ("/home/anna/postil", ["/tmp"], [], ["/home/anna/miniconda3/ssl/cert.pem", "/home/anna/.config/x"]),
        ("/home/anna/src/postil", ["/tmp"], ["/home/anna/src/corpora/x"], ["/home/anna/x"]),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="paths of another kind")
def test_where_a_neighbour_cannot_be_told_anything_may_be_read(root, elsewhere, refused, allowed, monkeypatch):
    monkeypatch.setenv("HOME", "/home/anna")
    isolation = Isolation(Path(root), elsewhere)
    for path in allowed:
        isolation.check(path, writing=False)
    for path in refused:
        with pytest.raises(NotIsolated, match="nothing outside"):
            isolation.check(path, writing=False)
    isolation.check(f"{root}/build/x", writing=True)
    with pytest.raises(NotIsolated, match="tests write into tmp_path"):
        isolation.check(f"{root}/x", writing=True)


def test_a_checkout_behind_a_link_is_the_same_checkout(tmp_path):
    (tmp_path / "real" / "postil").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for root in (tmp_path / "real" / "postil", tmp_path / "link" / "postil"):
        for path in (root / "x", root.resolve() / "x"):
            with pytest.raises(NotIsolated, match="tests write"):
                Isolation(root, []).check(path, writing=True)


@pytest.mark.slow
def test_options_of_pytest_may_name_files_anywhere(tmp_path):
    """A report next to the repository is no neighbour that a test reads."""
    (tmp_path / "postil" / "tests").mkdir(parents=True)
    for name in ("conftest.py", "isolation.py"):
        shutil.copy(ROOT / "tests" / name, tmp_path / "postil" / "tests")
    (tmp_path / "postil" / "tests" / "test_it.py").write_text("def test_it(tmp_path): (tmp_path / 'x').touch()")
    (tmp_path / "tmp").mkdir()
    words = ["--junitxml=../report.xml", "--log-file=../log", "--basetemp=../base", "-o", "pythonpath=tests", "tests"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=tmp_path / "postil",
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp"), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "report.xml").exists()


def test_no_test_needs_the_network():
    with pytest.raises(NotIsolated, match="no network"):
        socket.create_connection(("example.org", 80), timeout=1)
    with socket.socket() as one, pytest.raises(NotIsolated, match="no network"):
        one.connect(("192.0.2.1", 80))


def test_tests_may_read_the_repository_and_write_elsewhere(tmp_path):
    assert (ROOT / "README.md").read_text(encoding="utf8")
    (tmp_path / "a").write_text("x")
    (tmp_path / "a").rename(tmp_path / "b")
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()


def test_blas_has_one_thread_per_process():
    importlib.import_module("numpy.linalg")  # loads BLAS, where no other test has done so
    assert {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"} == {1}


def test_the_extra_all_has_every_extra_that_adds_an_ability():
    extras = PROJECT["optional-dependencies"]
    tools = {"test", "check", "dev", "all"}
    assert extras["all"] == [f"postil[{','.join(name for name in extras if name not in tools)}]"]


@pytest.mark.slow
def test_the_tests_that_clones_run_exist():
    tests = importlib.import_module("clones").TESTS
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n0", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
