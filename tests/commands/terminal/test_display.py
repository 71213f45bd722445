"""Tables on the terminal."""

from io import StringIO

from rich.console import Console

from postil.commands.terminal.display import show_table
from postil.metrics.tables import Table


def test_control_characters_of_labels_do_not_reach_the_terminal():
    console = Console(file=StringIO(), force_terminal=True, width=80)
    show_table(console, Table("Labels", ("label", "F1"), [("\x1b[2J\x07PER", 50.0), ("b\rad", 1)]))
    shown = console.file.getvalue()
    assert "\\x1b[2J\\x07PER" in shown and "b\\rad" in shown
    assert "\x1b[2J" not in shown and "\x07" not in shown and "\r" not in shown
