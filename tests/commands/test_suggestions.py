"""What ``postil suggest`` prints."""

from pathlib import Path

from postil.commands.suggest import LISTED, show
from postil.quality import Doubt, Option, Suggestion
from postil.text import Sentence


def suggestion(tokens, doubts):
    sentence = Sentence(tokens, labels=["O"] * len(tokens))
    return Suggestion(sentence=sentence, index=0, score=0.5, spans=[], doubts=doubts)


def test_doubts_stand_in_brackets_with_their_best_option(capsys):
    doubt = Doubt(1, 3, (Option("PER", 1, 3, 0.61), Option("O", 1, 3, 0.2)))
    show([suggestion(["met", "Anna", "Reed", "\x1b[31m"], [doubt])], ["pool, line 3"], 7, None)
    printed = capsys.readouterr().out
    assert "met [Anna Reed] PER 61 %" in printed and "pool, line 3" in printed and "\x1b" not in printed
    assert "1 of 7 sentences, 4 tokens; to look at: 1 passage, 2 tokens (50 %)" in printed


def test_long_lists_are_cut(capsys):
    show([suggestion(["a"], [])] * (LISTED + 2), ["here"] * (LISTED + 2), 99, Path("next.jsonl"))
    printed = capsys.readouterr().out
    assert printed.count("here") == LISTED and "2 more: all are in the file" in printed
    show([], [], 0, None)
    assert "Nothing to suggest" in capsys.readouterr().out
