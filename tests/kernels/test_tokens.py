"""The compiled tokeniser against its twin: text made of what the rules know, any characters, hostile text."""

import threading
import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.programs import with_program
from oracles.texts import FRAGMENTS, HOSTILE, MADE, TEXTS
from postil.errors import DataError, IndexRangeError, ShapeError, SlowRulesWarning
from postil.kernels import ChunkCache, TokenPatterns
from postil.kernels import plain_segmentation as plain
from postil.text.splitting.rules import TokenRules, token_alternatives, token_patterns

compiled = pytest.importorskip("postil.kernels.compiled_segmentation", reason="the kernels were not compiled here")

BOTH = pytest.mark.parametrize("module", [plain, compiled], ids=["plain", "compiled"])
RULES = {
    "default": TokenRules(),
    "hyphens kept": TokenRules(hyphens="keep"),
    "switched off": TokenRules(urls=False, emails=False, hashtags_and_mentions=False, emoticons=False),
    "own lists": TokenRules(
        abbreviations=("ст", "etc"), contractions=("'ς", "n't"), fused=("x|y'z",), units=("µm", "ſ")
    ),
    "extra": TokenRules(
        extra_patterns=(r"\[\w+\]", r"\ba++\b", r"(?s:C.{2,3}?)$", r"(?i:[α-ω]{2})(?<!ας)", r"(?:x|yy)*?z\B")
    ),
}
PATTERNS = {name: with_program(token_patterns(rules)) for name, rules in RULES.items()}
CACHES = {name: ChunkCache(patterns) for name, patterns in PATTERNS.items()}


def documents(text: bytes, *edges: int) -> np.ndarray:
    edges = sorted({0, len(text), *edges})
    return np.array([*pairwise(edges)], np.int64).reshape(-1, 2)


def same(text: bytes, parts: np.ndarray, rules: str = "default", surrogates: bool = False) -> None:
    patterns, cache = PATTERNS[rules], CACHES[rules]
    expected = plain.tokenise_text(text, parts, patterns, cache, surrogates)
    found = compiled.tokenise_text(text, parts, patterns, cache, surrogates)
    for one, other in zip(expected, found, strict=True):
        assert one.dtype == other.dtype == np.int64 and one.shape == other.shape
        assert np.array_equal(one, other)


@pytest.mark.parametrize("rules", RULES)
@settings(deadline=None)
@given(text=TEXTS)
def test_tokens_are_the_same(rules, text):
    content = text.encode()
    same(content, documents(content), rules)


@settings(deadline=None)
@given(st.lists(TEXTS, max_size=8))
def test_documents_do_not_see_one_another(texts):
    contents = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, contents)])
    parts = np.stack([ends[:-1], ends[1:]], axis=1)
    same(b"".join(contents), parts)
    together = compiled.tokenise_text(b"".join(contents), parts, PATTERNS["default"], CACHES["default"])
    for number, content in enumerate(contents):
        alone = compiled.tokenise_text(content, documents(content), PATTERNS["default"], CACHES["default"]).cells
        first, last = together.offsets[number : number + 2]
        assert np.array_equal(alone + ends[number], together.cells[first:last])


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text(text):
    content = text.encode()
    same(content, documents(content))


@settings(deadline=None)
@given(MADE, st.data())
def test_one_byte_changed(text, data):
    """Whatever is no UTF-8 any more is refused by both, at the same byte."""
    content = bytearray(text.encode())
    if content:
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = bytes(content)
    answers = []
    for module in (plain, compiled):
        try:
            answers.append(module.tokenise_text(content, documents(content), PATTERNS["default"], CACHES["default"]))
        except DataError as error:
            answers.append(str(error))
    assert type(answers[0]) is type(answers[1])
    if isinstance(answers[0], str):
        assert answers[0] == answers[1]
    else:
        assert np.array_equal(answers[0].cells, answers[1].cells)


@BOTH
@pytest.mark.parametrize(
    "wrong", [b"\xff", b"a\xc0\x80", b"\xe3\xc2\xa0", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"x\xe2\x80", b"\xf8"]
)
def test_what_is_not_utf8_is_refused(module, wrong):
    text = b"Good words. " + wrong
    patterns = PATTERNS["default"]
    with pytest.raises(DataError, match=r"^invalid UTF-8 at byte 1[23]: expected UTF-8, got byte 0x"):
        module.tokenise_text(text, documents(text), patterns, ChunkCache(patterns))


def test_surrogates_where_they_may_be():
    text = "a\ud800b \udc00. x".encode("utf-8", "surrogatepass")
    same(text, documents(text), surrogates=True)
    with pytest.raises(DataError):  # the cache keeps no chunk that would be let through here
        same(text, documents(text))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FRAGMENTS if name != "extra"])
def test_every_alternative_is_taken(name):
    """And makes a difference: without it, some of its pieces are cut otherwise."""
    alternatives = token_alternatives(TokenRules())
    assert list(alternatives) == list(FRAGMENTS)
    if name == "one character":  # without it, characters would be lost
        return
    full = compiled.tokenise_text
    others = [p for n, p in alternatives.items() if p and n != name]
    whole, without = (
        with_program(TokenPatterns(f"(?:{'|'.join(some)})", r"x\.\Z"))
        for some in ([p for p in alternatives.values() if p], others)
    )
    text = "  ".join(FRAGMENTS[name]).encode()
    cells = [full(text, documents(text), patterns, ChunkCache(patterns)).cells for patterns in (whole, without)]
    assert not np.array_equal(*cells)
    for patterns, found in zip((whole, without), cells, strict=True):
        assert np.array_equal(plain.tokenise_text(text, documents(text), patterns, ChunkCache(patterns)).cells, found)


# ------------------------------------------------------------------------------------------------ cache, room, steps


def test_a_small_cache_gives_the_same_tokens(monkeypatch):
    monkeypatch.setattr(ChunkCache, "BUCKETS", 1)
    patterns, text = PATTERNS["default"], " ".join(f"w{i % 11}n't, J. K{i % 7}. x" for i in range(200)).encode()
    cache = ChunkCache(patterns)
    for _ in range(2):
        found = compiled.tokenise_text(text, documents(text), patterns, cache)
        assert np.array_equal(found.cells, plain.tokenise_text(text, documents(text), patterns, cache).cells)
    assert len(cache.table) == 256


def test_more_tokens_than_there_was_room_for():
    text = b"(" * 5000 + b" " + b"a-b, " * 3000 + b"!?" * 10_000
    same(text, documents(text, 100, 6000))


def test_a_chunk_that_is_too_hard_goes_to_the_twin(monkeypatch):
    """Nested repetitions take exponential time; the kernel gives up, and here the twin is a quick one."""
    patterns = with_program(TokenPatterns(r"(?:(?:a|aa)+b|\S)", r"[A-Z]\.\Z"))
    text = b"xx " + b"a" * 22 + b"A.  K. " + b"a" * 17 + b"\xc3\xa9b yy"
    asked = []
    cut_chunk = compiled.plain.cut_chunk
    monkeypatch.setattr(compiled.plain, "cut_chunk", lambda *args: asked.append(args[:2]) or cut_chunk(*args))
    found = compiled.tokenise_text(text, documents(text), patterns, ChunkCache(patterns))
    assert asked and asked[0] == ("a" * 22 + "A.", "K")
    expected = plain.tokenise_text(text, documents(text), patterns, ChunkCache(patterns))
    assert np.array_equal(found.cells, expected.cells) and np.array_equal(found.offsets, expected.offsets)


def test_a_match_does_not_leave_its_chunk():
    patterns = with_program(TokenPatterns(r"(?:J\. ?K?|\S)", r"[A-Z]\.\Z"))
    text = b"J. K J. x J."
    for module in (plain, compiled):
        cells = module.tokenise_text(text, documents(text), patterns, ChunkCache(patterns)).cells
        assert [text[first:end] for first, end in cells] == [b"J.", b"K", b"J.", b"x", b"J."]


def test_rules_without_a_program_are_reported_once():
    patterns = TokenPatterns(r"(?:(?P<x>a)(?P=x)|\S)", r"[A-Z]\.\Z")
    text = "aaab é".encode()
    with pytest.warns(SlowRulesWarning, match="the default rules"):
        first = compiled.tokenise_text(text, documents(text), patterns, ChunkCache(patterns))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = compiled.tokenise_text(text, documents(text), patterns, ChunkCache(patterns))
    assert [text[a:b].decode() for a, b in first.cells] == ["aa", "a", "b", "é"]
    assert np.array_equal(first.cells, again.cells)


def test_threads_with_a_cache_each():
    patterns = PATTERNS["default"]
    text = " ".join(piece for pieces in FRAGMENTS.values() for piece in pieces).encode() * 50
    expected = plain.tokenise_text(text, documents(text), patterns, ChunkCache(patterns)).cells
    wrong = []

    def run():
        cache = ChunkCache(patterns)
        for _ in range(5):
            if not np.array_equal(compiled.tokenise_text(text, documents(text), patterns, cache).cells, expected):
                wrong.append(1)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@BOTH
def test_documents_lie_in_the_text(module):
    patterns = PATTERNS["default"]
    for wrong in ([[0, 4]], [[-1, 2]], [[2, 1]]):
        with pytest.raises(IndexRangeError, match="documents"):
            module.tokenise_text(b"abc", np.array(wrong), patterns, CACHES["default"])
    with pytest.raises(ShapeError):
        module.tokenise_text(b"abc", np.array([[0, 1, 2]]), patterns, CACHES["default"])
    cells, offsets = module.tokenise_text(b"", np.zeros((0, 2), np.int64), patterns, CACHES["default"])
    assert cells.shape == (0, 2) and offsets.tolist() == [0]
