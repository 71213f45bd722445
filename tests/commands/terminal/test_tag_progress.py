"""Progress of tagging: shown only on a terminal, and it changes nothing that passes."""

import io
import sys

import pytest

from postil.commands.terminal import tag_progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_line():
    assert tag_progress.line(1_500_000, 2.0) == "1,500,000 tokens, 750,000 tokens/s"
    assert tag_progress.line(0, 0.0).startswith("0 tokens")


def test_a_terminal_gets_a_line_that_counts(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    with tag_progress.progress_line() as count:
        assert count is not None
        count(3)


@pytest.mark.parametrize(("error", "output"), [(io.StringIO, io.StringIO), (Terminal, Terminal)])
def test_no_line_where_standard_error_is_no_terminal_or_shares_it_with_the_output(error, output, monkeypatch):
    monkeypatch.setattr(sys, "stderr", error())
    monkeypatch.setattr(sys, "stdout", output())
    with tag_progress.progress_line() as count:
        assert count is None
