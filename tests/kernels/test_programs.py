"""Programs that come with the package are those that compiling yields; other rules run in Python."""

import warnings

import pytest

from postil import kernels
from postil.errors import SlowRulesWarning
from postil.kernels.characters import frozen
from postil.kernels.plain_segmentation import FILE, program_of
from postil.text import Segmenter
from postil.text.splitting.rules import SentenceRules, TokenRules
from tools import freeze_rules, patterns

FIELDS = ("code", "sets", "index", "pages")
EXPRESSIONS = freeze_rules.expressions()
IDS = [f"program {number}" for number in range(len(EXPRESSIONS))]


def same(one, other):
    arrays = all(
        getattr(one, name).dtype == getattr(other, name).dtype
        and getattr(one, name).shape == getattr(other, name).shape
        and (getattr(one, name) == getattr(other, name)).all()
        for name in FIELDS
    )
    return arrays and all(getattr(one, name) == getattr(other, name) for name in ("entries", "widths", "firsts"))


@pytest.mark.parametrize("expressions", EXPRESSIONS, ids=IDS)
def test_the_file_holds_what_compiling_yields(expressions):
    """If this fails, the rules have changed: ``make rules`` writes the file again."""
    found = program_of(expressions, frozen())
    assert same(found, patterns.compiled(expressions, frozen()))
    for name in FIELDS:
        assert getattr(found, name).flags.c_contiguous


def test_the_file_is_what_the_script_writes():
    assert FILE.read_bytes() == freeze_rules.content(EXPRESSIONS)


@pytest.mark.parametrize("breaks", ["blank", "every", "never"])
@pytest.mark.parametrize("hyphens", ["split", "keep"])
def test_the_usual_rules_need_no_compiler(hyphens, breaks):
    segmenter = Segmenter(TokenRules(hyphens=hyphens), SentenceRules(line_breaks=breaks, starters=("so",)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(segmenter.cells(b"Anna left. She ran.").offsets) == 3


def test_other_rules_run_in_python_with_a_warning():
    segmenter, text = Segmenter(TokenRules(extra_patterns=("q-q",))), b"q-q a. B"
    if kernels.IN_USE.startswith("plain"):  # which says on its own that it is slow
        segments = segmenter.cells(text)
    else:
        with pytest.warns(SlowRulesWarning, match="Python's expressions run these rules"):
            segments = segmenter.cells(text)
    assert [text[first:end] for first, end in segments.cells.tolist()] == [b"q-q", b"a", b".", b"B"]
    assert program_of(["a+b"], frozen()) is None
