"""``postil serve``: its words. What a running server does is tested in tests/server."""

import pytest

from postil.commands import serve
from postil.commands.main import main
from postil.commands.parser import command_parser

pytestmark = pytest.mark.extra("starlette")
TOKEN = "0123456789abcdef"


def settings(*words):
    return serve.server_settings(command_parser("serve").parse_args(["model", *words]))


def test_the_defaults_are_those_of_the_settings(monkeypatch):
    from postil.server import ServerSettings

    monkeypatch.delenv(serve.VARIABLE, raising=False)
    assert settings() == ServerSettings()


def test_the_token_comes_from_a_file_or_the_environment(tmp_path, monkeypatch):
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}-of-file\n")
    monkeypatch.setenv(serve.VARIABLE, TOKEN)
    assert settings("--host", "0.0.0.0").token == TOKEN
    assert settings("--host", "0.0.0.0", "--token-file", str(path)).token == f"{TOKEN}-of-file"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no.postil"], "no such model file ('no.postil')"),
        (["no-such-name"], "no such model file ('no-such-name')"),
        (["MODEL", "--host", "0.0.0.0"], "needs a token"),
        (["MODEL", "--queue", "0"], "queue must be at least 1 (got 0)"),
        (["MODEL", "--token-file", "no-such-file"], "no-such-file: No such file"),
    ],
)
def test_mistakes_are_one_line(capfd, names_model, words, message, monkeypatch):
    monkeypatch.delenv(serve.VARIABLE, raising=False)
    words = [str(names_model) if word == "MODEL" else word for word in words]
    assert main(["serve", *words]) == 1
    error = capfd.readouterr().err
    assert message in error and error.count("\n") == 1


def test_without_the_extra_one_line_says_how_to_get_it(capfd, names_model, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "uvicorn", None)
    assert main(["serve", str(names_model)]) == 1
    assert "pip install 'postil[serve]'" in capfd.readouterr().err
