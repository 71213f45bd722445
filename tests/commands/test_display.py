"""Tables and commands as they are shown."""

import io

import pytest
from rich.console import Console

from postil.commands.console import make_console, quote, show_table
from postil.metrics.tables import Table


def test_a_table_with_its_title_and_note():
    console = Console(file=io.StringIO(), width=60)
    show_table(Table("Scores", ("label", "F1"), [("[PER]", 50.0), ("all", 25.5)], note="of 4"), console)
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    assert lines[:2] == ["", "Scores"] and lines[-1] == "of 4"
    assert lines[3].startswith("[PER]") and "50" in lines[3]  # square brackets are no style of rich


def test_files_and_pipes_are_wide(capsys):
    console = make_console()
    console.print("x" * 110)
    assert capsys.readouterr().out == "x" * 110 + "\n"


def test_a_reader_that_goes_away_reaches_the_entry_of_the_command():
    with pytest.raises(BrokenPipeError):
        make_console().on_broken_pipe()


def test_words():
    assert quote("a b") == "'a b'" and quote("ab") == "ab"


def test_control_characters_of_labels_do_not_reach_the_terminal():
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    show_table(Table("Labels", ("label", "F1"), [("\x1b[2J\x07PER", 50.0), ("b\rad", 1)]), console)
    shown = console.file.getvalue()
    assert "\\x1b[2J\\x07PER" in shown and "b\\rad" in shown
    assert "\x1b[2J" not in shown and "\x07" not in shown and "\r" not in shown
