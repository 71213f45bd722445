"""Names in colour: the text is complete, names carry class and probability, and nothing moves the cursor."""

from io import StringIO

from rich.console import Console

import postil
from postil.commands.console import coloured, show_tagged, styles_of
from postil.text import Entity, Sentence, read


def test_every_character_is_shown_with_class_and_probability():
    text = "Anna met Ben."
    shown = coloured(
        text,
        [
            Entity(text="Anna", label="PER", start=0, end=4, probability=0.987),
            Entity(text="Ben", label="X", start=9, end=12),
        ],
    )
    assert shown.plain == " Anna PER 0.99  met  Ben X ."
    assert str(shown.spans[0].style) == styles_of(["PER", "X"])["PER"]


def test_control_characters_are_shown_and_not_sent():
    shown = coloured("a\x1b[2Jb\x07c", [Entity(text="b\x07", label="X\x1b", start=5, end=7)])
    assert "\x1b" not in shown.plain and "\x07" not in shown.plain


def test_texts_are_shown_one_by_one_even_if_they_are_alike(names_model, tmp_path):
    (tmp_path / "a.txt").write_text("Anna left. Boris slept.\nAnna left. Boris slept.\n\nx\n")
    console = Console(file=StringIO(), width=200, force_terminal=False)
    show_tagged(console, {"": postil.load(names_model)}, read(tmp_path / "a.txt", "text"))
    lines = [line for line in console.file.getvalue().splitlines() if line.strip()]
    assert [line.count("PER") for line in lines] == [2, 2, 0]


def test_sentences_without_a_text_show_nothing_odd(names_model):
    console = Console(file=StringIO(), width=200)
    show_tagged(console, {"": postil.load(names_model)}, [Sentence(["a"], text="a", starts=[0], ends=[1])])
    assert console.file.getvalue() == "a\n"
