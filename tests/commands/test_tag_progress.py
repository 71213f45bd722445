"""Progress of tagging: shown only on a terminal, and it changes nothing that passes."""

import io
import sys

import pytest

from postil.commands import notices as tag_progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_line():
    assert tag_progress.line(1_500_000, 2.0) == "1,500,000 tokens, 750,000 tokens/s"
    assert tag_progress.line(0, 0.0).startswith("0 tokens")


def test_tokens_are_counted_on_a_terminal(monkeypatch):
    monkeypatch.setattr(tag_progress, "EVERY", 0.0)
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    with tag_progress.progress_line() as count:
        count(1000)
        count(234)
    assert sys.stdout.getvalue() == ""


@pytest.mark.parametrize(("error", "output"), [(io.StringIO, io.StringIO), (Terminal, Terminal)])
def test_nothing_is_shown_in_a_file_or_next_to_output_on_the_same_terminal(monkeypatch, error, output):
    monkeypatch.setattr(sys, "stderr", error())
    monkeypatch.setattr(sys, "stdout", output())
    with tag_progress.progress_line() as count:
        assert count is None
    assert sys.stderr.getvalue() == ""
