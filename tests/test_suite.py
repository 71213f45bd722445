"""Tests of the tests: warnings are errors, nothing outside of the repository is needed, nothing is left behind."""

import importlib
import os
import socket
import tempfile
import tomllib
import warnings

import pytest
from threadpoolctl import threadpool_info

from isolation import ROOT, NotIsolated

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


@pytest.mark.skipif(ROOT.is_relative_to(tempfile.gettempdir()), reason="beside a clone in it is the temporary folder")
def test_no_test_reads_what_stands_beside_the_repository():
    with pytest.raises(NotIsolated, match=r"corpora/x.conll: tests need nothing outside"):
        (ROOT.parent / "corpora" / "x.conll").read_text()


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
