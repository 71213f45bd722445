"""Completion in real shells: what the Tab key makes of a line."""

import os
import pty
import select
import shutil
import subprocess
import time

import pytest

from postil.commands.completion import SHELLS
from postil.commands.main import COMMANDS, main
from postil.commands.parser import command_parser

# The line with a Tab, and the words that the shell then runs.
LINES = [
    ("postil tra", ["train"]),
    ("postil eva", ["evaluate"]),
    ("postil train --pres", ["train", "--preset"]),
    ("postil train x.txt --preset acc", ["train", "x.txt", "--preset", "accurate"]),
    ("postil tag m.postil --from cha", ["tag", "m.postil", "--from", "characters"]),
    ("postil tag m.postil --to jso", ["tag", "m.postil", "--to", "jsonl"]),
    ("postil train --set hidden_d", ["train", "--set", "hidden_dropout="]),
    ("postil train --dev lonely-", ["train", "--dev", "lonely-file.txt"]),
    ("postil tag lonely-", ["tag", "lonely-file.txt"]),
    ("postil completion fi", ["completion", "fish"]),
]


@pytest.fixture
def folder(tmp_path, capsys):
    for shell in SHELLS:
        assert main(["completion", shell]) == 0
        (tmp_path / f"script.{shell}").write_text(capsys.readouterr().out)
    (tmp_path / "lonely-file.txt").touch()
    return tmp_path


def needs(shell):
    """Skipped in one line where the shell is not installed."""
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"needs {shell}")


class Terminal:
    """A shell in a terminal, in which ``postil`` prints its words."""

    def __init__(self, folder, command, setup):
        self.end, inner = pty.openpty()
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "dumb", "LC_ALL": "C.UTF-8"}
        self.process = subprocess.Popen(
            command, stdin=inner, stdout=inner, stderr=inner, cwd=folder, env=environment, start_new_session=True
        )
        os.close(inner)
        self.run(*setup, "postil() { printf '<%s>' \"$@\"; printf 'done\\n'; }", "printf 'rea''dy\\n'", until="ready")

    def run(self, *lines, until):
        for line in lines:
            os.write(self.end, line.encode())
            os.write(self.end, b"\n")
        return self.wait(until)

    def wait(self, until):
        text, limit = "", time.monotonic() + 60
        while until not in text:
            assert time.monotonic() < limit, text
            if select.select([self.end], [], [], 1)[0]:
                text += os.read(self.end, 65536).decode(errors="replace")
        return text

    def completed(self, line):
        """The words of a line after a Tab."""
        os.write(self.end, line.encode() + b"\t")
        self.wait(line.split()[-1])
        time.sleep(0.5)  # the shell looks for completions
        text = self.run("", until=">done")
        return text[text.rindex("<" + line.split()[1][:2]) :].split(">done")[0].strip("<>").split("><")

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.end)


def check(terminal):
    try:
        for line, words in LINES:
            assert terminal.completed(line) == words
    finally:
        terminal.close()


@pytest.mark.slow
@needs("bash")
def test_bash(folder):
    check(Terminal(folder, ["bash", "--norc", "--noprofile", "-i"], ["source ./script.bash"]))


@needs("zsh")
def test_zsh(folder):
    check(Terminal(folder, ["zsh", "-f", "-i"], ["autoload -Uz compinit && compinit -u -D", "source ./script.zsh"]))


@needs("fish")
@pytest.mark.parametrize(("line", "words"), LINES, ids=[line for line, _ in LINES])
def test_fish(folder, line, words):
    command = ["fish", "--no-config", "-c", f"source script.fish; complete -C '{line}'"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert [answer.split("\t")[0] for answer in done.stdout.splitlines()] == words[-1:]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_option_of_every_command_is_known(folder, shell):
    text = (folder / f"script.{shell}").read_text()
    for name in COMMANDS:
        assert name in text
        for action in command_parser(name)._actions:
            for spelling in action.option_strings:
                if spelling != "--help-all":
                    assert (spelling.lstrip("-") if shell == "fish" else spelling) in text, (name, spelling)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_plain(folder, shell):
    text = (folder / f"script.{shell}").read_text()
    assert text.endswith("\n") and "None" not in text


def test_another_shell_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["completion", "csh"])
    assert "invalid choice: 'csh'" in capsys.readouterr().err
