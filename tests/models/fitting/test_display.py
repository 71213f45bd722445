import io

import pytest
from rich.console import Console

from postil import Tagger
from postil.models.fitting import fitting as display
from postil.models.fitting.fitting import TrainingDisplay, line_of
from postil.optimisation.loop import Epoch

X, Y = [["Anna", "met", "Bob"]] * 8, [["B-PER", "O", "B-PER"]] * 8


@pytest.mark.parametrize("terminal", [True, False])
def test_lines_of_epochs_in_a_terminal_and_in_a_file(terminal):
    console = Console(file=io.StringIO(), force_terminal=terminal, width=120)
    fitting = Tagger(epochs=2).fitting(X, Y)
    with TrainingDisplay(fitting, console) as shown:
        for event in fitting:
            shown.show(event)
    text = console.file.getvalue()
    assert "8 sentences, 24 tokens; " in text
    assert "epoch   1  loss" in text and "epoch   2  loss" in text
    assert ("tokens/s" in text) == terminal


def test_a_notebook_without_widgets_has_lines_but_no_bar(monkeypatch):
    monkeypatch.setattr(display, "find_spec", lambda name: None)
    console = Console(file=io.StringIO(), force_jupyter=True)
    assert TrainingDisplay(Tagger(epochs=1).fitting(X, Y), console)._progress.disable
    monkeypatch.setattr(display, "find_spec", lambda name: name)
    assert not TrainingDisplay(Tagger(epochs=1).fitting(X, Y), console)._progress.disable


def test_the_line_of_an_epoch():
    epoch = Epoch(epoch=3, loss=0.5, score=0.25, is_best=True, seconds=1.0)
    assert line_of(epoch) == "epoch   3  loss 0.5000  dev 25.00 *"
