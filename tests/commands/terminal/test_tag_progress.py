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


@pytest.mark.parametrize("error", [io.StringIO, Terminal])
def test_all_items_pass(error, monkeypatch):
    monkeypatch.setattr(sys, "stderr", error())
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert list(tag_progress.shown(iter("abc"), len)) == ["a", "b", "c"]


def test_nothing_is_shown_beside_output_on_the_same_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(sys, "stdout", Terminal())
    items = iter("abc")
    assert tag_progress.shown(items, len) is items
