"""Programs that come with the package are those that compiling yields."""

import pytest

import postil.text.splitting.freeze_rules as freeze_rules
from postil.kernels import patterns, programs
from postil.kernels.characters import frozen
from postil.kernels.programs import FILE, content, program_of
from postil.text import Segmenter
from postil.text.splitting import token_rules

FIELDS = ("code", "sets", "index", "pages")


def same(one, other):
    arrays = all(
        getattr(one, name).dtype == getattr(other, name).dtype
        and getattr(one, name).shape == getattr(other, name).shape
        and (getattr(one, name) == getattr(other, name)).all()
        for name in FIELDS
    )
    return arrays and all(getattr(one, name) == getattr(other, name) for name in ("entries", "widths", "firsts"))


@pytest.mark.parametrize("place", [0, 1], ids=["tokens", "sentences"])
def test_the_file_holds_what_compiling_yields(place, monkeypatch):
    """If this fails, the rules have changed: ``make rules`` writes the file again."""
    expressions = freeze_rules.expressions()[place]
    expected = patterns.compiled(expressions, frozen())
    monkeypatch.setattr(programs, "compiled", None)
    found = program_of(expressions, frozen())
    assert same(found, expected)
    for name in FIELDS:
        assert getattr(found, name).flags.c_contiguous


def test_the_default_rules_are_not_compiled(monkeypatch):
    monkeypatch.setattr(programs, "compiled", None)
    segmenter = Segmenter()
    assert segmenter._tokens.program is not None and len(segmenter.cells(b"Anna left. She ran.").offsets) == 3


def test_other_expressions_are_compiled():
    found = program_of(["a+b"], frozen())
    assert same(found, patterns.compiled(["a+b"], frozen()))
    segmenter = Segmenter(token_rules.Rules(extra_patterns=("q-q",)))
    assert [b"q-q a"[first:end] for first, end in segmenter.cells(b"q-q a").cells.tolist()] == [b"q-q", b"a"]


def test_a_missing_file_costs_time_and_nothing_else(tmp_path, monkeypatch):
    expressions = freeze_rules.expressions()[1]
    monkeypatch.setattr(programs, "FILE", tmp_path / "none.bin")
    programs._stored.cache_clear()
    try:
        assert same(program_of(expressions, frozen()), patterns.compiled(expressions, frozen()))
    finally:
        programs._stored.cache_clear()


def test_the_file_is_what_the_script_writes():
    assert FILE.read_bytes() == content(freeze_rules.expressions())
