import argparse
import json
import os
import re
import subprocess
import sys
from importlib.metadata import version

import pytest

import postil
from postil.commands import gradcheck as check_command
from postil.commands.main import COMMANDS, main
from postil.commands.parser import command_module, command_parser
from postil.errors import DataError
from postil.gradcheck import Disagreement, Entry, GradientReport


def test_without_a_command_the_help_lists_all(capsys):
    assert main([]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed.split() for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([name, "--help"])
    assert stopped.value.code == 0
    assert f"usage: postil {name}" in capsys.readouterr().out


LONG = [name for name in COMMANDS if getattr(command_module(name), "SHOWN", None)]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_lists_few_options_and_help_all_every_one(name, capsys):
    printed = {}
    for option in ["--help", "--help-all"]:
        with pytest.raises(SystemExit) as stopped:
            main([name, option])
        assert stopped.value.code == 0
        printed[option] = {
            line.split()[0].rstrip(",") for line in capsys.readouterr().out.splitlines() if line.startswith("  -")
        }
    assert len(printed["--help"]) <= 15
    actions = [action for action in command_parser(name)._actions if action.option_strings]
    assert printed["--help-all"] == {one.option_strings[0] for one in actions if one.help != argparse.SUPPRESS}
    assert name in LONG or printed["--help"] == printed["--help-all"]
    with pytest.raises(SystemExit):
        command_parser(name).error("unrecognized arguments: --hlep")
    assert "did you mean --help?" in capsys.readouterr().err


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_a_terminal_except_for_its_examples(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([name, "--help-all"])
    help = capsys.readouterr().out
    assert all(len(line) <= 80 or line.startswith("  ") for line in help.splitlines())
    assert not [line for line in help.splitlines() if len(line) > 80 and "postil" not in line and "curl" not in line]


def test_help_tells_the_formats_and_the_defaults_of_its_command(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    helps = {}
    for name in ("tag", "annotate"):
        with pytest.raises(SystemExit):
            main([name, "--help-all"])
        helps[name] = capsys.readouterr().out
    assert "[OPTIONS]" in helps["tag"] and "format of the input: conll, conllu, conll05, jsonl" in helps["tag"]
    assert helps["tag"].count("or drop them (default: error)") == 1
    assert helps["annotate"].count("or drop them (default: snap)") == 1


def test_a_wrong_command_line_exits_with_two(capsys):
    for words in (["no-such-command"], ["--no-such-option"], ["gradcheck", "--no-such-option"]):
        with pytest.raises(SystemExit) as stopped:
            main(words)
        assert stopped.value.code == 2
        assert "error:" in capsys.readouterr().err


def _invalid(command, option, value, choices, meant):
    prefix = f"postil {command}: error: argument {option}: invalid choice: '{value}'"
    return f"{prefix} (choose from {', '.join(choices.split())}); did you mean {meant}?"


def test_a_wrong_command_line_is_told_in_one_line(capsys):
    for words, line in (
        (["trian", "x"], "postil: error: unknown command 'trian'; did you mean train?"),
        (["demo", "here"], "postil demo: error: unexpected argument here"),
        (["gradcheck", "--jsn"], "postil gradcheck: error: unknown option --jsn; did you mean --json?"),
        (["bench", "--threads", "x"], "postil bench: error: argument --threads: invalid int value: 'x'"),
        (["export", "m", "--to", "wbe", "-o", "x"], _invalid("export", "--to", "wbe", "c web", "web")),
    ):
        with pytest.raises(SystemExit):
            main(words)
        # Whether choices stand in quotation marks depends on the version of Python.
        printed = re.sub(r"(?<=choose from )[^)]*", lambda found: found[0].replace("'", ""), capsys.readouterr().err)
        assert printed == f"{line} (see {line.split(':')[0]} --help)\n"


def test_the_version(capsys):
    assert main(["--version"]) == 0
    out = capsys.readouterr().out
    assert version("postil") in out and out.count("\n") == 1
    assert main(["--version", "--verbose"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in ("Python", "NumPy", "BLAS", "kernels"))


@pytest.mark.parametrize(
    ("error", "line", "code"),
    [
        (DataError("columns", expected=2, got=3, where="a.txt, line 4"), "postil: a.txt, line 4: columns", 1),
        (FileNotFoundError(2, "No such file or directory", "a.txt"), "postil: a.txt: No such file or directory\n", 1),
        (KeyboardInterrupt(), "postil: interrupted\n", 130),
    ],
)
def test_a_mistake_is_one_line(error, line, code, capsys, monkeypatch):
    def fail(arguments):
        raise error

    monkeypatch.setattr(check_command, "run", fail)
    assert main(["gradcheck"]) == code
    printed = capsys.readouterr()
    assert printed.err.startswith(line) and printed.err.count("\n") == 1 and not printed.out


@pytest.fixture
def some_rows(monkeypatch):
    """The whole list is run once, row by row, in tests/gradients; here the command runs every fortieth row."""
    rows = check_command.gradient_checks()[::40]
    monkeypatch.setattr(check_command, "gradient_checks", lambda: rows)
    return rows


def test_check_runs_the_whole_list():
    from postil.models.gradients import gradient_checks

    assert check_command.gradient_checks is gradient_checks and len(gradient_checks()) >= 49


@pytest.mark.slow
def test_check_prints_one_json_object_and_nothing_else(some_rows, capfd):
    assert main(["gradcheck", "--json"]) == 0
    printed = capfd.readouterr()
    document = json.loads(printed.out)
    assert printed.err == "" and document["passed"] is True
    assert [row["name"] for row in document["checks"]] == [row.name for row in some_rows]
    for row in document["checks"]:
        assert set(row) == {"name", "equations", "values_checked", "left_out", "worst_error", "passed"}


@pytest.mark.slow
def test_check_prints_a_table(some_rows, capsys):
    assert main(["gradcheck"]) == 0
    printed = capsys.readouterr().out
    assert some_rows[0].name in printed and f"{len(some_rows)} checks, 0 failures" in printed


def test_a_failing_check_exits_with_one_and_names_the_place(capsys, monkeypatch):
    worst = Disagreement(index="index [3]", analytic=1.0, numeric=2.0)
    entry = Entry(name="W", shape=(4,), checked=4, left_out=0, worst_error=0.5, worst=worst, largest=2.0)
    report = GradientReport(name="broken", entries=[entry], tolerance=1e-6)
    rows = check_command.gradient_checks()[:1]
    monkeypatch.setattr(type(rows[0]), "run", lambda self: report)
    monkeypatch.setattr(check_command, "gradient_checks", lambda: rows)
    assert main(["gradcheck", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["passed"] is False
    assert main(["gradcheck"]) == 1
    assert "gradient of W (4,) is wrong at index [3]: analytic 1, numeric 2" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_mistake():
    """The output is flushed when the reader is gone for certain: `postil | head -c 0`, without the race."""
    reading, writing = os.pipe()
    os.close(reading)
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-m", "postil"]
    with os.fdopen(writing, "wb") as gone:
        answer = subprocess.run(command, stdout=gone, stderr=subprocess.PIPE, text=True, env=buffered)
    assert answer.returncode == 0 and answer.stderr == ""


def test_help_imports_no_heavy_module():
    code = "import sys; from postil.commands.main import main; main([]); print({'numpy', 'rich'} & set(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.stdout.splitlines()[-1] == "set()"


def run(words, *, limit=None, **environment):
    """The command in a process; ``limit``: the largest file that it may write."""
    limited = (
        f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit},) * 2)\n" if limit is not None else ""
    )
    program = f"import sys\n{limited}from postil.commands.main import main\nsys.exit(main())"
    command = [sys.executable, "-c", program, *map(str, words)]
    return subprocess.run(command, capture_output=True, env=os.environ | environment, check=False)


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "environment", [ASCII, {"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "latin-1"}], ids=str
)
def test_a_locale_without_letters_stops_no_command(names_model, environment, tmp_path):
    if environment is ASCII and not postil.__file__.isascii():
        pytest.skip("Python itself cannot start from such a folder in this locale")
    text = "Zoë left São Paulo 😀."
    for words in (["explain", text], ["explain", text, "--json"], ["explain", text, "--entity", "Zoë"], ["tag", text]):
        done = run([words[0], names_model, *words[1:]], **environment)
        assert done.returncode == 0, done.stderr
        assert b"Error" not in done.stderr
        assert "Zoë" in done.stdout.decode()
    (tmp_path / "a.txt").write_text("Zoë\tB-PER\n")
    done = run(["evaluate", names_model, tmp_path / "a.txt"], **environment)
    assert done.returncode == 0, done.stderr
    done = run(["tag", names_model, "--text", text, "--task", "Zoë"], **environment)
    assert done.returncode == 1 and done.stderr.count(b"\n") == 1 and done.stderr.startswith(b"postil: ")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="has no limits of this kind")
@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["pretrain", "raw.txt", "--min-count", "1", "-o", "v.txt"], "FOLDER"),
        (["pretrain", "raw.txt", "--min-count", "1", "--brown", "3", "-o", "v.txt"], "FOLDER"),
        (["export", "MODEL", "--to", "c", "-o", "made"], "made"),
        (["export", "MODEL", "--to", "web", "-o", "made"], "made"),
        (["convert", "gold.txt", "made", "--to", "brat"], "made"),
        (["convert", "gold.txt", "made.jsonl"], "made.jsonl"),
    ],
)
def test_a_full_disk_is_told_with_the_name_of_the_output(names_model, tmp_path, monkeypatch, words, named):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "raw.txt").write_text("Anna and Boris left Oslo. They slept.\n" * 20)
    (tmp_path / "gold.txt").write_text("Anna\tB-PER\nleft\tO\n")
    done = run([str(names_model) if word == "MODEL" else word for word in words], limit=5)
    place = str(tmp_path) if named == "FOLDER" else named
    assert done.returncode == 1
    assert done.stderr.decode().splitlines()[-1] == f"postil: {place}: File too large"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gold.txt", "raw.txt"]


def test_the_version_warns_of_slow_kernels_in_one_line(tmp_path):
    """As where nothing was compiled: the library has another place."""
    hidden = "import sys; sys.modules['postil.kernels.library'] = None\n"
    program = f"{hidden}from postil.commands.main import main\nmain(['--version'])"
    environment = os.environ | {"POSTIL_KERNELS": "auto"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.stdout.startswith("postil ") and "plain" in done.stdout
    assert done.stderr.startswith("postil: the compiled kernels cannot be used")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["tag", "DETECTOR", "--text", "x", "--require-names", "PER=a"],
            "--require-names cannot be used",
        ),
        (["tag", "DETECTOR", "--text", "x", "--all-above", "0.5", "--to", "jsonl"], "--all-above cannot be used"),
        (["tag", "MODEL", "--text", "x", "--all-above", "2", "--to", "jsonl"], "--all-above must be above 0"),
        (["tag", "MODEL", "--text", "x", "--keep-gold", "--to", "jsonl"], "--keep-gold needs --to conll"),
        (["pretrain", "raw.txt", "-o", "v.txt"], "(see --min-count)"),
    ],
)
def test_errors_name_options_as_they_are_typed(names_model, tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "raw.txt").write_text("one two\n")
    postil.Detector(label="LOC", hidden=4, epochs=1).fit([["a", "b"]], [["LOC", "O"]]).save("d.postil")
    names = {"MODEL": str(names_model), "DETECTOR": "d.postil"}
    assert main([names.get(word, word) for word in words]) == 1
    assert message in capsys.readouterr().err
